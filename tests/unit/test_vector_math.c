/* SPDX-License-Identifier: MIT */
/* The vector activations against the C library in double, over floats of every sign and exponent, on every instruction
 * set that runs here: tanh, exp and logistic within 4 ulp, LeCun's tanh within 5, and NaN never lost. */
#include "tests/unit/vector_math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define STEP 1009 /* a prime: every mantissa pattern comes by */

static double ulp(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static double expected(enum test_function function, double x)
{
    switch (function) {
    case TEST_TANH:
        return tanh(x);
    case TEST_LECUN_TANH:
        return (double)1.7159f * tanh((double)(2.0f / 3.0f) * x);
    case TEST_LOGISTIC:
        return 1 / (1 + exp(-x));
    default:
        return exp(x);
    }
}

static double allowed(enum test_function function)
{
    return function == TEST_LECUN_TANH ? 5 : 4;
}

/* The range that is claimed: exp and logistic clamp beyond +-87. */
static bool claimed(enum test_function function, double x)
{
    return function == TEST_TANH || function == TEST_LECUN_TANH ? fabs(x) > 1e-37 : fabs(x) < 86;
}

static void check(const struct test_vector_functions *set, enum test_function function)
{
    double worst = 0, where = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += (uint64_t)TEST_LANES * STEP) {
        float in[TEST_LANES], out[TEST_LANES];
        for (int i = 0; i < TEST_LANES; i++) {
            uint32_t word = (uint32_t)(bits + (uint64_t)i * STEP);
            memcpy(&in[i], &word, sizeof word);
        }
        set->apply(function, in, out);
        for (int i = 0; i < TEST_LANES; i++) {
            if (isnan(in[i])) {
                assert_true(isnan(out[i]));
                continue;
            }
            if (!claimed(function, in[i]))
                continue;
            double value = expected(function, in[i]), error = fabs(out[i] - value) / ulp(value);
            assert_false(isnan(error));
            if (error > worst) {
                worst = error;
                where = in[i];
            }
        }
    }
    printf("%s, function %d: largest error %.2f ulp, at %g\n", set->name, (int)function, worst, where);
    assert_true(worst <= allowed(function));
}

static void check_set(enum cpu_isa isa)
{
    if (!cpu_isa_usable(isa)) {
        printf("%s: skipped, this processor does not have it\n", cpu_isa_name(isa));
        skip();
    }
    for (int function = 0; function < TEST_FUNCTION_COUNT; function++)
        check(test_vector_functions(isa), (enum test_function)function);
}

static void scalar_is_within_its_error(void **state)
{
    (void)state;
    check_set(CPU_SCALAR);
}

static void avx2_is_within_its_error(void **state)
{
    (void)state;
    check_set(CPU_AVX2);
}

static void avx512_is_within_its_error(void **state)
{
    (void)state;
    check_set(CPU_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(scalar_is_within_its_error),
                                        cmocka_unit_test(avx2_is_within_its_error),
                                        cmocka_unit_test(avx512_is_within_its_error) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
