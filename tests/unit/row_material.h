/* SPDX-License-Identifier: MIT */
/* A point, its result and a run to write them to: what the tests of rows share. */
#ifndef TESTS_UNIT_ROW_MATERIAL_H
#define TESTS_UNIT_ROW_MATERIAL_H

#include "tests/unit/files.h"

#include "experiments/driver/rows.h"

static const struct row_context context = { "quick", "a-machine", "0123456789ab-dirty", "2010-09-15T12:00:00Z",
                                            "fedcba9876543210" };

static inline struct point a_point(void)
{
    struct point point = { .phase = POINT_TRAIN,
                           .batch = 128,
                           .copies = CNN_COPIES_ANSWER,
                           .launch = CNN_LAUNCH_STREAM,
                           .threads = 2,
                           .series = "omp",
                           .label = "CPU, \"2\" threads",
                           .backend = "omp",
                           .algorithm = "direct",
                           .choices = { { CNN_OP_CONV_FORWARD, -1, "mine" }, { CNN_OP_FULL_FORWARD, 4, "naive" } },
                           .choice_count = 2,
                           .data = "normal",
                           .rates = { 0.01f, 0.9f, 0 } };
    struct cnn_error error;
    assert_int_equal(cnn_builtin_spec(&point.spec, "lenet5", 32, &error), CNN_OK);
    point.spec.width = 4;
    point.spec.seed = UINT64_MAX;
    return point;
}

static inline struct result a_result(void)
{
    struct result result;
    result_init(&result);
    result.status = CNN_OK;
    result.threads = 2;
    result.median = 1.25e-3;
    result.low = 1.2e-3;
    result.high = 1.3e-3;
    result.flops_useful = 5e6;
    result.share_of_limit = 0.75;
    result.event_seconds = 1.125e-3;
    result.copy_seconds = 1e-5;
    result.startup_seconds = 0.25;
    result.process_seconds = 2.5;
    result.clock_mhz_low = 2100;
    result.clock_mhz_high = 3700;
    result.power_watts = 65;
    result.energy_per_image = 6.5e-4;
    result.peak_device_bytes = 1 << 20;
    snprintf(result.bound, sizeof result.bound, "memory");
    snprintf(result.verified_by, sizeof result.verified_by, "oracle");
    snprintf(result.throttled, sizeof result.throttled, "power cap");
    result.samples = 3;
    result.steps_per_sample = 4;
    result.parameters_checksum = 0xabcdef;
    result.sample = calloc(3, sizeof *result.sample);
    assert_non_null(result.sample);
    for (int i = 0; i < 3; i++)
        result.sample[i] = 1.2e-3 + i * 1e-5;
    snprintf(result.stop, sizeof result.stop, "interval");
    return result;
}

static inline char *slurp(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_in_range(fread(text, 1, (1 << 20) - 1, file), 1, (1 << 20) - 2);
    fclose(file);
    return text;
}

static inline struct rows_writer *open_run(const char *root)
{
    struct rows_writer *writer = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (rows_open(&writer, root, "a-machine", "quick", &error))
        fail_msg("%s", error.text);
    return writer;
}

static inline void append(struct rows_writer *writer, const struct point *point, const struct result *result)
{
    struct cnn_network *network = NULL;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_equal(cnn_network_create(&network, &point->spec, &error), CNN_OK);
    if (rows_append(writer, &context, point, network, result, &error))
        fail_msg("%s", error.text);
    cnn_network_destroy(network);
}

#endif
