/* SPDX-License-Identifier: MIT */
/* Order statistics against values worked out by hand, and the interval of the median against its promise. */
#include "tests/unit/core.h"

#include "experiments/driver/statistics.h"
#include "lib/random.h"

#include <math.h>
#include <stdio.h>

static void assert_close(double found, double expected)
{
    assert_true(fabs(found - expected) <= 1e-12 * fabs(expected));
}

static void ranks_are_the_papers(void **state)
{
    (void)state;
    static const struct {
        int count, low, high;
    } known[] = {
        { 6, 1, 6 },       /* floor(0.60) = 0 and ceil(6.40) = 7, kept within 1..n */
        { 10, 1, 10 },     /* floor(1.90), ceil(9.10) */
        { 20, 5, 16 },     /* floor(5.62), ceil(15.38) */
        { 50, 18, 33 },    /* floor(18.07), ceil(32.93) */
        { 100, 40, 61 },   /* floor(40.2), ceil(60.8) */
        { 1000, 469, 532 } /* floor(469.01), ceil(531.99) */
    };
    int low = -7, high = -7;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(statistics_median_ranks(known[i].count, &low, &high));
        assert_int_equal(low, known[i].low);
        assert_int_equal(high, known[i].high);
    }
}

static void five_samples_have_no_interval(void **state)
{
    (void)state;
    const double five[] = { 1, 2, 3, 4, 5 };
    struct statistics statistics;
    int low, high;
    for (int count = 0; count <= 5; count++)
        assert_false(statistics_median_ranks(count, &low, &high));
    statistics_of(five, 5, &statistics);
    assert_close(statistics.median, 3);
    assert_true(isnan(statistics.low) && isnan(statistics.high));
    assert_true(isinf(statistics_half_width(&statistics)));
}

static void quartiles_interpolate(void **state)
{
    (void)state;
    const double even[] = { 1, 2, 4, 8, 16, 32 }, one[] = { 7 }, odd[] = { 1, 3, 10 };
    struct statistics statistics;
    statistics_of(even, 6, &statistics);
    assert_close(statistics.median, 6); /* between the third and the fourth */
    assert_close(statistics.q1, 2.5);   /* place 1.25: 2 + 0.25 * 2 */
    assert_close(statistics.q3, 14);    /* place 3.75: 8 + 0.75 * 8 */
    assert_close(statistics.mean, 10.5);
    assert_close(statistics.min, 1);
    assert_close(statistics.low, 1);
    assert_close(statistics.high, 32);
    assert_close(statistics_half_width(&statistics), 15.5 / 6);
    statistics_of(odd, 3, &statistics);
    assert_close(statistics.q1, 2);
    assert_close(statistics.q3, 6.5);
    statistics_of(one, 1, &statistics);
    assert_close(statistics.median, 7);
    assert_close(statistics.q3, 7);
    assert_close(statistics_quantile(even, 6, 0), 1);
    assert_close(statistics_quantile(even, 6, 1), 32);
}

static void inserting_sorts(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    double sorted[COUNT];
    struct cnn_random random;
    cnn_random_init(&random, 11, CNN_STREAM_TEST, 0);
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        double value = cnn_random_below(&random, 50); /* many ties */
        sum += value;
        statistics_insert(sorted, i, value);
    }
    for (int i = 1; i < COUNT; i++) {
        assert_true(sorted[i - 1] <= sorted[i]);
        sum -= sorted[i];
    }
    assert_true(sum - sorted[0] == 0);
}

/* The interval covers the true median of a skewed distribution in at least 95 % of all sets of samples, and is no
 * wider than it must be: above 99 % it would be another interval. Exponential, so that mean and median differ. */
static void the_interval_keeps_its_promise(void **state)
{
    (void)state;
    static const int counts[] = { 6, 7, 10, 25, 60, 200 };
    enum { TRIALS = 4000 };
    const uint64_t seed = 2015;
    struct cnn_random random;
    cnn_random_init(&random, seed, CNN_STREAM_TEST, 1);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int covered = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double sorted[200];
            struct statistics statistics;
            for (int i = 0; i < counts[c]; i++)
                statistics_insert(sorted, i, -log(1 - cnn_random_uniform(&random)));
            statistics_of(sorted, counts[c], &statistics);
            covered += statistics.low <= log(2) && log(2) <= statistics.high;
        }
        double share = (double)covered / TRIALS;
        printf("seed %llu: %d samples, interval covers the median in %.1f %% of %d trials\n", (unsigned long long)seed,
               counts[c], 100 * share, TRIALS);
        /* three standard deviations of a share of 0.95 among 4,000 are 0.0103 */
        assert_true(share >= 0.95 - 0.0103);
        assert_true(share <= 0.9995);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_the_papers),           cmocka_unit_test(five_samples_have_no_interval),
        cmocka_unit_test(quartiles_interpolate),          cmocka_unit_test(inserting_sorts),
        cmocka_unit_test(the_interval_keeps_its_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
