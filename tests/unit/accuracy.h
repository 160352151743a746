/* SPDX-License-Identifier: MIT */
/* What the accuracy tests share: a network trained on a data set by the `direct` kernels on one thread. */
#ifndef TESTS_UNIT_ACCURACY_H
#define TESTS_UNIT_ACCURACY_H

#include "tests/unit/core.h"

#include "cpu/cpu.h"
#include "lib/parameters.h"
#include "lib/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct accuracy_task {
    const char *title, *data;
    int train, test; /* images */
    struct cnn_trainer_options training;
};

struct accuracy_state {
    const char *title;
    struct timespec start;
    struct cnn_epoch last;
};

/* Tells each epoch, and keeps the last. */
static inline bool accuracy_told(void *context, enum cnn_epoch_stage stage, const struct cnn_epoch *epoch)
{
    struct accuracy_state *state = context;
    struct timespec now;
    if (stage != CNN_EPOCH_DONE)
        return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    print_message("%s, epoch %d: train loss %.4f, %.2f %%; test loss %.4f, %.2f %%; %.1f s\n", state->title,
                  epoch->epoch, epoch->train_loss, 100 * epoch->train_accuracy, epoch->test_loss,
                  100 * epoch->test_accuracy,
                  (double)(now.tv_sec - state->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - state->start.tv_nsec));
    state->last = *epoch;
    return true;
}

/* Opens both splits at the network's side; the test split takes the training split's statistics. */
static inline void accuracy_open(const struct accuracy_task *task, const struct cnn_network *network,
                                 struct cnn_dataset **train, struct cnn_dataset **test)
{
    struct cnn_error error = { CNN_OK, "" };
    struct cnn_dataset_options options = { .side = network->input.rows, .seed = 1, .limit = task->train };
    if (cnn_dataset_open(train, task->data, CNN_SPLIT_TRAIN, &options, &error))
        fail_msg("%s", error.text);
    options.limit = task->test;
    options.train = *train;
    if (cnn_dataset_open(test, task->data, CNN_SPLIT_TEST, &options, &error))
        fail_msg("%s", error.text);
    assert_int_equal((*train)->count, task->train);
    assert_int_equal((*test)->count, task->test);
}

static inline struct cnn_program *accuracy_compile(struct cnn_device *device, const struct cnn_network *network,
                                                   int batch)
{
    const struct cnn_backend *backend = &cnn_cpu_backend;
    struct cnn_program_options options = { .batch = batch,
                                           .slots = 1,
                                           .phases = CNN_PHASE_TRAIN | CNN_PHASE_EVALUATE,
                                           .algorithm = "direct",
                                           .momentum = true };
    struct cnn_program *program = NULL;
    struct cnn_error error = { CNN_OK, "" };
    float *parameters = malloc((size_t)network->parameters * sizeof *parameters);
    assert_non_null(parameters);
    cnn_parameters_init(network, parameters);
    if (backend->compile(&program, device, network, &options, &error) ||
        backend->write_parameters(program, parameters, &error))
        fail_msg("%s", error.text);
    free(parameters);
    return program;
}

/* The last epoch's figures. */
static inline struct cnn_epoch accuracy_train(const struct cnn_network_spec *spec, const struct accuracy_task *task)
{
    const struct cnn_backend *backend = &cnn_cpu_backend;
    struct cnn_device_options options = { .threads = 1 };
    struct accuracy_state state = { .title = task->title };
    struct cnn_network *network = core_create(spec);
    struct cnn_dataset *train, *test;
    struct cnn_device *device;
    struct cnn_error error = { CNN_OK, "" };
    accuracy_open(task, network, &train, &test);
    if (backend->open(&device, &options, &error))
        fail_msg("%s", error.text);
    struct cnn_program *program = accuracy_compile(device, network, task->training.batch);
    clock_gettime(CLOCK_MONOTONIC, &state.start);
    if (cnn_trainer_run(backend, program, network, train, test, &task->training, accuracy_told, &state, &error))
        fail_msg("%s", error.text);
    assert_int_equal(state.last.epoch, task->training.epochs);
    assert_true(isfinite(state.last.train_loss) && isfinite(state.last.test_loss));
    backend->release(program);
    backend->close(device);
    cnn_dataset_close(train);
    cnn_dataset_close(test);
    cnn_network_destroy(network);
    return state.last;
}

/* LeNet-5 at image 32, all maps connected, softmax: what the frameworks compute. */
static inline struct cnn_network_spec accuracy_lenet5(void)
{
    struct cnn_network_spec spec = core_spec("lenet5", 32, 1, 1);
    cnn_spec_peer_preset(&spec);
    return spec;
}

#endif
