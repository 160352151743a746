/* SPDX-License-Identifier: MIT */
#include "tests/unit/vector_math.h"

#include <stddef.h>

#define DECLARE(name) extern const struct test_vector_functions test_functions_##name
DECLARE(scalar);
#if defined(__x86_64__)
DECLARE(avx2);
DECLARE(avx512);
#endif

const struct test_vector_functions *test_vector_functions(enum cpu_isa isa)
{
    switch (isa) {
    case CPU_SCALAR:
        return &test_functions_scalar;
#if defined(__x86_64__)
    case CPU_AVX2:
        return &test_functions_avx2;
    case CPU_AVX512:
        return &test_functions_avx512;
#endif
    default:
        return NULL;
    }
}
