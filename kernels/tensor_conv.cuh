/* SPDX-License-Identifier: MIT */
/* Convolution on tensor cores, forward and backward through the data: a product whose rows are maps, whose columns are
 * pixels of all images and whose terms are the taps (map, row, column) of the tensor that is read. Nothing is unfolded:
 * a block holds the patch that its pixels see, MAPS maps at a time, and a term of a pixel lies at
 * patch[place of the pixel + offset of the tap], so each value is fetched from memory once and read by all taps. The
 * weights come in the order in which lanes want them (pack_kernel), one 16-byte load per 16 x 8 of them, and
 * stream through shared memory beside the patches.
 *
 * Backward is the same loop over deltas, with kernels turned round and the maps' roles exchanged; stride 1 only.
 *
 * Bound: a warp's 64 x 64 tile takes 32 tensor instructions of about 7 clocks for 20 loads, so at 8 warps shared memory
 * and L1 give about 73 of their 128 bytes per clock and the tensor cores are the limit; in fp32 (three products) they
 * are so three times over, with splitting and adding in the shadow. */
#ifndef KERNELS_TENSOR_CONV_CUH
#define KERNELS_TENSOR_CONV_CUH

#include "kernels/tensor.cuh"
#include "kernels/tensor_outputs.cuh"

/* A block's tile: WARPS_M x WARPS_N warps of ROWS x 16 maps and COLUMNS x 8 pixels; blocks that a multiprocessor holds.
 */
template <int WARPS_M_, int WARPS_N_, int ROWS_, int COLUMNS_, int BLOCKS_> struct conv_tile {
    static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_, ROWS = ROWS_, COLUMNS = COLUMNS_, BLOCKS = BLOCKS_;
    static constexpr int THREADS = 32 * WARPS_M * WARPS_N, BM = WARPS_M * ROWS * 16, BN = WARPS_N * COLUMNS * 8;
    static constexpr int BK = 8;
};
using conv_128 = conv_tile<2, 4, 4, 8, 1>;
using conv_64 = conv_tile<1, 4, 4, 8, 2>;
using conv_64_few = conv_tile<1, 4, 4, 4, 3>;
using conv_32 = conv_tile<1, 4, 2, 8, 3>;
using conv_32_few = conv_tile<1, 4, 2, 4, 4>;
using conv_16 = conv_tile<1, 4, 1, 8, 4>;
static constexpr tile_choice choices[] = { choice_of<conv_128>(1.0f),    choice_of<conv_64>(0.95f),
                                           choice_of<conv_64_few>(0.8f), choice_of<conv_32>(0.75f),
                                           choice_of<conv_32_few>(0.6f), choice_of<conv_16>(0.45f) };

/* A fragment of a[16][8] lies as its lanes take it: [tile of 16 maps][step][lane][4]. */
template <int PRODUCTS, bool BACK>
__global__ static void pack_kernel(const __grid_constant__ tensor_conv_args a, float *packed, long long count)
{
    FOR_EACH_ELEMENT(i, count)
    {
        int value = (int)(i & 3), lane = (int)(i >> 2 & 31), step, map, from, tap;
        long long tile;
        divide(i >> 7, a.steps, &tile, &step);
        map = (int)tile * 16 + lane / 4 + value % 2 * 8;
        int term = step * 8 + lane % 4 + value / 2 * 4;
        from = term / a.taps;
        tap = term % a.taps;
        float weight = 0;
        if (map < a.to_maps && from < a.from_maps)
            weight = BACK ? a.d.s.dense[((long long)from * a.to_maps + map) * a.taps + (a.taps - 1 - tap)]
                          : a.d.s.dense[((long long)map * a.from_maps + from) * a.taps + tap];
        packed[i] = PRODUCTS == 1 ? tf32_round(weight) : weight;
    }
}

/* Weights of `group` steps from `step` on, of the block's maps, to shared memory: [tile of 16 maps][step][lane][4]. */
template <class T>
__device__ __forceinline__ void load_weights(const tensor_conv_args &a, const float *packed, int step, float *weights)
{
    if (step < a.steps) {
        int fours = min(a.group, a.steps - step) * 32;
        for (int i = threadIdx.x; i < fours * (T::BM / 16); i += T::THREADS) {
            int tile = i / fours, four = i - tile * fours;
            copy_async<16>(weights + (tile * a.group * 32 + four) * 4,
                           packed + ((long long)tile * a.steps + step) * 128 + four * 4);
        }
    }
    copy_async_commit();
}

template <class T, int PRODUCTS> struct conv_sums {
    float sum[T::ROWS][T::COLUMNS][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
#pragma unroll
            for (int j = 0; j < T::COLUMNS; j++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    sum[i][j][v] = 0;
    }

    /* Adds 8 terms of one row of fragments. Three products are summed up apart and added in fp32, tensor.cuh. */
    __device__ __forceinline__ void add_row(int i, float4 weights, const tensor_operand<PRODUCTS, 2> (&b)[T::COLUMNS])
    {
        const float values[4] = { weights.x, weights.y, weights.z, weights.w };
        tensor_operand<PRODUCTS, 4> w;
        if constexpr (PRODUCTS == 1) { /* rounded when they were packed */
#pragma unroll
            for (int v = 0; v < 4; v++)
                w.high[v] = __float_as_uint(values[v]);
        } else {
            w.take(values);
        }
#pragma unroll
        for (int j = 0; j < T::COLUMNS; j++) {
            if constexpr (PRODUCTS == 1) {
                tensor_multiply_add<1>(sum[i][j], w, b[j]);
            } else {
                float part[4] = { 0, 0, 0, 0 };
                tensor_multiply_add<PRODUCTS>(part, w, b[j]);
#pragma unroll
                for (int v = 0; v < 4; v++)
                    sum[i][j][v] += part[v];
            }
        }
    }

    /* `steps` steps of 8 terms; the next one's values are on their way while one is multiplied. */
    __device__ __forceinline__ void add_group(int steps, const float4 *weights, int stride, const float *patch,
                                              const int (&places)[T::COLUMNS], const int *offset)
    {
        float next[T::COLUMNS][2];
        fetch(next, patch, places, offset);
        for (int step = 0; step < steps; step++) {
            tensor_operand<PRODUCTS, 2> b[T::COLUMNS];
#pragma unroll
            for (int j = 0; j < T::COLUMNS; j++)
                b[j].take(next[j]);
            offset += step + 1 < steps ? 8 : 0;
            fetch(next, patch, places, offset);
#pragma unroll
            for (int i = 0; i < T::ROWS; i++)
                add_row(i, weights[i * stride + step * 32], b);
        }
    }

    __device__ __forceinline__ static void fetch(float (&values)[T::COLUMNS][2], const float *patch,
                                                 const int (&places)[T::COLUMNS], const int *offset)
    {
        int low = offset[0], high = offset[4];
#pragma unroll
        for (int j = 0; j < T::COLUMNS; j++) {
            values[j][0] = patch[places[j] + low];
            values[j][1] = patch[places[j] + high];
        }
    }
};

template <class T, int PRODUCTS, bool BACK>
__device__ __forceinline__ void put_sums(const tensor_conv_args &a, const block_place &where, int row, int column,
                                         const conv_sums<T, PRODUCTS> &sums)
{
    int lane = threadIdx.x % 32, map = row + lane / 4;
    float bias[T::ROWS * 2];
#pragma unroll
    for (int i = 0; i < T::ROWS * 2; i++)
        bias[i] = BACK || map + i * 8 >= a.to_maps ? 0 : a.d.bias[map + i * 8];
    if (map >= a.to_maps)
        return;
#pragma unroll
    for (int j = 0; j < T::COLUMNS; j++) {
        int n = column + j * 8 + lane % 4 * 2;
        conv_outputs<T, PRODUCTS, BACK> out(a, map, where.locate(a, n), where.locate(a, n + 1));
#pragma unroll
        for (int i = 0; i < T::ROWS * 2; i++)
#pragma unroll
            for (int which = 0; which < 2; which++)
                out.value[i][which] = sums.sum[i / 2][j][i % 2 * 2 + which] + bias[i];
        if (PRODUCTS == 3 || a.d.s.first)
            out.repair();
        out.finish();
        out.put();
    }
}

template <class T, int PRODUCTS, bool BACK>
__global__ static void __launch_bounds__(T::THREADS, T::BLOCKS)
    tensor_conv_kernel(const __grid_constant__ tensor_conv_args a)
{
    extern __shared__ __align__(16) float memory[];
    int stage = a.held * a.patch_words, slot = T::BM / 16 * a.group * 128;
    float *weights = memory, *patches = memory + WEIGHT_SLOTS * slot;
    int *copied = (int *)(patches + a.stages * stage), *offsets = copied + patch_copies::words(a);
    const patch_copies copies(copied);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, block = blockIdx.x / a.d.row_tiles;
    int block_row = (int)(blockIdx.x - block * a.d.row_tiles) * T::BM, row = warp / T::WARPS_N * (T::ROWS * 16);
    int column = warp % T::WARPS_N * (T::COLUMNS * 8), places[T::COLUMNS];
    const block_place where(a, block, T::BN);
    const float *from = a.from + (long long)where.image * a.from_maps * a.from_rows * a.from_cols;
    const float *packed = a.packed + (long long)(block_row / 16) * a.steps * 128;
    load_weights<T>(a, packed, 0, weights);
    copies.find<T>(a, where, patches);
    for (int i = threadIdx.x; i < a.held * a.taps; i += T::THREADS)
        offsets[i] = i / a.taps * a.patch_words + i % a.taps / a.kernel_cols * a.pitch + i % a.kernel_cols;
#pragma unroll
    for (int j = 0; j < T::COLUMNS; j++)
        places[j] = where.locate(a, column + j * 8 + lane / 4).patch;
    __syncthreads();
    load_patch<T>(a, from, copies, 0, patches);
    copy_async_commit();
    load_weights<T>(a, packed, a.group, weights + slot);

    conv_sums<T, PRODUCTS> sums;
    sums.clear();
    int groups = a.taps / a.group; /* of a chunk of MAPS maps */
    for (int step = 0, chunk = 0, group = 0, ring = 0; step < a.steps; step += a.group) {
        if (group == 0 && groups < WEIGHT_SLOTS)
            copy_async_wait<0>();
        else
            copy_async_wait<1>();
        __syncthreads(); /* what this group needs is there, and what is overwritten next has been read by all */
        if (group == 0 && (chunk + 1) * MAPS < a.from_maps)
            load_patch<T>(a, from, copies, (chunk + 1) * MAPS, patches + (chunk + 1) % 2 * stage);
        load_weights<T>(a, packed, step + 2 * a.group, weights + (ring + 2) % WEIGHT_SLOTS * slot);
        sums.add_group(min(a.group, a.steps - step),
                       (const float4 *)(weights + ring * slot) + row / 16 * a.group * 32 + lane, a.group * 32,
                       patches + chunk % 2 * stage, places, offsets + group * a.group * 8 + lane % 4);
        ring = (ring + 1) % WEIGHT_SLOTS;
        if (++group == groups) {
            group = 0;
            chunk++;
        }
    }
    put_sums<T, PRODUCTS, BACK>(a, where, block_row + row, column, sums);
}

/* Steps between two barriers: a part of the taps, of 3 to 8 if there is one. */
static int group_of(int taps)
{
    for (int group = 8; group > 2; group--)
        if (taps % group == 0)
            return group;
    return taps <= 13 ? taps : 1;
}

static long long shared_bytes(const tensor_conv_args &a, const tile_choice &tile)
{
    long long weights = (long long)WEIGHT_SLOTS * tile.rows / 16 * a.group * 128;
    return 4 * (weights + (long long)a.stages * a.held * a.patch_words + patch_copies::words(a) + a.held * a.taps);
}

template <bool BACK> static void prepare(cuda_job *job)
{
    tensor_conv_args a = describe<BACK>(job, job->batch);
    job->executed_macs = (double)job->layer->macs_dense;
    choose_tile(job, choices, a.to_maps, a.pixels, (long long)a.from_maps * a.taps);
    long long rows = choices[job->tile].rows;
    job->workspace_size = (a.to_maps + rows - 1) / rows * rows * a.steps * 8;
}

template <bool BACK> static int supports(const cuda_job *job)
{
    if (!conv_fits<BACK>(job))
        return 0;
    cuda_job copy = *job;
    prepare<BACK>(&copy);
    const tile_choice &tile = choices[copy.tile];
    tensor_conv_args a = describe<BACK>(job, job->batch);
    a.group = group_of(a.taps);
    lay_blocks(&a, tile, job->batch, job->products);
    return segments_fit(a, tile.columns) && shared_bytes(a, tile) <= job->shared_bytes;
}

template <class T, int PRODUCTS, bool BACK>
static cudaError_t launch_tile(tensor_conv_args a, const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    lay_blocks(&a, choices[job->tile], job->batch, PRODUCTS);
    a.d.row_tiles = (a.to_maps + T::BM - 1) / T::BM;
    long long blocks = blocks_of(a, batch->count, T::BN) * a.d.row_tiles;
    long long shared = shared_bytes(a, choices[job->tile]);
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    pack_kernel<PRODUCTS, BACK>
        <<<stride_blocks(job->workspace_size, 256), 256, 0, stream>>>(a, job->workspace, job->workspace_size);
    cudaError_t code = cudaGetLastError();
    if (!code && shared > 48 << 10)
        code = cudaFuncSetAttribute(tensor_conv_kernel<T, PRODUCTS, BACK>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)shared);
    if (code)
        return code;
    tensor_conv_kernel<T, PRODUCTS, BACK><<<(unsigned)blocks, T::THREADS, (size_t)shared, stream>>>(a);
    return cudaGetLastError();
}

template <int PRODUCTS, bool BACK>
static cudaError_t launch_products(const tensor_conv_args &a, const cuda_job *job, const cuda_batch *batch,
                                   cudaStream_t stream)
{
    switch (job->tile) {
    case 0:
        return launch_tile<conv_128, PRODUCTS, BACK>(a, job, batch, stream);
    case 1:
        return launch_tile<conv_64, PRODUCTS, BACK>(a, job, batch, stream);
    case 2:
        return launch_tile<conv_64_few, PRODUCTS, BACK>(a, job, batch, stream);
    case 3:
        return launch_tile<conv_32, PRODUCTS, BACK>(a, job, batch, stream);
    case 4:
        return launch_tile<conv_32_few, PRODUCTS, BACK>(a, job, batch, stream);
    default:
        return launch_tile<conv_16, PRODUCTS, BACK>(a, job, batch, stream);
    }
}

template <bool BACK> static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    tensor_conv_args a = describe<BACK>(job, batch->count);
    a.d = direct_args_of(job, batch);
    a.from = BACK ? a.d.dy : a.d.x;
    a.packed = job->workspace;
    a.group = group_of(a.taps);
    return job->products == 1 ? launch_products<1, BACK>(a, job, batch, stream)
                              : launch_products<3, BACK>(a, job, batch, stream);
}

#endif
