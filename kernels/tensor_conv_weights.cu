/* SPDX-License-Identifier: MIT */
/* Weight gradient of a convolution on tensor cores by mma.sync: a product whose rows are output maps, whose columns are
 * weights (in map, tap) and one of ones for the bias, and whose terms are the output pixels of all images. Nothing is
 * unfolded or packed: a block holds the deltas of a chunk of pixels and the patches that those see, each fetched once,
 * and a column's value of a term lies at patch[place of the weight + offset of the pixel]. While a chunk is multiplied
 * the next is on its way. Terms 2 t and 2 t + 1 of 8 stand where the instruction has t and t + 4, so that a lane takes
 * its deltas in pairs; the order of terms is free.
 *
 * Bound: shared memory gives 128 bytes per clock, which is one load of a warp. A warp's 64 x 64 tile takes 32 such for
 * 32 products that keep the tensor cores busy for 48 clocks, so these are the limit; in fp32, three times over. Of 32
 * maps or 32 columns the loads are, at a half of the tensor cores' speed in tf32. L2 gives a block of 128 x 256 12
 * words for 1,000 clocks' worth of each pixel, which is nothing.
 *
 * Chunks are dealt to slices, whose sums the update adds up in order. */
#include "kernels/product_plan.cuh"
#include "kernels/weight_sums.cuh"

#define CHUNK_STEPS 16   /* at most: 128 pixels */
#define CHUNK_START 400  /* clocks between two chunks */
#define CHUNK_WORDS 16.0 /* copies that a multiprocessor starts in a clock, where it has nothing else to do */

using weights_128 = weights_tile<2, 4, 4, 8, 1>;
using weights_64 = weights_tile<1, 4, 4, 8, 2>;
using weights_64_few = weights_tile<1, 4, 4, 4, 3>;
using weights_32 = weights_tile<1, 4, 2, 8, 2>;
using weights_32_few = weights_tile<1, 4, 2, 4, 4>;
using weights_16 = weights_tile<1, 4, 1, 4, 4>;
using weights_32_odd = weights_tile<1, 5, 2, 4, 3>; /* 3 x 3 taps of 16 or 32 maps, and the bias */
using weights_square = weights_tile<2, 2, 2, 4, 4>;
using weights_tall = weights_tile<4, 1, 2, 4, 4>;
using weights_short = weights_tile<4, 1, 1, 4, 4>;

/* Sides, blocks on a multiprocessor, and the share of the tensor cores' limit in tf32 and fp32, by the loads and
 * instructions of a step; 0: not in fp32, whose operands take more registers than a warp of 64 x 64 has left. */
struct weights_choice {
    int rows, columns, resident;
    double tf32, fp32;
};

template <class T> static constexpr weights_choice choice_of_weights(double tf32, double fp32)
{
    return weights_choice{ T::BM, T::BN, T::BLOCKS, tf32, fp32 };
}

static constexpr weights_choice choices[] = {
    choice_of_weights<weights_128>(0.8, 0),      choice_of_weights<weights_64>(0.8, 0),
    choice_of_weights<weights_64_few>(0.7, 0.9), choice_of_weights<weights_32>(0.65, 0.85),
    choice_of_weights<weights_32_few>(0.5, 0.8), choice_of_weights<weights_32_odd>(0.5, 0.8),
    choice_of_weights<weights_square>(0.5, 0.8), choice_of_weights<weights_16>(0.35, 0.65),
    choice_of_weights<weights_tall>(0.5, 0.8),   choice_of_weights<weights_short>(0.35, 0.65),
};
#define CHOICES ((int)(sizeof choices / sizeof *choices))

template <class T, int PRODUCTS>
__global__ static void __launch_bounds__(T::THREADS, T::BLOCKS)
    tensor_weights_kernel(const __grid_constant__ weights_args a)
{
    extern __shared__ __align__(16) float memory[];
    const cuda_layer &s = a.d.s;
    int deltas_stage = T::BM * a.delta_words, patches_stage = a.maps * a.patch_words;
    float *deltas = memory, *patches = deltas + 2 * deltas_stage;
    int2 *offsets = (int2 *)(patches + 2 * patches_stage);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tiles = a.row_tiles * (s.reduction / T::BN + 1);
    int slice = blockIdx.x / tiles, tile = blockIdx.x - slice * tiles, column_tile = tile / a.row_tiles;
    int map0 = (tile - column_tile * a.row_tiles) * T::BM, weight0 = column_tile * T::BN, first = weight0 / s.taps;
    int maps = min(s.in_maps, (weight0 + T::BN - 1) / s.taps + 1) - first;
    int row = warp / T::WARPS_N * (T::ROWS * 16), column = warp % T::WARPS_N * (T::COLUMNS * 8);
    int begin = slice * a.each, chunks = min(a.each, a.chunks - begin), places[T::COLUMNS];
    for (int i = threadIdx.x; i < a.steps * 4; i += T::THREADS)
        offsets[i] = make_int2(4 * place_of_term(a, i * 2), 4 * place_of_term(a, i * 2 + 1));
    for (int i = threadIdx.x; i < 2 * a.patch_words; i += T::THREADS) /* what the bias sees */
        patches[(i < a.patch_words ? patches_stage : 2 * patches_stage - a.patch_words) - a.patch_words + i] = 1;
#pragma unroll
    for (int j = 0; j < T::COLUMNS; j++)
        places[j] = 4 * place_of_weight(a, weight0 + column + j * 8 + lane / 4, first);
    if (chunks > 0)
        load_chunk<T>(a, begin, map0, first, maps, deltas, patches);

    weight_sums<T, PRODUCTS> sums;
    sums.clear();
    for (int chunk = 0; chunk < chunks; chunk++) {
        copy_async_wait<0>();
        __syncthreads(); /* this chunk is there, and the one before has been read by all */
        int now = chunk % 2, then = 1 - now;
        if (chunk + 1 < chunks)
            load_chunk<T>(a, begin + chunk + 1, map0, first, maps, deltas + then * deltas_stage,
                          patches + then * patches_stage);
        sums.add_chunk(a, deltas + now * deltas_stage + (row + lane / 4) * a.delta_words + lane % 4 * 2,
                       patches + now * patches_stage, places, offsets + lane % 4);
    }
    put_sums<T, PRODUCTS>(a, slice, map0 + row + lane / 4, weight0 + column + lane % 4 * 2, sums);
}

static long long shared_bytes(const weights_args &a, const weights_choice &c)
{
    return 4 * (2 * ((long long)c.rows * a.delta_words + (long long)a.maps * a.patch_words) + a.steps * 4 * 2);
}

/* Deltas that lie side by side in the tensor and in a chunk, wherever it begins. */
static int unit_of_deltas(const weights_args &a, const cuda_layer &s)
{
    for (int unit = 4; unit > 1; unit /= 2)
        if (a.col_blocks > 1 ? a.cols % unit == 0 && s.out_cols % unit == 0
                             : a.rows * a.cols % unit == 0 && s.out_rows * s.out_cols % unit == 0)
            return unit;
    return 1;
}

/* Lays out a chunk. 8 neighbouring weights of up to 3 rows and 4 pairs of pixels should meet in no bank: rows lie 10 to
 * 22 words apart, and are not copied as they lie where they do not. */
static void lay_stage(weights_args *a, const cuda_layer &s)
{
    a->delta_unit = unit_of_deltas(*a, s);
    a->delta_words = a->steps * 8 + (40 - a->steps * 8 % 32) % 32;
    a->whole_rows = words_at_once(*a, s);
    if (s.taps == 1 || (a->pitch % 32 >= 10 && a->pitch % 32 <= 22))
        return;
    while (a->pitch % 32 < 10 || a->pitch % 32 > 22)
        a->pitch++;
    a->whole_rows = 0;
    lay_patch(a);
}

static double share_of(const weights_choice &c, int products)
{
    return products == 1 ? c.tf32 : c.fp32;
}

/* Clocks of a multiprocessor for a chunk of a block, where it is full of blocks. */
static double chunk_clocks(const weights_args &a, const weights_choice &c, int products)
{
    double multiply = (double)a.steps * 8 * c.rows * c.columns * products / (TENSOR_CYCLE * share_of(c, products));
    double patch = (double)a.maps * a.images * a.patch_rows * a.pitch / (a.whole_rows == 4 ? 4 : 1);
    return multiply + (c.rows * a.steps * 8.0 / a.delta_unit + patch) / CHUNK_WORDS + CHUNK_START / c.resident;
}

/* Returns false where no chunk fits the shared memory that a block of the tile has. */
static bool choose_chunk(weights_args *a, const cuda_job *job, const weights_choice &c)
{
    const cuda_layer &s = *job->shape;
    int held = (c.columns + s.taps - 2) / s.taps + 1;
    a->maps = (held < s.in_maps ? held : s.in_maps) + 1;
    return choose_chunk(a, job, CHUNK_STEPS, [&](weights_args *it) {
        lay_stage(it, s);
        if (shared_bytes(*it, c) * c.resident > job->shared_bytes || chunks_of(*it, job->batch) > 0x3fffffff)
            return -1.0;
        return (double)chunks_of(*it, job->batch) * chunk_clocks(*it, c, job->products);
    });
}

/* Tile, chunk and slices of the least estimated time. Returns false where nothing fits. */
static bool plan_weights(cuda_job *job)
{
    cuda_layer &s = *job->shape;
    double least = -1;
    for (int i = 0; i < CHOICES; i++) {
        const weights_choice &c = choices[i];
        weights_args a = {};
        if (share_of(c, job->products) == 0 || !choose_chunk(&a, job, c))
            continue;
        double clocks = chunk_clocks(a, c, job->products);
        product_choice product = { c.rows, c.columns, c.resident, 0, clocks, clocks * (1 + 0.4 * (c.resident - 1)) };
        long long tiles = product_tiles(product, s.out_maps, s.reduction + 1ll), chunks = chunks_of(a, job->batch);
        for (long long slices = 1; slices == 1 || (slices <= SLICES_MOST && slices <= chunks &&
                                                   s.out_maps * (s.reduction + 1ll) * slices <= SLICE_FLOATS);
             slices++) {
            double time =
                product_cycles(product, tiles * slices, (chunks + slices - 1) / slices, job->multiprocessors) +
                (double)slices * s.out_maps * (s.reduction + 1.0) / SLICE_PUT;
            if (least >= 0 && time >= least)
                continue;
            least = time;
            job->tile = i;
            s.slices = (int)slices;
        }
    }
    return least >= 0;
}

static void prepare(cuda_job *job)
{
    job->executed_macs = (double)job->layer->macs_dense;
    plan_weights(job);
}

/* Where little of the tile is padding, and the tensor cores have something to do. */
static int supports(const cuda_job *job)
{
    cuda_layer shape = *job->shape;
    cuda_job copy = *job;
    double macs = (double)job->batch * shape.out_rows * shape.out_cols * shape.out_maps * (shape.reduction + 1.0);
    copy.shape = &shape;
    if (!job->products || shape.full || shape.out_maps < TENSOR_WEIGHTS_MAPS || macs < TENSOR_WEIGHTS_MACS ||
        !plan_weights(&copy))
        return 0;
    const weights_choice &c = choices[copy.tile];
    double rows = (shape.out_maps + c.rows - 1) / c.rows * (double)c.rows;
    double columns = (shape.reduction + c.columns) / c.columns * (double)c.columns;
    double useful = shape.out_maps / rows * (shape.reduction + 1) / columns;
    return useful * share_of(c, job->products) / job->products >= TENSOR_WEIGHTS_SHARE;
}

template <class T, int PRODUCTS>
static cudaError_t launch_tile(weights_args a, const cuda_job *job, cudaStream_t stream)
{
    const cuda_layer &s = a.d.s;
    long long shared = shared_bytes(a, choices[job->tile]);
    a.row_tiles = (s.out_maps + T::BM - 1) / T::BM;
    long long blocks = (long long)a.row_tiles * (s.reduction / T::BN + 1) * s.slices;
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    if (shared > 48 << 10) {
        cudaError_t code = cudaFuncSetAttribute(tensor_weights_kernel<T, PRODUCTS>,
                                                cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
        if (code)
            return code;
    }
    tensor_weights_kernel<T, PRODUCTS><<<(unsigned)blocks, T::THREADS, (size_t)shared, stream>>>(a);
    return cudaGetLastError();
}

template <int PRODUCTS>
static cudaError_t launch_products(const weights_args &a, const cuda_job *job, cudaStream_t stream)
{
    switch (job->tile) {
    case 0:
        return launch_tile<weights_128, 1>(a, job, stream);
    case 1:
        return launch_tile<weights_64, 1>(a, job, stream);
    case 2:
        return launch_tile<weights_64_few, PRODUCTS>(a, job, stream);
    case 3:
        return launch_tile<weights_32, PRODUCTS>(a, job, stream);
    case 4:
        return launch_tile<weights_32_few, PRODUCTS>(a, job, stream);
    case 5:
        return launch_tile<weights_32_odd, PRODUCTS>(a, job, stream);
    case 6:
        return launch_tile<weights_square, PRODUCTS>(a, job, stream);
    case 7:
        return launch_tile<weights_16, PRODUCTS>(a, job, stream);
    case 8:
        return launch_tile<weights_tall, PRODUCTS>(a, job, stream);
    default:
        return launch_tile<weights_short, PRODUCTS>(a, job, stream);
    }
}

static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    weights_args a = {};
    if (!choose_chunk(&a, job, choices[job->tile]))
        return cudaErrorInvalidConfiguration;
    long long slices = job->shape->slices, chunks = chunks_of(a, job->batch);
    a.each = (int)((chunks + slices - 1) / slices);
    a.chunks = (int)chunks_of(a, batch->count);
    a.d = direct_args_of(job, batch);
    find_divisors(&a);
    return job->products == 1 ? launch_products<1>(a, job, stream) : launch_products<3>(a, job, stream);
}

extern "C" const cuda_kernel CUDA_KERNEL(tensor_conv_backward_weights) = { "tensor_conv_backward_weights",
                                                                           "direct",
                                                                           "kernels/tensor_conv_weights.cu",
                                                                           CNN_OP_CONV_BACKWARD_WEIGHTS,
                                                                           supports,
                                                                           prepare,
                                                                           launch };
