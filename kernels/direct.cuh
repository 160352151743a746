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
    int row_tiles;    /* of the product */
    long long pixels; /* output (backward data: input) pixels of all images; columns of the product, or terms */
};

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
    return a;
}

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
 * limit. */
struct tile_choice {
    int rows, columns;
    float speed;
};

template <class T> static constexpr tile_choice choice_of(float speed)
{
    return tile_choice{ T::BM, T::BN, speed };
}

/* The choice of least estimated time: the tiles that the busiest multiprocessor works through, and half a tile more for
 * the start; the more of them the better they hide each other's waiting. */
template <int COUNT>
static int choose_tile(const tile_choice (&choices)[COUNT], long long rows, long long columns, int multiprocessors)
{
    int best = 0;
    double least = 0;
    for (int i = 0; i < COUNT; i++) {
        long long tiles = ((rows + choices[i].rows - 1) / choices[i].rows) *
                          ((columns + choices[i].columns - 1) / choices[i].columns);
        double rounds = (double)((tiles + multiprocessors - 1) / multiprocessors);
        double time = (rounds + 0.5) * choices[i].rows * choices[i].columns / choices[i].speed;
        if (i == 0 || time < least) {
            best = i;
            least = time;
        }
    }
    return best;
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
    long long blocks = a.row_tiles * ((columns + T::BN - 1) / T::BN) * slices;
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    direct_kernel<OP, T><<<(unsigned)blocks, T::THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}

static inline int direct_uses_tensor_cores(const cuda_job *job)
{
    return job->tensor_cores && job->shape->out_maps >= TENSOR_MAPS && job->shape->reduction >= TENSOR_TERMS;
}

#endif
