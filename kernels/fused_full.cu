/* SPDX-License-Identifier: MIT */
/* Fully connected layers of few images. Forward: the terms of a unit are dealt to warps, 32 weights to a lane, all
 * asked for at once and before the predecessor's end; the block that finishes last adds the warps' sums up. Where only
 * small layers follow, that block also does these, the loss and the deltas back to the layer's own: each is too short
 * for a launch. Backward: 32 inputs a block, warps share the units; deltas go down through the pooling below.
 *
 * Weights are read once for all images: bound by the memory they stream from, mostly L2, and by latency. */
#include "kernels/dependent.cuh"
#include "kernels/fused.h"
#include "kernels/loss.cuh"
#include "kernels/pool_window.cuh"
#include "kernels/tuning.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define EACH 32           /* weights of a lane */
#define CHUNK (32 * EACH) /* and of a warp */
#define UNITS 16          /* of a warp, backward, whose weights are asked for at once */

struct tail_layer {
    int in, out, activation, below; /* below: activation of the layer below */
    const float *weights, *bias;
    float *y, *dx;
};

struct full_args {
    int length, units, activation, below, images, chunks, prefetch;
    const float *x, *weights, *bias;
    float *y, *dx;
    const float *dy;
    float *partial; /* [image][unit][chunk] */
    unsigned *ticket;
    pool_below down;
    int ending, tail_count; /* ending: with loss and answer */
    tail_layer tail[FUSED_TAIL];
    cuda_loss loss;
    const int32_t *labels;
    float *delta; /* of the last layer; NULL: no gradient */
};

/* Place of weight `j` of a lane in its chunk. */
template <bool VECTORS> __device__ __forceinline__ int place_of(int j)
{
    int lane = threadIdx.x % 32;
    return VECTORS ? j / 4 * 128 + lane * 4 + j % 4 : j * 32 + lane;
}

/* A lane's part of `from`, a row of `count` floats from the chunk's begin on; zeros behind its end. */
template <bool VECTORS> __device__ __forceinline__ void fetch(float (&to)[EACH], const float *from, int count)
{
#pragma unroll
    for (int j = 0; j < EACH; j += VECTORS ? 4 : 1) {
        int at = place_of<VECTORS>(j);
        if (VECTORS) {
            float4 four = at < count ? __ldcg((const float4 *)(from + at)) : make_float4(0, 0, 0, 0);
            to[j] = four.x;
            to[j + 1] = four.y;
            to[j + 2] = four.z;
            to[j + 3] = four.w;
        } else {
            to[j] = at < count ? __ldcg(from + at) : 0;
        }
    }
}

__device__ __forceinline__ float warp_total(float sum)
{
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
}

/* Whether this block is the last of the grid to come here; what the others wrote can then be read. */
__device__ static bool is_last_block(unsigned *ticket)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        if (last)
            *ticket = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* Sums of a unit's chunks, in order. */
__device__ static void join_chunks(const full_args &a)
{
    for (int i = threadIdx.x; i < a.images * a.units; i += THREADS) {
        const float *from = a.partial + (long long)i * a.chunks;
        float sum = 0;
#pragma unroll 8
        for (int chunk = 0; chunk < a.chunks; chunk++)
            sum += __ldcg(from + chunk);
        a.y[i] = activate(a.activation, sum + a.bias[i % a.units]);
    }
}

/* A small layer, a warp per unit and image; its outputs also to shared memory. */
__device__ static void tail_forward(const tail_layer &t, int images, const float *in, float *out)
{
    for (int i = threadIdx.x / 32; i < images * t.out; i += WARPS) {
        const float *w = t.weights + (long long)(i % t.out) * t.in, *x = in + i / t.out * t.in;
        float sum = 0;
#pragma unroll 4
        for (int k = threadIdx.x % 32; k < t.in; k += 32)
            sum = fmaf(w[k], x[k], sum);
        sum = warp_total(sum);
        if (threadIdx.x % 32 == 0)
            out[i] = t.y[i] = activate(t.activation, sum + t.bias[i % t.out]);
    }
    __syncthreads();
}

/* The deltas of the layer below a small one, a thread each; x: that layer's outputs. */
__device__ static void tail_backward(const tail_layer &t, int images, const float *x, const float *dy, float *dx)
{
    for (int i = threadIdx.x; i < images * t.in; i += THREADS) {
        int image = i / t.in, input = i % t.in;
        float sum = 0;
#pragma unroll 8
        for (int unit = 0; unit < t.out; unit++)
            sum = fmaf(t.weights[(long long)unit * t.in + input], dy[image * t.out + unit], sum);
        dx[i] = t.dx[i] = t.below == CNN_LINEAR ? sum : sum * slope_of(t.below, x[i]);
    }
    __syncthreads();
}

/* Sums of the batch's answers, as loss.cu adds them. */
__device__ static void add_answers(const full_args &a)
{
    if (threadIdx.x != 0)
        return;
    double sums[FEW_IMAGES];
    int correct = 0;
    for (int i = 0; i < FEW_IMAGES; i++) {
        sums[i] = i < a.images ? a.loss.losses[i] : 0;
        correct += i < a.images && a.loss.predicted[i] == a.labels[i];
    }
    for (int half = FEW_IMAGES / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            sums[i] += sums[i + half];
    a.loss.answer->loss_sum += sums[0];
    a.loss.answer->correct += correct;
}

/* From the layer's outputs to the answer, and in training back to its deltas. */
__device__ static void end_step(const full_args &a, float (&values)[2][FUSED_OUTPUTS])
{
    int now = 0, width = a.units;
    for (int i = threadIdx.x; i < a.images * a.units; i += THREADS)
        values[0][i] = __ldcg(a.y + i);
    __syncthreads();
    for (int t = 0; t < a.tail_count; t++, now = 1 - now) {
        tail_forward(a.tail[t], a.images, values[now], values[1 - now]);
        width = a.tail[t].out;
    }
    int image = threadIdx.x / 32;
    if (image < a.images)
        image_loss(a.loss, values[now] + image * width, a.labels, a.delta ? values[1 - now] + image * width : NULL,
                   image, a.images);
    __syncthreads();
    if (a.labels)
        add_answers(a);
    if (!a.delta)
        return;
    now = 1 - now;
    for (int i = threadIdx.x; i < a.images * width; i += THREADS)
        a.delta[i] = values[now][i];
    for (int t = a.tail_count - 1; t >= 0; t--, now = 1 - now)
        tail_backward(a.tail[t], a.images, t ? a.tail[t - 1].y : a.y, values[now], values[1 - now]);
}

template <bool VECTORS>
__global__ static void __launch_bounds__(THREADS, 2) forward_kernel(const __grid_constant__ full_args a)
{
    __shared__ float values[2][FUSED_OUTPUTS];
    int unit = (int)(blockIdx.x / a.chunks) * WARPS + threadIdx.x / 32, chunk = blockIdx.x % a.chunks;
    int begin = chunk * CHUNK, count = unit < a.units ? min(a.length - begin, CHUNK) : 0;
    float weights[EACH], inputs[EACH];
    if (!a.prefetch)
        await_predecessor();
    fetch<VECTORS>(weights, a.weights + (long long)min(unit, a.units - 1) * a.length + begin, count);
    if (a.prefetch)
        await_predecessor();
    for (int image = 0; image < a.images; image++) {
        fetch<VECTORS>(inputs, a.x + (long long)image * a.length + begin, count);
        float sum = 0;
#pragma unroll
        for (int j = 0; j < EACH; j++)
            sum = fmaf(weights[j], inputs[j], sum);
        sum = warp_total(sum);
        if (threadIdx.x % 32 != 0 || unit >= a.units)
            continue;
        int at = image * a.units + unit;
        if (a.chunks == 1)
            a.y[at] = activate(a.activation, sum + a.bias[unit]);
        else
            a.partial[(long long)at * a.chunks + chunk] = sum;
    }
    if ((a.chunks == 1 && !a.ending) || !is_last_block(a.ticket))
        return;
    if (a.chunks > 1)
        join_chunks(a);
    __syncthreads();
    if (a.ending)
        end_step(a, values);
}

/* IMAGES: at most. */
template <int IMAGES> __global__ static void __launch_bounds__(THREADS) data_kernel(const __grid_constant__ full_args a)
{
    __shared__ float shared[WARPS][IMAGES][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int input = (int)blockIdx.x * 32 + lane, last = min(input, a.length - 1);
    float sums[IMAGES] = { 0 };
    if (!a.prefetch)
        await_predecessor();
    for (int first = warp; first < a.units; first += WARPS * UNITS) {
        float weights[UNITS];
#pragma unroll
        for (int j = 0; j < UNITS; j++)
            weights[j] = __ldcg(a.weights + (long long)min(first + j * WARPS, a.units - 1) * a.length + last);
        if (a.prefetch && first == warp)
            await_predecessor();
#pragma unroll
        for (int j = 0; j < UNITS; j++)
#pragma unroll
            for (int image = 0; image < IMAGES; image++)
                if (image < a.images && first + j * WARPS < a.units)
                    sums[image] = fmaf(weights[j], a.dy[image * a.units + first + j * WARPS], sums[image]);
    }
    if (a.prefetch && warp >= a.units)
        await_predecessor(); /* this warp had no unit */
    for (int image = 0; image < IMAGES; image++)
        shared[warp][image][lane] = sums[image];
    __syncthreads();
    for (int image = warp; image < a.images; image += WARPS) {
        float sum = 0;
        for (int from = 0; from < WARPS; from++)
            sum += shared[from][image][lane];
        long long at = (long long)image * a.length + input;
        if (input >= a.length)
            continue;
        if (a.below != CNN_LINEAR)
            sum *= slope_of(a.below, a.x[at]);
        a.dx[at] = sum;
        shared[0][image][lane] = sum; /* read by this thread alone so far */
    }
    if (!a.down.dx)
        return;
    __syncthreads();
    const cuda_layer &s = a.down.s;
    int area = s.stride * s.stride, plane = s.out_rows * s.out_cols, inputs = min(32, a.length - (int)blockIdx.x * 32);
    for (int i = threadIdx.x; i < a.images * inputs * area; i += THREADS) {
        int point = i / area % inputs, image = i / area / inputs, at = (int)blockIdx.x * 32 + point;
        spread_delta(a.down, (long long)image * s.out_maps + at / plane, at % plane / s.out_cols, at % s.out_cols,
                     i % area, shared[0][image][point]);
    }
}

static int chunks_of(const cuda_job *job)
{
    return (job->shape->reduction + CHUNK - 1) / CHUNK;
}

int64_t cuda_fused_full_partial(const cuda_job *job)
{
    int chunks = chunks_of(job);
    return chunks > 1 ? (int64_t)job->batch * job->shape->out_maps * chunks : 0;
}

static full_args full_args_of(const cuda_stage *stage, const cuda_batch *batch)
{
    const cuda_job *job = stage->job;
    full_args a = {};
    a.length = job->shape->reduction;
    a.units = job->shape->out_maps;
    a.activation = job->shape->activation;
    a.below = job->below;
    a.images = batch->count;
    a.chunks = chunks_of(job);
    a.prefetch = stage->prefetch;
    a.x = cuda_job_input(job, batch);
    a.weights = job->weights;
    a.bias = job->bias;
    a.y = job->y;
    a.dx = job->dx;
    a.dy = job->dy;
    a.partial = stage->partial;
    a.ticket = stage->tickets;
    return a;
}

static void add_ending(full_args *a, const cuda_stage *stage, const cuda_batch *batch)
{
    a->ending = 1;
    a->loss = *stage->loss;
    a->labels = batch->labels;
    a->tail_count = stage->tail_count;
    const cuda_job *last = stage->job;
    for (int t = 0; t < stage->tail_count; t++) {
        const cuda_job *job = last = stage->tail[t];
        a->tail[t] = tail_layer{ job->shape->reduction,
                                 job->shape->out_maps,
                                 (int)job->shape->activation,
                                 (int)job->below,
                                 job->weights,
                                 job->bias,
                                 job->y,
                                 job->dx };
    }
    a->delta = batch->training ? last->dy : NULL;
}

cudaError_t cuda_fused_full_forward(const cuda_stage *stage, const cuda_batch *batch, cudaStream_t stream)
{
    full_args a = full_args_of(stage, batch);
    unsigned blocks = (unsigned)((a.units + WARPS - 1) / WARPS) * (unsigned)a.chunks;
    bool vectors = a.length % 4 == 0 && (uintptr_t)a.weights % 16 == 0 && (uintptr_t)a.x % 16 == 0;
    if (stage->loss)
        add_ending(&a, stage, batch);
    return launch_after(stage->early, vectors ? forward_kernel<true> : forward_kernel<false>, blocks, THREADS, stream,
                        a);
}

cudaError_t cuda_fused_full_data(const cuda_stage *stage, const cuda_batch *batch, cudaStream_t stream)
{
    full_args a = full_args_of(stage, batch);
    a.down = pool_below_of(stage->pool, batch);
    return launch_after(stage->early, a.images == 1 ? data_kernel<1> : data_kernel<FEW_IMAGES>,
                        (unsigned)((a.length + 31) / 32), THREADS, stream, a);
}
