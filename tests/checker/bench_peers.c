/* SPDX-License-Identifier: MIT */
/* Times the points of a file of peers' times through the seam and prints ours beside theirs: for whoever writes a
 * kernel. What is published comes from the driver, which verifies every point; here nothing is verified.
 *
 *   bench_peers FILE [BACKEND [ALGORITHM [FILTER]]]
 *
 * FILE has the header network,width,depth,image,batch,precision,copies,phase,seconds_per_step,...; FILTER is a piece of
 * text that a line must hold. With BENCH_PROFILE set in the environment each point is followed by its operations. */
#include "experiments/driver/backends.h"
#include "experiments/driver/clock.h"
#include "lib/parameters.h"
#include "lib/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4
#define SAMPLES 7
#define SAMPLE_SECONDS 0.01
#define ENTRIES 512

struct line {
    char network[32], precision[16], copies[16], phase[16];
    int width, depth, image, batch;
    double seconds;
};

static bool parse(const char *text, struct line *line)
{
    return sscanf(text, "%31[^,],%d,%d,%d,%d,%15[^,],%15[^,],%15[^,],%lf", line->network, &line->width, &line->depth,
                  &line->image, &line->batch, line->precision, line->copies, line->phase, &line->seconds) == 9;
}

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

static int run(const struct cnn_backend *backend, struct cnn_device *device, const char *algorithm,
               const struct line *line, struct cnn_error *error)
{
    struct cnn_network_spec spec;
    struct cnn_network *network = NULL;
    struct cnn_program *program = NULL;
    bool train = !strcmp(line->phase, "train");
    double seconds = 0;
    struct cnn_program_options options = { .batch = line->batch, .slots = SLOTS, .algorithm = algorithm };
    options.phases = train ? CNN_PHASE_TRAIN : CNN_PHASE_CLASSIFY;
    if (!cnn_precision_parse(line->precision, &options.precision) || !cnn_copies_parse(line->copies, &options.copies))
        return cnn_error_set(error, CNN_INVALID, "unknown precision or copies");
    int status = cnn_builtin_spec(&spec, line->network, line->image, error);
    if (status == CNN_OK) {
        cnn_spec_peer_preset(&spec);
        spec.width = line->width;
        spec.depth = line->depth;
        status = cnn_network_create(&network, &spec, error);
    }
    if (status == CNN_OK)
        status = backend->compile(&program, device, network, &options, error);
    if (status == CNN_OK)
        status = fill(backend, program, network, line->batch, error);
    if (status == CNN_OK)
        status = sample(backend, program, train, &seconds, error);
    if (status == CNN_OK) {
        double flops = (double)(train ? cnn_network_flops_train(network, line->batch, false)
                                      : cnn_network_flops_forward(network, line->batch, false));
        printf("%-7s w%-2d d%-2d i%-3d b%-4d %s %-6s %-8s %10.1f us  peer %10.1f us  ratio %5.2f  %7.2f TFLOP/s\n",
               line->network, line->width, line->depth, line->image, line->batch, line->precision, line->copies,
               line->phase, 1e6 * seconds, 1e6 * line->seconds, line->seconds / seconds, 1e-12 * flops / seconds);
        if (getenv("BENCH_PROFILE"))
            print_profile(backend, program, train);
    }
    backend->release(program);
    cnn_network_destroy(network);
    return status;
}

int main(int count, char **words)
{
    struct cnn_error error = { 0 };
    const struct cnn_backend *backend = backend_find(count > 2 ? words[2] : "cuda", &error);
    struct cnn_device *device = NULL;
    const struct cnn_device_options options = { .index = 0 };
    FILE *file = count > 1 ? fopen(words[1], "r") : NULL;
    char text[512];
    int failed = 0;
    if (!file) {
        fprintf(stderr, "usage: bench_peers FILE [BACKEND [ALGORITHM [FILTER]]]\n");
        return 2;
    }
    if (!backend || backend->open(&device, &options, &error)) {
        fprintf(stderr, "%s\n", error.text);
        fclose(file);
        return error.status == CNN_UNAVAILABLE ? 77 : 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(text, sizeof text, file)) {
        struct line line;
        if ((count > 4 && !strstr(text, words[4])) || !parse(text, &line))
            continue;
        if (run(backend, device, count > 3 ? words[3] : "direct", &line, &error)) {
            printf("%.*s: %s\n", (int)strcspn(text, "\n"), text, error.text);
            failed = 1;
        }
    }
    fclose(file);
    backend->close(device);
    return failed;
}
