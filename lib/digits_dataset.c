/* SPDX-License-Identifier: MIT */
/* The data set "digits": drawn when it is opened, so it needs no file and exists at every side. Training digits count
 * up from 0, test digits from 10^10: the two never share one. */
#include "lib/dataset_parts.h"

#include <stdlib.h>

#define DIGITS_CLASSES 10
#define DIGITS_SIDE 28
#define DIGITS_SIDE_MIN 8 /* below it, strokes run into each other */
#define DIGITS_TRAIN 10000
#define DIGITS_TEST 2000
#define DIGITS_TEST_FIRST 10000000000u /* a whole number of tens, so that labels stay balanced */
#define DIGITS_STATISTICS 1000         /* training digits that mean and deviation are taken from */

/* Mean and deviation, from the same digits for every limit and split. */
static int statistics_draw(struct cnn_dataset *data, const struct cnn_dataset_options *options, struct cnn_error *error)
{
    int64_t size = (int64_t)data->side * data->side;
    struct cnn_pixel_sums sums = { 0, 0, 0 };
    int32_t label;
    uint8_t *pixels = malloc((size_t)size);
    if (!pixels)
        return cnn_error_set(error, CNN_OOM, "digits: no memory for one image of side %d", data->side);
    for (int i = 0; i < DIGITS_STATISTICS; i++) {
        cnn_digit_draw(options->seed, (uint64_t)i, data->side, pixels, &label);
        cnn_pixel_sums_add(&sums, pixels, size);
    }
    free(pixels);
    return cnn_dataset_normalise(data, &sums, error);
}

static int digits_open(struct cnn_dataset *data, enum cnn_split split, const struct cnn_dataset_options *options,
                       struct cnn_error *error)
{
    int side = options->side ? options->side : DIGITS_SIDE;
    bool train = split == CNN_SPLIT_TRAIN;
    int64_t count = options->limit ? options->limit : train ? DIGITS_TRAIN : DIGITS_TEST;
    if (side < DIGITS_SIDE_MIN)
        return cnn_error_set(error, CNN_INVALID, "digits: side %d, expected at least %d", side, DIGITS_SIDE_MIN);
    int status = cnn_dataset_allocate(data, count, 1, side, DIGITS_CLASSES, error);
    if (status)
        return status;
    for (int64_t i = 0; i < count; i++)
        cnn_digit_draw(options->seed, (train ? 0 : DIGITS_TEST_FIRST) + (uint64_t)i, side,
                       data->pixels + i * side * side, &data->labels[i]);
    if (!options->train)
        return statistics_draw(data, options, error);
    data->mean = options->train->mean;
    data->deviation = options->train->deviation;
    return CNN_OK;
}

const struct cnn_dataset_kind cnn_dataset_digits = {
    .name = "digits",
    .summary =
        "handwritten-looking digits drawn at any side from 8 on, 10,000 to train and 2,000 to test unless limited",
    .open = digits_open,
};
