/* SPDX-License-Identifier: MIT */
/* The vector functions of one instruction set behind plain pointers: vector_math_isa.c is compiled once for each. */
#ifndef TESTS_UNIT_VECTOR_MATH_H
#define TESTS_UNIT_VECTOR_MATH_H

#include "cpu/isa.h"

enum test_function { TEST_TANH, TEST_LECUN_TANH, TEST_LOGISTIC, TEST_EXP, TEST_FUNCTION_COUNT };

#define TEST_LANES 16 /* a multiple of every vector's width */

struct test_vector_functions {
    const char *name;
    void (*apply)(enum test_function function, const float *in, float *out); /* TEST_LANES of each */
};

/* NULL for a set that is not compiled in. */
const struct test_vector_functions *test_vector_functions(enum cpu_isa isa);

#endif
