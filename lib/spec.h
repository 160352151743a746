/* SPDX-License-Identifier: MIT */
/* What a description says once depth has unrolled it: which layer stands where, and whether the description holds
 * together before any size is worked out. Internal to lib. */
#ifndef CNN_LIB_SPEC_H
#define CNN_LIB_SPEC_H

#include "lib/network.h"

/* The repeated block and the number of times it stands in the built network. */
struct cnn_unrolled {
    int begin, end; /* layers of the description; equal where there is no block */
    int times;
    int first_number; /* the number in the name of the first copy: 1, or 2 where the block follows its pattern */
    int total;        /* layers of the built network */
};

/* Every check that needs no geometry; fills *unrolled. CNN_INVALID with a sentence that names network and layer. */
int cnn_spec_check(const struct cnn_network_spec *spec, struct cnn_unrolled *unrolled, struct cnn_error *error);

/* The described layer behind built layer `index`, and which copy it is (from 0; 0 outside the block). */
int cnn_unrolled_layer(const struct cnn_unrolled *unrolled, int index, int *copy);

/* The built layer's name: as described, or made from kind and place ("C1", "S2"); copies of a block are numbered. */
void cnn_unrolled_name(const struct cnn_network_spec *spec, const struct cnn_unrolled *unrolled, int index,
                       char out[CNN_NAME_MAX]);

/* The smallest image side for which every kernel fits, or 0 where that passes CNN_SIDE_MAX. */
int cnn_spec_smallest_image(const struct cnn_network_spec *spec, const struct cnn_unrolled *unrolled);

/* The stride in pixels: pooling windows that say 0 do not overlap. */
static inline int cnn_spec_stride(const struct cnn_layer_spec *layer)
{
    return layer->kind != CNN_CONV && layer->stride == 0 ? layer->kernel : layer->stride;
}

static inline bool cnn_kind_is_pooling(enum cnn_layer_kind kind)
{
    return kind == CNN_SUBSAMPLE || kind == CNN_MAXPOOL || kind == CNN_AVGPOOL;
}

#endif
