/* SPDX-License-Identifier: MIT */
/* The pixels that a block of a convolution on tensor cores has, and the patch of the tensor that they see: how it is
 * laid out in shared memory, where its words come from, and which shape of block wastes least. */
#ifndef KERNELS_TENSOR_PATCH_CUH
#define KERNELS_TENSOR_PATCH_CUH

#include "kernels/direct.cuh"
#include "kernels/divisor.cuh"
#include "kernels/ptx.cuh"

#define WEIGHT_SLOTS 3 /* groups of weights in shared memory: one at work, two on their way */
#define MAPS 8         /* read at a time; so that their taps are whole steps of 8 terms */

struct tensor_conv_args {
    direct_args d;
    const float *from, *packed;
    int from_maps, from_rows, from_cols, to_maps, to_rows, to_cols, stride, pad;
    int taps, kernel_rows, kernel_cols;
    int steps;  /* of 8 terms */
    int pixels; /* of all images */
    /* A block's pixels: `rows` x `cols` of one image; or, where rows is 0, neighbours in the order of memory, over rows
     * and images. */
    int rows, cols, row_blocks, col_blocks;
    divisor by_plane, by_cols, by_row_blocks, by_col_blocks;
    /* The patch: [stages][held][patch_words], a row of it `pitch` words. */
    int stages, held, pitch, patch_words;
    int unit;  /* words that are copied together */
    int group; /* steps whose weights come together */
};

/* Of a block's pixel: its window's corner in the patch, and its place in the tensor that is written, in map 0. */
struct pixel_place {
    int patch;
    long long at;
    bool there;
};

/* Which pixels and which patch a block has. Neighbours in memory's order run over segments, one per image that they
 * touch: the first begins in the row of its first pixel, the others at their image's top. */
struct block_place {
    int first, image, top, left, first_rows, rows_each, rows, cols;

    __device__ block_place(const tensor_conv_args &a, int block, int pixels)
    {
        rows_each = ((a.rows ? a.rows : a.to_rows) - 1) * a.stride + a.kernel_rows;
        cols = (a.cols - 1) * a.stride + a.kernel_cols;
        if (a.rows) {
            image = a.by_row_blocks.split(a.by_col_blocks.split(block, &left), &top);
            top *= a.rows;
            left *= a.cols;
            first = 0;
            rows = first_rows = rows_each;
            return;
        }
        int pixel, bottom;
        first = block * pixels;
        left = 0;
        image = a.by_plane.split(first, &pixel);
        top = a.by_cols.quotient(pixel);
        int more = a.by_plane.split(min(first + pixels, a.pixels) - 1, &pixel) - image;
        bottom = a.by_cols.quotient(pixel);
        first_rows = ((more ? a.to_rows - 1 : bottom) - top) * a.stride + a.kernel_rows;
        rows = first_rows + (more ? (more - 1) * rows_each + bottom * a.stride + a.kernel_rows : 0);
    }

    __device__ __forceinline__ pixel_place locate(const tensor_conv_args &a, int n) const
    {
        int plane = a.to_rows * a.to_cols, its_image = image, pixel, row, col, patch_row;
        bool there;
        if (a.rows) {
            row = a.by_cols.split(n, &col);
            there = row < a.rows && top + row < a.to_rows && left + col < a.to_cols;
            row = there ? row : 0;
            col = there ? col : 0;
            patch_row = row * a.stride;
            pixel = (top + row) * a.to_cols + left + col;
        } else {
            there = first + n < a.pixels;
            its_image = a.by_plane.split(there ? first + n : a.pixels - 1, &pixel);
            row = a.by_cols.split(pixel, &col);
            patch_row = (its_image == image ? row - top : row) * a.stride;
            patch_row += its_image == image ? 0 : first_rows + (its_image - image - 1) * rows_each;
        }
        return { patch_row * a.pitch + col * a.stride, (long long)its_image * a.to_maps * plane + pixel, there };
    }

    /* Of a row of the patch in the tensor that is read, from the first segment's image on: -1: outside. */
    __device__ __forceinline__ int source_row(const tensor_conv_args &a, int patch_row) const
    {
        int segment = patch_row < first_rows ? 0 : 1 + (patch_row - first_rows) / rows_each;
        int row = segment ? (patch_row - first_rows) % rows_each : top * a.stride + patch_row;
        row -= a.pad;
        bool inside = row >= 0 && row < a.from_rows;
        return inside ? segment * a.from_maps * a.from_rows * a.from_cols + row * a.from_cols : -1;
    }
};

/* The words of a map's patch that come from the tensor, `unit` at a time: from where and to where. The same for every
 * map; what lies outside is zero in every map and stays so. Their order does not matter. */
struct patch_copies {
    int *count;
    int2 *list;

    __device__ patch_copies(int *memory) : count(memory), list((int2 *)(memory + 2))
    {
    }

    static __host__ __device__ int words(const tensor_conv_args &a)
    {
        return 2 + a.patch_words / a.unit * 2;
    }

    template <class T>
    __device__ __forceinline__ void find(const tensor_conv_args &a, const block_place &where, float *patches) const
    {
        int lane = threadIdx.x % 32, shift = where.left * a.stride - a.pad;
        int begin = max(0, -shift), end = min(where.cols, a.from_cols - shift);
        if (threadIdx.x == 0)
            *count = 0;
        __syncthreads();
        for (int row = threadIdx.x / 32; row < where.rows; row += T::THREADS / 32) {
            int source = where.source_row(a, row), at = 0, units = max(0, end - begin + a.unit - 1) / a.unit;
            units = source < 0 ? 0 : units;
            for (int col = lane; col < a.pitch; col += 32)
                for (int map = 0; (units == 0 || col < begin || col >= end) && map < a.stages * a.held; map++)
                    patches[map * a.patch_words + row * a.pitch + col] = 0;
            if (lane == 0)
                at = atomicAdd(count, units);
            at = __shfl_sync(0xffffffffu, at, 0);
            for (int i = lane; i < units; i += 32) {
                int col = begin + i * a.unit;
                list[at + i] = make_int2(source + col + shift, row * a.pitch + col);
            }
        }
    }
};

/* The next maps of the patch, each by a warp of its own; maps beyond the last are zero, as are the weights that meet
 * them. */
template <class T, int UNIT>
__device__ __forceinline__ void load_units(const tensor_conv_args &a, const float *from, const patch_copies &copies,
                                           int first_map, float *patch)
{
    int maps = min(MAPS, a.from_maps - first_map), count = *copies.count;
    for (int map = threadIdx.x / 32; map < a.held; map += T::THREADS / 32) {
        const float *at = from + (long long)(first_map + map) * (a.from_rows * a.from_cols);
        float *to = patch + map * a.patch_words;
#pragma unroll 4
        for (int i = threadIdx.x % 32; i < count; i += 32) {
            int2 copy = copies.list[i];
            copy_async<UNIT * 4>(to + copy.y, map < maps ? at + copy.x : from, map < maps);
        }
    }
}

template <class T>
__device__ __forceinline__ void load_patch(const tensor_conv_args &a, const float *from, const patch_copies &copies,
                                           int first_map, float *patch)
{
    if (a.unit == 4)
        load_units<T, 4>(a, from, copies, first_map, patch);
    else if (a.unit == 2)
        load_units<T, 2>(a, from, copies, first_map, patch);
    else
        load_units<T, 1>(a, from, copies, first_map, patch);
}

/* A sum that is not finite is worked out again: `at` is its place in the tensor, and says which. */
template <bool BACK> __device__ __noinline__ static float repair_sum(const tensor_conv_args &a, int map, long long at)
{
    const direct_args &d = a.d;
    const cuda_layer &s = d.s;
    int plane = a.to_rows * a.to_cols, pixel = (int)(at % plane);
    long long image = at / ((long long)a.to_maps * plane);
    return BACK ? exact_gradient(s, d.weights, d.dy + image * s.out_maps * s.out_rows * s.out_cols, map, pixel)
                : exact_output(s, d.weights, d.bias[map], d.x + image * s.in_maps * s.in_rows * s.in_cols, map, pixel);
}

/* Rows of the largest patch: a block's own, or those of `pixels` neighbours over all places where they can begin. */
static int patch_rows(const tensor_conv_args &a, int pixels)
{
    if (a.rows)
        return (a.rows - 1) * a.stride + a.kernel_rows;
    int plane = a.to_rows * a.to_cols, rows = (pixels + a.to_cols - 2) / a.to_cols + 1;
    int images = (pixels + plane - 2) / plane + 1, more = a.kernel_rows - a.stride;
    return rows * a.stride + (more > 0 ? images : 1) * more;
}

/* Words that lie on their own size in the tensor and in the patch, wherever a block begins. */
static int unit_of(const tensor_conv_args &a)
{
    for (int unit = 4; unit > 1; unit /= 2)
        if (a.from_cols % unit == 0 && a.pad % unit == 0 && (a.col_blocks < 2 || a.cols * a.stride % unit == 0))
            return unit;
    return 1;
}

/* A row's words are spread so that the 8 pixels x 4 taps of a fragment seldom meet in a bank where the taps go on to
 * the next row; a map's patch, so that they never do where they go on to the next map. */
static void lay_patch(tensor_conv_args *a, int pixels)
{
    int row = (a->cols - 1) * a->stride + a->kernel_cols;
    a->unit = unit_of(*a);
    a->pitch = (row + a->unit - 1) / a->unit * a->unit;
    if (a->taps > 1 && row > 8)
        while (a->pitch % 32 < 10 || a->pitch % 32 > 22)
            a->pitch += a->unit;
    long long words = (long long)patch_rows(*a, pixels) * a->pitch;
    words += (40 - words % 32) % 32;
    a->patch_words = words < 0x1000000 ? (int)words : 0x1000000;
}

/* Clocks of a block, roughly: 2,400 operations of tensor cores and 8 words of a patch in each. */
static double block_clocks(const tensor_conv_args &a, const tile_choice &tile, int products)
{
    return (double)tile.rows * tile.columns * a.taps * MAPS * 2 * products / 2400 + (double)a.patch_words * MAPS / 8;
}

/* Which pixels a block has: neighbours in memory's order waste none, but those of wide maps see a long patch. Chosen
 * for a full batch of `images`, since a choice for fewer may take more shared memory. */
static void lay_blocks(tensor_conv_args *a, const tile_choice &tile, int images, int products)
{
    tensor_conv_args best = *a;
    best.rows = 0;
    best.cols = a->to_cols;
    lay_patch(&best, tile.columns);
    double least = ((double)images * a->to_rows * a->to_cols / tile.columns + 1) * block_clocks(best, tile, products);
    for (int parts = 1; parts <= a->to_cols; parts++) {
        tensor_conv_args it = *a;
        it.cols = (a->to_cols + parts - 1) / parts;
        if (it.cols > tile.columns)
            continue;
        if (it.cols < 8)
            break;
        it.rows = tile.columns / it.cols < a->to_rows ? tile.columns / it.cols : a->to_rows;
        it.row_blocks = (a->to_rows + it.rows - 1) / it.rows;
        it.rows = (a->to_rows + it.row_blocks - 1) / it.row_blocks;
        it.col_blocks = (a->to_cols + it.cols - 1) / it.cols;
        lay_patch(&it, tile.columns);
        double clocks = (double)images * it.row_blocks * it.col_blocks * block_clocks(it, tile, products);
        if (clocks >= least)
            continue;
        least = clocks;
        best = it;
    }
    *a = best;
    a->by_plane = divisor(a->to_rows * a->to_cols);
    a->by_cols = divisor(a->cols);
    a->by_row_blocks = divisor(a->row_blocks > 0 ? a->row_blocks : 1);
    a->by_col_blocks = divisor(a->col_blocks > 0 ? a->col_blocks : 1);
}

static long long blocks_of(const tensor_conv_args &a, int images, int pixels)
{
    return a.rows ? (long long)images * a.row_blocks * a.col_blocks : (a.pixels + pixels - 1) / pixels;
}

/* Places in the tensor that is read are counted from a block's first image on, in 31 bits. */
static bool segments_fit(const tensor_conv_args &a, int pixels)
{
    long long images = a.rows ? 1 : pixels / (a.to_rows * a.to_cols) + 2;
    return images * a.from_maps * a.from_rows * a.from_cols < 0x7fffffff;
}

template <bool BACK> static tensor_conv_args describe(const cuda_job *job, long long images)
{
    const cuda_layer &s = *job->shape;
    tensor_conv_args a = {};
    a.from_maps = BACK ? s.out_maps : s.in_maps;
    a.from_rows = BACK ? s.out_rows : s.in_rows;
    a.from_cols = BACK ? s.out_cols : s.in_cols;
    a.to_maps = BACK ? s.in_maps : s.out_maps;
    a.to_rows = BACK ? s.in_rows : s.out_rows;
    a.to_cols = BACK ? s.in_cols : s.out_cols;
    a.stride = s.stride;
    a.pad = BACK ? s.kernel_rows - 1 - s.pad : s.pad;
    a.taps = s.taps;
    a.kernel_rows = s.kernel_rows;
    a.kernel_cols = s.kernel_cols;
    a.steps = (a.from_maps * a.taps + 7) / 8;
    a.pixels = (int)(images * a.to_rows * a.to_cols);
    a.stages = a.from_maps > MAPS ? 2 : 1;
    int held = (a.steps * 8 + a.taps - 1) / a.taps; /* the last step's terms may reach beyond the last map */
    a.held = held < MAPS ? held : MAPS;
    return a;
}

/* Where maps fill a fragment, and the work is worth the packing of weights. Pixels are counted in 31 bits, with a tile
 * more. */
template <bool BACK> static bool conv_fits(const cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    if (!job->products || s.full || s.taps > TENSOR_CONV_TAPS ||
        (BACK && (s.stride != 1 || s.kernel_rows != s.kernel_cols)))
        return false;
    tensor_conv_args a = describe<BACK>(job, job->batch);
    long long pixels = (long long)job->batch * a.to_rows * a.to_cols;
    double macs = (double)pixels * a.to_maps * a.from_maps * a.taps;
    return a.to_maps >= TENSOR_CONV_MAPS && a.from_maps * a.taps >= TENSOR_CONV_TERMS && macs >= TENSOR_CONV_MACS &&
           pixels < 0x7fff0000;
}

#endif
