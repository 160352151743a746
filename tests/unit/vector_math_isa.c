/* SPDX-License-Identifier: MIT */
#include "cpu/vector_math.h"
#include "tests/unit/vector_math.h"

static void apply(enum test_function function, const float *in, float *out)
{
    static const enum cnn_activation kinds[] = { CNN_TANH, CNN_LECUN_TANH, CNN_LOGISTIC };
    for (int i = 0; i < TEST_LANES; i += VEC_WIDTH) {
        vec x = vec_load(in + i);
        vec_store(out + i, function == TEST_EXP ? vec_exp(x) : vec_activate(kinds[function], x));
    }
}

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

extern const struct test_vector_functions CPU_SYMBOL(test_functions);
const struct test_vector_functions CPU_SYMBOL(test_functions) = { TEXT(CPU_ISA_SUFFIX), apply };
