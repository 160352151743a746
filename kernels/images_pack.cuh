/* SPDX-License-Identifier: MIT */
/* What convolutions whose rows are images, wgmma_images.cuh, multiply: the arguments, and tensors and weights laid out
 * for them in memory. Bound by memory. */
#ifndef KERNELS_IMAGES_PACK_CUH
#define KERNELS_IMAGES_PACK_CUH

#include "kernels/direct.cuh"
#include "kernels/tf32.cuh"

#define DEPTH 16 /* source maps of a piece: two steps of 8 terms */
#define PACK_THREADS 256
#define PACKED_PIXELS 32

struct images_args {
    direct_args d;
    const float *from, *pieces, *weights;
    int from_maps, from_rows, from_cols, to_maps, to_rows, to_cols, pad, back;
    int chunks;      /* of DEPTH source maps */
    int strips;      /* of P outputs in a row */
    int map_blocks;  /* of a tile's maps */
    int whole_fours; /* outputs can be written four at a time */
};

/* [image block][chunk of 16 maps][pixel][step][images / 8][2][8 images][4 maps]; zero where there is none. A block
 * packs 8 images x 16 maps x 32 pixels. */
template <int IMAGES>
__global__ static void __launch_bounds__(PACK_THREADS)
    pack_images_kernel(const __grid_constant__ images_args a, float *pieces)
{
    __shared__ float shared[8 * (DEPTH * (PACKED_PIXELS + 1) + 4)]; /* images apart by 4 banks */
    int plane = a.from_rows * a.from_cols, tiles = (plane + PACKED_PIXELS - 1) / PACKED_PIXELS;
    int tile = (int)(blockIdx.x % tiles), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int chunk = (int)(blockIdx.x / tiles % a.chunks), eight = (int)(blockIdx.x / tiles / a.chunks);
    int image = eight * 8 + warp, pixel = tile * PACKED_PIXELS + lane;
    const float *from = a.from + ((long long)image * a.from_maps + chunk * DEPTH) * plane + pixel;
    float *own = shared + warp * (DEPTH * (PACKED_PIXELS + 1) + 4);
    bool there = image < a.d.images && pixel < plane;
#pragma unroll
    for (int map = 0; map < DEPTH; map++)
        own[map * (PACKED_PIXELS + 1) + lane] =
            there && chunk * DEPTH + map < a.from_maps ? from[(long long)map * plane] : 0;
    __syncthreads();
    const float *value = shared + lane / 4 * (DEPTH * (PACKED_PIXELS + 1) + 4) + lane % 4 * (PACKED_PIXELS + 1);
    long long first = ((long long)(eight * 8 / IMAGES) * a.chunks + chunk) * plane + tile * PACKED_PIXELS;
    float *to = pieces + first * (IMAGES * DEPTH) + eight * 8 % IMAGES / 8 * 64 + lane;
    int pixels = min(PACKED_PIXELS, plane - tile * PACKED_PIXELS);
    for (int i = warp; i < pixels; i += PACK_THREADS / 32)
#pragma unroll
        for (int quarter = 0; quarter < 4; quarter++)
            to[(long long)i * (IMAGES * DEPTH) + quarter / 2 * (IMAGES * 8) + quarter % 2 * 32] =
                value[quarter * 4 * (PACKED_PIXELS + 1) + i];
}

/* [block of maps][chunk][kernel row][kernel column][step][high, low][maps / 8][2][8 maps][4 source maps] */
template <class T>
__global__ static void __launch_bounds__(PACK_THREADS)
    pack_weights_kernel(const __grid_constant__ images_args a, float *weights, long long count)
{
    FOR_EACH_ELEMENT(i, count)
    {
        int inside, chunk, tap, at, taps = T::KERNEL * T::KERNEL;
        long long rest, block;
        divide(i, taps * 2 * T::STEP, &rest, &inside);
        divide(rest, a.chunks, &block, &chunk);
        tap = inside / (2 * T::STEP);
        at = inside % T::STEP % (T::MAPS * 8);
        int from = chunk * DEPTH + inside / T::STEP % 2 * 8 + at / 32 % 2 * 4 + at % 4;
        int map = (int)block * T::MAPS + at / 64 * 8 + at / 4 % 8;
        float weight = 0;
        if (map < a.to_maps && from < a.from_maps)
            weight = a.back ? a.d.s.dense[((long long)from * a.to_maps + map) * taps + taps - 1 - tap]
                            : a.d.s.dense[((long long)map * a.from_maps + from) * taps + tap];
        float high = __uint_as_float(__float_as_uint(tf32_round(weight)) & 0xffffe000u);
        weights[i] = inside % T::STEP < T::MAPS * 8 ? high : tf32_round(weight - high);
    }
}

#endif
