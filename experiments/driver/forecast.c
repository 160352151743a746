/* SPDX-License-Identifier: MIT */
/* Builds the network of a point and asks its backend for a plan: the same steps as a run, up to where memory is taken.
 */
#include "experiments/driver/forecast.h"
#include "experiments/driver/auto.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/measure.h"
#include "experiments/driver/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 16

struct opened {
    const struct cnn_backend *backend;
    struct cnn_device_options options;
    struct cnn_device *device;
};

struct forecaster {
    int count;
    struct opened opened[DEVICES_MAX];
};

struct forecaster *forecaster_create(void)
{
    return calloc(1, sizeof(struct forecaster));
}

static void close_devices(struct forecaster *forecaster)
{
    for (int i = 0; i < forecaster->count; i++)
        forecaster->opened[i].backend->close(forecaster->opened[i].device);
    forecaster->count = 0;
}

void forecaster_free(struct forecaster *forecaster)
{
    if (forecaster)
        close_devices(forecaster);
    free(forecaster);
}

static struct cnn_device *device_of(struct forecaster *forecaster, const struct cnn_backend *backend,
                                    const struct point *point, struct cnn_error *error)
{
    const struct cnn_device_options options = { .index = point->device, .threads = point->threads };
    for (int i = 0; i < forecaster->count; i++) {
        struct opened *opened = &forecaster->opened[i];
        if (opened->backend == backend && opened->options.index == options.index &&
            opened->options.threads == options.threads)
            return opened->device;
    }
    if (forecaster->count == DEVICES_MAX)
        close_devices(forecaster);
    struct opened *place = &forecaster->opened[forecaster->count];
    *place = (struct opened){ .backend = backend, .options = options };
    if (backend->open(&place->device, &options, error))
        return NULL;
    forecaster->count++;
    return place->device;
}

static void count_words(char *out, size_t size, int count, const char *thing)
{
    if (count == 1)
        snprintf(out, size, "the last %s", thing);
    else
        snprintf(out, size, "the last %d %ss", count, thing);
}

/* Floor division leaves rows and columns that no window reaches. */
static void describe_crop(const struct cnn_network *network, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (int l = 0; l < network->layer_count && at < size; l++) {
        const struct cnn_layer *layer = &network->layers[l];
        char rows[48], cols[48];
        if (layer->cropped_rows == 0 && layer->cropped_cols == 0)
            continue;
        count_words(rows, sizeof rows, layer->cropped_rows, "row");
        count_words(cols, sizeof cols, layer->cropped_cols, "column");
        bool both = layer->cropped_rows > 0 && layer->cropped_cols > 0;
        at += (size_t)snprintf(out + at, size - at, "%s%s never reads %s%s%s of its %d x %d input", at ? "; " : "",
                               layer->name, layer->cropped_rows > 0 ? rows : "", both ? " and " : "",
                               layer->cropped_cols > 0 ? cols : "", layer->in.rows, layer->in.cols);
    }
}

static int plan(struct forecaster *forecaster, struct bench *bench, struct forecast *out, struct cnn_error *error)
{
    struct cnn_plan bytes;
    bench->backend = backend_find(bench->point->backend, error);
    if (!bench->backend)
        return error->status;
    struct cnn_device *device = device_of(forecaster, bench->backend, bench->point, error);
    if (!device)
        return error->status;
    bench_options(bench);
    if (!strcmp(bench->point->algorithm, CHOICES_AUTO))
        bench->options.algorithm = auto_guess(bench, device);
    if (bench->backend->plan(device, bench->network, &bench->options, &bytes, error))
        return error->status;
    out->bytes = bytes.total;
    out->seconds = progress_cost(bench->point, bench->network);
    return CNN_OK;
}

void forecast_point(struct forecaster *forecaster, const struct point *point, struct forecast *out)
{
    struct bench bench = { .point = point };
    struct cnn_error error = { CNN_OK, "" };
    *out = (struct forecast){ .parameters = -1, .macs = -1, .bytes = -1 };
    int status = cnn_network_create(&bench.network, &point->spec, &error);
    if (!status) {
        out->parameters = bench.network->parameters;
        out->macs = bench.network->macs;
        describe_crop(bench.network, out->cropped, sizeof out->cropped);
        status = plan(forecaster, &bench, out, &error);
    }
    out->status = status;
    if (status)
        snprintf(out->reason, sizeof out->reason, "%s", error.text);
    cnn_network_destroy(bench.network);
}
