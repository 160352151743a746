/* SPDX-License-Identifier: MIT */
/* What the CUDA backend plans and refuses from a network and a GPU's properties alone; no GPU is needed. */
#include "tests/unit/core.h"

#include "kernels/cuda.h"
#include "kernels/device.h"

static int plan(int architecture, enum cnn_precision precision, struct cnn_plan *out, struct cnn_error *error)
{
    struct cnn_device device = { .multiprocessors = 40, .architecture = architecture };
    struct cnn_network *network = core_network("lenet5", 32, 8, 1);
    const struct cnn_program_options options = {
        .batch = 128, .slots = 4, .phases = CNN_PHASE_ALL, .algorithm = "direct", .precision = precision
    };
    int status = cnn_cuda_backend.plan(&device, network, &options, out, error);
    cnn_network_destroy(network);
    return status;
}

static void tf32_is_refused_where_no_code_has_it(void **state)
{
    (void)state;
    struct cnn_plan out;
    struct cnn_error error = { 0 };
    assert_int_equal(plan(75, CNN_TF32, &out, &error), CNN_UNAVAILABLE);
    assert_non_null(strstr(error.text, "sm_75"));
    assert_int_equal(plan(75, CNN_FP32, &out, &error), CNN_OK);
    assert_int_equal(plan(80, CNN_TF32, &out, &error), CNN_OK);
    assert_int_equal(plan(120, CNN_TF32, &out, &error), CNN_OK);
}

/* Parameters and, in training, velocities and gradients; four batches of images; every output of 128 images. */
static void a_plan_counts_what_must_be_there(void **state)
{
    (void)state;
    struct cnn_plan out;
    struct cnn_error error = { 0 };
    assert_int_equal(plan(90, CNN_FP32, &out, &error), CNN_OK);
    assert_true(out.parameters >= 3180298 * 4 && out.gradients >= 3180298 * 4);
    assert_true(out.batches >= 4 * 128 * 32 * 32 * 4);
    assert_true(out.activations >= 128 * (48 * 28 * 28 + 48 * 14 * 14 + 128 * 10 * 10 + 128 * 5 * 5) * 4);
    assert_true(out.total == out.parameters + out.gradients + out.activations + out.workspace + out.batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tf32_is_refused_where_no_code_has_it),
        cmocka_unit_test(a_plan_counts_what_must_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
