/* SPDX-License-Identifier: MIT */
/* Fills the host batches: noise from the seed alone, or images of a data set. */
#include "experiments/driver/batches.h"
#include "lib/checked.h"
#include "lib/random.h"

#include <stdlib.h>
#include <string.h>

int64_t batches_bytes(const struct cnn_network *network, int batch)
{
    int64_t images = cnn_shape_size(network->input), bytes;
    if (images < 0 || !cnn_mul3(images, batch, BATCHES_COUNT, &bytes) || !cnn_mul(bytes, sizeof(float), &bytes) ||
        !cnn_accumulate((int64_t)batch * BATCHES_COUNT, sizeof(int32_t), &bytes))
        return -1;
    return bytes;
}

static void fill_noise(struct batches *batches, const struct cnn_network *network, uint64_t seed)
{
    struct cnn_random random;
    int64_t images = (int64_t)batches->count * batches->batch;
    cnn_random_init(&random, seed, CNN_STREAM_NOISE, 0);
    for (int64_t i = 0; i < images * batches->image_floats; i++)
        batches->images[i] = (float)cnn_random_normal(&random);
    cnn_random_init(&random, seed, CNN_STREAM_NOISE, 1);
    for (int64_t i = 0; i < images; i++)
        batches->labels[i] = (int32_t)cnn_random_below(&random, (uint32_t)network->label_count);
}

int batches_fit(const struct cnn_dataset *dataset, const struct cnn_network *network, struct cnn_error *error)
{
    if (dataset->channels != network->input.maps || dataset->side != network->input.rows)
        return cnn_error_set(error, CNN_INVALID, "data set %s has %d x %d x %d images, network %s expects %d x %d x %d",
                             dataset->name, dataset->channels, dataset->side, dataset->side, network->spec.name,
                             network->input.maps, network->input.rows, network->input.cols);
    if (dataset->classes > network->label_count)
        return cnn_error_set(error, CNN_INVALID, "data set %s has %d classes, network %s tells %d apart; set `classes`",
                             dataset->name, dataset->classes, network->spec.name, network->label_count);
    return CNN_OK;
}

static int fill_data(struct batches *batches, const struct cnn_network *network, const struct point *point,
                     struct cnn_error *error)
{
    struct cnn_dataset_options options = {
        .folder = *point->data_folder ? point->data_folder : NULL,
        .side = network->input.rows,
        .fit = point->fit,
        .pixels = point->pixels,
        .seed = point->spec.seed,
        .limit = batches->count * batches->batch,
    };
    struct cnn_dataset *data = NULL;
    int status = cnn_dataset_open(&data, point->data, CNN_SPLIT_TRAIN, &options, error);
    if (status == CNN_OK)
        status = batches_fit(data, network, error);
    for (int64_t i = 0; status == CNN_OK && i < (int64_t)batches->count * batches->batch; i++)
        cnn_dataset_batch(data, NULL, i % data->count, 1, batches->images + i * batches->image_floats,
                          batches->labels + i);
    cnn_dataset_close(data);
    return status;
}

int batches_create(struct batches *out, const struct cnn_network *network, const struct point *point,
                   struct cnn_error *error)
{
    *out = (struct batches){ .count = BATCHES_COUNT,
                             .batch = point->batch,
                             .image_floats = cnn_shape_size(network->input) };
    if (batches_bytes(network, point->batch) < 0 || point->batch > INT32_MAX / BATCHES_COUNT)
        return cnn_error_set(error, CNN_INVALID, "batch %d of %d x %d images does not fit in any memory", point->batch,
                             network->input.rows, network->input.cols);
    size_t images = (size_t)out->count * (size_t)out->batch;
    out->images = calloc(images * (size_t)out->image_floats, sizeof *out->images);
    out->labels = calloc(images, sizeof *out->labels);
    if (!out->images || !out->labels) {
        batches_free(out);
        return cnn_error_set(error, CNN_OOM, "no memory for %d batches of %d images on the host", BATCHES_COUNT,
                             point->batch);
    }
    int status = CNN_OK;
    if (!*point->data || strcmp(point->data, "normal") == 0)
        fill_noise(out, network, point->spec.seed);
    else
        status = fill_data(out, network, point, error);
    if (status != CNN_OK)
        batches_free(out);
    return status;
}

void batches_free(struct batches *batches)
{
    free(batches->images);
    free(batches->labels);
    *batches = (struct batches){ 0 };
}

const float *batches_images(const struct batches *batches, int index)
{
    return batches->images + (int64_t)(index % batches->count) * batches->batch * batches->image_floats;
}

const int32_t *batches_labels(const struct batches *batches, int index)
{
    return batches->labels + (int64_t)(index % batches->count) * batches->batch;
}
