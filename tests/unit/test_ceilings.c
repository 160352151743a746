/* SPDX-License-Identifier: MIT */
/* Ceilings as a file and as what a row is held against, with made-up limits of which the answer can be worked out. */
#include "experiments/driver/bounds.h"
#include "lib/operations.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct ceiling_set sets[] = {
    { "cpu",
      "a CPU",
      0,
      1,
      5,
      { { CNN_CEILING_FMA, "scalar", CNN_FP32, 0, 1e9 },
        { CNN_CEILING_FMA, "avx2", CNN_FP32, 0, 16e9 },
        { CNN_CEILING_MEMORY, "L1", CNN_FP32, 1 << 15, 100e9 },
        { CNN_CEILING_MEMORY, "memory", CNN_FP32, INT64_MAX, 1e9 },
        { CNN_CEILING_STEP, "pass", CNN_FP32, 0, 1e-9 } } },
    { "omp", "a CPU", 0, 1, 1, { { CNN_CEILING_FMA, "avx2", CNN_FP32, 0, 16e9 } } },
    { "omp", "a CPU", 0, 4, 1, { { CNN_CEILING_FMA, "avx2", CNN_FP32, 0, 64e9 } } },
    { "omp", "a CPU", 0, 6, 1, { { CNN_CEILING_FMA, "avx2", CNN_FP32, 0, 80e9 } } },
    { "cuda",
      "a GPU",
      0,
      0,
      6,
      { { CNN_CEILING_FMA, "ffma", CNN_FP32, 0, 50e12 },
        { CNN_CEILING_FMA, "tf32", CNN_TF32, 0, 400e12 },
        { CNN_CEILING_STEP, "launch", CNN_FP32, 0, 5e-6 },
        { CNN_CEILING_GRAPH_STEP, "graph node", CNN_FP32, 0, 1e-6 },
        { CNN_CEILING_COPY, "host to device", CNN_FP32, 0, 10e9 },
        { CNN_CEILING_COPY_STEP, "copy", CNN_FP32, 0, 8e-6 } } },
};
static const struct ceilings made_up = { "a-machine", "0123", "2010-09-15T12:00:00Z", 5, sets };

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g, expected %.12g", found, expected);
}

static void a_file_reads_back(void **state)
{
    (void)state;
    struct ceilings read;
    struct cnn_error error;
    char *json = ceilings_to_json(&made_up);
    assert_non_null(json);
    assert_int_equal(ceilings_from_json(&read, json, &error), CNN_OK);
    assert_int_equal(read.count, made_up.count);
    assert_string_equal(read.build, "0123");
    for (int i = 0; i < read.count; i++) {
        assert_int_equal(read.list[i].count, sets[i].count);
        assert_int_equal(read.list[i].threads, sets[i].threads);
        for (int c = 0; c < sets[i].count; c++) {
            const struct cnn_ceiling *a = &read.list[i].list[c], *b = &sets[i].list[c];
            assert_string_equal(a->of, b->of);
            assert_true(a->kind == b->kind && a->precision == b->precision);
            assert_true(a->bytes == b->bytes && a->value == b->value);
        }
    }
    ceilings_free(&read);
    char *value = strstr(json, "\"value\"");
    memcpy(value, "\"velue\"", 7);
    assert_int_equal(ceilings_from_json(&read, json, &error), CNN_INVALID);
    assert_int_equal(ceilings_from_json(&read, "[]", &error), CNN_INVALID);
    assert_int_equal(ceilings_from_json(&read, "", &error), CNN_INVALID);
    assert_int_equal(ceilings_read(&read, "/no/such/file", NULL, &error), CNN_UNAVAILABLE);
    free(json);
}

static void a_device_is_found_by_its_threads(void **state)
{
    (void)state;
    assert_ptr_equal(ceilings_find(&made_up, "omp", 0, 1), &sets[1]);
    assert_ptr_equal(ceilings_find(&made_up, "omp", 0, 3), &sets[2]);
    assert_ptr_equal(ceilings_find(&made_up, "omp", 0, 6), &sets[3]);
    assert_ptr_equal(ceilings_find(&made_up, "omp", 0, 64), &sets[3]);
    assert_ptr_equal(ceilings_find(&made_up, "cuda", 0, 0), &sets[4]);
    assert_null(ceilings_find(&made_up, "cuda", 1, 0));
}

/* A perceptron 4 - 3 - 2 without activations: what its steps read and write can be counted by hand. */
static struct cnn_network *perceptron(struct point *point)
{
    struct cnn_network *network = NULL;
    struct cnn_error error;
    struct cnn_network_spec spec = { .name = "tiny", .channels = 1, .image = 2, .classes = 2, .width = 1, .depth = 1 };
    spec.loss = CNN_SOFTMAX;
    spec.connections.paper = true;
    spec.layer_count = 2;
    spec.layers[0] = (struct cnn_layer_spec){ .kind = CNN_FULL, .maps = 3 };
    spec.layers[1] = (struct cnn_layer_spec){ .kind = CNN_FULL };
    if (cnn_network_create(&network, &spec, &error))
        fail_msg("%s", error.text);
    *point = (struct point){ .spec = spec, .phase = POINT_CLASSIFY, .batch = 8 };
    snprintf(point->backend, sizeof point->backend, "cpu");
    snprintf(point->algorithm, sizeof point->algorithm, "direct");
    return network;
}

static struct result a_result(double seconds, double flops)
{
    struct result result;
    result_init(&result);
    result.status = CNN_OK;
    result.median = seconds;
    result.flops_executed = flops;
    result.threads = 1;
    snprintf(result.isa, sizeof result.isa, "avx2");
    return result;
}

/* Two products of 8 images: 4 + 3 and 3 + 2 floats of an image, 15 and 8 parameters. The argmax reads what was just
 * written, image by image, and counts nothing. */
static void limits_are_those_of_the_operations(void **state)
{
    (void)state;
    struct point point;
    struct bounds bounds;
    struct cnn_error error;
    struct cnn_network *network = perceptron(&point);
    struct result result = a_result(1e-3, 8 * 2 * (12 + 6));
    assert_int_equal(bounds_of(&bounds, &sets[0], &point, network, &result, &error), CNN_OK);
    assert_int_equal(bounds.steps, 2);
    assert_int_equal(bounds.bytes, 4 * (8 * (7 + 5) + 15 + 8));
    assert_near(bounds.memory, (double)bounds.bytes / 100e9);
    assert_near(bounds.latency, 2e-9);
    assert_near(bounds.compute, 288 / 16e9);
    assert_true(isnan(bounds.copies));
    snprintf(result.isa, sizeof result.isa, "scalar");
    assert_int_equal(bounds_of(&bounds, &sets[0], &point, network, &result, &error), CNN_OK);
    assert_near(bounds.compute, 288 / 1e9);
    snprintf(point.algorithm, sizeof point.algorithm, "gemm"); /* the BLAS chooses its own instructions */
    assert_int_equal(bounds_of(&bounds, &sets[0], &point, network, &result, &error), CNN_OK);
    assert_near(bounds.compute, 288 / 16e9);
    point.batch = 1 << 20; /* too large for L1 */
    assert_int_equal(bounds_of(&bounds, &sets[0], &point, network, &result, &error), CNN_OK);
    assert_near(bounds.memory, (double)bounds.bytes / 1e9);
    cnn_network_destroy(network);
}

static void a_gpu_has_more_limits(void **state)
{
    (void)state;
    struct point point;
    struct bounds bounds;
    struct cnn_error error;
    struct cnn_network *network = perceptron(&point);
    struct result result = a_result(1e-3, 1e9);
    *result.isa = '\0';
    point.copies = CNN_COPIES_ANSWER;
    assert_int_equal(bounds_of(&bounds, &sets[4], &point, network, &result, &error), CNN_OK);
    assert_near(bounds.latency, 2 * 1e-6);
    assert_near(bounds.compute, 1e9 / 50e12);
    assert_near(bounds.copies, 4 * 8 * 5 / 10e9 + 2 * 8e-6);
    assert_true(isnan(bounds.memory));
    point.launch = CNN_LAUNCH_STREAM;
    point.precision = CNN_TF32;
    assert_int_equal(bounds_of(&bounds, &sets[4], &point, network, &result, &error), CNN_OK);
    assert_near(bounds.latency, 2 * 5e-6);
    assert_near(bounds.compute, 1e9 / 400e12);
    cnn_network_destroy(network);
}

static void the_largest_limit_names_the_bound(void **state)
{
    (void)state;
    struct point point;
    struct cnn_error error;
    bool exceeded = true;
    struct cnn_network *network = perceptron(&point);
    struct result result = a_result(1e-3, 8e6);
    assert_int_equal(bounds_judge(&result, &made_up, &point, network, &exceeded, &error), CNN_OK);
    assert_string_equal(result.bound, "compute");
    assert_near(result.share_of_limit, 0.5);
    assert_near(result.limit_seconds.compute, 0.5e-3);
    assert_near(result.limit_seconds.latency, 2e-9);
    assert_near(result.bytes_per_step, 4 * (8 * (7 + 5) + 15 + 8));
    assert_false(exceeded);
    assert_string_equal(result.reason, "");

    result = a_result(1e-3, 20e6); /* faster than multiply-adds can be */
    assert_int_equal(bounds_judge(&result, &made_up, &point, network, &exceeded, &error), CNN_OK);
    assert_near(result.share_of_limit, 1.25);
    assert_true(exceeded);
    assert_non_null(strstr(result.reason, "125 % of the ceiling"));

    result = a_result(1e-3, 1);
    assert_int_equal(bounds_judge(&result, &made_up, &point, network, &exceeded, &error), CNN_OK);
    assert_string_equal(result.bound, "memory");

    result = a_result(1e-3, 8e6);
    result.status = CNN_MISMATCH; /* no number, no share */
    assert_int_equal(bounds_judge(&result, &made_up, &point, network, &exceeded, &error), CNN_OK);
    assert_true(isnan(result.share_of_limit) && !*result.bound);
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_reads_back),
        cmocka_unit_test(a_device_is_found_by_its_threads),
        cmocka_unit_test(limits_are_those_of_the_operations),
        cmocka_unit_test(a_gpu_has_more_limits),
        cmocka_unit_test(the_largest_limit_names_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
