/* SPDX-License-Identifier: MIT */
/* A block's tile of a weight gradient by mma.sync, tensor_conv_weights.cu: a chunk's deltas in shared memory, the sums
 * in registers, and where they go. */
#ifndef KERNELS_WEIGHT_SUMS_CUH
#define KERNELS_WEIGHT_SUMS_CUH

#include "kernels/tensor.cuh"
#include "kernels/weights_chunk.cuh"

/* A block's tile: WARPS_M x WARPS_N warps of ROWS x 16 maps and COLUMNS x 8 weights; blocks that a multiprocessor
 * holds. */
template <int WARPS_M_, int WARPS_N_, int ROWS_, int COLUMNS_, int BLOCKS_> struct weights_tile {
    static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_, ROWS = ROWS_, COLUMNS = COLUMNS_, BLOCKS = BLOCKS_;
    static constexpr int THREADS = 32 * WARPS_M * WARPS_N, BM = WARPS_M * ROWS * 16, BN = WARPS_N * COLUMNS * 8;
};

/* A chunk's deltas of the block's maps, UNIT at a time: [map][term], zero where there is no pixel. A lane has the same
 * terms of every map. */
template <class T, int UNIT>
__device__ __forceinline__ void load_units(const weights_args &a, const chunk_place &where, int map0, float *deltas)
{
    const cuda_layer &s = a.d.s;
    int plane = s.out_rows * s.out_cols, maps = min(T::BM, s.out_maps - map0);
    for (int term = threadIdx.x % 32 * UNIT; term < a.steps * 8; term += 32 * UNIT) {
        int pixel, col, image = a.by_pixels.split(term, &pixel), row = a.by_cols.split(pixel, &col);
        bool there = image < a.images && where.image + image < a.d.images && where.top + row < s.out_rows &&
                     where.left + col < s.out_cols;
        pixel = (where.top + row) * s.out_cols + where.left + col;
        const float *from =
            a.d.dy + (there ? ((long long)(where.image + image) * s.out_maps + map0) * plane + pixel : 0);
#pragma unroll 4
        for (int map = threadIdx.x / 32; map < T::BM; map += T::THREADS / 32)
            copy_async<UNIT * 4>(deltas + map * a.delta_words + term, from + (map < maps ? map * plane : 0),
                                 there && map < maps);
    }
}

template <class T>
__device__ __forceinline__ void load_chunk(const weights_args &a, int chunk, int map0, int first, int maps,
                                           float *deltas, float *patches)
{
    const chunk_place where(a, chunk);
    if (a.delta_unit == 4)
        load_units<T, 4>(a, where, map0, deltas);
    else if (a.delta_unit == 2)
        load_units<T, 2>(a, where, map0, deltas);
    else
        load_units<T, 1>(a, where, map0, deltas);
    load_inputs<T>(a, chunk, first, maps, patches);
    copy_async_commit();
}

template <class T, int PRODUCTS> struct weight_sums {
    float sum[T::ROWS][T::COLUMNS][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < T::ROWS; i++)
#pragma unroll
            for (int j = 0; j < T::COLUMNS; j++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    sum[i][j][v] = 0;
    }

    /* Places and offsets are in bytes, which saves a multiplication for each. */
    __device__ __forceinline__ static void fetch(float (&values)[T::COLUMNS][2], const float *patches,
                                                 const int (&places)[T::COLUMNS], int2 offset)
    {
        const char *low = (const char *)patches + offset.x, *high = (const char *)patches + offset.y;
#pragma unroll
        for (int j = 0; j < T::COLUMNS; j++) {
            values[j][0] = *(const float *)(low + places[j]);
            values[j][1] = *(const float *)(high + places[j]);
        }
    }

    /* Adds 8 terms of one row of fragments. Three products are summed up apart and added in fp32, tensor.cuh. */
    __device__ __forceinline__ void add_row(int i, float2 upper, float2 lower,
                                            const tensor_operand<PRODUCTS, 2> (&b)[T::COLUMNS])
    {
        const float values[4] = { upper.x, lower.x, upper.y, lower.y };
        tensor_operand<PRODUCTS, 4> deltas;
        deltas.take(values);
#pragma unroll
        for (int j = 0; j < T::COLUMNS; j++) {
            if constexpr (PRODUCTS == 1) {
                tensor_multiply_add<1>(sum[i][j], deltas, b[j]);
            } else {
                float part[4] = { 0, 0, 0, 0 };
                tensor_multiply_add<PRODUCTS>(part, deltas, b[j]);
#pragma unroll
                for (int v = 0; v < 4; v++)
                    sum[i][j][v] += part[v];
            }
        }
    }

    /* Adds a chunk, a step's inputs on their way while the one before is multiplied. deltas: of this lane's first map
     * and terms, offsets: of its terms. */
    __device__ __forceinline__ void add_chunk(const weights_args &a, const float *deltas, const float *patches,
                                              const int (&places)[T::COLUMNS], const int2 *offsets)
    {
        float next[T::COLUMNS][2];
        fetch(next, patches, places, *offsets);
        for (int step = 0; step < a.steps; step++) {
            tensor_operand<PRODUCTS, 2> b[T::COLUMNS];
#pragma unroll
            for (int j = 0; j < T::COLUMNS; j++)
                b[j].take(next[j]);
            offsets += step + 1 < a.steps ? 4 : 0;
            fetch(next, patches, places, *offsets);
#pragma unroll
            for (int i = 0; i < T::ROWS; i++)
                add_row(i, *(const float2 *)(deltas + i * 16 * a.delta_words),
                        *(const float2 *)(deltas + (i * 16 + 8) * a.delta_words), b);
            deltas += 8;
        }
    }
};

/* A thread's sums to their slice. Those that are not finite are worked out again: a product of halves of an infinite
 * value is NaN, and so is one of a zero that fills a chunk up. */
template <class T, int PRODUCTS>
__device__ __forceinline__ void put_sums(const weights_args &a, int slice, int map, int weight,
                                         const weight_sums<T, PRODUCTS> &sums)
{
    const cuda_layer &s = a.d.s;
    int row = s.reduction + 1, begin = slice * a.each, end = min(begin + a.each, a.chunks);
    float zero = 0, *to = s.partial + (long long)slice * s.out_maps * row + (long long)map * row + weight;
#pragma unroll
    for (int i = 0; i < T::ROWS * 2; i++)
#pragma unroll
        for (int j = 0; j < T::COLUMNS * 2; j++) {
            float value = sums.sum[i / 2][j / 2][i % 2 * 2 + j % 2];
            zero += value * 0.0f;
            if (map + i * 8 < s.out_maps && weight + j / 2 * 8 + j % 2 <= s.reduction)
                to[(long long)i * 8 * row + j / 2 * 8 + j % 2] = value;
        }
    if (zero == 0)
        return;
    for (int i = 0; i < T::ROWS * 2 && map + i * 8 < s.out_maps; i++)
        for (int j = 0; j < T::COLUMNS * 2; j++) {
            int it = j / 2 * 8 + j % 2;
            float *at = to + (long long)i * 8 * row + it;
            if (weight + it <= s.reduction && !isfinite(*at))
                *at = exact_weight(a, begin, end, map + i * 8, weight + it);
        }
}

#endif
