/* SPDX-License-Identifier: MIT */
/* Windows of 2 x 2 without overlap over maps of even sides, which most networks pool by: a pixel's four inputs are two
 * aligned pairs, and rows of all maps follow one another without gaps, so output i of a row of all maps reads the pairs
 * at 2 i + (2 * its row of all maps + 0 and 1) * columns. Each thread has several pixels' loads under way at once.
 * Bound by memory: every tensor is read or written once, 8 bytes a lane. */
#ifndef KERNELS_POOL_PAIRS_CUH
#define KERNELS_POOL_PAIRS_CUH

#include "kernels/divisor.cuh"
#include "kernels/math.cuh"

#define PAIR_THREADS 256
#define PAIR_EACH 4 /* pixels of a thread where there are many; else one */
#define PAIR_MANY (1 << 20)

struct pair_args {
    int below, activation, maps, images, cols; /* cols: of the output */
    int pixels;                                /* of all images and maps */
    divisor by_cols, by_rows, by_maps, by_plane;
    const float *x, *gain, *bias, *dy;
    float *y, *dx, *partial; /* partial: [slices][maps][2] */
    int slices;
};

struct pair_window {
    float2 top, bottom;
};

__device__ __forceinline__ pair_window window_at(const float *x, int pixel, int row_of_all, int cols)
{
    const float2 *at = (const float2 *)x + ((long long)row_of_all * cols + pixel);
    return { at[0], at[cols] };
}

__device__ __forceinline__ float sum_of(const pair_window &w)
{
    return w.top.x + w.top.y + w.bottom.x + w.bottom.y;
}

__device__ __forceinline__ bool above(float value, float best)
{
    return value > best || (isnan(value) && !isnan(best));
}

/* Which of the four is the first maximum; a NaN is larger than any number. */
__device__ __forceinline__ int maximum_of(const pair_window &w, float *best)
{
    const float value[4] = { w.top.x, w.top.y, w.bottom.x, w.bottom.y };
    int at = 0;
    *best = value[0];
#pragma unroll
    for (int i = 1; i < 4; i++)
        if (above(value[i], *best)) {
            *best = value[i];
            at = i;
        }
    return at;
}

__device__ __forceinline__ int map_of(const pair_args &a, int row_of_all)
{
    int map;
    a.by_maps.split(a.by_rows.quotient(row_of_all), &map);
    return map;
}

template <int KIND, int EACH>
__global__ static void __launch_bounds__(PAIR_THREADS) pair_forward_kernel(const __grid_constant__ pair_args a)
{
    int first = blockIdx.x * (PAIR_THREADS * EACH) + threadIdx.x, rows[EACH];
    pair_window windows[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        int pixel = min(first + i * PAIR_THREADS, a.pixels - 1);
        rows[i] = a.by_cols.quotient(pixel);
        windows[i] = window_at(a.x, pixel, rows[i], a.cols);
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        float value;
        if (KIND == CNN_MAXPOOL) {
            maximum_of(windows[i], &value);
        } else {
            int map = map_of(a, rows[i]);
            value = sum_of(windows[i]);
            value = KIND == CNN_SUBSAMPLE ? a.gain[map] * value + a.bias[map] : value / 4;
        }
        if (first + i * PAIR_THREADS < a.pixels)
            a.y[first + i * PAIR_THREADS] = activate(a.activation, value);
    }
}

template <int KIND, int EACH>
__global__ static void __launch_bounds__(PAIR_THREADS) pair_backward_kernel(const __grid_constant__ pair_args a)
{
    int first = blockIdx.x * (PAIR_THREADS * EACH) + threadIdx.x, rows[EACH];
    bool reads = KIND == CNN_MAXPOOL || a.below != CNN_LINEAR;
    pair_window windows[EACH] = {};
    float deltas[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        int pixel = min(first + i * PAIR_THREADS, a.pixels - 1);
        rows[i] = a.by_cols.quotient(pixel);
        deltas[i] = a.dy[pixel];
        if (reads)
            windows[i] = window_at(a.x, pixel, rows[i], a.cols);
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        int pixel = first + i * PAIR_THREADS, top = 0;
        float delta = deltas[i], best;
        if (pixel >= a.pixels)
            break;
        if (KIND == CNN_SUBSAMPLE)
            delta *= a.gain[map_of(a, rows[i])];
        else if (KIND == CNN_AVGPOOL)
            delta /= 4;
        else
            top = maximum_of(windows[i], &best);
        const float x[4] = { windows[i].top.x, windows[i].top.y, windows[i].bottom.x, windows[i].bottom.y };
        float out[4];
#pragma unroll
        for (int v = 0; v < 4; v++) {
            out[v] = KIND != CNN_MAXPOOL || v == top ? delta : 0;
            out[v] = a.below == CNN_LINEAR ? out[v] : out[v] * slope_of(a.below, x[v]);
        }
        float2 *to = (float2 *)a.dx + ((long long)rows[i] * a.cols + pixel);
        to[0] = make_float2(out[0], out[1]);
        to[a.cols] = make_float2(out[2], out[3]);
    }
}

/* One block: one map, one slice of the batch. Sums in a fixed tree. */
__global__ static void __launch_bounds__(PAIR_THREADS) pair_gains_kernel(const __grid_constant__ pair_args a)
{
    __shared__ float gains[PAIR_THREADS], biases[PAIR_THREADS];
    int slice = blockIdx.x / a.maps, map = blockIdx.x - slice * a.maps, plane = (int)a.by_plane.by;
    int begin = (int)((long long)a.images * slice / a.slices),
        end = (int)((long long)a.images * (slice + 1) / a.slices);
    float gain = 0, bias = 0;
    for (int first = threadIdx.x; first < (end - begin) * plane; first += PAIR_THREADS * PAIR_EACH) {
        pair_window windows[PAIR_EACH] = {};
        float deltas[PAIR_EACH];
#pragma unroll
        for (int i = 0; i < PAIR_EACH; i++) {
            int at = first + i * PAIR_THREADS, inside;
            bool there = at < (end - begin) * plane;
            int image = a.by_plane.split(there ? at : 0, &inside);
            int pixel = ((begin + image) * a.maps + map) * plane + inside;
            deltas[i] = there ? a.dy[pixel] : 0;
            if (there)
                windows[i] = window_at(a.x, pixel, a.by_cols.quotient(pixel), a.cols);
        }
#pragma unroll
        for (int i = 0; i < PAIR_EACH; i++) {
            gain += deltas[i] * sum_of(windows[i]);
            bias += deltas[i];
        }
    }
    gains[threadIdx.x] = gain;
    biases[threadIdx.x] = bias;
    for (int half = PAIR_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            gains[threadIdx.x] += gains[threadIdx.x + half];
            biases[threadIdx.x] += biases[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        a.partial[(slice * a.maps + map) * 2] = gains[0];
        a.partial[(slice * a.maps + map) * 2 + 1] = biases[0];
    }
}

/* Whether windows are pairs, and pixels few enough for 32 bits. */
static inline bool has_pairs(const cuda_layer &s, long long images)
{
    return s.kernel_rows == 2 && s.kernel_cols == 2 && s.stride == 2 && s.in_rows == 2 * s.out_rows &&
           s.in_cols == 2 * s.out_cols && images * s.out_maps * s.out_rows * s.out_cols < 0x7fff0000;
}

static inline unsigned pair_blocks(const pair_args &a, int each)
{
    return (unsigned)((a.pixels + PAIR_THREADS * each - 1) / (PAIR_THREADS * each));
}

#endif
