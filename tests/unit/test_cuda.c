/* SPDX-License-Identifier: MIT */
/* What the CUDA backend promises beyond the checker's cases: the same bits however a step is launched and copied, tf32
 * that is near fp32 and not the same, sentences for a GPU that is not there and for memory that is not. Without a GPU:
 * skipped. */
#include "experiments/driver/backends.h"
#include "lib/parameters.h"
#include "lib/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BATCH 24
#define SLOTS 2
#define STEPS 5

static const struct cnn_backend *cuda;
static struct cnn_device *device;

struct material {
    struct cnn_network *network;
    float *parameters, *images, *trained;
    int32_t labels[BATCH * SLOTS];
    float outputs[BATCH * 16];
};

static void make(struct material *m, int width)
{
    struct cnn_network_spec spec;
    struct cnn_error error;
    struct cnn_random random;
    assert_int_equal(cnn_builtin_spec(&spec, "lenet5", 32, &error), CNN_OK);
    spec.width = width;
    spec.input_gradient = true;
    assert_int_equal(cnn_network_create(&m->network, &spec, &error), CNN_OK);
    int64_t pixels = cnn_shape_size(m->network->input) * BATCH * SLOTS;
    m->parameters = calloc((size_t)m->network->parameters, sizeof(float));
    m->trained = calloc((size_t)m->network->parameters, sizeof(float));
    m->images = calloc((size_t)pixels, sizeof(float));
    assert_true(m->parameters && m->trained && m->images);
    cnn_parameters_init(m->network, m->parameters);
    cnn_random_init(&random, 5, CNN_STREAM_TEST, 0);
    for (int64_t i = 0; i < pixels; i++)
        m->images[i] = (float)cnn_random_normal(&random);
    for (int i = 0; i < BATCH * SLOTS; i++)
        m->labels[i] = (int32_t)cnn_random_below(&random, 10);
}

static void destroy(struct material *m)
{
    cnn_network_destroy(m->network);
    free(m->parameters);
    free(m->trained);
    free(m->images);
}

/* Trains over a full and a short batch; leaves parameters in `trained` and the last outputs. */
static void train(struct material *m, const char *algorithm, enum cnn_copies copies, enum cnn_launch launch,
                  enum cnn_precision precision)
{
    const struct cnn_program_options options = { .batch = BATCH,
                                                 .slots = SLOTS,
                                                 .phases = CNN_PHASE_ALL,
                                                 .algorithm = algorithm,
                                                 .copies = copies,
                                                 .launch = launch,
                                                 .precision = precision,
                                                 .momentum = true };
    const struct cnn_rates rates = { 0.05f, 0.5f, 0.001f };
    struct cnn_program *program = NULL;
    struct cnn_error error = { 0 };
    struct cnn_answer answer = { .outputs = m->outputs };
    int64_t size = cnn_shape_size(m->network->input) * BATCH;
    if (cuda->compile(&program, device, m->network, &options, &error))
        fail_msg("%s", error.text);
    assert_int_equal(cuda->write_parameters(program, m->parameters, &error), CNN_OK);
    assert_int_equal(cuda->set_rates(program, &rates, &error), CNN_OK);
    assert_int_equal(cuda->load(program, 0, m->images, m->labels, BATCH, &error), CNN_OK);
    assert_int_equal(cuda->load(program, 1, m->images + size, m->labels + BATCH, BATCH - 7, &error), CNN_OK);
    if (cuda->train(program, STEPS, &error) || cuda->sync(program, &error))
        fail_msg("%s", error.text);
    assert_int_equal(cuda->fetch(program, &answer, &error), CNN_OK);
    assert_int_equal(answer.images, 3 * BATCH + 2 * (BATCH - 7));
    assert_true(isfinite(answer.loss_sum) && answer.loss_sum > 0);
    assert_int_equal(cuda->read_parameters(program, m->trained, &error), CNN_OK);
    cuda->release(program);
}

static void launches_and_copies_agree(void **state)
{
    static const char *const algorithms[] = { "naive", "gemm", "direct" };
    struct material m;
    (void)state;
    make(&m, 2);
    size_t bytes = (size_t)m.network->parameters * sizeof(float);
    float *first = malloc(bytes);
    assert_non_null(first);
    for (int a = 0; a < 3; a++)
        for (int run = 0; run < 8; run++) {
            enum cnn_copies copies = (enum cnn_copies)(run / 2);
            train(&m, algorithms[a], copies, (enum cnn_launch)(run % 2), CNN_FP32);
            if (run == 0)
                memcpy(first, m.trained, bytes);
            else if (copies != CNN_COPIES_PAPER) /* whose loss is the host's, with roundings of its own */
                assert_memory_equal(first, m.trained, bytes);
            for (int64_t i = 0; i < m.network->parameters; i++)
                assert_true(fabsf(first[i] - m.trained[i]) <= 1e-5f);
        }
    free(first);
    destroy(&m);
}

static double distance(const float *a, const float *b, int64_t count)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)b[i] * b[i];
    }
    return sqrt(difference / size);
}

/* Operands of 11 bits: outputs differ by some 2^-11, and not by nothing, or tensor cores were not used. */
static void tf32_is_near(void **state)
{
    static const char *const algorithms[] = { "gemm", "direct" };
    struct material m;
    float exact[BATCH * 16];
    (void)state;
    make(&m, 8);
    int64_t outputs = (int64_t)BATCH * m.network->classes;
    for (int a = 0; a < 2; a++) {
        train(&m, algorithms[a], CNN_COPIES_NONE, CNN_LAUNCH_GRAPH, CNN_FP32);
        memcpy(exact, m.outputs, (size_t)outputs * sizeof(float));
        train(&m, algorithms[a], CNN_COPIES_NONE, CNN_LAUNCH_GRAPH, CNN_TF32);
        double apart = distance(m.outputs, exact, outputs);
        printf("%s: tf32 outputs differ from fp32 by %.2g of their size\n", algorithms[a], apart);
        assert_true(apart > 1e-7 && apart < 0.02);
    }
    destroy(&m);
}

static void absent_devices_have_a_sentence(void **state)
{
    struct cnn_device *none = NULL;
    struct cnn_error error = { 0 };
    const struct cnn_device_options options = { .index = 4711 };
    (void)state;
    assert_int_equal(cuda->open(&none, &options, &error), CNN_UNAVAILABLE);
    assert_non_null(strstr(error.text, "4711"));
}

/* A batch beyond any GPU is refused before anything is taken, and the next program runs. */
static void too_little_memory_costs_nothing(void **state)
{
    struct cnn_network_spec spec;
    struct cnn_network *network = NULL;
    struct cnn_program *program = NULL;
    struct cnn_error error = { 0 };
    struct material m;
    const struct cnn_program_options options = { .batch = 4096, .slots = 1, .phases = CNN_PHASE_TRAIN };
    (void)state;
    assert_int_equal(cnn_builtin_spec(&spec, "large", 2048, &error), CNN_OK);
    spec.width = 16;
    assert_int_equal(cnn_network_create(&network, &spec, &error), CNN_OK);
    assert_int_equal(cuda->compile(&program, device, network, &options, &error), CNN_OOM);
    assert_null(program);
    assert_non_null(strstr(error.text, "MiB"));
    cnn_network_destroy(network);
    make(&m, 1);
    train(&m, "direct", CNN_COPIES_NONE, CNN_LAUNCH_GRAPH, CNN_FP32);
    destroy(&m);
}

int main(void)
{
    const struct cnn_device_options options = { .index = 0 };
    struct cnn_error error = { 0 };
    cuda = backend_find("cuda", &error);
    if (!cuda || cuda->open(&device, &options, &error)) {
        printf("skipped: %s\n", error.text);
        return error.status == CNN_UNAVAILABLE ? 77 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_and_copies_agree),
        cmocka_unit_test(tf32_is_near),
        cmocka_unit_test(absent_devices_have_a_sentence),
        cmocka_unit_test(too_little_memory_costs_nothing),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cuda->close(device);
    return failed;
}
