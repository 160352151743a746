/* SPDX-License-Identifier: MIT */
/* Convolution on Hopper's tensor cores, forward and backward through the data: the product of tensor_conv.cuh the other
 * way round. Rows are pixels, whose values each warp takes from the patch into registers, 4 loads for 64 x N
 * multiply-adds of 8 terms; columns are maps, whose weights the tensor cores read from shared memory themselves. While
 * they multiply STEPS steps the warps fetch the next.
 *
 * Bound: the tensor cores where N is 64 or more (a step of 64 pixels takes them N / 2 clocks, a warp 20 instructions);
 * instruction issue below. Weights come from L2 once per block: 16 bytes per clock at 256 pixels x 128 maps.
 *
 * fp32: high and low halves of the weights lie side by side; sums of STEPS steps are added up in fp32 registers. */
#ifndef KERNELS_WGMMA_CONV_CUH
#define KERNELS_WGMMA_CONV_CUH

#include "kernels/tensor_patch.cuh"
#include "kernels/wgmma_tile.cuh"

/* Weights as products take them: [block of N maps][step][high, low][N / 8][2][8 maps][4 terms]. */
template <class T, bool BACK>
__global__ static void pack_kernel(const __grid_constant__ tensor_conv_args a, float *packed, long long count)
{
    FOR_EACH_ELEMENT(i, count)
    {
        int inside = (int)(i % T::STEP), place = inside % (T::N * 8), term, map, tap;
        long long step_of_all = i / T::STEP, block;
        int steps = (a.steps + STEPS - 1) / STEPS * STEPS, step;
        divide(step_of_all, steps, &block, &step);
        map = (int)block * T::N + place / 64 * 8 + place / 4 % 8;
        term = step * 8 + place / 32 % 2 * 4 + place % 4;
        int from = term / a.taps;
        tap = term - from * a.taps;
        float weight = 0;
        if (map < a.to_maps && from < a.from_maps)
            weight = BACK ? a.d.s.dense[((long long)from * a.to_maps + map) * a.taps + (a.taps - 1 - tap)]
                          : a.d.s.dense[((long long)map * a.from_maps + from) * a.taps + tap];
        float high = __uint_as_float(__float_as_uint(tf32_round(weight)) & 0xffffe000u);
        packed[i] = inside < T::N * 8 ? high : tf32_round(weight - high);
    }
}

/* Where terms lie in the patches of STAGES chunks of maps, in bytes: [step][lane % 4] of terms lane % 4 and 4 on. The
 * first steps stand behind the last again, so that STEPS steps from anywhere on lie together. */
template <class T> __device__ __forceinline__ void find_offsets(const tensor_conv_args &a, int2 *offsets)
{
    int steps = a.stages * a.taps;
    for (int i = threadIdx.x; i < (steps + STEPS) * 4; i += T::THREADS) {
        int step = i / 4 % steps, stage = step / a.taps, value[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int term = (step - stage * a.taps) * 8 + i % 4 + half * 4, map = term / a.taps, tap = term - map * a.taps;
            int place = tap / a.kernel_cols * a.pitch + tap % a.kernel_cols;
            value[half] = map < a.held ? ((stage * a.held + map) * a.patch_words + place) * 4 : 0;
        }
        offsets[i] = make_int2(value[0], value[1]);
    }
}

/* A pixel's maps: for a map, 8 lanes hold 8 neighbours. */
template <class T, bool BACK>
__device__ __forceinline__ void put_pixel(const tensor_conv_args &a, const pixel_place &place, int map0, int half,
                                          const float (&sum)[T::N / 2])
{
    const direct_args &d = a.d;
    int plane = a.to_rows * a.to_cols;
    float *to = BACK ? d.dx : d.y;
    if (!place.there)
        return;
#pragma unroll
    for (int i = 0; i < T::N / 4; i++) {
        int map = map0 + i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
        if (map >= a.to_maps)
            break;
        long long at = place.at + (long long)map * plane;
        float value = sum[i / 2 * 4 + half * 2 + i % 2] + (BACK ? 0 : d.bias[map]);
        if ((T::PRODUCTS == 3 || d.s.first) && !isfinite(value))
            value = repair_sum<BACK>(a, map, at);
        if (!BACK)
            value = activate(d.s.activation, value);
        else if (d.below != CNN_LINEAR)
            value *= slope_of(d.below, d.x[at]);
        to[at] = value;
    }
}

template <class T, bool BACK>
__global__ static void __launch_bounds__(T::THREADS, T::BLOCKS)
    wgmma_conv_kernel(const __grid_constant__ tensor_conv_args a)
{
    extern __shared__ __align__(128) float memory[];
    float *patches = memory + SLOTS * T::GROUP;
    int stage = a.held * a.patch_words, *copied = (int *)(patches + a.stages * stage);
    const patch_copies copies(copied);
    int2 *offsets = (int2 *)(copied + patch_copies::words(a));
    unsigned long long *barriers = (unsigned long long *)(offsets + (a.stages * a.taps + STEPS) * 4);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, block = blockIdx.x / a.d.row_tiles;
    int block_row = (int)(blockIdx.x - block * a.d.row_tiles), places[T::ROWS][2];
    int pixel = warp / 4 * (64 * T::ROWS) + warp % 4 * 16 + lane / 4;
    int groups = (a.steps + STEPS - 1) / STEPS, chunks = (a.from_maps + MAPS - 1) / MAPS;
    const block_place where(a, block, T::PIXELS);
    const float *from = a.from + (long long)where.image * a.from_maps * a.from_rows * a.from_cols;
    weight_ring<T> ring = { a.packed + (long long)block_row * groups * T::GROUP, memory, barriers, barriers + SLOTS,
                            groups };
    ring.start();
    copies.find<T>(a, where, patches);
    find_offsets<T>(a, offsets);
#pragma unroll
    for (int row = 0; row < T::ROWS; row++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            places[row][half] = where.locate(a, pixel + row * 64 + half * 8).patch * 4;
    __syncthreads();
    for (int chunk = 0; chunk < min(2, chunks); chunk++)
        load_patch<T>(a, from, copies, chunk * MAPS, patches + chunk * stage);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    pixel_sums<T> sums;
    pixel_values<T> values;
    const int2 *offset = offsets + lane % 4;
    int chunk = 0, at = 0, period = a.stages * a.taps; /* the chunk at work; the next step to fetch in the table */
    sums.clear();
    values.fetch(patches, offset, places, a.steps);
    for (int group = 0; group < groups; group++) {
        if (group * STEPS >= chunk * a.taps) { /* a chunk begins: the next is there, the last has been read by all */
            if (chunk > 0) {
                copy_async_wait<0>();
                __syncthreads();
            }
            if (chunk + 2 < chunks) {
                load_patch<T>(a, from, copies, (chunk + 2) * MAPS, patches + (chunk + 2) % STAGES * stage);
                copy_async_commit();
            }
            chunk++;
        }
        at += STEPS;
        at -= at >= period ? period : 0;
        const float *weights = ring.take(group);
        sums.add(values, weights,
                 [&] { values.fetch(patches, offset + at * 4, places, a.steps - (group + 1) * STEPS); });
        ring.done(group);
    }
#pragma unroll
    for (int row = 0; row < T::ROWS; row++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            put_pixel<T, BACK>(a, where.locate(a, pixel + row * 64 + half * 8), block_row * T::N, half, sums.sum[row]);
}

static tile_choice tile_of(const cuda_job *job)
{
    int maps = wgmma_columns[job->tile];
    return tile_choice{ maps, wgmma_pixels(maps, job->products), 8, 1, 1, false };
}

/* Patches of up to STAGES chunks. */
template <bool BACK> static tensor_conv_args wgmma_describe(const cuda_job *job, long long images)
{
    tensor_conv_args a = describe<BACK>(job, images);
    int chunks = (a.from_maps + MAPS - 1) / MAPS;
    a.stages = chunks < STAGES ? chunks : STAGES;
    return a;
}

static long long wgmma_shared_bytes(const tensor_conv_args &a, int maps, int products)
{
    long long group = (long long)STEPS * maps * 8 * (products == 3 ? 2 : 1),
              steps = a.stages * (long long)a.taps + STEPS;
    return 4 * (SLOTS * group + (long long)a.stages * a.held * a.patch_words + patch_copies::words(a)) + steps * 4 * 8 +
           2 * SLOTS * 8;
}

template <bool BACK> static void prepare(cuda_job *job)
{
    tensor_conv_args a = wgmma_describe<BACK>(job, job->batch);
    job->executed_macs = (double)job->layer->macs_dense;
    job->tile = choose_columns(a.to_maps);
    long long maps = wgmma_columns[job->tile], steps = (a.steps + STEPS - 1) / STEPS * STEPS;
    job->workspace_size = (a.to_maps + maps - 1) / maps * maps * steps * 8 * (job->products == 3 ? 2 : 1);
}

template <bool BACK> static int supports(const cuda_job *job)
{
    if (!job->wgmma || job->shape->taps < LEAST_TAPS || !conv_fits<BACK>(job))
        return 0;
    cuda_job copy = *job;
    prepare<BACK>(&copy);
    tensor_conv_args a = wgmma_describe<BACK>(job, job->batch);
    tile_choice tile = tile_of(&copy);
    lay_blocks(&a, tile, job->batch, job->products);
    return segments_fit(a, tile.columns) && wgmma_shared_bytes(a, tile.rows, job->products) <= job->shared_bytes;
}

template <class T, bool BACK>
static cudaError_t launch_tile(tensor_conv_args a, const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    lay_blocks(&a, tile_of(job), job->batch, T::PRODUCTS);
    a.d.row_tiles = (a.to_maps + T::N - 1) / T::N;
    long long blocks = blocks_of(a, batch->count, T::PIXELS) * a.d.row_tiles,
              shared = wgmma_shared_bytes(a, T::N, T::PRODUCTS);
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    pack_kernel<T, BACK>
        <<<stride_blocks(job->workspace_size, 256), 256, 0, stream>>>(a, job->workspace, job->workspace_size);
    cudaError_t code = cudaGetLastError();
    if (!code && shared > 48 << 10)
        code =
            cudaFuncSetAttribute(wgmma_conv_kernel<T, BACK>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (code)
        return code;
    wgmma_conv_kernel<T, BACK><<<(unsigned)blocks, T::THREADS, (size_t)shared, stream>>>(a);
    return cudaGetLastError();
}

template <int N, bool BACK>
static cudaError_t launch_maps(const tensor_conv_args &a, const cuda_job *job, const cuda_batch *batch,
                               cudaStream_t stream)
{
    if (job->products == 1)
        return launch_tile<wgmma_tile<N, 1>, BACK>(a, job, batch, stream);
    return launch_tile<wgmma_tile<N, 3>, BACK>(a, job, batch, stream);
}

template <bool BACK> static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    tensor_conv_args a = wgmma_describe<BACK>(job, batch->count);
    a.d = direct_args_of(job, batch);
    a.from = BACK ? a.d.dy : a.d.x;
    a.packed = job->workspace;
    switch (wgmma_columns[job->tile]) {
    case 16:
        return launch_maps<16, BACK>(a, job, batch, stream);
    case 24:
        return launch_maps<24, BACK>(a, job, batch, stream);
    case 32:
        return launch_maps<32, BACK>(a, job, batch, stream);
    case 48:
        return launch_maps<48, BACK>(a, job, batch, stream);
    case 64:
        return launch_maps<64, BACK>(a, job, batch, stream);
    case 96:
        return launch_maps<96, BACK>(a, job, batch, stream);
    default:
        return launch_maps<128, BACK>(a, job, batch, stream);
    }
}

#endif
