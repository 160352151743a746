/* SPDX-License-Identifier: MIT */
/* How a direct convolution is cut up: output maps into register tiles that share sources, a stride into phases. Forward
 * and backward-data are the same correlation with the roles of the maps exchanged. */
#ifndef CPU_DIRECT_PLAN_H
#define CPU_DIRECT_PLAN_H

#include "cpu/kernel.h"

#include <stdbool.h>

/* Where the outputs of a phase lie and what they read: output i of `rows` is row out_row + i * out_step and reads input
 * rows in_row + i * in_step + 0..tap_rows-1; columns likewise. Forward has one phase. Backward of stride s has s * s,
 * by the remainder of (position + padding) / s, each a correlation with the taps of that remainder, in reverse. */
struct direct_axis {
    int out_first, out_step, outs;
    int in_first, in_step, taps;
    int tap_first, tap_step; /* kernel row (column) of tap j: tap_first + j * tap_step */
};

struct direct_phase {
    struct direct_axis row, col;
    int64_t weights; /* first packed float of this phase */
};

struct direct_map_tile {
    int first, maps;        /* output maps */
    int sources, source_at; /* number of source maps that any of them reads, and where in the list they begin */
    int64_t pairs;          /* (source, map) pairs of the tiles before */
};

struct direct_plan {
    int phases, tiles, row_tiles;
    int chunks; /* the sources of a tile pass by in so many parts, each small enough for L2; 1 with a connection table
                 */
    int tile_groups; /* neighbouring tiles of maps that share a chunk while it is in L2 */
    struct direct_phase *phase;
    struct direct_map_tile *tile;
    int32_t *sources; /* ascending, tile by tile */
    int64_t
        *kernel_at; /* [pair]: offset of its kernel among the layer's weights, -1: not connected; tile, source, map */
};

/* `tile_maps`: the most maps of a tile. NULL without memory; one piece, free() it. Sets job->packed_size and
 * executed_macs. */
struct direct_plan *direct_plan_create(struct cpu_job *job, bool backward, int tile_maps, int tile_units,
                                       int64_t tile_work, int width, int64_t source_floats);

#endif
