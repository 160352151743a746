/* SPDX-License-Identifier: MIT */
/* What every algorithm shares: the loss and the update of all layers in one kernel each. */
#ifndef KERNELS_SHARED_H
#define KERNELS_SHARED_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums since the last fetch, and what the last block needs to know that it is the last. */
struct cuda_answer {
    double loss_sum;
    long long correct;
    unsigned blocks_done, unused;
};

struct cuda_loss {
    int classes, softmax;
    float on, off; /* targets */
    enum cnn_activation activation;
    double *losses;     /* [batch] */
    int32_t *predicted; /* [batch] */
    struct cuda_answer *answer;
};

/* Labels NULL: predicted labels alone. delta NULL: no gradient. */
cudaError_t cuda_loss_launch(const struct cuda_loss *loss, const float *outputs, const int32_t *labels, float *delta,
                             int count, cudaStream_t stream);

/* Where a step tells the host that it is done; mapped.cu. */
struct cuda_told {
    struct cuda_answer *answer; /* pinned, as the rest of what the host reads */
    int32_t *labels;
    volatile unsigned *count; /* steps that are done */
    const struct cuda_answer *device_answer;
    unsigned *device_count;
};

/* A batch from pinned memory: so many words of images, and labels from `labels_at` on. early: dependent.cuh. */
cudaError_t cuda_bring_launch(float *to, const float *from, int64_t images, int64_t labels_at, int labels, int early,
                              cudaStream_t stream);
/* The answer, `count` labels, and that they are there. */
cudaError_t cuda_tell_launch(const struct cuda_told *told, const int32_t *labels, int count, int early,
                             cudaStream_t stream);

struct cuda_rates {
    float rate, momentum, decay;
};

/* One layer's parameters. Offsets are in floats from the arena's begin. */
struct cuda_segment {
    int64_t at, weights, biases;              /* the weights' place, and numbers */
    const float *partial;                     /* [slices][out_maps][reduction + 1]: gradients to be summed */
    float *dense;                             /* NULL without a table */
    const int32_t *first, *source, *pair_out; /* of a table; NULL where every pair is connected */
    int64_t slice;                            /* floats of a slice */
    int slices, taps, reduction, in_maps;
    int decays;
    int lanes;    /* threads that share a parameter's slices: 1, 4 or 32 */
    int block_at; /* first block of the launch */
};

struct cuda_update {
    struct cuda_segment *segments; /* on the device */
    int32_t *owners;               /* on the device: segment of each block */
    int segment_count, blocks;
    float *parameters, *velocity, *gradient; /* velocity NULL: no momentum; gradient NULL: not kept */
    const struct cuda_rates *rates;          /* on the device */
};

#define CUDA_UPDATE_THREADS 256
#define CUDA_UPDATE_EACH 4 /* parameters of a group of lanes */

/* Gradients summed over slices, step, and the dense copies refreshed. */
cudaError_t cuda_update_launch(const struct cuda_update *update, cudaStream_t stream);
/* Dense copies from the parameters alone. */
cudaError_t cuda_expand_launch(const struct cuda_update *update, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
