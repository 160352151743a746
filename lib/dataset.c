/* SPDX-License-Identifier: MIT */
/* What all data sets share: the list of kinds, memory, normalisation, and batches of floats. */
#include "lib/dataset.h"

#include "lib/checked.h"
#include "lib/dataset_parts.h"
#include "lib/network.h"
#include "lib/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cnn_dataset_kind *const kinds[] = { &cnn_dataset_digits,  &cnn_dataset_mnist, &cnn_dataset_fashion,
                                                        &cnn_dataset_cifar10, &cnn_dataset_norb,  &cnn_dataset_idx };
#define KINDS (sizeof kinds / sizeof kinds[0])

const char *const *cnn_dataset_names(void)
{
    static const char *names[KINDS + 1];
    for (size_t i = 0; i < KINDS; i++)
        names[i] = kinds[i]->name;
    return names;
}

static const struct cnn_dataset_kind *kind_find(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i]->name, name))
            return kinds[i];
    return NULL;
}

const char *cnn_dataset_summary(const char *name)
{
    const struct cnn_dataset_kind *kind = kind_find(name);
    return kind ? kind->summary : NULL;
}

static int unknown_name(const char *name, struct cnn_error *error)
{
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < KINDS && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s\"%s\"", i ? ", " : "", kinds[i]->name);
    return cnn_error_set(error, CNN_INVALID, "data set \"%s\": unknown, expected one of %s", name, known);
}

static int options_check(const char *name, enum cnn_split split, const struct cnn_dataset_options *options,
                         struct cnn_error *error)
{
    if (options->side < 0 || options->side > CNN_SIDE_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: side %d, expected 1 to %d, or 0 for the set's own", name,
                             options->side, CNN_SIDE_MAX);
    if (options->limit < 0)
        return cnn_error_set(error, CNN_INVALID, "%s: a limit of %d images, expected 1 or more, or 0 for all", name,
                             options->limit);
    if ((unsigned)options->fit >= CNN_FIT_COUNT)
        return cnn_error_set(error, CNN_INVALID, "%s: fit %d is none of auto, pad, scale", name, (int)options->fit);
    if ((unsigned)options->pixels >= CNN_PIXELS_COUNT)
        return cnn_error_set(error, CNN_INVALID, "%s: pixels %d is none of standard, unit, signed", name,
                             (int)options->pixels);
    if (options->train && (split != CNN_SPLIT_TEST || strcmp(options->train->name, name)))
        return cnn_error_set(error, CNN_INVALID,
                             "%s: the mean of a training split of %s can be taken over by a test "
                             "split of the same set only",
                             name, options->train->name);
    return CNN_OK;
}

int cnn_dataset_open(struct cnn_dataset **out, const char *name, enum cnn_split split,
                     const struct cnn_dataset_options *options, struct cnn_error *error)
{
    static const struct cnn_dataset_options defaults;
    const struct cnn_dataset_kind *kind = kind_find(name);
    struct cnn_dataset *data = NULL;
    *out = NULL;
    options = options ? options : &defaults;
    if (!kind)
        return unknown_name(name, error);
    int status = options_check(name, split, options, error);
    if (status)
        return status;
    data = calloc(1, sizeof *data);
    if (!data)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for its head", name);
    snprintf(data->name, sizeof data->name, "%s", name);
    status = kind->files ? cnn_raw_open(data, kind, split, options, error) : kind->open(data, split, options, error);
    if (options->pixels != CNN_PIXELS_STANDARD) {
        data->mean = options->pixels == CNN_PIXELS_SIGNED ? 0.5f : 0;
        data->deviation = options->pixels == CNN_PIXELS_SIGNED ? 0.5f : 1;
    }
    if (!status && options->train && options->train->side != data->side)
        status = cnn_error_set(error, CNN_INVALID, "%s: test images of side %d, but training images of side %d", name,
                               data->side, options->train->side);
    if (status) {
        cnn_dataset_close(data);
        return status;
    }
    *out = data;
    return CNN_OK;
}

void cnn_dataset_close(struct cnn_dataset *dataset)
{
    if (!dataset)
        return;
    free(dataset->pixels);
    free(dataset->labels);
    free(dataset);
}

int cnn_dataset_allocate(struct cnn_dataset *data, int64_t count, int channels, int side, int classes,
                         struct cnn_error *error)
{
    int64_t values;
    size_t pixels, labels;
    if (!cnn_mul3(channels, side, side, &values) || !cnn_mul(values, count, &values) ||
        !cnn_bytes(values, sizeof *data->pixels, &pixels) || !cnn_bytes(count, sizeof *data->labels, &labels))
        return cnn_error_set(error, CNN_INVALID, "%s: %lld images of side %d: too large", data->name, (long long)count,
                             side);
    data->pixels = malloc(pixels);
    data->labels = malloc(labels);
    if (!data->pixels || !data->labels)
        return cnn_error_set(error, CNN_OOM,
                             "%s: no memory for %lld images of side %d (%zu bytes): set a smaller limit", data->name,
                             (long long)count, side, pixels);
    data->count = count;
    data->channels = channels;
    data->side = side;
    data->classes = classes;
    return CNN_OK;
}

void cnn_pixel_sums_add(struct cnn_pixel_sums *sums, const uint8_t *pixels, int64_t count)
{
    int64_t sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += pixels[i];
        squares += pixels[i] * pixels[i];
    }
    sums->count += count;
    sums->sum += sum;
    sums->squares += squares;
}

int cnn_dataset_normalise(struct cnn_dataset *data, const struct cnn_pixel_sums *sums, struct cnn_error *error)
{
    double mean = (double)sums->sum / (double)sums->count;
    double variance = (double)sums->squares / (double)sums->count - mean * mean;
    if (!(variance > 1e-9)) /* the smallest there can be, one pixel differing by 1, stays above up to 10^9 pixels */
        return cnn_error_set(error, CNN_INVALID, "%s: every pixel of the training split is %.0f: expected images",
                             data->name, mean);
    data->mean = (float)(mean / 255);
    data->deviation = (float)(sqrt(variance) / 255);
    return CNN_OK;
}

void cnn_dataset_batch(const struct cnn_dataset *dataset, const int32_t *order, int64_t first, int count, float *images,
                       int32_t *labels)
{
    int64_t size = (int64_t)dataset->channels * dataset->side * dataset->side;
    float value[256]; /* of a pixel */
    for (int i = 0; i < 256; i++)
        value[i] = (float)((i / 255.0 - dataset->mean) / dataset->deviation);
    for (int i = 0; i < count; i++) {
        int64_t image = order ? order[i] : first + i;
        const uint8_t *from = dataset->pixels + image * size;
        float *to = images + i * size;
        for (int64_t at = 0; at < size; at++)
            to[at] = value[from[at]];
        if (labels)
            labels[i] = dataset->labels[image];
    }
}
