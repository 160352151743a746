/* SPDX-License-Identifier: MIT */
/* Inside the data rooms only: what a kind of data set must offer, and what dataset.c and fit.c offer to all kinds. A
 * new data set is one file with a cnn_dataset_kind and one line in dataset.c. */
#ifndef CNN_LIB_DATASET_PARTS_H
#define CNN_LIB_DATASET_PARTS_H

#include "lib/dataset.h"

#include <stdbool.h>

struct cnn_file_set; /* raw.h */

/* `open` fills an empty data set whose name is set; on failure the caller closes what is there. A set in files has
 * `files` in its place. */
struct cnn_dataset_kind {
    const char *name, *summary;
    const struct cnn_file_set *files;
    int (*open)(struct cnn_dataset *data, enum cnn_split split, const struct cnn_dataset_options *options,
                struct cnn_error *error);
};

extern const struct cnn_dataset_kind cnn_dataset_digits, cnn_dataset_mnist, cnn_dataset_fashion, cnn_dataset_idx,
    cnn_dataset_cifar10, cnn_dataset_norb;

/* Sets the shape and takes memory for pixels and labels, sizes checked. */
int cnn_dataset_allocate(struct cnn_dataset *data, int64_t count, int channels, int side, int classes,
                         struct cnn_error *error);

/* Sums over pixels, exact and in any order the same. */
struct cnn_pixel_sums {
    int64_t count, sum, squares;
};

void cnn_pixel_sums_add(struct cnn_pixel_sums *sums, const uint8_t *pixels, int64_t count);

/* Sets mean and deviation. CNN_INVALID where all pixels are equal: nothing could be learned from them. */
int cnn_dataset_normalise(struct cnn_dataset *data, const struct cnn_pixel_sums *sums, struct cnn_error *error);

/* Brings one plane after another from its own side to the wanted one (enum cnn_fit). */
struct cnn_fitter;
int cnn_fitter_create(struct cnn_fitter **out, int own, int side, enum cnn_fit fit, struct cnn_error *error);
void cnn_fitter_apply(struct cnn_fitter *fitter, const uint8_t *in, uint8_t *out); /* own x own to side x side */
void cnn_fitter_destroy(struct cnn_fitter *fitter);                                /* NULL is fine */

#endif
