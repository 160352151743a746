/* SPDX-License-Identifier: MIT */
/* What the kernels of `direct` share: their arguments, the tiles there are, and which one a product gets. */
#ifndef KERNELS_DIRECT_CUH
#define KERNELS_DIRECT_CUH

#include "kernels/exact.cuh"
#include "kernels/load.cuh"
#include "kernels/tile.cuh"
#include "kernels/tuning.h"

struct direct_args {
    cuda_layer s;
    int below;
    const float *x, *weights, *bias;
    float *y, *dx;
    const float *dy;
    long long images;
    long long pixels; /* output (backward data: input) pixels of all images; columns of the product, or terms */
    int row_tiles;    /* of the product */
    int split;        /* blocks that share the terms of a tile; their sums and tickets: */
    float *partial;
    unsigned *tickets;
};

/* rows x columns of a tile, its terms per round, its outputs per thread, its groups */
using tile_square = plain_tile<128, 128, 8, 8, 8, 1>;
using tile_64 = plain_tile<64, 128, 8, 8, 8, 1>;
using tile_32 = plain_tile<32, 256, 8, 8, 8, 1>;
using tile_16 = plain_tile<16, 256, 4, 8, 8, 1>;
using tile_8 = plain_tile<8, 256, 4, 8, 4, 1>;
using tile_few = plain_tile<32, 32, 32, 4, 4, 4>;
using tile_tall = plain_tile<128, 32, 16, 8, 4, 1>;
using tile_flat = plain_tile<32, 64, 16, 4, 4, 1>;
using tile_thin = plain_tile<8, 32, 64, 4, 4, 8>;
using tensor_square = tensor_tile<128, 128, 16, 64, 32>;
using tensor_64 = tensor_tile<64, 128, 16, 32, 32>;
using tensor_32 = tensor_tile<32, 128, 16, 32, 32>;

/* A tile that a product may get: its sides, and how fast it multiplies when the GPU is full of it, relative to FFMA's
 * limit. A tile that splits may deal its terms to several blocks. */
struct tile_choice {
    int rows, columns, terms;
    int resident; /* blocks that a multiprocessor holds */
    float speed;
    bool splits;
};

template <class T> static constexpr tile_choice choice_of(float speed, bool splits = false)
{
    return tile_choice{ T::BM, T::BN, T::BK, T::BLOCKS, speed, splits };
}

static inline long long tiles_of(const tile_choice &choice, long long rows, long long columns)
{
    return (rows + choice.rows - 1) / choice.rows * ((columns + choice.columns - 1) / choice.columns);
}

/* Blocks per tile, so that the GPU is full once, each with at least SPLIT_ROUNDS rounds of terms. */
static inline int split_of(const tile_choice &choice, long long tiles, long long terms, int multiprocessors)
{
    long long most = terms / ((long long)choice.terms * SPLIT_ROUNDS), wanted = SPLIT_BLOCKS * multiprocessors / tiles;
    long long split = wanted < most ? wanted : most;
    return split < 2 || !choice.splits ? 1 : split > SPLIT_MOST ? SPLIT_MOST : (int)split;
}

/* The choice of least estimated time: the tiles that the busiest multiprocessor works through, and half a tile more for
 * the start; the more of them the better they hide each other's waiting. */
template <int COUNT>
static void choose_tile(cuda_job *job, const tile_choice (&choices)[COUNT], long long rows, long long columns,
                        long long terms)
{
    double least = 0;
    for (int i = 0; i < COUNT; i++) {
        long long tiles = tiles_of(choices[i], rows, columns);
        int split = split_of(choices[i], tiles, terms, job->multiprocessors);
        double rounds = (double)((tiles * split + job->multiprocessors - 1) / job->multiprocessors);
        double time = (rounds + 0.5) * choices[i].rows * choices[i].columns / choices[i].speed / split;
        if (i > 0 && time >= least)
            continue;
        least = time;
        job->tile = i;
        job->split = split;
    }
    const tile_choice &choice = choices[job->tile];
    long long tiles = tiles_of(choice, rows, columns);
    job->tickets = job->split > 1 ? (tiles + 63) / 64 * 64 : 0;
    job->workspace_size = job->split > 1 ? job->tickets + tiles * job->split * choice.rows * choice.columns : 0;
}

static inline direct_args direct_args_of(const cuda_job *job, const cuda_batch *batch)
{
    direct_args a = {};
    a.s = *job->shape;
    a.below = job->below;
    a.x = cuda_job_input(job, batch);
    a.weights = job->weights;
    a.bias = job->bias;
    a.y = job->y;
    a.dx = job->dx;
    a.dy = job->dy;
    a.images = batch->count;
    a.split = job->split < 1 ? 1 : job->split;
    a.tickets = (unsigned *)job->workspace;
    a.partial = job->workspace + job->tickets;
    return a;
}

/* The terms of this block's slice; whole rounds, so that only the last slice ends inside one. */
template <class T>
__device__ __forceinline__ void slice_terms(const direct_args &a, int slice, int terms, int *begin, int *end)
{
    int rounds = (terms + T::BK - 1) / T::BK, each = (rounds + a.split - 1) / a.split;
    *begin = min(slice * each * T::BK, rounds * T::BK);
    *end = min(*begin + each * T::BK, terms);
}

/* A tile of C whose loaders have started: its product, in slices or at once, to put(row, column, values). */
template <class T, class A, class B, class PUT>
__device__ __forceinline__ void direct_tile(const direct_args &args, A &a, B &b, int terms, float *memory, PUT put)
{
    if constexpr (T::THREADS * 4 == T::BM * T::BN) {
        if (args.split > 1) {
            int slice = blockIdx.x % args.split, tile = blockIdx.x / args.split, begin, end;
            float *partial = args.partial + (long long)tile * args.split * (T::BM * T::BN);
            float *own = partial + slice * (T::BM * T::BN);
            slice_terms<T>(args, slice, terms, &begin, &end);
            tile_product<T>(a, b, begin, end, memory, [&](int row, int column, const auto &values) {
#pragma unroll
                for (int i = 0; i < (int)(sizeof values / sizeof *values); i++)
                    own[row * T::BN + column + i] = values[i];
            });
            join_slices<T>(partial, args.tickets + tile, args.split, put);
            return;
        }
    }
    tile_product<T>(a, b, 0, terms, memory, put);
}

/* Every combination of an operation and a tile is one kernel. OP<T> has run(args, memory). */
template <template <class> class OP, class T>
__global__ static void __launch_bounds__(T::THREADS, T::BLOCKS) direct_kernel(const __grid_constant__ direct_args a)
{
    __shared__ __align__(16) float memory[T::MEMORY];
    OP<T>::run(a, memory);
}

template <template <class> class OP, class T>
static cudaError_t launch_tiles(direct_args a, long long rows, long long columns, int slices, cudaStream_t stream)
{
    a.row_tiles = (int)((rows + T::BM - 1) / T::BM);
    long long tiles = a.row_tiles * ((columns + T::BN - 1) / T::BN), blocks = tiles * slices * a.split;
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    direct_kernel<OP, T><<<(unsigned)blocks, T::THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}

static inline int direct_uses_tensor_cores(const cuda_job *job)
{
    return job->tensor_cores && job->shape->out_maps >= TENSOR_MAPS && job->shape->reduction >= TENSOR_TERMS;
}

/* Tables of taps have a bit per kernel row and column. Larger kernels, and matrices of immense rows, are left to the
 * plain kernels at the end of the registry. */
static inline int direct_takes(const cuda_job *job)
{
    return job->shape->full || (job->shape->kernel_rows <= 31 && job->shape->kernel_cols <= 31);
}

#endif
