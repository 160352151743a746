/* SPDX-License-Identifier: MIT */
/* Weight gradient of a convolution on Hopper's tensor cores: a product whose rows are weights (in map, tap) and a row
 * of ones for the bias, whose columns are output maps and whose terms are the output pixels of all images. A row's
 * value of a term lies at patch[place of the weight + offset of the pixel] of the input, which is fetched once and read
 * by all taps; the deltas are packed beforehand in the order in which the tensor cores want them, halves side by side
 * in fp32.
 *
 * Terms are dealt to slices, which the update adds up in order, and within a slice to chunks: pixels of a block of rows
 * and columns of one image, or of several small images. Packing costs one pass over the deltas; PACK_FLOATS bounds its
 * memory, so that large batches go in parts.
 *
 * Bound: the tensor cores from 64 maps on, instruction issue below, as in wgmma_conv.cuh. */
#include "kernels/wgmma_chunk.cuh"

#define PACK_FLOATS ((long long)128 << 20)

template <class T>
__global__ static void __launch_bounds__(T::THREADS, T::BLOCKS)
    wgmma_weights_kernel(const __grid_constant__ weights_args a)
{
    extern __shared__ __align__(128) float memory[];
    const cuda_layer &s = a.d.s;
    float *patches = memory + SLOTS * T::GROUP;
    int stage = a.maps * a.patch_words;
    int2 *offsets = (int2 *)(patches + a.stages * stage);
    unsigned long long *barriers = (unsigned long long *)(offsets + (a.stages * a.steps + STEPS) * 4);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = blockIdx.x / a.row_tiles;
    int row0 = (int)(blockIdx.x - tile * a.row_tiles) * T::PIXELS, slice = tile % a.slices, block = tile / a.slices;
    int begin = (a.first_slice + slice) * a.each, chunks = min(a.each, a.chunks - begin), steps = chunks * a.steps;
    int groups = (steps + STEPS - 1) / STEPS, first = row0 / s.taps, places[T::ROWS][2];
    int maps = min(s.in_maps, (row0 + T::PIXELS - 1) / s.taps + 1) - first;
    int weight = row0 + warp / 4 * (64 * T::ROWS) + warp % 4 * 16 + lane / 4;
    long long part_steps = ((long long)a.slices * a.each * a.steps + STEPS - 1) / STEPS * STEPS;
    weight_ring<T> ring = { a.packed + (block * part_steps + (long long)slice * a.each * a.steps) * T::STEP, memory,
                            barriers, barriers + SLOTS, groups };
    ring.start();
    find_pixels<T>(a, offsets);
    for (int i = threadIdx.x; i < a.stages * a.patch_words; i += T::THREADS) /* what the bias sees */
        patches[i / a.patch_words * stage + (a.maps - 1) * a.patch_words + i % a.patch_words] = 1;
#pragma unroll
    for (int row = 0; row < T::ROWS; row++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            places[row][half] = 4 * place_of_weight(a, weight + row * 64 + half * 8, first);
    for (int chunk = 0; chunk < min(2, chunks); chunk++)
        load_inputs<T>(a, begin + chunk, first, maps, patches + chunk * stage);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    pixel_sums<T> sums;
    pixel_values<T> values;
    const int2 *offset = offsets + lane % 4;
    int chunk = 0, at = 0, period = a.stages * a.steps; /* the chunk at work; the next step to fetch in the table */
    sums.clear();
    values.fetch(patches, offset, places, steps);
    for (int group = 0; group < groups; group++) {
        if (group * STEPS >= chunk * a.steps) { /* a chunk begins: the next is there, the last has been read by all */
            if (chunk > 0) {
                copy_async_wait<0>();
                __syncthreads();
            }
            if (chunk + 2 < chunks) {
                load_inputs<T>(a, begin + chunk + 2, first, maps, patches + (chunk + 2) % STAGES * stage);
                copy_async_commit();
            }
            chunk++;
        }
        at += STEPS;
        at -= at >= period ? period : 0;
        const float *deltas = ring.take(group);
        sums.add(values, deltas, [&] { values.fetch(patches, offset + at * 4, places, steps - (group + 1) * STEPS); });
        ring.done(group);
    }
    float *to = s.partial + (a.first_slice + slice) * (long long)s.out_maps * (s.reduction + 1);
#pragma unroll
    for (int row = 0; row < T::ROWS; row++)
#pragma unroll
        for (int i = 0; i < T::N / 2; i++) {
            int it = weight + row * 64 + i / 2 % 2 * 8, map = block * T::N + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (it > s.reduction || map >= s.out_maps)
                continue;
            float value = sums.sum[row][i];
            if (!isfinite(value))
                value = exact_weight(a, begin, begin + chunks, map, it);
            to[(long long)map * (s.reduction + 1) + it] = value;
        }
}

static int rows_of(const cuda_job *job)
{
    return wgmma_pixels(wgmma_columns[job->tile], job->products);
}

static long long shared_bytes(const weights_args &a, int n, int products)
{
    long long group = (long long)STEPS * n * 8 * (products == 3 ? 2 : 1);
    return 4 * (SLOTS * group + (long long)a.stages * a.maps * a.patch_words) +
           (a.stages * (long long)a.steps + STEPS) * 4 * 8 + 2 * SLOTS * 8;
}

/* Returns false where no chunk fits. */
static bool choose_chunk(weights_args *a, const cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    int n = wgmma_columns[job->tile], held = (rows_of(job) + s.taps - 2) / s.taps + 1;
    a->maps = (held < s.in_maps ? held : s.in_maps) + 1;
    a->stages = STAGES;
    /* clocks of the tensor cores, and of loading 4 words in each */
    return choose_chunk(a, job, CHUNK_STEPS, [&](const weights_args *it) {
        if (it->steps < LEAST_TAPS || shared_bytes(*it, n, job->products) > job->shared_bytes)
            return -1.0;
        return ((double)job->batch + it->images - 1) / it->images * it->row_blocks * it->col_blocks *
               (it->steps * (n * rows_of(job) / 128.0 * job->products + 64) +
                (double)it->maps * it->images * it->patch_rows * it->pitch / 4);
    });
}

/* Slices so that the last wave of blocks is full, and no more than that brings: each is one more set of sums to write
 * and to add up. */
static long long choose_slices(const cuda_job *job, long long tiles, long long most)
{
    int n = wgmma_columns[job->tile], blocks = wgmma_blocks(n, job->products) * job->multiprocessors;
    long long best = 1;
    double least = 0;
    for (long long slices = 1; slices <= most; slices++) {
        double waves = (double)((tiles * slices + blocks - 1) / blocks);
        double cost = waves / (double)slices * blocks / (double)tiles + 0.002 * (double)slices;
        if (slices > 1 && cost >= least)
            continue;
        least = cost;
        best = slices;
    }
    return best;
}

/* Chunks per slice, in fours so that a slice is whole groups of steps; and parts of so many slices that PACK_FLOATS
 * hold their deltas. */
static bool plan_weights(weights_args *a, const cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    int n = wgmma_columns[job->tile];
    if (!choose_chunk(a, job))
        return false;
    long long chunks = chunks_of(*a, job->batch), blocks = (s.out_maps + n - 1) / n;
    long long tiles = ((long long)s.reduction + rows_of(job)) / rows_of(job) * blocks;
    long long most = SLICE_FLOATS / (s.out_maps * (s.reduction + 1ll));
    most = most < SLICES_MOST ? most : SLICES_MOST;
    most = most < chunks / 4 ? most : chunks / 4;
    long long wanted = choose_slices(job, tiles, most);
    long long chunk_floats = blocks * n * a->steps * 8 * (job->products == 3 ? 2 : 1);
    long long each = (chunks + wanted - 1) / wanted, fits = PACK_FLOATS / chunk_floats / 4 * 4;
    each = (each + 3) / 4 * 4;
    each = each < fits ? each : fits;
    if (chunks > 0x3fffffff / CHUNK_STEPS || each < 4)
        return false;
    a->chunks = (int)chunks;
    a->each = (int)each;
    long long slices = (chunks + each - 1) / each, part = fits / each;
    a->slices = (int)(part < 1 ? 1 : part < slices ? part : slices);
    job->shape->slices = (int)slices;
    find_divisors(a);
    a->by_steps = divisor(a->steps);
    a->whole_rows = words_at_once(*a, s);
    return slices <= 4 * SLICES_MOST;
}

static long long packed_steps(const weights_args &a)
{
    return ((long long)a.slices * a.each * a.steps + STEPS - 1) / STEPS * STEPS;
}

static void prepare(cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    weights_args a = {};
    job->executed_macs = (double)job->layer->macs_dense;
    job->tile = choose_columns(s.out_maps);
    long long n = wgmma_columns[job->tile], blocks = (s.out_maps + n - 1) / n;
    if (plan_weights(&a, job))
        job->workspace_size = blocks * packed_steps(a) * n * 8 * (job->products == 3 ? 2 : 1);
}

static int supports(const cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    double macs = (double)job->batch * s.out_rows * s.out_cols * s.out_maps * s.reduction;
    if (!job->wgmma || !job->products || s.full || s.out_maps < WGMMA_WEIGHTS_MAPS ||
        s.reduction < WGMMA_WEIGHTS_TERMS || macs < WGMMA_WEIGHTS_MACS)
        return 0;
    cuda_job copy = *job;
    cuda_layer shape = s;
    weights_args a = {};
    copy.shape = &shape;
    copy.tile = choose_columns(s.out_maps);
    return plan_weights(&a, &copy);
}

template <class T> static cudaError_t launch_tile(weights_args a, const cuda_job *job, cudaStream_t stream)
{
    const cuda_layer &s = a.d.s;
    long long blocks = (s.out_maps + T::N - 1) / T::N, shared = shared_bytes(a, T::N, T::PRODUCTS);
    int slices = a.slices;
    a.row_tiles = s.reduction / T::PIXELS + 1;
    cudaError_t code =
        cudaFuncSetAttribute(wgmma_weights_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    for (a.first_slice = 0; !code && a.first_slice < s.slices; a.first_slice += slices) {
        a.slices = s.slices - a.first_slice < slices ? s.slices - a.first_slice : slices;
        long long fours = blocks * packed_steps(a) * T::N * 2;
        a.by_part_steps = divisor((int)packed_steps(a));
        pack_deltas<T><<<stride_blocks(fours, 256), 256, 0, stream>>>(a, job->workspace, (int)fours);
        code = cudaGetLastError();
        if (!code)
            wgmma_weights_kernel<T>
                <<<(unsigned)(blocks * a.row_tiles * a.slices), T::THREADS, (size_t)shared, stream>>>(a);
        code = code ? code : cudaGetLastError();
    }
    return code;
}

template <int N> static cudaError_t launch_maps(const weights_args &a, const cuda_job *job, cudaStream_t stream)
{
    if (job->products == 1)
        return launch_tile<wgmma_tile<N, 1>>(a, job, stream);
    return launch_tile<wgmma_tile<N, 3>>(a, job, stream);
}

static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    weights_args a = {};
    cuda_layer shape = *job->shape;
    cuda_job copy = *job;
    copy.shape = &shape;
    if (!plan_weights(&a, &copy))
        return cudaErrorInvalidConfiguration;
    a.d = direct_args_of(job, batch);
    a.packed = job->workspace;
    switch (wgmma_columns[job->tile]) {
    case 16:
        return launch_maps<16>(a, job, stream);
    case 24:
        return launch_maps<24>(a, job, stream);
    case 32:
        return launch_maps<32>(a, job, stream);
    case 48:
        return launch_maps<48>(a, job, stream);
    case 64:
        return launch_maps<64>(a, job, stream);
    case 96:
        return launch_maps<96>(a, job, stream);
    default:
        return launch_maps<128>(a, job, stream);
    }
}

extern "C" const cuda_kernel CUDA_KERNEL(wgmma_conv_backward_weights) = { "wgmma_conv_backward_weights",
                                                                          "direct",
                                                                          "kernels/wgmma_weights.cu",
                                                                          CNN_OP_CONV_BACKWARD_WEIGHTS,
                                                                          supports,
                                                                          prepare,
                                                                          launch };
