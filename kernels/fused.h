/* SPDX-License-Identifier: MIT */
/* A step of few images in few launches. With a handful of images every kernel of a step is done before its launch is
 * paid for, so what counts is how many follow one another: a stage is one launch for several operations. fuse.c finds
 * the stages of a network; whatever none is made for runs as its own job between them. */
#ifndef KERNELS_FUSED_H
#define KERNELS_FUSED_H

#include "kernels/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FUSED_TAIL 4     /* fully connected layers behind the one that a block finishes last */
#define FUSED_UPDATES 12 /* layers with weights: their list is an argument of a kernel, of which there are 4 KB */

struct cuda_stage {
    const struct cuda_job *job;  /* of the layer: a convolution or a fully connected one, or any job that runs alone */
    const struct cuda_job *pool; /* the pooling layer behind it (forward) or below it (backward); NULL: none */
    int early;                   /* may begin before its predecessor ends */
    int prefetch;                /* and may read weights by then: the update that wrote them is not its predecessor */
    float *partial;              /* sums of blocks that share a unit */
    unsigned *tickets;           /* of blocks that wait for the last: zero between launches */
    /* Of a fully connected layer that ends the step: the small layers behind it, lowest first. */
    const struct cuda_job *tail[FUSED_TAIL];
    int tail_count;
    const struct cuda_loss *loss; /* NULL: this is not the end */
    const char *file;
    double executed_macs; /* of one image */
    cudaError_t (*launch)(const struct cuda_stage *stage, const struct cuda_batch *batch, cudaStream_t stream);
};

/* Gradients of all weights and their update. */
struct cuda_fused_update {
    const struct cuda_job *layers[FUSED_UPDATES];
    int slices[FUSED_UPDATES];     /* of a convolution: blocks that share the sums of a pair of maps */
    float *partial[FUSED_UPDATES]; /* theirs, and their tickets */
    unsigned *tickets[FUSED_UPDATES];
    int count, early;
    double executed_macs;
};

/* fused_conv.cu: a convolution and what pools it; backward, the delta below it and what its pooling makes of that. */
cudaError_t cuda_fused_conv_forward(const struct cuda_stage *stage, const struct cuda_batch *batch,
                                    cudaStream_t stream);
cudaError_t cuda_fused_conv_data(const struct cuda_stage *stage, const struct cuda_batch *batch, cudaStream_t stream);

/* fused_full.cu: a fully connected layer; where it ends the step, also the small layers behind it, the answer and their
 * deltas. Floats of `partial` that it takes: */
cudaError_t cuda_fused_full_forward(const struct cuda_stage *stage, const struct cuda_batch *batch,
                                    cudaStream_t stream);
int64_t cuda_fused_full_partial(const struct cuda_job *job);
cudaError_t cuda_fused_full_data(const struct cuda_stage *stage, const struct cuda_batch *batch, cudaStream_t stream);

/* fused_update.cu. Of a layer: slices, tickets, and the floats of `partial`: */
cudaError_t cuda_fused_update_launch(const struct cuda_fused_update *fused, const struct cuda_update *update,
                                     const struct cuda_batch *batch, cudaStream_t stream);
int cuda_fused_slices(const struct cuda_job *job);
int64_t cuda_fused_tickets(const struct cuda_job *job);
int64_t cuda_fused_sums(const struct cuda_job *job);

/* fuse.c */
struct cnn_program;
struct cuda_fusion {
    struct cuda_stage *forward, *backward; /* backward: the gradients of the data, down to the lowest layer */
    int forward_count, backward_count;
    struct cuda_fused_update update;
    int on; /* 0: operation by operation */
};
int cuda_fuse(struct cnn_program *p, struct cnn_error *error); /* after the jobs are known */
void cuda_fuse_bind(struct cnn_program *p);                    /* carves; called twice as cuda_bind() */
void cuda_unfuse(struct cnn_program *p);

#ifdef __cplusplus
}
#endif
#endif
