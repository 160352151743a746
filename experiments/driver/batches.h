/* SPDX-License-Identifier: MIT */
/* The batches that timed steps rotate over, in host memory: different ones, never zeros, the same for every backend. */
#ifndef DRIVER_BATCHES_H
#define DRIVER_BATCHES_H

#include "experiments/driver/points.h"
#include "lib/network.h"

#define BATCHES_COUNT 4

struct batches {
    int count, batch;     /* BATCHES_COUNT batches of `batch` images */
    int64_t image_floats; /* of one image, NCHW */
    float *images;        /* [count][batch][image_floats] */
    int32_t *labels;      /* [count][batch] */
};

/* Images are seeded N(0,1) noise with seeded labels (data "normal"), or the first ones of a data set's training split,
 * again from its start where it has too few. CNN_INVALID where the set does not fit the network. */
int batches_create(struct batches *out, const struct cnn_network *network, const struct point *point,
                   struct cnn_error *error);
void batches_free(struct batches *batches); /* a zeroed one is fine */

const float *batches_images(const struct batches *batches, int index); /* of batch index % count */
const int32_t *batches_labels(const struct batches *batches, int index);

/* Bytes that batches_create() will take, or -1 when they do not fit in 63 bits. */
int64_t batches_bytes(const struct cnn_network *network, int batch);

/* CNN_INVALID, with a sentence, where a data set's images or labels are none of the network's. */
int batches_fit(const struct cnn_dataset *dataset, const struct cnn_network *network, struct cnn_error *error);

#endif
