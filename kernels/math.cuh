/* SPDX-License-Identifier: MIT */
/* What kernels share: activations and their slopes, index arithmetic, launch geometry. */
#ifndef KERNELS_MATH_CUH
#define KERNELS_MATH_CUH

#include "kernels/kernel.h"

__device__ __forceinline__ float activate(int kind, float x)
{
    switch (kind) {
    case CNN_TANH:
        return tanhf(x);
    case CNN_LECUN_TANH:
        return 1.7159f * tanhf(2.0f / 3.0f * x);
    case CNN_LOGISTIC:
        return 1.0f / (1.0f + expf(-x));
    case CNN_RELU:
        return x < 0 ? 0 : x; /* NaN passes */
    default:
        return x;
    }
}

template <int KIND, int N> __device__ __forceinline__ void activate_each(float (&x)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        x[i] = activate(KIND, x[i]);
}

/* Several at once: the choice is made once. */
template <int N> __device__ __forceinline__ void activate_all(int kind, float (&x)[N])
{
    if (kind == CNN_TANH)
        activate_each<CNN_TANH>(x);
    else if (kind == CNN_LECUN_TANH)
        activate_each<CNN_LECUN_TANH>(x);
    else if (kind == CNN_LOGISTIC)
        activate_each<CNN_LOGISTIC>(x);
    else if (kind == CNN_RELU)
        activate_each<CNN_RELU>(x);
}

/* The slope of the activation, from its value y. */
__device__ __forceinline__ float slope_of(int kind, float y)
{
    switch (kind) {
    case CNN_TANH:
        return 1 - y * y;
    case CNN_LECUN_TANH:
        return 1.7159f * 2.0f / 3.0f - y * y * (2.0f / 3.0f / 1.7159f);
    case CNN_LOGISTIC:
        return y * (1 - y);
    case CNN_RELU:
        return y > 0 ? 1 : y - y; /* 0, and NaN stays NaN */
    default:
        return 1;
    }
}

/* a / b and a % b; a 64-bit division costs a hundred instructions, so small numbers take the short way. */
__device__ __forceinline__ void divide(long long a, int b, long long *quotient, int *remainder)
{
    if (a >> 32 == 0) {
        unsigned q = (unsigned)a / (unsigned)b;
        *quotient = q;
        *remainder = (int)((unsigned)a - q * (unsigned)b);
    } else {
        *quotient = a / b;
        *remainder = (int)(a % b);
    }
}

/* Blocks of a grid-stride loop over `count` elements: enough to fill any GPU, never more than a grid may have. */
static inline unsigned stride_blocks(long long count, int threads)
{
    long long blocks = (count + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks > (1 << 20) ? 1 << 20 : blocks);
}

#define FOR_EACH_ELEMENT(i, count)                                                    \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (long long)gridDim.x * blockDim.x)

#endif
