/* SPDX-License-Identifier: MIT */
/* Which tile a convolution over many images gets, wgmma_images.cuh, what it costs, and its launch. */
#ifndef KERNELS_IMAGES_PLAN_CUH
#define KERNELS_IMAGES_PLAN_CUH

#include "kernels/wgmma_images.cuh"

#include <limits.h>
#include <math.h>

/* The tiles: N, P, whether the groups share the maps. */
#define IMAGES_TILES(TILE) \
    TILE(0, 64, 5, false)  \
    TILE(1, 64, 4, false)  \
    TILE(2, 48, 5, false)  \
    TILE(3, 64, 4, true)   \
    TILE(4, 48, 5, true)   \
    TILE(5, 32, 8, true)   \
    TILE(6, 32, 5, true)   \
    TILE(7, 24, 8, true)   \
    TILE(8, 16, 8, true)

struct images_shape {
    int n, p, shared;
    int maps() const
    {
        return shared ? n : 2 * n;
    }
    int images() const
    {
        return shared ? 128 : 64;
    }
};

#define IMAGES_SHAPE(index, n, p, shared) { n, p, shared },
static const images_shape images_shapes[] = { IMAGES_TILES(IMAGES_SHAPE) };
#define IMAGES_SHAPES ((int)(sizeof images_shapes / sizeof *images_shapes))

template <bool BACK> static images_args describe(const cuda_job *job, const images_shape &shape)
{
    const cuda_layer &s = *job->shape;
    images_args a = {};
    a.back = BACK;
    a.from_maps = BACK ? s.out_maps : s.in_maps;
    a.from_rows = BACK ? s.out_rows : s.in_rows;
    a.from_cols = BACK ? s.out_cols : s.in_cols;
    a.to_maps = BACK ? s.in_maps : s.out_maps;
    a.to_rows = BACK ? s.in_rows : s.out_rows;
    a.to_cols = BACK ? s.in_cols : s.out_cols;
    a.pad = BACK ? s.kernel_rows - 1 - s.pad : s.pad;
    a.chunks = (a.from_maps + DEPTH - 1) / DEPTH;
    a.strips = (a.to_cols + shape.p - 1) / shape.p;
    a.map_blocks = (a.to_maps + shape.maps() - 1) / shape.maps();
    a.whole_fours = a.to_cols % 4 == 0;
    return a;
}

/* Products of an output pixel's row and column with the taps that meet the map, over all of them: `p` columns
 * together. */
static double reached(int outputs, int inputs, int kernel, int pad, int p)
{
    double sum = 0;
    for (int first = 0; first < outputs; first += p)
        for (int at = first - pad; at < first + p - 1 + kernel - pad; at++)
            for (int out = 0; at >= 0 && at < inputs && out < p; out++)
                sum += at + pad - first - out >= 0 && at + pad - first - out < kernel;
    return sum;
}

/* Multiply-adds of an image, with those of maps and pixels that fill up. */
static double executed(const images_args &a, const images_shape &shape, int kernel)
{
    return reached(a.to_rows, a.from_rows, kernel, a.pad, 1) * reached(a.to_cols, a.from_cols, kernel, a.pad, shape.p) *
           a.chunks * DEPTH * a.map_blocks * shape.maps();
}

static long long image_blocks(long long images, const images_shape &shape)
{
    return (images + shape.images() - 1) / shape.images();
}

/* Clocks of a multiprocessor for a batch: the tensor cores or what L2 brings, whichever is longer, in whole rounds of
 * the GPU. */
template <bool BACK> static double clocks(const cuda_job *job, const images_shape &shape)
{
    images_args a = describe<BACK>(job, shape);
    int kernel = job->shape->kernel_rows;
    double blocks = (double)image_blocks(job->batch, shape) * a.to_rows * a.strips * a.map_blocks;
    double macs = executed(a, shape, kernel) * shape.images() / ((double)a.to_rows * a.strips * a.map_blocks);
    double words = a.chunks * (double)kernel * DEPTH *
                   ((shape.p + kernel - 1) * shape.images() + kernel * shape.maps() * (job->products == 3 ? 2 : 1));
    double each = fmax(macs * job->products / IMAGES_MACS, words * 4 / IMAGES_BYTES) +
                  IMAGES_PUT * shape.images() * shape.p * shape.maps() + IMAGES_START;
    return each * ceil(blocks / job->multiprocessors);
}

static long long weight_words(const images_args &a, const images_shape &shape, int kernel, int products)
{
    return (long long)a.map_blocks * a.chunks * kernel * kernel * 2 * shape.maps() * 8 * (products == 3 ? 2 : 1);
}

template <bool BACK> static void prepare(cuda_job *job)
{
    double least = 0;
    for (int i = 0; i < IMAGES_SHAPES; i++) {
        double cost = clocks<BACK>(job, images_shapes[i]);
        if (i > 0 && cost >= least)
            continue;
        least = cost;
        job->tile = i;
    }
    const images_shape &shape = images_shapes[job->tile];
    images_args a = describe<BACK>(job, shape);
    int kernel = job->shape->kernel_rows;
    job->executed_macs = executed(a, shape, kernel);
    job->workspace_size = weight_words(a, shape, kernel, job->products) + image_blocks(job->batch, shape) * a.chunks *
                                                                              a.from_rows * a.from_cols *
                                                                              shape.images() * DEPTH;
}

/* Where images are enough and the tensor cores come to more of their limit than in the other kernels. */
template <int KERNEL, bool BACK> static int supports(const cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    if (!job->wgmma || !job->products || s.full || s.stride != 1 || s.kernel_rows != KERNEL || s.kernel_cols != KERNEL)
        return 0;
    if (job->batch < IMAGES_BATCH || s.in_maps < IMAGES_MAPS || s.out_maps < IMAGES_MAPS)
        return 0;
    cuda_job copy = *job;
    prepare<BACK>(&copy);
    const images_shape &shape = images_shapes[copy.tile];
    images_args a = describe<BACK>(job, shape);
    double macs = (double)job->layer->macs_dense * job->batch;
    double rate = macs / (clocks<BACK>(job, shape) * job->multiprocessors);
    return (long long)a.from_rows * a.from_cols * shape.images() * DEPTH <= INT_MAX && rate >= IMAGES_LEAST;
}

template <class T> static cudaError_t launch_tile(images_args a, const cuda_job *job, cudaStream_t stream)
{
    const images_shape &shape = images_shapes[job->tile];
    long long words = weight_words(a, shape, T::KERNEL, T::PRODUCTS), plane = (long long)a.from_rows * a.from_cols;
    long long blocks = image_blocks(a.d.images, shape), eights = blocks * T::IMAGES / 8;
    long long packs = eights * a.chunks * ((plane + PACKED_PIXELS - 1) / PACKED_PIXELS);
    float *weights = job->workspace, *pieces = weights + words;
    blocks *= (long long)a.to_rows * a.strips * a.map_blocks;
    if (blocks > 0x7fffffffLL || packs > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    a.weights = weights;
    a.pieces = pieces;
    pack_weights_kernel<T><<<stride_blocks(words, PACK_THREADS), PACK_THREADS, 0, stream>>>(a, weights, words);
    pack_images_kernel<T::IMAGES><<<(unsigned)packs, PACK_THREADS, 0, stream>>>(a, pieces);
    cudaError_t code = cudaGetLastError();
    if (!code)
        code = cudaFuncSetAttribute(images_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)T::BYTES);
    if (code)
        return code;
    images_kernel<T><<<(unsigned)blocks, THREADS, T::BYTES, stream>>>(a);
    return cudaGetLastError();
}

template <int KERNEL, bool BACK>
static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    images_args a = describe<BACK>(job, images_shapes[job->tile]);
    a.d = direct_args_of(job, batch);
    a.from = BACK ? a.d.dy : a.d.x;
#define LAUNCH_TILE(index, n, p, shared)                                                              \
    if (job->tile == index)                                                                           \
        return job->products == 1 ? launch_tile<images_tile<KERNEL, n, p, shared, 1>>(a, job, stream) \
                                  : launch_tile<images_tile<KERNEL, n, p, shared, 3>>(a, job, stream);
    IMAGES_TILES(LAUNCH_TILE)
#undef LAUNCH_TILE
    return cudaErrorInvalidValue;
}

#endif
