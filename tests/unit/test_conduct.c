/* SPDX-License-Identifier: MIT */
/* The account of a run: where its time went, and whether the machine kept its speed. */
#include "tests/unit/core.h"

#include "experiments/driver/conduct.h"

#include <math.h>
#include <stdlib.h>

static void seconds_are_counted_once(void **state)
{
    (void)state;
    double sample[3] = { 0.1, 0.2, 0.3 };
    struct epoch_result epoch[2] = { { .train_seconds = 2, .test_seconds = 1 },
                                     { .train_seconds = 3, .test_seconds = NAN } };
    struct conduct_time time = { .total = 20 };
    struct result result;
    char text[300];
    result_init(&result);
    result.sample = sample;
    result.samples = 3;
    result.steps_per_sample = 5;
    result.warmup_seconds = 1;
    result.verify_seconds = 0.5;
    result.setup_seconds = 0.25;
    result.compile_seconds = 0.25;
    result.process_seconds = 6;
    conduct_count(&time, &result);
    assert_true(fabs(time.measured - 4) < 1e-12);
    assert_true(time.verify == 0.5 && time.prepare == 0.5 && fabs(time.process - 1) < 1e-12);
    result_init(&result);
    result.epoch = epoch;
    result.epochs = 2;
    result.process_seconds = 6;
    conduct_count(&time, &result);
    assert_true(fabs(time.measured - 10) < 1e-12);
    result_init(&result); /* a point that never ran has no time */
    conduct_count(&time, &result);
    assert_true(fabs(conduct_overhead(&time) - 0.5) < 1e-12);
    time.charts = 5;
    assert_true(fabs(conduct_overhead(&time) - 0.6) < 1e-12);
    conduct_time_text(&time, text, sizeof text);
    assert_non_null(strstr(text, "25.0 s, of these 10.0 s warm-up and samples; 60 % outside them"));
}

static void a_slower_machine_is_seen(void **state)
{
    (void)state;
    const struct drift_probe start = { 0.010, 0.020 };
    struct drift_probe end = { 0.011, 0.021 };
    assert_true(fabs(drift_change(&start, &end) - 0.10) < 1e-9);
    end = (struct drift_probe){ 0.010, 0.016 };
    assert_true(fabs(drift_change(&start, &end) + 0.20) < 1e-9);
    end.memory = NAN; /* no memory for the arrays */
    assert_true(fabs(drift_change(&start, &end)) < 1e-9);
    end.compute = NAN;
    assert_true(isnan(drift_change(&start, &end)));
}

static void the_work_is_done(void **state)
{
    (void)state;
    struct drift_probe probe;
    drift_probe(&probe);
    assert_true(isfinite(probe.compute) && probe.compute > 1e-4); /* 2 million multiply-adds do not take less */
    assert_true(isfinite(probe.memory) && probe.memory > 1e-4);   /* nor do 48 MiB */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_counted_once),
        cmocka_unit_test(a_slower_machine_is_seen),
        cmocka_unit_test(the_work_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
