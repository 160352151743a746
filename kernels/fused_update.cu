/* SPDX-License-Identifier: MIT */
/* Gradients of all weights of a step of few images and their update in one launch: whoever has a gradient complete
 * applies it at once, so that it never lies in memory.
 *
 * Fully connected layers: a thread per weight, which streams through once; bound by memory (weights read and written,
 * velocities too). Convolutions: a warp or a block per pair of maps (and slice of the pixels, where there are many), a
 * thread per pixel with the sums of all taps in registers, joined in a fixed tree; slices are added up, in order, by
 * the block that finishes last. Sub-sampling: a block per map. All of them are short sums: bound by latency. */
#include "kernels/dependent.cuh"
#include "kernels/fused.h"
#include "kernels/pool_window.cuh"
#include "kernels/tuning.h"
#include "kernels/update.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)
#define EACH 8    /* weights of a thread, fully connected */
#define VALUES 32 /* sums of a thread, convolutions: taps, and behind the last the bias */
#define ALONE_PIXELS 1024

struct weights_of {
    cuda_layer s;
    const float *x, *dy;
    long long weight_at, bias_at; /* in the arena */
    int begin, slices, alone;     /* first block; whether a warp has a pair of its own */
    float *partial;
    unsigned *tickets;
};

struct fused_args {
    cuda_update update;
    int images, count;
    weights_of layers[FUSED_UPDATES];
};

static_assert(sizeof(fused_args) <= 4096, "arguments of a kernel");

/* Fully connected: weights and, behind them, biases. */
__device__ static void update_full(const fused_args &a, const weights_of &l, int block, const cuda_rates &rates)
{
    int length = l.s.reduction, units = l.s.out_maps;
    unsigned weights = (unsigned)length * (unsigned)units, base = (unsigned)block * THREADS * EACH + threadIdx.x;
#pragma unroll
    for (int each = 0; each < EACH; each++) {
        unsigned i = base + each * THREADS;
        bool bias = i >= weights;
        unsigned unit = bias ? i - weights : i / (unsigned)length, input = bias ? 0 : i - unit * (unsigned)length;
        if (unit >= (unsigned)units)
            continue;
        float gradient = 0;
        for (int image = 0; image < a.images; image++)
            gradient = fmaf(l.dy[image * units + unit], bias ? 1 : l.x[(long long)image * length + input], gradient);
        update_parameter(a.update, rates, bias ? l.bias_at + unit : l.weight_at + i, gradient, !bias);
    }
}

/* Sums over a warp of 2 HALF values of each lane: lane v gets that of value v. At every step a lane keeps half of its
 * values and hands the others over. */
template <int HALF> __device__ __forceinline__ float warp_totals(const float (&values)[2 * HALF])
{
    float kept[HALF];
    bool upper = threadIdx.x & HALF;
#pragma unroll
    for (int v = 0; v < HALF; v++) {
        float given = upper ? values[v] : values[v + HALF];
        kept[v] = (upper ? values[v + HALF] : values[v]) + __shfl_xor_sync(0xffffffffu, given, HALF);
    }
    if constexpr (HALF > 1)
        return warp_totals<HALF / 2>(kept);
    else
        return kept[0];
}

/* Sums over a block: lane v of the first warp gets that of value v. */
__device__ __forceinline__ float block_totals(const float (&values)[VALUES], float (&shared)[WARPS][VALUES])
{
    int lane = threadIdx.x % 32;
    shared[threadIdx.x / 32][lane] = warp_totals<VALUES / 2>(values);
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < WARPS; warp++)
        sum += shared[warp][lane];
    return sum;
}

struct pair_place {
    int in, out, group, begin, end, threads; /* group: of VALUES taps; pixels, dealt to so many threads */
};

/* A thread's part in the sums of taps [VALUES group, VALUES (group + 1)) of a pair. K 0: any kernel, PADDED or not;
 * else no tap falls outside the map unless PADDED. */
template <int K, bool PADDED>
__device__ __forceinline__ void add_pixels(const weights_of &l, const pair_place &p, float (&sums)[VALUES])
{
    const cuda_layer &s = l.s;
    int plane = s.out_rows * s.out_cols, cols = K ? K : s.kernel_cols, taps = K ? K * K : s.taps;
#pragma unroll
    for (int v = 0; v < VALUES; v++)
        sums[v] = 0;
#pragma unroll 1
    for (int i = p.begin + (int)threadIdx.x % p.threads; i < p.end; i += p.threads) {
        int image = i / plane, pixel = i - image * plane, out_row = pixel / s.out_cols;
        int top = out_row * s.stride - s.pad, left = (pixel - out_row * s.out_cols) * s.stride - s.pad;
        const float *x = l.x + ((long long)image * s.in_maps + p.in) * s.in_rows * s.in_cols + top * s.in_cols + left;
        float delta = l.dy[((long long)image * s.out_maps + p.out) * plane + pixel];
#pragma unroll
        for (int v = 0; v < VALUES; v++) {
            int tap = K ? v : p.group * VALUES + v, row = tap / cols, col = tap % cols;
            if (tap == taps)
                sums[v] += delta;
            if (tap < taps && (!PADDED || ((unsigned)(top + row) < (unsigned)s.in_rows &&
                                           (unsigned)(left + col) < (unsigned)s.in_cols)))
                sums[v] = fmaf(delta, x[row * s.in_cols + col], sums[v]);
        }
    }
}

/* Apart from the others, whose registers are fewer. */
__device__ __noinline__ static void add_any_pixels(const weights_of &l, const pair_place &p, float (&sums)[VALUES])
{
    add_pixels<0, true>(l, p, sums);
}

/* Slices of the sums of one pair, added up by the block that finishes last. Returns whether this is it. */
__device__ static bool join_slices(const weights_of &l, int of_all, int slice, float *sum)
{
    __shared__ bool last;
    float *partial = l.partial + (long long)of_all * l.slices * VALUES;
    if (threadIdx.x < VALUES)
        partial[slice * VALUES + threadIdx.x] = *sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(&l.tickets[of_all], 1u) == (unsigned)l.slices - 1;
        if (last)
            l.tickets[of_all] = 0;
        __threadfence();
    }
    __syncthreads();
    *sum = 0;
    for (int i = 0; last && i < l.slices; i++)
        *sum += __ldcg(&partial[i * VALUES + threadIdx.x % VALUES]);
    return last;
}

/* A warp per pair where it has few pixels, a block or several where there are many. The bias of an output map goes with
 * its first pair. */
__device__ static void update_conv(const fused_args &a, const weights_of &l, int block, const cuda_rates &rates)
{
    __shared__ float shared[WARPS][VALUES];
    const cuda_layer &s = l.s;
    int pixels = a.images * s.out_rows * s.out_cols, each = (pixels + l.slices - 1) / l.slices,
        slice = block % l.slices;
    int groups = s.taps / VALUES + 1, pairs = s.first ? s.first[s.out_maps] : s.in_maps * s.out_maps, v = threadIdx.x;
    int of_all = l.alone ? block * WARPS + v / 32 : block / l.slices;
    if (of_all >= pairs * groups)
        return; /* a warp alone */
    int pair = of_all / groups, group = of_all % groups, out = s.first ? s.pair_out[pair] : pair / s.in_maps;
    int in = s.first ? s.source[pair] : pair % s.in_maps, first = s.first ? s.first[out] : out * s.in_maps;
    pair_place p = { in, out, group, slice * each, min(pixels, (slice + 1) * each), l.alone ? 32 : THREADS };
    float sums[VALUES], sum;
    if (s.kernel_rows == 5 && s.kernel_cols == 5 && !s.padded)
        add_pixels<5, false>(l, p, sums);
    else if (s.kernel_rows == 3 && s.kernel_cols == 3 && !s.padded)
        add_pixels<3, false>(l, p, sums);
    else if (s.kernel_rows == 3 && s.kernel_cols == 3)
        add_pixels<3, true>(l, p, sums);
    else {
        float others[VALUES]; /* in memory, which the sums above are not to be */
        add_any_pixels(l, p, others);
#pragma unroll
        for (int i = 0; i < VALUES; i++)
            sums[i] = others[i];
    }
    if (l.alone) {
        v %= 32;
        sum = warp_totals<VALUES / 2>(sums);
    } else {
        sum = block_totals(sums, shared);
    }
    if (l.slices > 1 && !join_slices(l, of_all, slice, &sum))
        return;
    int tap = group * VALUES + v;
    if (v >= VALUES || tap > s.taps || (tap == s.taps && pair != first))
        return;
    bool bias = tap == s.taps;
    long long at = bias ? l.bias_at + out : l.weight_at + (long long)pair * s.taps + tap;
    float weight = update_parameter(a.update, rates, at, sum, !bias);
    if (s.first && !bias) /* the copy with zeros for pairs that are not connected */
        s.dense[(long long)out * s.reduction + in * s.taps + tap] = weight;
}

/* Sub-sampling: gain and bias of a map. */
__device__ static void update_gain(const fused_args &a, const weights_of &l, int map, const cuda_rates &rates)
{
    __shared__ float gains[WARPS], biases[WARPS];
    const cuda_layer &s = l.s;
    int plane = s.out_rows * s.out_cols;
    float gain = 0, bias = 0;
    for (int i = threadIdx.x; i < a.images * plane; i += THREADS) {
        long long of_all = (long long)(i / plane) * s.out_maps + map;
        int pixel = i % plane;
        float delta = l.dy[of_all * plane + pixel];
        gain += delta * window_sum(s, l.x + of_all * s.in_rows * s.in_cols + pixel / s.out_cols * s.stride * s.in_cols +
                                          pixel % s.out_cols * s.stride);
        bias += delta;
    }
    for (int step = 16; step; step /= 2) {
        gain += __shfl_xor_sync(0xffffffffu, gain, step);
        bias += __shfl_xor_sync(0xffffffffu, bias, step);
    }
    if (threadIdx.x % 32 == 0) {
        gains[threadIdx.x / 32] = gain;
        biases[threadIdx.x / 32] = bias;
    }
    __syncthreads();
    if (threadIdx.x >= 2)
        return;
    float sum = 0;
    for (int warp = 0; warp < WARPS; warp++)
        sum += threadIdx.x ? biases[warp] : gains[warp];
    update_parameter(a.update, rates, threadIdx.x ? l.bias_at + map : l.weight_at + map, sum, false);
}

__global__ static void __launch_bounds__(THREADS, 2) update_kernel(const __grid_constant__ fused_args a)
{
    await_predecessor();
    int at = 0;
    while (at + 1 < a.count && (int)blockIdx.x >= a.layers[at + 1].begin)
        at++;
    const weights_of &l = a.layers[at];
    const cuda_rates rates = *a.update.rates;
    int block = (int)blockIdx.x - l.begin;
    if (l.s.full)
        update_full(a, l, block, rates);
    else if (l.s.kind == CNN_SUBSAMPLE)
        update_gain(a, l, block, rates);
    else
        update_conv(a, l, block, rates);
}

static int64_t pairs_of(const cuda_job *job)
{
    const cuda_layer *s = job->shape;
    return s->connected ? (int64_t)s->in_maps * s->out_maps : job->layer->pairs;
}

/* Of few pixels and many pairs. */
static int is_alone(const cuda_job *job)
{
    const cuda_layer *s = job->shape;
    return (int64_t)job->batch * s->out_rows * s->out_cols <= ALONE_PIXELS && pairs_of(job) >= job->multiprocessors;
}

/* A thread has about four pixels, or as many slices as there may be. */
int cuda_fused_slices(const cuda_job *job)
{
    const cuda_layer *s = job->shape;
    if (s->full || s->kind == CNN_SUBSAMPLE)
        return 1;
    long long pixels = (long long)job->batch * s->out_rows * s->out_cols, slices = (pixels + 1023) / 1024;
    return slices > FUSED_SLICES ? FUSED_SLICES : (int)slices;
}

int64_t cuda_fused_tickets(const cuda_job *job)
{
    return cuda_fused_slices(job) > 1 ? pairs_of(job) * (job->shape->taps / VALUES + 1) : 0;
}

int64_t cuda_fused_sums(const cuda_job *job)
{
    return cuda_fused_tickets(job) * cuda_fused_slices(job) * VALUES;
}

static long long blocks_of(const cuda_job *job, int slices)
{
    const cuda_layer *s = job->shape;
    if (s->full)
        return ((long long)s->out_maps * (s->reduction + 1) + THREADS * EACH - 1) / (THREADS * EACH);
    int64_t parts = s->kind == CNN_SUBSAMPLE ? s->out_maps : pairs_of(job) * (s->taps / VALUES + 1);
    return s->kind != CNN_SUBSAMPLE && is_alone(job) ? (parts + WARPS - 1) / WARPS : parts * slices;
}

cudaError_t cuda_fused_update_launch(const cuda_fused_update *fused, const cuda_update *update, const cuda_batch *batch,
                                     cudaStream_t stream)
{
    fused_args a = {};
    long long blocks = 0;
    a.update = *update;
    a.images = batch->count;
    a.count = fused->count;
    for (int i = 0; i < fused->count; i++) {
        const cuda_job *job = fused->layers[i];
        a.layers[i] = weights_of{
            *job->shape, cuda_job_input(job, batch), job->dy,       job->layer->weight_at, job->layer->bias_at,
            (int)blocks, fused->slices[i],           is_alone(job), fused->partial[i],     fused->tickets[i]
        };
        blocks += blocks_of(job, fused->slices[i]);
        if (blocks > 0x7fffffffLL)
            return cudaErrorInvalidConfiguration;
    }
    if (blocks == 0)
        return cudaSuccess;
    return launch_after(fused->early, update_kernel, (unsigned)blocks, THREADS, stream, a);
}
