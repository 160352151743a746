/* SPDX-License-Identifier: MIT */
/* A result goes through JSON unchanged, bit for bit, and a text that is no result is refused by name. */
#include "tests/unit/core.h"

#include "experiments/driver/result.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct result full_result(void)
{
    struct result result;
    result_init(&result);
    result.status = CNN_UNSTABLE;
    snprintf(result.reason, sizeof result.reason, "a \"quoted\" reason,\nin two lines, \xc2\xb1 3 %% \\ and tab\t.");
    snprintf(result.isa, sizeof result.isa, "avx2");
    snprintf(result.device, sizeof result.device, "A CPU, (R) of \"some\" make");
    snprintf(result.stop, sizeof result.stop, "time");
    result.threads = 0;
    result.parameters = INT64_MAX; /* no double can hold it */
    result.macs = ((int64_t)1 << 53) + 1;
    result.parameters_checksum = 0xfedcba9876543210u;
    result.samples = 3;
    result.steps_per_sample = 17;
    result.median = 0.1; /* no short binary fraction */
    result.low = DBL_MIN;
    result.high = 1.0 / 3.0;
    result.flops_useful = 1e300;
    result.peak_bytes = 0;
    result.verified_error = 0.999999999999;
    result.peak_device_bytes = INT64_MAX - 1;
    result.event_seconds = 1.0 / 7.0;
    result.startup_seconds = 1.0 / 9.0;
    result.share_of_limit = 1.0 / 11.0;
    snprintf(result.verified_by, sizeof result.verified_by, "omp");
    snprintf(result.bound, sizeof result.bound, "latency");
    snprintf(result.throttled, sizeof result.throttled, "heat, power cap");
    result.sample = calloc(3, sizeof *result.sample);
    result.epoch = calloc(2, sizeof *result.epoch);
    assert_non_null(result.sample);
    assert_non_null(result.epoch);
    result.epochs = 2;
    result.pixel_mean = 0.1307;
    result.pixel_deviation = 0.3081;
    result.data_seconds = 0.5;
    result.event = calloc(3, sizeof *result.event);
    assert_non_null(result.event);
    for (int i = 0; i < 3; i++) {
        result.sample[i] = 0.1 * (i + 1);
        result.event[i] = 0.3 * (i + 1);
    }
    result.epoch[0] = (struct epoch_result){ 1, 2.25, 0.1, 2.5, 0.2, 0.75, 10.125, 1.5 };
    result.epoch[1] = (struct epoch_result){ 2, NAN, 0.3, 1e-9, 1, NAN, 9.5, NAN };
    result.operation = calloc(2, sizeof *result.operation);
    assert_non_null(result.operation);
    result.operations = 2;
    result.operation[0] =
        (struct operation_result){ "conv_forward", 0, "C1, \"x\"", "direct", "a/file.c", 1.0 / 3.0, 1e12, 3e12, 4e6 };
    result.operation[1] = (struct operation_result){ "update", 6, "F6", "", "another.c", 1e-9, 0, 0, 8 };
    return result;
}

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void assert_same_epoch(const struct epoch_result *one, const struct epoch_result *other)
{
    assert_int_equal(one->epoch, other->epoch);
    assert_true(same_number(one->train_loss, other->train_loss));
    assert_true(same_number(one->train_accuracy, other->train_accuracy));
    assert_true(same_number(one->test_loss, other->test_loss));
    assert_true(same_number(one->test_accuracy, other->test_accuracy));
    assert_true(same_number(one->load_seconds, other->load_seconds));
    assert_true(same_number(one->train_seconds, other->train_seconds));
    assert_true(same_number(one->test_seconds, other->test_seconds));
}

static void assert_same_operations(const struct result *a, const struct result *b)
{
    assert_int_equal(a->operations, b->operations);
    for (int i = 0; i < a->operations; i++) {
        const struct operation_result *one = &a->operation[i], *other = &b->operation[i];
        assert_string_equal(one->operation, other->operation);
        assert_string_equal(one->name, other->name);
        assert_string_equal(one->algorithm, other->algorithm);
        assert_string_equal(one->file, other->file);
        assert_int_equal(one->layer, other->layer);
        assert_true(one->seconds == other->seconds && one->flops_useful == other->flops_useful &&
                    one->flops_executed == other->flops_executed && one->bytes == other->bytes);
    }
}

static void assert_same(const struct result *a, const struct result *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->reason, b->reason);
    assert_string_equal(a->isa, b->isa);
    assert_string_equal(a->device, b->device);
    assert_string_equal(a->stop, b->stop);
    assert_int_equal(a->threads, b->threads);
    assert_true(a->parameters == b->parameters && a->macs == b->macs);
    assert_true(a->parameters_checksum == b->parameters_checksum);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->steps_per_sample, b->steps_per_sample);
    const double left[] = { a->median,
                            a->low,
                            a->high,
                            a->mean,
                            a->q1,
                            a->q3,
                            a->min,
                            a->flops_useful,
                            a->flops_executed,
                            a->setup_seconds,
                            a->compile_seconds,
                            a->verify_seconds,
                            a->warmup_seconds,
                            a->verified_error,
                            a->event_seconds,
                            a->copy_seconds,
                            a->startup_seconds,
                            a->process_seconds,
                            a->share_of_limit,
                            a->clock_mhz_low,
                            a->clock_mhz_high,
                            a->power_watts,
                            a->energy_per_image };
    const double right[] = { b->median,
                             b->low,
                             b->high,
                             b->mean,
                             b->q1,
                             b->q3,
                             b->min,
                             b->flops_useful,
                             b->flops_executed,
                             b->setup_seconds,
                             b->compile_seconds,
                             b->verify_seconds,
                             b->warmup_seconds,
                             b->verified_error,
                             b->event_seconds,
                             b->copy_seconds,
                             b->startup_seconds,
                             b->process_seconds,
                             b->share_of_limit,
                             b->clock_mhz_low,
                             b->clock_mhz_high,
                             b->power_watts,
                             b->energy_per_image };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        assert_true(same_number(left[i], right[i]));
    assert_string_equal(a->verified_by, b->verified_by);
    assert_string_equal(a->bound, b->bound);
    assert_string_equal(a->throttled, b->throttled);
    for (int i = 0; i < a->samples && a->event; i++)
        assert_true(b->event && a->event[i] == b->event[i]);
    assert_true(a->peak_device_bytes == b->peak_device_bytes);
    assert_true(a->plan_bytes == b->plan_bytes && a->peak_bytes == b->peak_bytes);
    assert_true(same_number(a->pixel_mean, b->pixel_mean) && same_number(a->pixel_deviation, b->pixel_deviation));
    assert_true(same_number(a->data_seconds, b->data_seconds));
    assert_true(a->train_images == b->train_images && a->test_images == b->test_images);
    assert_int_equal(a->epochs, b->epochs);
    assert_same_operations(a, b);
    for (int i = 0; a->sample && i < a->samples; i++)
        assert_true(a->sample[i] == b->sample[i]);
    for (int e = 0; e < a->epochs; e++)
        assert_same_epoch(&a->epoch[e], &b->epoch[e]);
}

static void a_result_goes_there_and_back(void **state)
{
    (void)state;
    struct result result = full_result(), back;
    struct cnn_error error = { CNN_OK, "" };
    char *json = result_to_json(&result);
    assert_non_null(json);
    assert_null(strstr(json, "nan")); /* which is no JSON */
    assert_int_equal(result_from_json(&back, json, &error), CNN_OK);
    assert_same(&result, &back);
    free(json);
    result_free(&result);
    result_free(&back);
}

static void an_empty_result_stays_empty(void **state)
{
    (void)state;
    struct result result, back;
    struct cnn_error error = { CNN_OK, "" };
    result_init(&result);
    result.median = INFINITY; /* no result, so it must not come back as a number */
    char *json = result_to_json(&result);
    assert_non_null(json);
    assert_int_equal(result_from_json(&back, json, &error), CNN_OK);
    assert_int_equal(back.status, CNN_ERROR);
    assert_true(isnan(back.median) && isnan(back.q3));
    assert_int_equal(back.samples, -1);
    assert_true(back.plan_bytes == -1 && back.parameters == -1);
    assert_null(back.sample);
    assert_null(back.epoch);
    free(json);
    result_free(&back);
}

/* Every member is needed: with any one renamed, the answer is refused. */
static void a_missing_member_is_named(void **state)
{
    (void)state;
    struct result result = full_result(), back;
    char *json = result_to_json(&result);
    assert_non_null(json);
    int members = 0;
    for (char *at = json; (at = strstr(at, "\":")); at++) {
        char *name = at;
        while (name[-1] != '"')
            name--;
        char first = *name, copy[64];
        snprintf(copy, sizeof copy, "\"%.*s\"", (int)(at - name), name);
        struct cnn_error error = { CNN_OK, "" };
        *name = first == 'X' ? 'Y' : 'X';
        assert_int_equal(result_from_json(&back, json, &error), CNN_INVALID);
        *name = first;
        assert_null(back.sample);
        members++;
        if (strstr(at, "\"epoch\":[")) /* inside the list of epochs the list itself is named */
            assert_non_null(strstr(error.text, copy));
    }
    assert_in_range(members, 60, 100);
    free(json);
    result_free(&result);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "{", "[]", "null", "{}", "{\"status\":\"splendid\"}", "hello\n{}" };
    struct result back;
    struct cnn_error error = { CNN_OK, "" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(result_from_json(&back, texts[i], &error), CNN_INVALID);
    struct result result = full_result();
    char *json = result_to_json(&result);
    assert_non_null(json);
    size_t length = strlen(json);
    for (size_t cut = 0; cut < length; cut += 97) { /* an answer cut short anywhere */
        char kept = json[cut];
        json[cut] = '\0';
        assert_int_equal(result_from_json(&back, json, &error), CNN_INVALID);
        json[cut] = kept;
    }
    free(json);
    result.samples = 4; /* but a list of three */
    json = result_to_json(&(struct result){ .status = CNN_OK, .samples = 3, .sample = result.sample });
    assert_non_null(json);
    char *count = strstr(json, "\"samples\":3");
    assert_non_null(count);
    count[10] = '4';
    assert_int_equal(result_from_json(&back, json, &error), CNN_INVALID);
    free(json);
    result_free(&result);
}

static void remarks_add_up_and_never_overflow(void **state)
{
    (void)state;
    struct result result;
    result_init(&result);
    result_remark(&result, "first %d", 1);
    result_remark(&result, "second");
    assert_string_equal(result.reason, "first 1; second");
    for (int i = 0; i < 200; i++)
        result_remark(&result, "remark number %d", i);
    assert_true(strlen(result.reason) < sizeof result.reason);
    assert_int_equal(result_set(&result, CNN_TIMEOUT, "late"), CNN_TIMEOUT);
    assert_string_equal(result.reason, "late");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_goes_there_and_back),      cmocka_unit_test(an_empty_result_stays_empty),
        cmocka_unit_test(a_missing_member_is_named),         cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(remarks_add_up_and_never_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
