/* SPDX-License-Identifier: MIT */
/* How the CPU backends lay out images and feature maps.
 *
 * `lanes` images stand innermost and form a block; the address of (image n, map m, row r, col c) is
 *     data + (n / lanes) * block + m * map + r * row + c * lanes + n % lanes
 * With lanes = the vector width, one vector holds one pixel of as many images: every load is whole, sides may be odd,
 * and no kernel size needs a mask. With lanes = 1 this is plain NCHW, one block per image, and vectors run along
 * columns. A halo of zeros around each map holds what convolutions read beyond the edge: padding in activations, kernel
 * - 1 in deltas. Neighbours share it: the zeros behind a row are those before the next row, and the rows below a map
 * those above the next map, which halves its cost. Kernels write interiors only, so halos stay zero. */
#ifndef CPU_TENSOR_H
#define CPU_TENSOR_H

#include <stdint.h>

struct cpu_tensor {
    float *data; /* first interior pixel of block 0 */
    int maps, rows, cols;
    int lanes, halo;
    int64_t row, map, block; /* strides in floats */
};

static inline float *cpu_at(const struct cpu_tensor *t, int64_t block, int map, int row, int col)
{
    return t->data + block * t->block + map * t->map + row * t->row + (int64_t)col * t->lanes;
}

/* The pixel of one image. */
static inline float *cpu_pixel(const struct cpu_tensor *t, int image, int map, int row, int col)
{
    return cpu_at(t, image / t->lanes, map, row, col) + image % t->lanes;
}

#endif
