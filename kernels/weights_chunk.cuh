/* SPDX-License-Identifier: MIT */
/* The terms of a weight gradient on tensor cores, in chunks: pixels of a block of rows and columns of one image, or of
 * several small images, and the patches of the input that they see. Which chunk wastes least. */
#ifndef KERNELS_WEIGHTS_CHUNK_CUH
#define KERNELS_WEIGHTS_CHUNK_CUH

#include "kernels/direct.cuh"
#include "kernels/divisor.cuh"
#include "kernels/ptx.cuh"

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
    int delta_words, delta_unit; /* of a map's deltas in shared memory (mma.sync), and so many copied at once */
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

/* Patches of neighbouring maps begin 8 banks apart. */
static void lay_patch(weights_args *a)
{
    long long words = (long long)a->images * a->patch_rows * a->pitch;
    words += (40 - words % 32) % 32;
    a->patch_words = words < 0x1000000 ? (int)words : 0x1000000;
}

static void lay_chunk(weights_args *a, const cuda_layer &s, int images, int rows, int cols)
{
    a->images = images;
    a->rows = rows;
    a->cols = cols;
    a->row_blocks = (s.out_rows + rows - 1) / rows;
    a->col_blocks = (s.out_cols + cols - 1) / cols;
    a->steps = (images * rows * cols + 7) / 8;
    a->patch_rows = (rows - 1) * s.stride + s.kernel_rows;
    a->pitch = (cols - 1) * s.stride + s.kernel_cols;
    lay_patch(a);
}

/* How patches are copied: by 4 words where every row that a patch may begin with lies on 16 bytes. */
static int words_at_once(const weights_args &a, const cuda_layer &s)
{
    if (s.pad > 0 || a.col_blocks > 1 || a.pitch != s.in_cols)
        return 0;
    bool fours = s.in_rows * s.in_cols % 4 == 0 && a.patch_rows * a.pitch % 4 == 0 &&
                 (a.row_blocks == 1 || a.rows * s.stride * s.in_cols % 4 == 0);
    return fours ? 4 : 1;
}

/* Divisions by what a chunk is; after it has been chosen. */
static void find_divisors(weights_args *a)
{
    a->by_cols = divisor(a->cols);
    a->by_pixels = divisor(a->rows * a->cols);
    a->by_row_blocks = divisor(a->row_blocks);
    a->by_col_blocks = divisor(a->col_blocks);
    a->by_patch_rows = divisor(a->patch_rows);
}

static long long chunks_of(const weights_args &a, long long images)
{
    return (images + a.images - 1) / a.images * a.row_blocks * a.col_blocks;
}

/* The chunk of at most `most` steps for which clocks(chunk), those of all images, is least; negative: it does not fit.
 * Returns false where none does. */
template <class CLOCKS> static bool choose_chunk(weights_args *a, const cuda_job *job, int most, CLOCKS clocks)
{
    const cuda_layer &s = *job->shape;
    weights_args best = *a;
    double least = -1;
    auto attempt = [&](int images, int rows, int cols) {
        weights_args it = *a;
        lay_chunk(&it, s, images, rows, cols);
        double its = clocks(&it);
        if (its < 0 || (least >= 0 && its >= least))
            return;
        least = its;
        best = it;
    };
    for (int images = 1; images <= 16 && images <= job->batch; images++)
        if ((long long)images * s.out_rows * s.out_cols <= 8 * most)
            attempt(images, s.out_rows, s.out_cols);
    for (int parts = 1; parts <= s.out_cols; parts++) {
        int cols = (s.out_cols + parts - 1) / parts;
        for (int rows = 1; cols <= 8 * most && rows <= s.out_rows && rows * cols <= 8 * most; rows++)
            attempt(1, rows, cols);
        if (cols < 8)
            break;
    }
    *a = best;
    return least >= 0;
}

/* Where a term of a chunk lies in a map's patch, in words. */
__device__ __forceinline__ int place_of_term(const weights_args &a, int term)
{
    int pixel, col, image = a.by_pixels.split(term, &pixel), row = a.by_cols.split(pixel, &col);
    int place = (image * a.patch_rows + row * a.d.s.stride) * a.pitch + col * a.d.s.stride;
    return image < a.images ? place : 0;
}

/* Where the values of a weight lie in a block's patches, relative to those, in words: patches of maps from `first` on,
 * the last one of ones, for the bias and for what lies behind it. */
__device__ __forceinline__ int place_of_weight(const weights_args &a, int weight, int first)
{
    const cuda_layer &s = a.d.s;
    int in = weight / s.taps, tap = weight - in * s.taps;
    return weight < s.reduction ? (in - first) * a.patch_words + tap / s.kernel_cols * a.pitch + tap % s.kernel_cols
                                : (a.maps - 1) * a.patch_words;
}

#endif
