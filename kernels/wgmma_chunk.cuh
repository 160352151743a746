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
    divisor by_cols, by_pixels, by_row_blocks, by_col_blocks, by_patch_rows;
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

/* Deltas as products take them: [block of N maps][step][high, low][N / 8][2][8 maps][4 pixels]. */
template <class T>
__global__ static void pack_deltas(const __grid_constant__ weights_args a, float *packed, long long steps,
                                   long long count)
{
    const cuda_layer &s = a.d.s;
    int first_chunk = a.first_slice * a.each;
    FOR_EACH_ELEMENT(i, count)
    {
        int inside = (int)(i % T::STEP), place = inside % (T::N * 8), col, row, pixel;
        long long step_of_all = i / T::STEP, block = step_of_all / steps, step = step_of_all - block * steps;
        int chunk = (int)(step / a.steps), map = (int)block * T::N + place / 64 * 8 + place / 4 % 8;
        int term = (int)(step - (long long)chunk * a.steps) * 8 + place / 32 % 2 * 4 + place % 4;
        const chunk_place where(a, min(first_chunk + chunk, a.chunks - 1));
        int image = where.image + a.by_pixels.split(term, &pixel);
        row = where.top + a.by_cols.split(pixel, &col);
        col += where.left;
        bool there = first_chunk + chunk < a.chunks && term < a.images * a.rows * a.cols && image < a.d.images &&
                     row < s.out_rows && col < s.out_cols && map < s.out_maps;
        float delta = there ? a.d.dy[(((long long)image * s.out_maps + map) * s.out_rows + row) * s.out_cols + col] : 0;
        float high = __uint_as_float(__float_as_uint(tf32_round(delta)) & 0xffffe000u);
        packed[i] = inside < T::N * 8 ? high : tf32_round(delta - high);
    }
}

/* The inputs that a chunk's pixels see, of `maps` maps from `first` on, a row at a time by a warp. */
template <class T>
__device__ __forceinline__ void load_inputs(const weights_args &a, int chunk, int first, int maps, float *patch)
{
    const cuda_layer &s = a.d.s;
    const chunk_place where(a, chunk);
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
