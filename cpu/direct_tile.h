/* SPDX-License-Identifier: MIT */
/* The register tile of the direct convolution: `maps` output maps x `units` vectors, summed over sources and taps, then
 * finished (bias and activation, or the slope of the layer below) and stored once.
 *
 * Per tap it loads `units` inputs and broadcasts `maps` weights for maps x units FMAs: 10 loads for 24 FMAs with
 * AVX-512, where a core does two of each per cycle, so arithmetic is the limit. Weights lie in the order in which they
 * are used. */
#ifndef CPU_DIRECT_TILE_H
#define CPU_DIRECT_TILE_H

#include "cpu/direct.h"

#define TILE_MAPS_MAX 6
#define TILE_UNITS_MAX 4

/* One row of outputs of one tile of maps. Strides in floats. */
struct direct_span {
    const float *in; /* first source map, first tap of the first unit */
    int64_t in_map, in_row, in_tap, in_unit;
    int in_col, in_step,
        in_cols;   /* image mode: input column of unit 0's first tap, from unit to unit, and columns there */
    int in_gather; /* column mode: distance of neighbouring outputs' inputs; 1: a plain load */
    const int32_t *sources;
    int source_begin, source_count; /* the chunk of sources that passes by */
    bool resume, suspend;           /* begin with the sums in `out`; leave sums there, for the next chunk */
    int tap_rows, tap_cols;         /* of the kernel */
    int row_begin, row_end;         /* tap rows that meet the input; the others would read its halo */
    const float *weights;           /* [source][tap row][tap col][map] */
    float *out;
    int64_t out_map, out_unit;
    int out_scatter;    /* column mode: distance of neighbouring outputs; 1: a plain store */
    const float *bias;  /* forward: one for each map; NULL: backward */
    const float *below; /* backward: output of the layer below at the same place; NULL: no slope */
    int64_t below_map, below_unit;
    enum cnn_activation activation; /* forward: of this layer; backward: of the layer below */
    int units, valid;               /* units of the row; lanes of its last */
};

CPU_INLINE void direct_output(const struct direct_span *s, float *to, vec v, int valid)
{
    if (s->out_scatter == 1) {
        vec_store_first(to, v, valid);
        return;
    }
    float lanes[VEC_WIDTH];
    vec_store(lanes, v);
    for (int i = 0; i < valid; i++)
        to[i * s->out_scatter] = lanes[i];
}

/* Bias and activation, or slope, and the only store. The activation is a constant where this is inlined. */
CPU_INLINE void direct_finish(const struct direct_span *s, enum cnn_activation activation, int maps, int units,
                              const vec *sums, int first_unit, int last_valid)
{
    for (int m = 0; m < maps; m++)
        for (int u = 0; u < units; u++) {
            int valid = u == units - 1 ? last_valid : VEC_WIDTH;
            vec v = sums[m * units + u];
            if (s->suspend) {
                /* sums only */
            } else if (s->bias) {
                v = vec_activate(activation, v + vec_set(s->bias[m]));
            } else if (s->below) {
                const float *y = s->below + m * s->below_map + (first_unit + u) * s->below_unit;
                v *= vec_slope(activation,
                               s->out_scatter == 1 ? vec_load_first(y, valid) : vec_gather(y, s->out_scatter, valid));
            }
            direct_output(s, s->out + m * s->out_map + (first_unit + u) * s->out_unit, v, valid);
        }
}

/* The sums of a tile, [map][unit]. maps and units are constants where this is inlined, so that acc lives in registers.
 * They go through a small buffer to one finishing loop: unrolled into every tile size it would not fit the instruction
 * cache. */
CPU_INLINE void direct_tile(const struct direct_span *s, const int maps, const int units, int first_unit, int col_begin,
                            int col_end, vec *sums)
{
    vec acc[TILE_MAPS_MAX][TILE_UNITS_MAX];
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int u = 0; u < units; u++)
            acc[m][u] = s->resume ? vec_load(s->out + m * s->out_map + (first_unit + u) * s->out_unit) : vec_set(0);
    }
    const float *first = s->in + first_unit * s->in_unit + col_begin * s->in_tap;
    for (int k = s->source_begin; k < s->source_begin + s->source_count; k++)
        for (int row = s->row_begin; row < s->row_end; row++) {
            const float *in = first + s->sources[k] * s->in_map + row * s->in_row;
            const float *weight = s->weights + (((int64_t)k * s->tap_rows + row) * s->tap_cols + col_begin) * maps;
            for (int col = col_begin; col < col_end; col++, in += s->in_tap, weight += maps) {
                vec x[TILE_UNITS_MAX];
                CPU_UNROLL
                for (int u = 0; u < units; u++)
                    x[u] = vec_load(in + u * s->in_unit);
                CPU_UNROLL
                for (int m = 0; m < maps; m++) {
                    vec w = vec_set(weight[m]);
                    CPU_UNROLL
                    for (int u = 0; u < units; u++)
                        acc[m][u] += w * x[u];
                }
            }
        }
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int u = 0; u < units; u++)
            sums[m * units + u] = acc[m][u];
    }
}

/* The same for column mode with a stride: neighbouring outputs read inputs `in_gather` apart. */
static inline void direct_tile_gather(const struct direct_span *s, int maps, int units, int first_unit, vec *sums)
{
    for (int i = 0; i < maps * units; i++)
        sums[i] = vec_set(0);
    const float *weight = s->weights, *first = s->in + first_unit * s->in_unit;
    for (int k = 0; k < s->source_count; k++)
        for (int row = 0; row < s->tap_rows; row++) {
            const float *in = first + s->sources[k] * s->in_map + row * s->in_row;
            for (int col = 0; col < s->tap_cols; col++, in += s->in_tap, weight += maps)
                for (int u = 0; u < units; u++) {
                    int lanes = first_unit + u == s->units - 1 ? s->valid : VEC_WIDTH;
                    vec x = vec_gather(in + u * s->in_unit, s->in_gather, lanes);
                    for (int m = 0; m < maps; m++)
                        sums[m * units + u] += vec_set(weight[m]) * x;
                }
        }
}

#endif
