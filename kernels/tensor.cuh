/* SPDX-License-Identifier: MIT */
/* Fragments for tensor cores, by the number of products that a multiplication is made of.
 *
 * One product is tf32: operands rounded to 11 bits. Three are fp32 by split tf32: a = high + low, both tf32, and
 * a b ~ low high + high low + high high, which leaves out low low, at most 2^-22 |a b|. Tensor cores truncate as they
 * add up, so their sums are kept short: flush() adds them to sums in registers with ordinary rounding. (Ootomo and
 * Yokota, "Recovering single precision accuracy from Tensor Cores", 2022.) An infinite operand makes low = inf - inf,
 * NaN: whoever stores such a sum works it out again, exact.cuh. */
#ifndef KERNELS_TENSOR_CUH
#define KERNELS_TENSOR_CUH

#include "kernels/tf32.cuh"

/* An operand's COUNT values of a lane: 4 of a (16 x 8), 2 of b (8 x 8), as tf32_multiply_add() has them. */
template <int PRODUCTS, int COUNT> struct tensor_operand;

template <int COUNT> struct tensor_operand<1, COUNT> {
    unsigned high[COUNT];

    __device__ __forceinline__ void take(const float (&values)[COUNT])
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            high[i] = __float_as_uint(tf32_round(values[i]));
    }
};

/* Rounded in integer arithmetic, which has more units than conversions. A NaN may become a zero in `high`, never in
 * `low`. */
template <int COUNT> struct tensor_operand<3, COUNT> {
    unsigned high[COUNT], low[COUNT];

    __device__ __forceinline__ void take(const float (&values)[COUNT])
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            high[i] = (__float_as_uint(values[i]) + 0x1000u) & 0xffffe000u;
            low[i] = __float_as_uint(values[i] - __uint_as_float(high[i]));
        }
    }
};

/* sum[16][8] += a[16][8] b[8][8], small terms first. */
template <int PRODUCTS>
__device__ __forceinline__ void tensor_multiply_add(float (&sum)[4], const tensor_operand<PRODUCTS, 4> &a,
                                                    const tensor_operand<PRODUCTS, 2> &b)
{
    if constexpr (PRODUCTS == 3) {
        tf32_multiply_add(sum, a.low, b.high);
        tf32_multiply_add(sum, a.high, b.low);
    }
    tf32_multiply_add(sum, a.high, b.high);
}

#endif
