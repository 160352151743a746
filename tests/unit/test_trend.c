/* SPDX-License-Identifier: MIT */
/* Order and slope from ranks: values of published tables, planted slopes, too few points. */
#include "experiments/driver/trend.h"
#include "lib/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const double line[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

/* Kendall's table for 10 points: a balance of 45 (perfect) is one order of 10!, one of 23 has p 0.0466 on two sides. */
static void the_exact_distribution_is_kendalls(void **state)
{
    (void)state;
    const double mixed[] = { 4, 3, 2, 1, 8, 7, 6, 5, 9, 10 }; /* 12 pairs out of order: balance 21 */
    const double better[] = { 4, 3, 2, 1, 7, 8, 6, 5, 9, 10 };
    struct trend_order order;
    assert_true(trend_order_of(line, line, 10, &order));
    assert_float_equal(order.tau, 1, 1e-12);
    assert_float_equal(order.p, 2 / 3628800.0, 1e-12);
    assert_true(trend_order_of(line, better, 10, &order)); /* 11 pairs */
    assert_float_equal(order.tau, 23 / 45.0, 1e-12);
    assert_float_equal(order.p, 0.0466, 5e-5);
    assert_true(trend_order_of(line, mixed, 10, &order));
    assert_true(order.p > 0.05);
}

static void falling_is_negative_and_a_tie_is_no_order(void **state)
{
    (void)state;
    const double falling[] = { 5, 4, 3, 2, 1 }, flat[] = { 2, 2, 2, 2, 2 };
    struct trend_order order;
    assert_true(trend_order_of(line, falling, 5, &order));
    assert_float_equal(order.tau, -1, 1e-12);
    assert_float_equal(order.p, 2 / 120.0, 1e-12);
    assert_true(trend_order_of(line, flat, 5, &order));
    assert_float_equal(order.tau, 0, 1e-12);
    assert_float_equal(order.p, 1, 1e-12);
}

/* Neither tau nor slope where no order could be significant, nor a slope where x stands still. */
static void too_little_is_said_to_be_too_little(void **state)
{
    (void)state;
    const double still[] = { 1, 2, 3, 3, 4 };
    struct trend_order order;
    struct trend_slope slope;
    assert_false(trend_order_of(line, line, 4, &order));
    assert_false(trend_slope_of(line, line, 4, &slope));
    assert_false(trend_slope_of(line, line, 0, &slope));
    assert_false(trend_slope_of(still, line, 5, &slope));
}

static void one_wild_point_does_not_move_the_slope(void **state)
{
    (void)state;
    const double y[] = { 2, 4, 6, 8, 1000, 12, 14, 16, 18, 20 };
    struct trend_slope slope;
    assert_true(trend_slope_of(line, y, 10, &slope));
    assert_float_equal(slope.value, 2, 1e-12);
    assert_true(slope.low <= 2 && slope.high >= 2);
}

/* Beyond the exact distribution the normal limit takes over, and nothing jumps. */
static void many_points_are_as_few(void **state)
{
    (void)state;
    double x[200], y[200];
    struct trend_slope slope;
    struct trend_order order;
    for (int i = 0; i < 200; i++) {
        x[i] = i;
        y[i] = 0.5 * i + (i % 7);
    }
    for (int count = 55; count < 70; count++) {
        assert_true(trend_slope_of(x, y, count, &slope));
        assert_true(slope.low <= 0.5 && slope.high >= 0.5 && slope.high - slope.low < 0.1);
        assert_true(trend_order_of(x, y, count, &order));
        assert_true(order.p < 1e-9);
    }
}

/* The interval holds the planted slope at least 95 times of a hundred, be the noise skewed and wild. */
static void the_interval_holds_what_was_planted(void **state)
{
    (void)state;
    struct cnn_random random;
    int held = 0;
    cnn_random_init(&random, 2010, CNN_STREAM_ORDER, 1);
    for (int draw = 0; draw < 1000; draw++) {
        double y[8];
        struct trend_slope slope;
        for (int i = 0; i < 8; i++)
            y[i] = 0.7 * line[i] - log(1 - cnn_random_uniform(&random)); /* exponential noise */
        assert_true(trend_slope_of(line, y, 8, &slope));
        held += slope.low <= 0.7 && slope.high >= 0.7;
    }
    print_message("seed 2010: held %d of 1000\n", held);
    assert_true(held >= 940 && held < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exact_distribution_is_kendalls),
        cmocka_unit_test(falling_is_negative_and_a_tie_is_no_order),
        cmocka_unit_test(too_little_is_said_to_be_too_little),
        cmocka_unit_test(one_wild_point_does_not_move_the_slope),
        cmocka_unit_test(many_points_are_as_few),
        cmocka_unit_test(the_interval_holds_what_was_planted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
