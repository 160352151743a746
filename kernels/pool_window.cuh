/* SPDX-License-Identifier: MIT */
/* One window of a pooling layer, and what it hands down. */
#ifndef KERNELS_POOL_WINDOW_CUH
#define KERNELS_POOL_WINDOW_CUH

#include "kernels/math.cuh"

/* Of the window whose corner is `in`. */
__device__ __forceinline__ float window_sum(const cuda_layer &s, const float *in)
{
    float sum = 0;
    for (int row = 0; row < s.kernel_rows; row++)
        for (int col = 0; col < s.kernel_cols; col++)
            sum += in[row * s.in_cols + col];
    return sum;
}

/* Place in the map, from the window's corner, of its first maximum; a NaN is larger than any number. */
__device__ __forceinline__ int window_maximum(const cuda_layer &s, const float *in)
{
    int at = 0;
    float best = in[0];
    for (int row = 0; row < s.kernel_rows; row++)
        for (int col = 0; col < s.kernel_cols; col++) {
            float value = in[row * s.in_cols + col];
            if (value > best || (isnan(value) && !isnan(best))) {
                best = value;
                at = row * s.in_cols + col;
            }
        }
    return at;
}

/* The output of the window, before the activation. */
__device__ __forceinline__ float window_value(const cuda_layer &s, const float *in, float gain, float bias)
{
    if (s.kind == CNN_SUBSAMPLE)
        return gain * window_sum(s, in) + bias;
    if (s.kind == CNN_AVGPOOL)
        return window_sum(s, in) / (float)(s.kernel_rows * s.kernel_cols);
    return in[window_maximum(s, in)];
}

/* A pooling layer whose windows do not overlap, as the kernel sees it that finds the deltas of its outputs. */
struct pool_below {
    cuda_layer s;
    int below;      /* activation of the layer below it */
    const float *x; /* its input, which is that layer's output */
    const float *gain;
    float *dx; /* NULL: there is no such layer */
};

/* Output (r, c) of a map hands its delta to pixels of its cell of stride x stride; this thread has pixel `inside` of
 * it. Pixels that no window reaches get 0: those of a cell beyond the window, and rows and columns behind the last
 * cells, which belong to these. */
__device__ __forceinline__ void spread_delta(const pool_below &p, long long map_of_all, int r, int c, int inside,
                                             float delta)
{
    const cuda_layer &s = p.s;
    long long corner = map_of_all * s.in_rows * s.in_cols + r * s.stride * s.in_cols + c * s.stride;
    int rows = r == s.out_rows - 1 ? s.in_rows - r * s.stride : s.stride;
    int cols = c == s.out_cols - 1 ? s.in_cols - c * s.stride : s.stride;
    int top = s.kind == CNN_MAXPOOL ? window_maximum(s, p.x + corner) : 0;
    if (s.kind == CNN_SUBSAMPLE)
        delta *= p.gain[map_of_all % s.in_maps];
    else if (s.kind == CNN_AVGPOOL)
        delta /= (float)(s.kernel_rows * s.kernel_cols);
    for (int row = inside / s.stride; row < rows; row += s.stride)
        for (int col = inside % s.stride; col < cols; col += s.stride) {
            int at = row * s.in_cols + col;
            bool reached = row < s.kernel_rows && col < s.kernel_cols && (s.kind != CNN_MAXPOOL || at == top);
            float value = reached ? delta : 0;
            p.dx[corner + at] = p.below == CNN_LINEAR ? value : value * slope_of(p.below, p.x[corner + at]);
        }
}

static inline pool_below pool_below_of(const cuda_job *pool, const cuda_batch *batch)
{
    pool_below p = {};
    if (pool) {
        p.s = *pool->shape;
        p.below = pool->below;
        p.x = cuda_job_input(pool, batch);
        p.gain = pool->weights;
        p.dx = pool->dx;
    }
    return p;
}

#endif
