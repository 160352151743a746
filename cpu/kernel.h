/* SPDX-License-Identifier: MIT */
/* What a CPU kernel is: how it prepares, into how many tiles its work falls, and how a range of tiles is done. To add
 * one, write a file with a `const struct cpu_kernel CPU_SYMBOL(name)` and one line in cpu/meson.build. */
#ifndef CPU_KERNEL_H
#define CPU_KERNEL_H

#include "cpu/tensor.h"
#include "lib/backend.h"
#include "lib/network.h"
#include "lib/operations.h"

#include <stddef.h>

/* The batch of the running step. */
struct cpu_batch {
    int count;             /* images */
    int blocks;            /* of `lanes` images */
    const int32_t *labels; /* [count], or NULL in classify */
    double *losses;        /* [count], out */
    int32_t *predicted;    /* [count], out */
    bool train;            /* the loss writes its gradient */
    struct cnn_rates rates;
};

/* One operation of one layer, bound to memory. Tensors that the operation does not use have data == NULL.
 *
 * What an operation may touch, since memory is shared by lifetime (share.c): forward reads x and writes y; the loss
 * reads y and writes dy; backward-data reads dy, and x for the slope of the layer below or the place of a maximum, and
 * writes dx; a weight gradient reads x and dy. A convolution with `pool` touches what its pooling does, but no delta of
 * its own. No backward operation reads y. Every lane of every block of the batch is
 * written, also lanes without an image, whose images and deltas are zeros; halos are never written. */
struct cpu_job {
    const struct cpu_kernel *kernel;
    const struct cnn_network *network;
    const struct cnn_layer *layer;
    int lanes, max_blocks;     /* images per block; blocks of a full batch */
    struct cpu_tensor x, y;    /* the layer's input and output */
    struct cpu_tensor dx, dy;  /* gradient by the weighted sum of the layer below, and of this layer */
    enum cnn_activation below; /* activation of the layer below, whose slope turns the gradient by x into dx */
    const float *weights, *bias;
    float *weight_gradient, *bias_gradient;
    float *velocity;  /* of weights, then biases; NULL without momentum */
    void *plan;       /* the kernel's own tables, one malloc'd piece made by prepare(), freed with the program */
    float *packed;    /* weights in the kernel's own order, refreshed by its pack pass after every update */
    float *workspace; /* shared by all workers of the operation */
    int64_t packed_size, workspace_size; /* floats; set by prepare() */
    bool fused;                          /* the gradient goes into the weights at once and is not kept */
    const struct cpu_job *pool;          /* of a convolution: the pooling above, done along with it (fuse.c); or NULL */
    const struct cpu_job *pool_gains;    /* and the gradient of its gains and biases, in a weight gradient; or NULL */
    bool joined;                         /* of a pooling: a convolution does it, so it has no passes of its own */
    enum cnn_activation pending;         /* of a max-pooling: activation that its inputs still lack, else linear */
    double executed_macs;                /* of one image, as this kernel does it; set by prepare() */
};

/* A range of independent tiles. The partition depends on network, batch and kernel alone, never on the number of
 * threads; a tile writes what no other tile writes. */
struct cpu_pass {
    int64_t (*tiles)(const struct cpu_job *job, const struct cpu_batch *batch); /* NULL: there is no such pass */
    void (*run)(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end);
};

struct cpu_kernel {
    const char *name;      /* "direct_conv_forward" */
    const char *algorithm; /* "naive", "direct"; "" for what every algorithm shares */
    const char *file;
    enum cnn_operation_kind kind;
    /* Whether this layer can be done with `lanes` images per block. NULL: always. */
    bool (*supports)(const struct cnn_layer *layer, int lanes);
    /* Works out tables and sizes from geometry (tensors have no data yet). false: no memory. NULL: nothing to prepare.
     */
    bool (*prepare)(struct cpu_job *job);
    struct cpu_pass pack;  /* weights into the kernel's own order, after every change of them */
    struct cpu_pass stage; /* before the main pass: what all its tiles need (a transposed copy, ...) */
    struct cpu_pass main;
    struct cpu_pass finish; /* after it: a sum of partial results in fixed order */
    bool
        fuses_update; /* honours job->fused: backward-data of the layer, which reads the same weights, has run before */
    /* Whether the job can do a pooling of its outputs along, as job->pool. NULL: never. */
    bool (*takes_pool)(const struct cpu_job *job, const struct cnn_layer *pool);
    bool joins_conv; /* of a pooling: honours `pending`, and a convolution that takes it computes the same */
};

/* Whether a layer is one matrix product per image: every output reads the whole input. Its tensors have no halo. */
static inline bool cpu_layer_is_full(const struct cnn_layer *layer)
{
    return layer->kind == CNN_FULL ||
           (layer->kind == CNN_CONV && !layer->first && layer->pad_before == 0 && layer->out.rows == 1 &&
            layer->out.cols == 1 && layer->kernel_rows == layer->in.rows && layer->kernel_cols == layer->in.cols);
}

#endif
