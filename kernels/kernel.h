/* SPDX-License-Identifier: MIT */
/* What a CUDA kernel is to the rest of the backend: one operation of one layer, bound to device memory, and the
 * function that launches it. Shared by C and CUDA.
 *
 * Tensors are NCHW without padding or halo: (image n, map m, row r, col c) of a tensor is at
 *     ((n * maps + m) * rows + r) * cols + c
 * One image's tensor has fewer than 2^31 elements (build.c refuses others by name), so offsets inside an image are 32
 * bits wide and everything beyond is 64. */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "lib/network.h"
#include "lib/operations.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a term of a sum lies, relative to the output pixel it belongs to. */
struct cuda_tap {
    int32_t offset;   /* in floats, from the pixel (row 0, col 0 of map 0 moved with the output pixel) */
    int16_t row, col; /* of the tap, to be compared with the borders */
};

/* Row and column of a tap that meets no pixel: such taps stand behind a table. */
#define CUDA_NO_TAP 31

/* A layer as kernels see it. A layer whose every output reads the whole input (fully connected, or a convolution as
 * large as its input) is a 1 x 1 convolution over in_maps = all its inputs. */
struct cuda_layer {
    int in_maps, in_rows, in_cols;
    int out_maps, out_rows, out_cols;
    int kernel_rows, kernel_cols, stride, pad;
    int taps;      /* kernel_rows * kernel_cols */
    int reduction; /* in_maps * taps: terms of an output, connected or not; 1 for pooling */
    int full;      /* 1 x 1 convolution over 1 x 1 pixels: a matrix product */
    int padded;    /* whether a tap can fall outside the input */
    int connected; /* every pair is: no tables */
    enum cnn_activation activation;
    enum cnn_layer_kind kind;
    /* Tables on the device. */
    struct cuda_tap *forward;  /* [in_maps][taps]: from a window's corner into the input */
    struct cuda_tap *backward; /* [out_maps][taps]: from (input pixel + padding) / stride into the delta */
    int32_t *transposed;       /* [out_maps][taps]: offset of weight (out map, map 0, tap) */
    int32_t *first, *source;   /* of a table: as in struct cnn_layer; NULL where every pair is connected */
    int32_t *pair_out;         /* [pairs]: output map */
    int32_t *in_first;         /* [in_maps + 1] offsets into in_pair */
    int32_t *in_pair;          /* pairs of each input map, by output map */
    float *dense; /* [out_maps][reduction] with zeros for unconnected pairs; equals weights without a table */
    /* Gradients, before they are summed: [slices][out_maps][reduction + 1], the bias behind its weights. */
    float *partial;
    int slices;
};

struct cuda_kernel;

struct cuda_job {
    const struct cuda_kernel *kernel;
    const struct cnn_network *network;
    const struct cnn_layer *layer;
    struct cuda_layer *shape;
    int batch;           /* of the program */
    int multiprocessors; /* of the device */
    int shared_bytes;    /* most shared memory that a block of the device may have */
    int tensor_cores;    /* precision tf32 is asked for */
    int wgmma;           /* Hopper\'s own tensor instructions are there */
    int products;   /* of tensor cores that make a multiplication, tensor.cuh: 1 in tf32, 3 in fp32, 0: none here */
    int bottom;     /* its input is the batch's images */
    const float *x; /* the layer's input */
    float *y;       /* and output */
    float *dx, *dy; /* gradient by the weighted sum of the layer below, and of this layer */
    const float *below_y; /* output of the layer below, from which its slope is worked out; equals x */
    enum cnn_activation below;
    const float *weights, *bias; /* canonical */
    int tile, split; /* of `direct`: which tile, and among how many blocks its terms are dealt; set by prepare() */
    float *workspace;
    int64_t workspace_size; /* floats; set by prepare() */
    int64_t tickets;        /* words at its begin that start as zero; set by prepare() */
    double executed_macs;   /* of one image, as this kernel does it; set by prepare() */
    void *library;          /* struct cuda_blas, where the kernel needs it */
};

/* A batch at work. */
struct cuda_batch {
    int count; /* images */
    const float *images;
    const int32_t *labels; /* NULL: none are needed */
    int training;          /* the loss makes a delta too */
};

struct cuda_kernel {
    const char *name, *algorithm; /* algorithm "": what every algorithm shares */
    const char *file;
    enum cnn_operation_kind kind;
    int (*supports)(const struct cuda_job *job); /* NULL: always */
    void (*prepare)(struct cuda_job *job);       /* sizes, from geometry alone; NULL: nothing to prepare */
    /* Puts the work on the stream; returns the first error of a launch. Never allocates, never waits. */
    cudaError_t (*launch)(const struct cuda_job *job, const struct cuda_batch *batch, cudaStream_t stream);
};

/* A kernel's symbol: the CPU backends have kernels of the same names. */
#define CUDA_KERNEL(name) cuda_kernel_##name

static inline const float *cuda_job_input(const struct cuda_job *job, const struct cuda_batch *batch)
{
    return job->bottom ? batch->images : job->x;
}

#ifdef __cplusplus
}
#endif
#endif
