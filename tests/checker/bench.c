/* SPDX-License-Identifier: MIT */
/* Times each kind of layer at fixed shapes, forward and training, through the same seam. A layer is followed by two
 * outputs, which a network needs and whose cost is small. The best of a few blocks: this is for whoever writes a
 * kernel; what is published comes from the driver. */
#include "lib/parameters.h"
#include "lib/random.h"
#include "tests/checker/targets.h"

#include <stdlib.h>
#include <time.h>

#define BLOCKS 5
#define BLOCK_SECONDS 0.03

struct shape {
    const char *name;
    struct cnn_layer_spec layer;
    int channels, image, batch;
};

#define CONV(maps_, kernel_, stride_, padding_)                                                     \
    {                                                                                               \
        .kind = CNN_CONV, .maps = maps_, .kernel = kernel_, .stride = stride_, .padding = padding_, \
        .activation = CNN_TANH                                                                      \
    }
#define POOL(kind_)                                        \
    {                                                      \
        .kind = kind_, .kernel = 2, .activation = CNN_TANH \
    }

static const struct shape shapes[] = {
    { "conv 5x5, 1 to 6 maps, 32 x 32", CONV(6, 5, 1, CNN_VALID), 1, 32, 1 },
    { "conv 5x5, 1 to 6 maps, 32 x 32", CONV(6, 5, 1, CNN_VALID), 1, 32, 128 },
    { "conv 5x5, 16 to 16 maps, 16 x 16", CONV(16, 5, 1, CNN_VALID), 16, 16, 1 },
    { "conv 5x5, 16 to 16 maps, 16 x 16", CONV(16, 5, 1, CNN_VALID), 16, 16, 128 },
    { "conv 3x3, 32 to 32 maps, same, 14 x 14", CONV(32, 3, 1, CNN_SAME), 32, 14, 128 },
    { "conv 5x5 step 2, 5 to 50 maps, 13 x 13", CONV(50, 5, 2, CNN_VALID), 5, 13, 1 },
    { "conv 5x5 step 2, 5 to 50 maps, 13 x 13", CONV(50, 5, 2, CNN_VALID), 5, 13, 128 },
    { "full, 784 to 500", { .kind = CNN_FULL, .maps = 500, .activation = CNN_TANH }, 1, 28, 1 },
    { "full, 784 to 500", { .kind = CNN_FULL, .maps = 500, .activation = CNN_TANH }, 1, 28, 128 },
    { "subsample 2x2, 16 maps, 28 x 28", POOL(CNN_SUBSAMPLE), 16, 28, 128 },
    { "maxpool 2x2, 16 maps, 28 x 28", POOL(CNN_MAXPOOL), 16, 28, 128 },
    { "avgpool 2x2, 16 maps, 28 x 28", POOL(CNN_AVGPOOL), 16, 28, 128 },
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Best seconds per step, or a negative number where a step failed. */
static double time_phase(const struct cnn_backend *backend, struct cnn_program *program, bool training)
{
    struct cnn_error error = { 0 };
    double best = -1.0;
    int steps = 1;
    for (int block = 0; block <= BLOCKS; block++) { /* the first one warms up and finds the number of steps */
        double begin = now(), seconds;
        int status = training ? backend->train(program, steps, &error) : backend->classify(program, steps, &error);
        if (!status)
            status = backend->sync(program, &error);
        if (status) {
            fprintf(stderr, "bench: %s\n", error.text);
            return -1.0;
        }
        seconds = now() - begin;
        if (block == 0 && seconds < BLOCK_SECONDS && steps < 1 << 24) {
            steps *= 2;
            block = -1;
        } else if (block > 0 && (best < 0.0 || seconds / steps < best)) {
            best = seconds / steps;
        }
    }
    return best;
}

static int fill(const struct cnn_backend *backend, struct cnn_program *program, const struct cnn_network *network,
                int batch, struct cnn_error *error)
{
    int64_t pixels = cnn_shape_size(network->input) * batch;
    float *values = calloc((size_t)(pixels + network->parameters), sizeof *values);
    int32_t *labels = calloc((size_t)batch, sizeof *labels);
    struct cnn_random random;
    int status = CNN_OOM;
    cnn_random_init(&random, 1, CNN_STREAM_TEST, 0);
    if (values && labels) {
        for (int64_t i = 0; i < pixels; i++)
            values[network->parameters + i] = (float)cnn_random_normal(&random);
        cnn_parameters_init(network, values);
        status = backend->write_parameters(program, values, error);
        if (!status)
            status = backend->load(program, 0, values + network->parameters, labels, batch, error);
    }
    free(labels);
    free(values);
    return status;
}

static int bench_shape(const struct check_target *target, const struct shape *shape)
{
    struct cnn_network_spec spec = {
        .name = "bench", .channels = shape->channels, .image = shape->image, .classes = 2
    };
    struct cnn_network *network = NULL;
    struct cnn_program *program = NULL;
    struct cnn_error error = { 0 };
    struct cnn_program_options options = { .batch = shape->batch, .slots = 1, .algorithm = target->algorithm };
    options.isa = target->isa;
    options.phases = CNN_PHASE_TRAIN | CNN_PHASE_CLASSIFY;
    spec.width = spec.depth = 1;
    spec.loss = CNN_SOFTMAX;
    spec.connections.paper = true;
    spec.layer_count = 2;
    spec.layers[0] = shape->layer;
    spec.layers[1] = (struct cnn_layer_spec){ .kind = CNN_FULL };
    int status = cnn_network_create(&network, &spec, &error);
    if (!status)
        status = target->backend->compile(&program, target->device, network, &options, &error);
    if (!status)
        status = fill(target->backend, program, network, shape->batch, &error);
    if (status) {
        printf("%-42s %5d  %s\n", shape->name, shape->batch, error.text);
    } else {
        double forward = time_phase(target->backend, program, false);
        double train = time_phase(target->backend, program, true);
        double forward_flops = (double)cnn_network_flops_forward(network, shape->batch, false);
        double train_flops = (double)cnn_network_flops_train(network, shape->batch, false);
        status = !(forward > 0.0 && train > 0.0);
        printf("%-42s %5d %12.0f %8.2f %12.0f %8.2f\n", shape->name, shape->batch, 1e9 * forward,
               1e-9 * forward_flops / forward, 1e9 * train, 1e-9 * train_flops / train);
    }
    target->backend->release(program);
    cnn_network_destroy(network);
    return status == CNN_INVALID ? CNN_OK : status;
}

int check_bench(const struct check_target *target)
{
    int failed = 0;
    char name[128];
    check_target_name(target, name, sizeof name);
    printf("%s\n", name);
    printf("%-42s %5s %12s %8s %12s %8s\n", "layer, and 2 outputs", "batch", "forward ns", "GFLOP/s", "train ns",
           "GFLOP/s");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        failed |= bench_shape(target, &shapes[i]) != CNN_OK;
    return failed;
}
