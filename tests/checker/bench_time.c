/* SPDX-License-Identifier: MIT */
/* Compiles a point, fills its slots with noise, and takes the median of a few samples. */
#include "tests/checker/bench_time.h"

#include "experiments/driver/clock.h"
#include "lib/parameters.h"
#include "lib/random.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOTS 4
#define SAMPLES 7
#define SAMPLE_SECONDS 0.01
#define ENTRIES 512

static int fill(const struct cnn_backend *backend, struct cnn_program *program, const struct cnn_network *network,
                int batch, struct cnn_error *error)
{
    int64_t pixels = cnn_shape_size(network->input) * batch;
    int64_t size = pixels > network->parameters ? pixels : network->parameters;
    float *values = calloc((size_t)size, sizeof *values);
    int32_t *labels = calloc((size_t)batch, sizeof *labels);
    struct cnn_random random;
    int status = values && labels ? CNN_OK : cnn_error_set(error, CNN_OOM, "no memory for a batch");
    cnn_random_init(&random, 1, CNN_STREAM_TEST, 0);
    if (status == CNN_OK) {
        cnn_parameters_init(network, values);
        status = backend->write_parameters(program, values, error);
    }
    for (int slot = 0; status == CNN_OK && slot < SLOTS; slot++) {
        for (int64_t i = 0; i < pixels; i++)
            values[i] = (float)cnn_random_normal(&random);
        for (int i = 0; i < batch; i++)
            labels[i] = (int32_t)cnn_random_below(&random, (uint32_t)network->label_count);
        status = backend->load(program, slot, values, labels, batch, error);
    }
    free(labels);
    free(values);
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds per step; the first samples find the number of steps and warm up. */
static int sample(const struct cnn_backend *backend, struct cnn_program *program, bool train, double *seconds,
                  struct cnn_error *error)
{
    double samples[SAMPLES];
    int steps = SLOTS, status = CNN_OK;
    for (int i = -2; status == CNN_OK && i < SAMPLES; i++) {
        double begin = clock_seconds();
        status = train ? backend->train(program, steps, error) : backend->classify(program, steps, error);
        if (status == CNN_OK)
            status = backend->sync(program, error);
        double took = clock_seconds() - begin;
        if (i < 0 && took < SAMPLE_SECONDS && steps < 1 << 20) {
            steps *= 2;
            i--;
        } else if (i >= 0) {
            samples[i] = took / steps;
        }
    }
    if (status == CNN_OK) {
        qsort(samples, SAMPLES, sizeof *samples, compare);
        *seconds = samples[SAMPLES / 2];
    }
    return status;
}

static void print_profile(const struct cnn_backend *backend, struct cnn_program *program, bool train)
{
    static struct cnn_profile_entry entries[ENTRIES];
    struct cnn_error error;
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (backend->profile(program, train ? CNN_PHASE_TRAIN : CNN_PHASE_CLASSIFY, clock_seconds, entries, ENTRIES,
                             &count, &error))
            return;
    for (int i = 0; i < count && i < ENTRIES; i++)
        printf("    %-26s layer %-3d %10.1f us\n", cnn_operation_kind_name(entries[i].kind), entries[i].layer,
               1e6 * entries[i].seconds);
}

int bench_time(const struct cnn_backend *backend, struct cnn_device *device, const char *algorithm,
               const struct bench_point *point, bool profile, struct bench_times *out, struct cnn_error *error)
{
    struct cnn_network_spec spec;
    struct cnn_network *network = NULL;
    struct cnn_program *program = NULL;
    struct cnn_program_options options = { .batch = point->batch, .slots = SLOTS, .algorithm = algorithm };
    options.phases = point->train ? CNN_PHASE_TRAIN : CNN_PHASE_CLASSIFY;
    options.precision = point->precision;
    options.copies = point->copies;
    int status = cnn_builtin_spec(&spec, point->network, point->image, error);
    if (status == CNN_OK) {
        cnn_spec_peer_preset(&spec);
        spec.width = point->width;
        spec.depth = point->depth;
        status = cnn_network_create(&network, &spec, error);
    }
    if (status == CNN_OK)
        status = backend->compile(&program, device, network, &options, error);
    if (status == CNN_OK)
        status = fill(backend, program, network, point->batch, error);
    if (status == CNN_OK)
        status = sample(backend, program, point->train, &out->seconds, error);
    if (status == CNN_OK) {
        out->flops = (double)(point->train ? cnn_network_flops_train(network, point->batch, false)
                                           : cnn_network_flops_forward(network, point->batch, false));
        if (profile)
            print_profile(backend, program, point->train);
    }
    backend->release(program);
    cnn_network_destroy(network);
    return status;
}
