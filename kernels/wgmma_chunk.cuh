/* SPDX-License-Identifier: MIT */
/* The terms of a weight gradient on Hopper's tensor cores, in chunks: which output pixels those are, the patches of the
 * input that they see, and their deltas packed as the tensor cores take them. */
#ifndef KERNELS_WGMMA_CHUNK_CUH
#define KERNELS_WGMMA_CHUNK_CUH

#include "kernels/direct.cuh"
#include "kernels/divisor.cuh"
#include "kernels/wgmma_tile.cuh"

#define CHUNK_STEPS 40 /* at most */

struct weights_args {
    direct_args d;
    const float *packed;
    int images, rows, cols; /* of a chunk, and how many of them: */
    int row_blocks, col_blocks, chunks;
    int steps;                          /* of a chunk */
    int patch_rows, pitch, patch_words; /* of one image's, a row's, and one map's patch of a chunk */
    int maps;                           /* whose patches a block holds, with one of ones */
    int each, slices, first_slice;      /* chunks of a slice; slices of this part */
    int row_tiles, stages;
    int whole_rows; /* words that copies of whole rows of the input take at once; 0: a patch is something else */
    divisor by_cols, by_pixels, by_row_blocks, by_col_blocks, by_patch_rows, by_steps, by_part_steps;
};

/* The images and the block of pixels of a chunk. */
struct chunk_place {
    int image, top, left;

    __device__ __forceinline__ chunk_place(const weights_args &a, int chunk)
    {
        image = a.by_row_blocks.split(a.by_col_blocks.split(chunk, &left), &top) * a.images;
        top *= a.rows;
        left *= a.cols;
    }
};

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

/* Rows of a patch that are whole rows of the input lie together in both: they are copied as they lie, by BYTES. */
template <class T, int BYTES>
__device__ __forceinline__ void load_whole_rows(const weights_args &a, const chunk_place &where, int first, int maps,
                                                float *patch)
{
    constexpr int WORDS = BYTES / 4;
    const cuda_layer &s = a.d.s;
    int size = a.patch_rows * a.pitch, top = where.top * s.stride * s.in_cols, plane = s.in_rows * s.in_cols;
    for (int i = threadIdx.x / 32; i < maps * a.images; i += T::THREADS / 32) {
        int map = a.images == 1 ? i : i / a.images, image = i - map * a.images;
        const float *from = a.d.x + ((long long)(where.image + image) * s.in_maps + first + map) * plane + top;
        float *to = patch + map * a.patch_words + image * size;
        int there = where.image + image < a.d.images ? plane - top : 0;
        for (int word = threadIdx.x % 32 * WORDS; word < size; word += 32 * WORDS)
            copy_async<BYTES>(to + word, word < there ? from + word : a.d.x, word < there);
    }
}

/* The inputs that a chunk's pixels see, of `maps` maps from `first` on, a row at a time by a warp. */
template <class T>
__device__ __forceinline__ void load_inputs(const weights_args &a, int chunk, int first, int maps, float *patch)
{
    const cuda_layer &s = a.d.s;
    const chunk_place where(a, chunk);
    if (a.whole_rows == 4)
        return load_whole_rows<T, 16>(a, where, first, maps, patch);
    if (a.whole_rows == 1)
        return load_whole_rows<T, 4>(a, where, first, maps, patch);
    int rows = a.images * a.patch_rows, lane = threadIdx.x % 32, cols = (a.cols - 1) * s.stride + s.kernel_cols;
    int map = 0, left = where.left * s.stride - s.pad, index;
    for (int row = threadIdx.x / 32; map < maps; row += T::THREADS / 32) {
        while (row >= rows) {
            row -= rows;
            map++;
        }
        if (map >= maps)
            break;
        int image = where.image + a.by_patch_rows.split(row, &index);
        int from_row = where.top * s.stride + index - s.pad;
        bool inside = image < a.d.images && from_row >= 0 && from_row < s.in_rows;
        const float *from = a.d.x + ((long long)image * s.in_maps + first + map) * s.in_rows * s.in_cols +
                            (long long)from_row * s.in_cols + left;
        float *to = patch + map * a.patch_words + row * a.pitch;
        for (int col = lane; col < cols; col += 32) {
            bool there = inside && left + col >= 0 && left + col < s.in_cols;
            copy_async<4>(to + col, there ? from + col : a.d.x, there);
        }
    }
}

/* Where a chunk's pixels lie in the patches of STAGES chunks, in bytes, as pixel_values takes them. */
template <class T> __device__ __forceinline__ void find_pixels(const weights_args &a, int2 *offsets)
{
    int steps = a.stages * a.steps, stride = a.d.s.stride;
    for (int i = threadIdx.x; i < (steps + STEPS) * 4; i += T::THREADS) {
        int step = i / 4 % steps, stage = step / a.steps, value[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int term = (step - stage * a.steps) * 8 + i % 4 + half * 4, pixel, col;
            int image = a.by_pixels.split(term, &pixel), row = a.by_cols.split(pixel, &col);
            int place = (image * a.patch_rows + row * stride) * a.pitch + col * stride;
            value[half] = (stage * a.maps * a.patch_words + (image < a.images ? place : 0)) * 4;
        }
        offsets[i] = make_int2(value[0], value[1]);
    }
}

/* A slice's sum for one weight in plain fp32: where the product is not finite. */
__device__ __noinline__ static float exact_weight(const weights_args &a, int begin, int end, int map, int weight)
{
    const cuda_layer &s = a.d.s;
    bool bias = weight == s.reduction;
    int in = bias ? 0 : weight / s.taps, tap = bias ? 0 : weight % s.taps;
    float sum = 0;
    for (int chunk = begin; chunk < end; chunk++) {
        const chunk_place where(a, chunk);
        for (int image = where.image; image < where.image + a.images && image < a.d.images; image++)
            for (int row = where.top; row < where.top + a.rows && row < s.out_rows; row++)
                for (int col = where.left; col < where.left + a.cols && col < s.out_cols; col++) {
                    int r = row * s.stride - s.pad + tap / s.kernel_cols,
                        c = col * s.stride - s.pad + tap % s.kernel_cols;
                    float delta = a.d.dy[(((long long)image * s.out_maps + map) * s.out_rows + row) * s.out_cols + col];
                    if (bias)
                        sum += delta;
                    else if (r >= 0 && r < s.in_rows && c >= 0 && c < s.in_cols)
                        sum += delta * a.d.x[(((long long)image * s.in_maps + in) * s.in_rows + r) * s.in_cols + c];
                }
    }
    return sum;
}

#endif
