/* SPDX-License-Identifier: MIT */
/* Sums of a convolution on tensor cores on their way out, as mma.sync leaves them in the registers of a thread. */
#ifndef KERNELS_TENSOR_OUTPUTS_CUH
#define KERNELS_TENSOR_OUTPUTS_CUH

#include "kernels/tensor_patch.cuh"

/* What a thread puts of 8 pixels: two neighbours of ROWS x 2 maps, 8 apart. */
template <class T, int PRODUCTS, bool BACK> struct conv_outputs {
    float value[T::ROWS * 2][2];
    const tensor_conv_args &a;
    const pixel_place one, two;
    int map0, plane, maps; /* of its maps so many exist */
    long long at, next;    /* of map0 */
    bool pair;

    __device__ __forceinline__ conv_outputs(const tensor_conv_args &a_, int map, pixel_place one_, pixel_place two_)
        : a(a_), one(one_), two(two_), map0(map)
    {
        plane = a.to_rows * a.to_cols;
        maps = (a.to_maps - map + 7) / 8;
        at = one.at + (long long)map * plane;
        next = two.at + (long long)map * plane;
        pair = one.there && two.there && next == at + 1 && at % 2 == 0 && plane % 2 == 0;
    }

    __device__ __forceinline__ void repair()
    {
        float zero = 0;
#pragma unroll
        for (int i = 0; i < T::ROWS * 2; i++)
            zero += value[i][0] * 0.0f + value[i][1] * 0.0f;
        if (zero == 0)
            return;
        for (int i = 0; i < T::ROWS * 2; i++) /* not unrolled: rare */
            for (int which = 0; which < 2; which++)
                if (i < maps && (which ? two : one).there && !isfinite(get(i, which)))
                    set(i, which, repair_sum<BACK>(a, map0 + i * 8, (which ? next : at) + (long long)i * 8 * plane));
    }

    /* By comparison, since an array that is indexed at run time leaves the registers. */
    __device__ __forceinline__ float get(int at_, int which) const
    {
        float found = 0;
#pragma unroll
        for (int i = 0; i < T::ROWS * 2; i++)
            found = i == at_ ? which ? value[i][1] : value[i][0] : found;
        return found;
    }

    __device__ __forceinline__ void set(int at_, int which, float to)
    {
#pragma unroll
        for (int i = 0; i < T::ROWS * 2; i++) {
            value[i][0] = i == at_ && which == 0 ? to : value[i][0];
            value[i][1] = i == at_ && which == 1 ? to : value[i][1];
        }
    }

    /* Bias and activation, or the slope of the layer below. */
    __device__ __forceinline__ void finish()
    {
        if (BACK && a.d.below == CNN_LINEAR)
            return;
#pragma unroll
        for (int i = 0; i < T::ROWS * 2; i++) {
            if (i >= maps)
                break;
            if (BACK) {
                const float *x = a.d.x + (long long)i * 8 * plane;
                float first = one.there ? x[at] : 0, second = two.there ? x[next] : 0;
                value[i][0] *= slope_of(a.d.below, first);
                value[i][1] *= slope_of(a.d.below, second);
            } else {
                value[i][0] = activate(a.d.s.activation, value[i][0]);
                value[i][1] = activate(a.d.s.activation, value[i][1]);
            }
        }
    }

    __device__ __forceinline__ void put() const
    {
        float *to = BACK ? a.d.dx : a.d.y;
#pragma unroll
        for (int i = 0; i < T::ROWS * 2; i++, to += 8ll * plane) {
            if (i >= maps)
                break;
            if (pair) {
                *(float2 *)(to + at) = make_float2(value[i][0], value[i][1]);
                continue;
            }
            if (one.there)
                to[at] = value[i][0];
            if (two.there)
                to[next] = value[i][1];
        }
    }
};

#endif
