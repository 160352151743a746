/* SPDX-License-Identifier: MIT */
/* The terms of a weight gradient on Hopper's tensor cores: their deltas packed as those take them, and where their
 * pixels lie in the patches of several chunks. */
#ifndef KERNELS_WGMMA_CHUNK_CUH
#define KERNELS_WGMMA_CHUNK_CUH

#include "kernels/weights_chunk.cuh"
#include "kernels/wgmma_tile.cuh"

#define CHUNK_STEPS 40 /* at most */

/* The delta of a chunk's pixel of a map, zero where there is none. */
__device__ __forceinline__ float delta_at(const weights_args &a, int image, int row, int col, int map)
{
    const cuda_layer &s = a.d.s;
    bool there = image < a.d.images && row < s.out_rows && col < s.out_cols && map < s.out_maps;
    return there ? a.d.dy[(((long long)image * s.out_maps + map) * s.out_rows + row) * s.out_cols + col] : 0;
}

/* Deltas as products take them: [block of N maps][step][high, low][N / 8][2][8 maps][4 pixels], four to a thread. */
template <class T> __global__ static void pack_deltas(const __grid_constant__ weights_args a, float *packed, int fours)
{
    constexpr int STEP_FOURS = T::N * 2;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += gridDim.x * blockDim.x) {
        int step_of_all = i / STEP_FOURS, four = i - step_of_all * STEP_FOURS, step, pixel, col;
        int block = a.by_part_steps.split(step_of_all, &step), chunk = a.by_steps.split(step, &step);
        int map = block * T::N + four / 16 * 8 + four % 8, term = step * 8 + four / 8 % 2 * 4;
        chunk += a.first_slice * a.each;
        const chunk_place where(a, min(chunk, a.chunks - 1));
        int image = a.by_pixels.split(term, &pixel), row = a.by_cols.split(pixel, &col);
        float high[4], low[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            bool there = chunk < a.chunks && image < a.images;
            float delta = there ? delta_at(a, where.image + image, where.top + row, where.left + col, map) : 0;
            high[e] = __uint_as_float(__float_as_uint(tf32_round(delta)) & 0xffffe000u);
            low[e] = tf32_round(delta - high[e]);
            bool end_of_row = ++col == a.cols, end_of_image = end_of_row && row + 1 == a.rows;
            col = end_of_row ? 0 : col;
            row = end_of_image ? 0 : row + end_of_row;
            image += end_of_image;
        }
        float4 *to = (float4 *)(packed + (long long)step_of_all * T::STEP) + four;
        *to = make_float4(high[0], high[1], high[2], high[3]);
        if (T::PARTS == 2)
            to[STEP_FOURS] = make_float4(low[0], low[1], low[2], low[3]);
    }
}

/* Where a chunk's pixels lie in the patches of STAGES chunks, in bytes, as pixel_values takes them. */
template <class T> __device__ __forceinline__ void find_pixels(const weights_args &a, int2 *offsets)
{
    int steps = a.stages * a.steps;
    for (int i = threadIdx.x; i < (steps + STEPS) * 4; i += T::THREADS) {
        int step = i / 4 % steps, stage = step / a.steps, value[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int term = (step - stage * a.steps) * 8 + i % 4 + half * 4;
            value[half] = (stage * a.maps * a.patch_words + place_of_term(a, term)) * 4;
        }
        offsets[i] = make_int2(value[0], value[1]);
    }
}

#endif
