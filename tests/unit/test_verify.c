/* SPDX-License-Identifier: MIT */
/* How much the gate asks of the oracle: as much as it can do in a reasonable time, never nothing. And how near a
 * program must be: what tensor cores round is right in tf32 and wrong in fp32, what is one per cent off is wrong in
 * both. */
#include "tests/unit/core.h"

#include "experiments/driver/verify.h"
#include "lib/parameters.h"
#include "tests/checker/oracle_backend.h"

#include <math.h>
#include <stdlib.h>

static void large_networks_get_less_of_the_oracle(void **state)
{
    (void)state;
    struct cnn_network network = { .macs = 1000 };
    struct verify_extent extent = verify_extent(&network, 128, true);
    assert_true(extent.distinct == 8 && extent.gradient);
    assert_int_equal(verify_extent(&network, 3, true).distinct, 3);
    assert_false(verify_extent(&network, 128, false).gradient);
    network.macs = 3000000; /* 8 images with gradients would take half a second, 4 do not take much */
    extent = verify_extent(&network, 128, true);
    assert_true(extent.distinct >= 4 && extent.distinct < 8 && extent.gradient);
    double last = 8;
    for (network.macs = 1000; network.macs < INT64_MAX / 4; network.macs *= 2) {
        extent = verify_extent(&network, 128, true);
        double seconds = extent.distinct * verify_oracle_seconds(&network, extent.gradient);
        assert_true(extent.distinct >= 1 && (extent.distinct == 1 || seconds <= 20));
        assert_true(!extent.gradient || seconds <= 60);
        if (extent.gradient)
            assert_true(extent.distinct <= last); /* fewer images first, then no gradient */
        last = extent.gradient ? extent.distinct : 8;
    }
    assert_true(!extent.gradient && extent.distinct == 1);
}

static void memory_is_counted_before_it_is_taken(void **state)
{
    (void)state;
    struct cnn_network *network = core_network("lenet5", 32, 1, 1);
    int64_t one = verify_bytes(network, 1, true), many = verify_bytes(network, 1000, true);
    /* at least the oracle's outputs, deltas and their bounds of one image; a batch of floats more for more images */
    assert_true(one > 4 * 8 * (6 * 28 * 28 + 6 * 14 * 14 + 16 * 10 * 10));
    assert_true(many - one > 992 * 32 * 32 * (int64_t)sizeof(float));
    assert_true(verify_bytes(network, INT32_MAX, true) > (int64_t)1 << 42);
    network->parameters = INT64_MAX / 4;
    assert_true(verify_bytes(network, 1, true) == -1);
    cnn_network_destroy(network);
}

/* The oracle as a backend, that may do otherwise than it says. */
static struct {
    enum cnn_precision precision; /* that it computes in */
    float output, gradient;       /* factors on the largest output, on the largest gradient */
} doing;
static const struct cnn_network *on;
static const float *before;

static int32_t largest(const float *values, const float *without, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 0; i < count; i++) {
        float value = values[i] - (without ? without[i] : 0), most = values[best] - (without ? without[best] : 0);
        best = fabsf(value) > fabsf(most) ? i : best;
    }
    return (int32_t)best;
}

static int compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                   const struct cnn_program_options *options, struct cnn_error *error)
{
    struct cnn_program_options actual = *options;
    actual.precision = doing.precision;
    return check_oracle_backend.compile(out, device, network, &actual, error);
}

static int fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error)
{
    int status = check_oracle_backend.fetch(program, answer, error);
    answer->outputs[largest(answer->outputs, NULL, on->classes)] *= doing.output;
    return status;
}

static int read_parameters(struct cnn_program *program, float *parameters, struct cnn_error *error)
{
    int status = check_oracle_backend.read_parameters(program, parameters, error);
    int32_t at = largest(parameters, before, on->parameters);
    parameters[at] = before[at] + doing.gradient * (parameters[at] - before[at]);
    return status;
}

/* The gate's verdict on lenet5 in a batch of 12. */
static int gate(enum cnn_precision asked, enum cnn_precision computed, float output, float gradient)
{
    struct cnn_backend backend = check_oracle_backend;
    struct cnn_error error = { 0 };
    struct result result = { 0 };
    const struct point point = { .batch = 12 };
    struct bench bench = { .point = &point, .backend = &backend, .network = core_network("lenet5", 32, 1, 1) };
    backend.compile = compile;
    backend.fetch = fetch;
    backend.read_parameters = read_parameters;
    bench.options = (struct cnn_program_options){ .batch = 12, .slots = 1, .phases = CNN_PHASE_ALL };
    bench.options.algorithm = "oracle";
    bench.options.precision = asked;
    bench.parameters = calloc((size_t)bench.network->parameters, sizeof(float));
    assert_non_null(bench.parameters);
    cnn_parameters_init(bench.network, bench.parameters);
    on = bench.network;
    before = bench.parameters;
    doing.precision = computed;
    doing.output = output;
    doing.gradient = gradient;
    assert_int_equal(backend.compile(&bench.program, NULL, bench.network, &bench.options, &error), CNN_OK);
    int status = verify_program(&bench, &result, &error);
    print_message("%s, computed in %s: %s, |error| / bound at most %.2f\n", cnn_precision_name(asked),
                  cnn_precision_name(computed), status ? error.text : "passes", result.verified_error);
    assert_true(status || !strcmp(result.verified_by, verify_seconds_most > 0 ? "oracle" : "oracle, naive"));
    assert_null(strstr(result.reason, "not checked"));
    backend.release(bench.program);
    free(bench.parameters);
    cnn_network_destroy(bench.network);
    return status;
}

static void tf32_is_right_where_it_is_asked_for(void **state)
{
    (void)state;
    assert_int_equal(gate(CNN_FP32, CNN_FP32, 1, 1), CNN_OK);
    assert_int_equal(gate(CNN_TF32, CNN_TF32, 1, 1), CNN_OK);
    assert_int_equal(gate(CNN_TF32, CNN_FP32, 1, 1), CNN_OK);
    assert_int_equal(gate(CNN_FP32, CNN_TF32, 1, 1), CNN_MISMATCH);
}

/* The same gate where the oracle is thought too slow for gradients: outputs are still its own. */
static void plain_loops_stand_in_for_the_gradient(void **state)
{
    (void)state;
    verify_seconds_most = 0;
    assert_int_equal(gate(CNN_FP32, CNN_FP32, 1, 1), CNN_OK);
    assert_int_equal(gate(CNN_TF32, CNN_TF32, 1, 1), CNN_OK);
    assert_int_equal(gate(CNN_FP32, CNN_FP32, 1, 0.999f), CNN_MISMATCH);
    assert_int_equal(gate(CNN_FP32, CNN_FP32, 1, 0), CNN_MISMATCH);
    assert_int_equal(gate(CNN_FP32, CNN_FP32, 1.001f, 1), CNN_MISMATCH);
    assert_int_equal(gate(CNN_TF32, CNN_TF32, 1, 0.9f), CNN_MISMATCH);
    verify_seconds_most = 60;
}

static void one_per_cent_off_is_wrong_in_tf32_too(void **state)
{
    (void)state;
    assert_int_equal(gate(CNN_TF32, CNN_TF32, 1.01f, 1), CNN_MISMATCH);
    assert_int_equal(gate(CNN_TF32, CNN_TF32, 1, 0.99f), CNN_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_networks_get_less_of_the_oracle),
        cmocka_unit_test(memory_is_counted_before_it_is_taken),
        cmocka_unit_test(tf32_is_right_where_it_is_asked_for),
        cmocka_unit_test(plain_loops_stand_in_for_the_gradient),
        cmocka_unit_test(one_per_cent_off_is_wrong_in_tf32_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
