/* SPDX-License-Identifier: MIT */
/* The order of a run: what shares an answer of the oracle stands together, order comes from the seed, cheap points come
 * first where time is short. */
#include "tests/unit/core.h"

#include "experiments/driver/schedule.h"

#include <stdlib.h>

#define SIZES 5
#define SERIES 3
#define POINTS (SIZES * SERIES)

/* Series by series, as a study expands; sizes differ in width. */
static void make_points(struct point *points)
{
    for (int i = 0; i < POINTS; i++) {
        points[i] = (struct point){ .phase = POINT_TRAIN, .batch = 2, .backend = "cpu", .algorithm = "naive" };
        points[i].spec = core_spec("lenet5", 32, 1 + i % SIZES, 1);
        snprintf(points[i].series, sizeof points[i].series, "s%d", i / SIZES);
    }
}

static struct schedule scheduled(bool shuffled, uint64_t seed, bool cheap_first)
{
    static struct point points[POINTS];
    struct study study = { .seed = seed, .shuffled = shuffled };
    struct schedule schedule;
    struct cnn_error error;
    make_points(points);
    assert_int_equal(schedule_make(&schedule, &study, points, POINTS, cheap_first, &error), CNN_OK);
    int seen[POINTS] = { 0 };
    for (int i = 0; i < POINTS; i++)
        seen[schedule.order[i]]++;
    for (int i = 0; i < POINTS; i++)
        assert_int_equal(seen[i], 1);
    return schedule;
}

static void a_size_stands_together_in_random_order(void **state)
{
    (void)state;
    struct schedule one = scheduled(true, 3, false), same = scheduled(true, 3, false),
                    other = scheduled(true, 4, false);
    bool sizes_shuffled = false, series_shuffled = false;
    for (int i = 0; i < POINTS; i++) {
        int block = i - i % SERIES;
        assert_int_equal(one.order[i] % SIZES, one.order[block] % SIZES);
        assert_int_equal(schedule_needed_again(&one, i), i % SERIES < SERIES - 1);
        sizes_shuffled = sizes_shuffled || one.order[block] % SIZES != block / SERIES;
        series_shuffled = series_shuffled || one.order[i] / SIZES != i % SERIES;
    }
    assert_true(sizes_shuffled && series_shuffled);
    assert_memory_equal(one.order, same.order, POINTS * sizeof *one.order);
    assert_memory_not_equal(one.order, other.order, POINTS * sizeof *one.order);
    schedule_free(&one);
    schedule_free(&same);
    schedule_free(&other);
}

static void as_written_is_as_written(void **state)
{
    (void)state;
    struct schedule schedule = scheduled(false, 3, false);
    for (int i = 0; i < POINTS; i++)
        assert_int_equal(schedule.order[i], i);
    assert_true(schedule_needed_again(&schedule, 0));
    assert_false(schedule_needed_again(&schedule, POINTS - SIZES));
    schedule_free(&schedule);
}

static void cheap_points_come_first(void **state)
{
    (void)state;
    struct schedule schedule = scheduled(true, 3, true);
    for (int i = 1; i < POINTS; i++)
        assert_true(schedule.cost[schedule.order[i - 1]] <= schedule.cost[schedule.order[i]]);
    assert_true(schedule.cost[schedule.order[0]] > 0);
    schedule_free(&schedule);
}

static void patience_grows_with_the_estimate(void **state)
{
    (void)state;
    assert_true(schedule_patience(0) >= 60);
    assert_true(schedule_patience(1000) >= 10 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_stands_together_in_random_order),
        cmocka_unit_test(as_written_is_as_written),
        cmocka_unit_test(cheap_points_come_first),
        cmocka_unit_test(patience_grows_with_the_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
