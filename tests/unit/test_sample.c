/* SPDX-License-Identifier: MIT */
/* The clock, on a backend that does nothing but take a known time: what runs inside it, what is restored before it,
 * when sampling stops, and that no number is ever made of nothing. */
#include "tests/unit/core.h"

#include "experiments/driver/clock.h"
#include "experiments/driver/sample.h"
#include "experiments/driver/statistics.h"

#include <math.h>
#include <stdlib.h>

#define SLOTS 4

/* What the backend saw. */
struct cnn_program {
    double step_seconds;  /* that a step takes */
    double first_seconds; /* that the very first step takes more */
    double swing;         /* every second sample's steps take so many times as long */
    double quicker_at;    /* from this time on steps take a quarter; 0: never */
    int steps, calls;     /* of train, classify or evaluate */
    int loads, restores, fetches, syncs;
    int loads_used; /* before the last step */
    int64_t images_since_fetch;
    int most_steps; /* of one call */
    float loaded[SLOTS];
    int distinct; /* different batches seen in slot 0 by steps, by their first pixel */
    float pixels[64];
    bool diverges;
    int wrong_label;
};

static struct cnn_program seen;
static int batch;

static void spin(double seconds)
{
    for (double end = clock_seconds() + seconds; clock_seconds() < end;)
        ;
}

static int run_steps(struct cnn_program *program, int steps, struct cnn_error *error)
{
    (void)error;
    double seconds = program->step_seconds * (program->swing > 0 && program->restores % 2 ? program->swing : 1);
    if (program->quicker_at > 0 && clock_seconds() > program->quicker_at)
        seconds /= 4;
    if (program->steps == 0)
        spin(program->first_seconds);
    for (int i = 0; i < steps && seconds > 0; i++)
        spin(seconds);
    bool known = false;
    for (int i = 0; i < program->distinct; i++)
        known = known || program->pixels[i] == program->loaded[0];
    if (!known && program->distinct < 64)
        program->pixels[program->distinct++] = program->loaded[0];
    program->steps += steps;
    program->loads_used = program->loads;
    program->calls++;
    program->most_steps = steps > program->most_steps ? steps : program->most_steps;
    program->images_since_fetch += (int64_t)steps * batch;
    return CNN_OK;
}

static int load(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
                struct cnn_error *error)
{
    (void)labels, (void)error;
    assert_in_range(slot, 0, SLOTS - 1);
    assert_int_equal(count, batch);
    program->loaded[slot] = images[0];
    program->loads++;
    return CNN_OK;
}

static int write_parameters(struct cnn_program *program, const float *parameters, struct cnn_error *error)
{
    (void)parameters, (void)error;
    program->restores++;
    return CNN_OK;
}

static int set_rates(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error)
{
    (void)program, (void)rates, (void)error;
    return CNN_OK;
}

static int fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error)
{
    (void)error;
    program->fetches++;
    answer->images = program->images_since_fetch;
    answer->loss_sum = program->diverges ? (double)NAN : 1.0;
    for (int i = 0; answer->labels && i < batch; i++)
        answer->labels[i] = program->wrong_label;
    program->images_since_fetch = 0;
    return CNN_OK;
}

static int synchronise(struct cnn_program *program, struct cnn_error *error)
{
    (void)error;
    program->syncs++;
    return CNN_OK;
}

static int counters(struct cnn_program *program, struct cnn_counters *out, struct cnn_error *error)
{
    (void)program, (void)error;
    *out = (struct cnn_counters){ .event_seconds = NAN, .device_bytes = -1 };
    return CNN_OK;
}

static const struct cnn_backend timed_backend = { .name = "timed",
                                                  .load = load,
                                                  .write_parameters = write_parameters,
                                                  .set_rates = set_rates,
                                                  .fetch = fetch,
                                                  .sync = synchronise,
                                                  .train = run_steps,
                                                  .classify = run_steps,
                                                  .evaluate = run_steps,
                                                  .counters = counters };

static struct point a_point(enum point_phase phase, enum cnn_copies copies)
{
    return (struct point){ .spec = core_spec("lenet5", 32, 1, 1),
                           .phase = phase,
                           .copies = copies,
                           .batch = 3,
                           .min_time = 1e-3,
                           .warmup = 0.01,
                           .max_time = 0.5,
                           .min_samples = 8,
                           .max_samples = 30,
                           .interval = 0.25,
                           .data = "normal" };
}

/* Samples one point on the timed backend; `seen` says how it behaves and then what it saw. */
static int sample(const struct point *point, struct result *result, struct cnn_error *error)
{
    struct bench bench = { .point = point, .backend = &timed_backend, .program = &seen };
    bench.network = core_create(&point->spec);
    bench.options = (struct cnn_program_options){ .batch = point->batch,
                                                  .slots = point->copies == CNN_COPIES_NONE ? SLOTS : 1,
                                                  .copies = point->copies };
    bench.parameters = calloc((size_t)bench.network->parameters, sizeof(float));
    batch = point->batch;
    assert_int_equal(batches_create(&bench.batches, bench.network, point, error), CNN_OK);
    result_init(result);
    int status = sample_point(&bench, result, error);
    batches_free(&bench.batches);
    free(bench.parameters);
    cnn_network_destroy(bench.network);
    return status;
}

static void sampled(const struct point *point, struct result *result)
{
    struct cnn_error error = { CNN_OK, "" };
    if (sample(point, result, &error))
        fail_msg("%s", error.text);
    assert_true(result->samples >= STATISTICS_SAMPLES_MIN && result->sample);
    assert_true(result->min > 0 && result->min <= result->q1 && result->q1 <= result->median);
    assert_true(result->median <= result->q3 && result->low <= result->median && result->median <= result->high);
    for (int i = 0; i < result->samples; i++)
        assert_true(result->sample[i] * result->steps_per_sample >= point->min_time);
}

static void seconds_are_those_of_a_step(void **state)
{
    (void)state;
    static const enum cnn_copies copies[] = { CNN_COPIES_NONE, CNN_COPIES_ANSWER, CNN_COPIES_PAPER };
    for (int phase = POINT_TRAIN; phase <= POINT_EVALUATE; phase++)
        for (int c = 0; c < 3; c++) {
            struct point point = a_point((enum point_phase)phase, copies[c]);
            struct result result;
            seen = (struct cnn_program){ .step_seconds = 2e-4 };
            sampled(&point, &result);
            /* no step can be faster; the fastest sample is hardly slower, even on a busy machine */
            assert_true(result.min >= 2e-4 && result.min < 3e-4);
            assert_true(result.warmup_seconds >= point.warmup);
            assert_in_range(result.steps_per_sample, 5, 40);
            result_free(&result);
        }
}

static void resident_steps_run_in_one_call_and_fetch_nothing(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result;
    seen = (struct cnn_program){ .step_seconds = 1e-4 };
    sampled(&point, &result);
    assert_true(seen.most_steps >= result.steps_per_sample);
    assert_int_equal(seen.restores, seen.calls);      /* before every sample, warm-up included */
    assert_int_equal(seen.syncs, 2 * seen.calls + 1); /* before the clock starts, the one inside, that of the copies */
    /* the slots; short samples of the warm-up rotate */
    assert_true(seen.loads_used >= SLOTS && seen.loads_used <= SLOTS + 8);
    assert_true(seen.loads > seen.loads_used && result.copy_seconds > 0); /* and a pass of copies behind all samples */
    result_free(&result);
}

static void steps_with_copies_load_and_fetch_each(void **state)
{
    (void)state;
    struct point point = a_point(POINT_CLASSIFY, CNN_COPIES_ANSWER);
    struct result result;
    seen = (struct cnn_program){ .step_seconds = 1e-4 };
    sampled(&point, &result);
    assert_int_equal(seen.most_steps, 1);
    assert_int_equal(seen.loads, seen.steps + 1); /* and the one that fills the slot at first */
    assert_int_equal(seen.fetches, seen.steps);
    assert_int_equal(seen.restores, 0); /* classifying changes no parameters */
    assert_int_equal(seen.distinct, BATCHES_COUNT);
    result_free(&result);
}

static void long_steps_rotate_over_all_batches_too(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result;
    seen = (struct cnn_program){ .step_seconds = 3e-3 };
    sampled(&point, &result);
    assert_int_equal(result.steps_per_sample, 1);
    assert_int_equal(seen.distinct, BATCHES_COUNT);
    result_free(&result);
}

/* What only the first step costs is warm-up, never a sample. */
static void the_first_step_is_not_a_sample(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result;
    seen = (struct cnn_program){ .step_seconds = 2e-4, .first_seconds = 0.1 };
    sampled(&point, &result);
    assert_true(result.warmup_seconds >= 0.1);
    assert_true(result.mean < 0.01);
    result_free(&result);
}

static void a_wide_interval_is_unstable_and_keeps_its_numbers(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result;
    seen = (struct cnn_program){ .step_seconds = 2e-3, .swing = 3 };
    point.max_samples = 12;
    sampled(&point, &result);
    assert_int_equal(result.status, CNN_UNSTABLE);
    assert_string_equal(result.stop, "samples");
    assert_int_equal(result.samples, 12);
    assert_non_null(strstr(result.reason, "wanted +-25.0 %"));
    assert_true(result.low < 3e-3 && result.high > 4e-3);
    result_free(&result);
}

static void the_stop_says_why(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result;
    seen = (struct cnn_program){ .step_seconds = 2e-3 };
    point.interval = 10;
    sampled(&point, &result);
    assert_string_equal(result.stop, "interval");
    assert_int_equal(result.samples, point.min_samples);
    assert_int_equal(result.status, CNN_OK);
    result_free(&result);
    seen = (struct cnn_program){ .step_seconds = 2e-3 };
    point.interval = 0; /* cannot be met */
    point.max_time = 1e-3;
    sampled(&point, &result);
    assert_string_equal(result.stop, "time");
    assert_int_equal(result.samples, STATISTICS_SAMPLES_MIN); /* whatever the budget says */
    result_free(&result);
}

/* Steps without any measurable work: the clock's own resolution bounds the sample. */
static void no_work_is_not_zero_time(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result = { .sample = NULL };
    struct cnn_error error = { CNN_OK, "" };
    seen = (struct cnn_program){ .step_seconds = 0 };
    assert_int_equal(sample(&point, &result, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, "too little to be measured"));
    assert_true(isnan(result.median));
    result_free(&result);
}

static void answers_are_checked(void **state)
{
    (void)state;
    struct point point = a_point(POINT_EVALUATE, CNN_COPIES_NONE);
    struct result result;
    struct cnn_error error = { CNN_OK, "" };
    seen = (struct cnn_program){ .step_seconds = 2e-3, .diverges = true };
    assert_int_equal(sample(&point, &result, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, "loss became nan"));
    result_free(&result);
    point.phase = POINT_CLASSIFY;
    point.copies = CNN_COPIES_ANSWER;
    seen = (struct cnn_program){ .step_seconds = 2e-3, .wrong_label = 10 };
    assert_int_equal(sample(&point, &result, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, "label 10"));
    result_free(&result);
}

/* Half as many steps again are inside the clock and in the answers, but not among those that seconds are divided by. */
static void planted_work_is_really_done(void **state)
{
    (void)state;
    static const enum cnn_copies copies[] = { CNN_COPIES_NONE, CNN_COPIES_ANSWER };
    for (int c = 0; c < 2; c++) {
        struct point point = a_point(POINT_TRAIN, copies[c]);
        struct result result;
        point.planted = 0.5;
        seen = (struct cnn_program){ .step_seconds = 1e-5 };
        sampled(&point, &result);
        assert_int_equal(result.steps_per_sample % 100, 0);
        assert_true(result.min >= 1.5e-5);
        if (copies[c] == CNN_COPIES_NONE)
            assert_true(2 * seen.most_steps >= 3 * result.steps_per_sample);
        result_free(&result);
    }
}

/* Samples that became too short begin anew with more steps, of which one per cent is still a whole number. */
static void planted_steps_are_whole_after_a_new_beginning(void **state)
{
    (void)state;
    struct point point = a_point(POINT_TRAIN, CNN_COPIES_NONE);
    struct result result;
    point.planted = 0.01;
    point.interval = 0;
    point.max_samples = 1000;
    seen = (struct cnn_program){ .step_seconds = 2e-5, .quicker_at = clock_seconds() + 0.1 };
    sampled(&point, &result);
    assert_int_equal(result.steps_per_sample % 100, 0);
    result_free(&result);
}

static void the_clock_is_steady_and_fine(void **state)
{
    (void)state;
    double last = clock_seconds(), resolution = clock_resolution();
    for (int i = 0; i < 1000; i++) {
        double now = clock_seconds();
        assert_true(now >= last);
        last = now;
    }
    printf("timer resolution %.3g s\n", resolution);
    assert_true(resolution > 0 && resolution < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_those_of_a_step),
        cmocka_unit_test(resident_steps_run_in_one_call_and_fetch_nothing),
        cmocka_unit_test(steps_with_copies_load_and_fetch_each),
        cmocka_unit_test(long_steps_rotate_over_all_batches_too),
        cmocka_unit_test(the_first_step_is_not_a_sample),
        cmocka_unit_test(a_wide_interval_is_unstable_and_keeps_its_numbers),
        cmocka_unit_test(the_stop_says_why),
        cmocka_unit_test(no_work_is_not_zero_time),
        cmocka_unit_test(answers_are_checked),
        cmocka_unit_test(planted_work_is_really_done),
        cmocka_unit_test(planted_steps_are_whole_after_a_new_beginning),
        cmocka_unit_test(the_clock_is_steady_and_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
