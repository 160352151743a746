/* SPDX-License-Identifier: MIT */
/* What the direct kernels share: how vectors meet the layout. In image mode (lanes > 1) a vector holds one pixel of
 * VEC_WIDTH images and a `unit` is a pixel; a block of lanes > VEC_WIDTH images is done in groups of VEC_WIDTH. In
 * column mode (lanes
 * == 1) a vector holds VEC_WIDTH neighbouring columns of one image and a unit is such a vector, the last one perhaps
 * partial. */
#ifndef CPU_DIRECT_H
#define CPU_DIRECT_H

#include "cpu/kernel.h"
#include "cpu/simd.h"
#include "cpu/tuning.h"
#include "cpu/vector_math.h"

CPU_INLINE int64_t ceil_divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

CPU_INLINE int direct_groups(int lanes)
{
    return lanes == 1 ? 1 : lanes / VEC_WIDTH;
}

/* Units of a row of `cols` pixels. */
CPU_INLINE int direct_units(int lanes, int cols)
{
    return lanes == 1 ? (int)ceil_divide(cols, VEC_WIDTH) : cols;
}

static inline bool direct_supports(const struct cnn_layer *layer, int lanes)
{
    (void)layer;
    return lanes == 1 || lanes % VEC_WIDTH == 0;
}

/* One vector of a parameter gradient, `at` floats from the layer's first weight: kept, or with job->fused applied at
 * once as in update.c. The first n lanes. */
CPU_INLINE void direct_put_gradient(const struct cpu_job *job, const struct cnn_rates *rates, float decay, int64_t at,
                                    vec gradient, int n)
{
    if (!job->fused) {
        vec_store_first(job->weight_gradient + at, gradient, n);
        return;
    }
    float *w = (float *)job->weights + at;
    vec value = vec_load_first(w, n), step = gradient + vec_set(decay) * value;
    if (job->velocity) {
        step += vec_set(rates->momentum) * vec_load_first(job->velocity + at, n);
        vec_store_first(job->velocity + at, step, n);
    }
    vec_store_first(w, value - vec_set(rates->rate) * step, n);
}

/* What a convolution reads and writes: forward x -> y, backward-data dy -> dx, which is the same correlation with the
 * roles of the maps exchanged. */
struct direct_ends {
    const struct cpu_tensor *in, *out;
    const float *bias;              /* NULL: backward */
    const struct cpu_tensor *below; /* backward: outputs of the layer below; NULL: no slope */
    enum cnn_activation activation; /* forward: of this layer; backward: of the layer below */
    int out_map, out_row;           /* where the data of `out` begin: 0, or what a convolution hands to its pooling */
    int pad;                        /* rows and columns that the first pixel's taps reach before it, at stride 1 */
};

CPU_INLINE struct direct_ends direct_ends_forward(const struct cpu_job *job)
{
    return (struct direct_ends){ .in = &job->x,
                                 .out = &job->y,
                                 .bias = job->bias,
                                 .activation = job->pool && job->pool->pending != CNN_LINEAR ? CNN_LINEAR
                                                                                             : job->layer->activation,
                                 .pad = job->layer->pad_before };
}

CPU_INLINE struct direct_ends direct_ends_backward(const struct cpu_job *job)
{
    return (struct direct_ends){ .in = &job->dy,
                                 .out = &job->dx,
                                 .below = job->below == CNN_LINEAR ? NULL : &job->x,
                                 .activation = job->below,
                                 .pad = job->layer->kernel_rows - 1 - job->layer->pad_before };
}

/* Layers that are one matrix product per image. */
static inline bool direct_full_supports(const struct cnn_layer *layer, int lanes)
{
    return cpu_layer_is_full(layer) && direct_supports(layer, lanes);
}

#endif
