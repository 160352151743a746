/* SPDX-License-Identifier: MIT */
/* What the files of algorithm `gemm` share: how images become columns of a matrix, and the products. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "cpu/kernel.h"

/* The columns of a layer's matrices, in chunks that fit the cache: whole images, or a band of rows of one image where
 * an image is too large. Chunks are dealt to slots, each with memory of its own; slots are the tiles of a pass. All of
 * this follows from network and batch alone. */
struct gemm_plan {
    int64_t terms;    /* K: rows of the unfolded matrix, input maps x kernel */
    int images;       /* of a chunk; 1 where it is a band */
    int rows, bands;  /* output rows of a chunk; chunks of an image */
    int64_t columns;  /* of the largest chunk */
    int64_t unfolded; /* floats of a slot: where the sums begin, behind the unfolded inputs */
    int64_t slice;    /* floats of a slot */
    int slots;        /* of a full batch */
    int map_tiles;    /* weight gradients: tiles of input maps */
};

struct gemm_chunk {
    int image, images; /* first, number */
    int row, rows;     /* output rows */
    int64_t columns;
};

/* gemm_unfold.c. A plan for `slots` slots at most; NULL without memory. */
struct gemm_plan *gemm_plan_create(const struct cpu_job *job, int slots);
int gemm_groups(const struct gemm_plan *plan, const struct cpu_batch *batch); /* of images, that share a chunk */
int gemm_slots(const struct gemm_plan *plan, const struct cpu_batch *batch);  /* that have work */
struct gemm_chunk gemm_chunk_at(const struct cpu_job *job, const struct cpu_batch *batch, int group, int band);
/* Inputs of maps first..+maps-1 as [map][tap row][tap column][image][row][column]. */
void gemm_unfold(const struct cpu_job *job, const struct gemm_chunk *chunk, int first, int maps, float *to);
/* The reverse: columns are added to dx, which must hold zeros or sums. */
void gemm_fold(const struct cpu_job *job, const struct gemm_chunk *chunk, const float *from);
/* Deltas as [map][image][row][column]. */
void gemm_gather_deltas(const struct cpu_job *job, const struct gemm_chunk *chunk, float *to);

/* gemm_blas.c. Row-major: c[m][n] = a[m][k] b[k][n], or += with `add`; the suffix says which factors are read
 * transposed. The last numbers are the distances between rows. */
void gemm_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, const float *b, int64_t b_row,
                  bool add, float *c, int64_t c_row);
void gemm_product_ta(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, const float *b, int64_t b_row,
                     bool add, float *c, int64_t c_row);
void gemm_product_tb(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, const float *b, int64_t b_row,
                     bool add, float *c, int64_t c_row);

/* Layouts and sizes that a BLAS takes: NCHW, and numbers of 32 bits. */
bool gemm_supports(const struct cnn_layer *layer, int lanes);
bool gemm_full_supports(const struct cnn_layer *layer, int lanes);

static inline int64_t gemm_taps(const struct cnn_layer *layer)
{
    return (int64_t)layer->kernel_rows * layer->kernel_cols;
}

extern const struct cpu_kernel gemm_conv_forward, gemm_conv_backward_data, gemm_conv_backward_weights;
extern const struct cpu_kernel gemm_full_forward, gemm_full_backward_data, gemm_full_backward_weights;
extern const struct cpu_kernel gemm_whole_forward, gemm_whole_backward_data, gemm_whole_backward_weights;

#endif
