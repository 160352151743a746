/* SPDX-License-Identifier: MIT */
/* Images and labels in memory, as bytes on disk and in memory and as fp32 NCHW batches for a network. */
#ifndef CNN_LIB_DATASET_H
#define CNN_LIB_DATASET_H

#include "lib/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cnn_split { CNN_SPLIT_TRAIN, CNN_SPLIT_TEST };

/* How images of side `own` in a file reach the wanted side. `digits` is drawn at any side and ignores this. */
enum cnn_fit {
    CNN_FIT_AUTO, /* pad where own < side and 2 * side < 3 * own (28: to 29..41), scale at every other side != own */
    CNN_FIT_PAD,  /* zeros around, (side - own) / 2 before and the rest after: 28 to 32 as LeNet-5; needs side >= own */
    CNN_FIT_SCALE, /* bilinear between pixel centres; when shrinking, the triangle is widened to cover every pixel */
    CNN_FIT_COUNT
};

/* What a pixel becomes: value = (pixel / 255 - mean) / deviation, in training and test alike. */
enum cnn_pixels {
    CNN_PIXELS_STANDARD, /* mean and deviation are those of the training split: values of mean 0 and deviation 1 */
    CNN_PIXELS_UNIT,     /* 0 and 1: values 0..1 */
    CNN_PIXELS_SIGNED,   /* 0.5 and 0.5: values -1..1 */
    CNN_PIXELS_COUNT
};

/* All zero is a fine default: the training or test split as it is. */
struct cnn_dataset_options {
    const char *folder; /* of files, or the one above "mnist" and the like; NULL: environment variable CONVSCALE_DATA */
    int side;           /* of the images wanted; 0: as they are (digits: 28) */
    enum cnn_fit fit;
    enum cnn_pixels pixels;
    uint64_t seed; /* digits */
    int limit;     /* at most this many images, the first ones; 0: all (digits: 10,000 to train, 2,000 to test) */
    /* For a test split: the training split, open at the same side, whose mean and deviation are taken over. NULL: they
     * are computed from the training files anew; the result is the same. */
    const struct cnn_dataset *train;
};

/* One split in memory. Pixels are stored as bytes 0..255 in NCHW; cnn_dataset_batch() turns them into floats. */
struct cnn_dataset {
    char name[32];
    int channels, side, classes;
    int64_t count;
    uint8_t *pixels;
    int32_t *labels;
    /* enum cnn_pixels. Standard ones are of pixels / 255 over the whole training split after fitting, whatever `limit`
     * says (digits: over its first 1,000), in both splits. */
    float mean, deviation;
};

/* Names: "digits" (generated, needs no file), "mnist", "fashion", "cifar10", "norb", and "idx" for any set of IDX
 * files. CNN_UNAVAILABLE where its files are not there (the sentence says where it looked and how to give a folder),
 * CNN_INVALID where a file is wrong (file, offset, found, expected) or the options cannot be met, CNN_ERROR where the
 * machine fails to read. The caller closes it. */
int cnn_dataset_open(struct cnn_dataset **out, const char *name, enum cnn_split split,
                     const struct cnn_dataset_options *options, struct cnn_error *error);
void cnn_dataset_close(struct cnn_dataset *dataset); /* NULL is fine */
const char *const *cnn_dataset_names(void);          /* NULL-terminated */
const char *cnn_dataset_summary(const char *name);   /* one line about it; NULL for an unknown name */

/* Writes images[order[i]] for i in 0..count-1 as fp32 NCHW, and their labels (NULL: none wanted); order NULL:
 * image first + i. */
void cnn_dataset_batch(const struct cnn_dataset *dataset, const int32_t *order, int64_t first, int count, float *images,
                       int32_t *labels);

/* lib/digits.c: one handwritten-looking digit at any side >= 8, a pure function of seed, index and side. The label is
 * index % 10 shuffled within each ten by the seed. pixels: side * side bytes, 0 background, 255 ink. */
void cnn_digit_draw(uint64_t seed, uint64_t index, int side, uint8_t *pixels, int32_t *label);

/* lib/idx.c: a whole IDX file of unsigned bytes, gzipped or not, sizes checked before anything is allocated. `rank` is
 * the number of dimensions expected (1 labels, 3 images, at most 4); dims behind it become 1. CNN_UNAVAILABLE where
 * there is no such file. The caller frees *bytes. */
int cnn_idx_read(const char *path, int rank, int64_t dims[4], uint8_t **bytes, struct cnn_error *error);

#ifdef __cplusplus
}
#endif
#endif
