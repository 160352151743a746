/* SPDX-License-Identifier: MIT */
/* One output, or one input gradient, of a convolution in plain loops over connected pairs only. The naive kernels are
 * made of these; kernels that multiply unconnected pairs by zero work an output out again with them where it is not
 * finite, since a zero times infinity would be NaN where the network has no connection at all. */
#ifndef KERNELS_EXACT_CUH
#define KERNELS_EXACT_CUH

#include "kernels/math.cuh"

/* The weighted sum of output pixel `pixel` of map `map`, with the bias; x and weights as in the arena. */
__device__ __forceinline__ float exact_output(const cuda_layer &s, const float *weights, float bias, const float *x,
                                              int map, int pixel)
{
    int first = s.first ? s.first[map] : map * s.in_maps;
    int count = s.first ? s.first[map + 1] - first : s.in_maps;
    int top = pixel / s.out_cols * s.stride - s.pad, left = pixel % s.out_cols * s.stride - s.pad;
    const float *weight = weights + (long long)first * s.taps;
    float sum = bias;
    for (int k = 0; k < count; k++) {
        const float *in = x + (long long)(s.first ? s.source[first + k] : k) * s.in_rows * s.in_cols;
        for (int row = top; row < top + s.kernel_rows; row++)
            for (int col = left; col < left + s.kernel_cols; col++, weight++)
                if (row >= 0 && row < s.in_rows && col >= 0 && col < s.in_cols)
                    sum += *weight * in[row * s.in_cols + col];
    }
    return sum;
}

/* The delta that reaches an input pixel through one pair of maps. */
__device__ __forceinline__ float exact_through_pair(const cuda_layer &s, const float *weight, const float *delta,
                                                    int row, int col)
{
    float sum = 0;
    for (int tap_row = 0; tap_row < s.kernel_rows; tap_row++)
        for (int tap_col = 0; tap_col < s.kernel_cols; tap_col++) {
            int r = row + s.pad - tap_row, c = col + s.pad - tap_col;
            if (r < 0 || c < 0 || r % s.stride || c % s.stride || r / s.stride >= s.out_rows ||
                c / s.stride >= s.out_cols)
                continue;
            sum += weight[tap_row * s.kernel_cols + tap_col] * delta[r / s.stride * s.out_cols + c / s.stride];
        }
    return sum;
}

/* The gradient by input pixel `pixel` of map `map`, from all its output maps. */
__device__ __forceinline__ float exact_gradient(const cuda_layer &s, const float *weights, const float *delta, int map,
                                                int pixel)
{
    int begin = s.first ? s.in_first[map] : 0, end = s.first ? s.in_first[map + 1] : s.out_maps;
    float sum = 0;
    for (int k = begin; k < end; k++) {
        int pair = s.first ? s.in_pair[k] : k * s.in_maps + map, out = s.first ? s.pair_out[pair] : k;
        sum +=
            exact_through_pair(s, weights + (long long)pair * s.taps, delta + (long long)out * s.out_rows * s.out_cols,
                               pixel / s.in_cols, pixel % s.in_cols);
    }
    return sum;
}

/* Rarely called: kept out of the way of the kernels that hold it. */
__device__ __noinline__ static float repair_output(const cuda_layer &s, const float *weights, float bias,
                                                   const float *x, int map, int pixel)
{
    return exact_output(s, weights, bias, x, map, pixel);
}

__device__ __noinline__ static float repair_gradient(const cuda_layer &s, const float *weights, const float *delta,
                                                     int map, int pixel)
{
    return exact_gradient(s, weights, delta, map, pixel);
}

/* One output of a matrix product in plain fp32: terms a_step (b_step) floats apart; b NULL: all ones. */
__device__ __noinline__ static float repair_product(const float *a, long long a_step, const float *b, long long b_step,
                                                    int terms)
{
    float sum = 0;
    for (int term = 0; term < terms; term++)
        sum = fmaf(a[term * a_step], b ? b[term * b_step] : 1.0f, sum);
    return sum;
}

#endif
