/* SPDX-License-Identifier: MIT */
/* Cost models and break-even on made-up measurements whose answer is known. Noise is seeded: the same every time. */
#include "experiments/driver/crossing.h"
#include "experiments/driver/model.h"
#include "lib/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEED 1729
#define TRIALS 2000

static struct cnn_random noise_from(int stream)
{
    struct cnn_random random;
    cnn_random_init(&random, SEED, CNN_STREAM_TEST, (uint32_t)stream);
    return random;
}

static void assert_near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", found, expected, tolerance);
}

/* Of TRIALS intervals at 95 %, so many hold the truth but once in ten thousand: 95 % +-3.9 standard deviations. */
static void assert_covers(int held)
{
    if (held < TRIALS * 0.931 || held > TRIALS * 0.969)
        fail_msg("%d of %d intervals hold the truth, expected 95 %% (seed %d)", held, TRIALS, SEED);
}

/* seconds = 20 us + FLOPs / 50 GFLOP/s at 8 sizes, each off by a relative `sd`. */
static void plant_rate(struct model_point points[8], struct cnn_random *random, double sd)
{
    for (int i = 0; i < 8; i++) {
        double flops = 1e5 * pow(2, i);
        double seconds = (20e-6 + flops / 50e9) * (1 + sd * (sd > 0 ? cnn_random_normal(random) : 0));
        points[i] = (struct model_point){ seconds, { 1, flops } };
    }
}

static void planted_costs_are_recovered(void **state)
{
    (void)state;
    struct model_point points[8];
    struct model model;
    struct cnn_random random = noise_from(1);
    plant_rate(points, NULL, 0);
    assert_true(model_fit(&model, points, 8, 2));
    assert_near(model.cost[0], 20e-6, 1e-12);
    assert_near(1 / model.cost[1], 50e9, 1e3);
    assert_near(model.r2, 1, 1e-9);
    assert_near(model.held_out, 0, 1e-9);
    const double term[] = { 1, 1e9 };
    assert_near(model_seconds(&model, term), 20e-6 + 0.02, 1e-9);

    int fixed = 0, rate = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        plant_rate(points, &random, 0.01);
        assert_true(model_fit(&model, points, 8, 2));
        fixed += model.low[0] <= 20e-6 && 20e-6 <= model.high[0];
        rate += model.low[1] <= 1 / 50e9 && 1 / 50e9 <= model.high[1];
    }
    assert_covers(fixed);
    assert_covers(rate);
}

/* A cost that plain least squares makes negative is held at 0, and the others are fitted without it. */
static void costs_are_never_negative(void **state)
{
    (void)state;
    const struct model_point points[] = { { 1, { 1, 2 } }, { 3, { 1, 4 } }, { 8, { 1, 8 } }, { 17, { 1, 16 } } };
    struct model model;
    assert_true(model_fit(&model, points, 4, 2));
    assert_true(model.cost[0] == 0);
    /* min sum (c x / y - 1)^2: c = sum(x/y) / sum((x/y)^2) */
    double up = 0, down = 0;
    for (int i = 0; i < 4; i++) {
        double of = points[i].term[1] / points[i].seconds;
        up += of;
        down += of * of;
    }
    assert_near(model.cost[1], up / down, 1e-12);
    assert_true(model.low[0] == 0 && model.high[0] >= 0);
    assert_true(model.held_out > 0.01);
}

static void what_cannot_be_told_is_not_fitted(void **state)
{
    (void)state;
    const struct model_point same[] = { { 1, { 1, 2 } }, { 2, { 1, 2 } }, { 3, { 1, 2 } } };
    const struct model_point two[] = { { 1, { 1, 2 } }, { 2, { 1, 5 } } };
    struct model model;
    assert_false(model_fit(&model, same, 3, 2));
    assert_false(model_fit(&model, two, 1, 2));
    assert_true(model_fit(&model, two, 2, 2));
    assert_true(isnan(model.high[1]) && isnan(model.held_out));
}

static void student_is_the_table(void **state)
{
    (void)state;
    assert_near(model_student(1), 12.706, 1e-3);
    assert_near(model_student(10), 2.228, 1e-3);
    assert_near(model_student(25), 2.060, 1.5e-3);
    assert_near(model_student(60), 2.000, 1e-3);
    assert_near(model_student(1000000), 1.960, 1e-3);
    assert_true(isnan(model_student(0)));
}

/* ---- break-even ---- */

/* The other series is (x / at)^power times faster. */
static void plant_crossing(struct crossing_point *points, int count, double at, double power, double sd,
                           struct cnn_random *random)
{
    for (int i = 0; i < count; i++) {
        double x = 8 * (i + 1);
        points[i] = (struct crossing_point){ x, power * log(x / at) + sd * cnn_random_normal(random), sd };
    }
}

/* As often as a 95 % interval says, be the crossing between points, on one, or where several are undecided. */
static void a_planted_crossing_lies_in_its_interval(void **state)
{
    (void)state;
    static const struct {
        double at, power, sd;
    } plants[] = { { 36, 1.5, 0.03 }, { 40, -1, 0.02 }, { 43, 0.8, 0.08 } };
    for (int plant = 0; plant < 3; plant++) {
        struct cnn_random random = noise_from(2 + plant);
        int held = 0, missed = 0;
        double sum = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            struct crossing_point points[10];
            struct crossing crossing;
            plant_crossing(points, 10, plants[plant].at, plants[plant].power, plants[plant].sd, &random);
            int found = crossings_find(points, 10, &crossing, 1);
            missed += found != 1;
            if (found != 1)
                continue;
            assert_int_equal(crossing.sign, plants[plant].power > 0 ? 1 : -1);
            held += crossing.low <= plants[plant].at && plants[plant].at <= crossing.high;
            sum += log(crossing.x / plants[plant].at);
        }
        assert_in_range(missed, 0, TRIALS / 100);
        assert_covers(held + missed);
        assert_true(fabs(sum / TRIALS) < 0.005);
    }
}

static void a_crossing_without_noise_is_a_place(void **state)
{
    (void)state;
    const struct crossing_point points[] = { { 1, -2, 0 }, { 4, -1, 0 }, { 16, 1, 0 }, { 64, 2, 0 } };
    struct crossing crossing;
    assert_int_equal(crossings_find(points, 4, &crossing, 1), 1);
    assert_near(crossing.x, 8, 1e-12);
    assert_near(crossing.low, 8, 1e-9);
    assert_near(crossing.high, 8, 1e-9);
    assert_true(crossing.from == 16 && crossing.sign == 1);
}

static void only_decided_points_make_a_crossing(void **state)
{
    (void)state;
    struct crossing crossing[3];
    const struct crossing_point never[] = { { 1, 0.5, 0.1 }, { 2, -0.1, 0.1 }, { 4, 0.6, 0.1 } };
    assert_int_equal(crossings_find(never, 3, crossing, 3), 0);
    const struct crossing_point twice[] = { { 1, -1, 0.1 }, { 2, 1, 0.1 }, { 4, 1, 0.1 }, { 8, -1, 0.1 } };
    assert_int_equal(crossings_find(twice, 4, crossing, 3), 2);
    assert_true(crossing[0].sign == 1 && crossing[0].from == 2);
    assert_true(crossing[1].sign == -1 && crossing[1].from == 8);
    assert_int_equal(crossings_find(twice, 4, crossing, 1), 2);
    assert_near(crossing_deviation(exp(-0.2), exp(0.2)), 0.4 / (2 * 1.959964), 1e-12);
    assert_true(crossing_deviation(NAN, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_costs_are_recovered),
        cmocka_unit_test(costs_are_never_negative),
        cmocka_unit_test(what_cannot_be_told_is_not_fitted),
        cmocka_unit_test(student_is_the_table),
        cmocka_unit_test(a_planted_crossing_lies_in_its_interval),
        cmocka_unit_test(a_crossing_without_noise_is_a_place),
        cmocka_unit_test(only_decided_points_make_a_crossing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
