/* SPDX-License-Identifier: MIT */
/* Images and labels in memory, as bytes or floats on disk and as fp32 NCHW batches for a network. */
#ifndef CNN_LIB_DATASET_H
#define CNN_LIB_DATASET_H

#include "lib/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cnn_split { CNN_SPLIT_TRAIN, CNN_SPLIT_TEST };

/* How images reach the study's side. */
enum cnn_fit {
    CNN_FIT_AUTO /* pad where the side is larger by less than half, else scale */,
    CNN_FIT_PAD,
    CNN_FIT_SCALE
};

struct cnn_dataset_options {
    const char *folder; /* of files; NULL where the set needs none */
    int side;           /* of the images wanted; 0: as they are */
    enum cnn_fit fit;
    uint64_t seed; /* digits */
    int limit;     /* at most this many images, the first ones; 0: all */
};

/* One split in memory. Pixels are stored as bytes 0..255 in NCHW; cnn_dataset_batch() turns them into floats. */
struct cnn_dataset {
    char name[32];
    int channels, side, classes;
    int64_t count;
    uint8_t *pixels;
    int32_t *labels;
    float mean, deviation; /* of the training split's pixels / 255: value = (pixel / 255 - mean) / deviation */
};

/* Names: "digits" (generated, needs no file) and "mnist". CNN_UNAVAILABLE where its files are not there (the sentence
 * says where it looked and how to give a folder), CNN_INVALID where a file is wrong (file, offset, found, expected).
 * Both splits are normalised by the mean and deviation of the training split. */
int cnn_dataset_open(struct cnn_dataset **out, const char *name, enum cnn_split split,
                     const struct cnn_dataset_options *options, struct cnn_error *error);
void cnn_dataset_close(struct cnn_dataset *dataset);
const char *const *cnn_dataset_names(void);

/* Writes images[order[i]] for i in 0..count-1 as fp32 NCHW, and their labels; order NULL: first + i. */
void cnn_dataset_batch(const struct cnn_dataset *dataset, const int32_t *order, int64_t first, int count, float *images,
                       int32_t *labels);

/* lib/digits.c: one handwritten-looking digit at any side >= 8, a pure function of seed and index. The label is
 * index % 10 shuffled within each ten by the seed. pixels: side * side bytes, 0 background, 255 ink. */
void cnn_digit_draw(uint64_t seed, uint64_t index, int side, uint8_t *pixels, int32_t *label);

/* lib/idx.c: a whole IDX file of unsigned bytes, gzipped or not, sizes checked before anything is allocated. `rank` is
 * the number of dimensions expected (1 labels, 3 images). The caller frees *bytes. */
int cnn_idx_read(const char *path, int rank, int64_t dims[4], uint8_t **bytes, struct cnn_error *error);

#ifdef __cplusplus
}
#endif
#endif
