/* SPDX-License-Identifier: MIT */
/* The inner loops of the direct weight gradient: maps x kernel columns sums in registers, over the pixels of a band.
 * Per pixel `maps` deltas and `columns` inputs are loaded for maps x columns FMAs. */
#ifndef CPU_DIRECT_SWEEP_H
#define CPU_DIRECT_SWEEP_H

#include "cpu/direct.h"

#define COLUMNS_MAX 5 /* kernel columns in registers at once */
#define MAPS_MAX 8

/* Sums of one kernel row and up to COLUMNS_MAX columns over the pixels of one block, added to those of the blocks
 * before: a chain of sums is as long as a block, not as the batch. */
struct sweep {
    const float *delta[MAPS_MAX]; /* first pixel */
    const float *in;
    int64_t delta_row, delta_unit, in_row, in_unit, in_tap;
    int in_gather; /* column mode with a stride; else 1 */
    int rows, units, valid;
};

CPU_INLINE vec sweep_delta(const struct sweep *s, const float *delta, int unit)
{
    return vec_load_first(delta, unit == s->units - 1 ? s->valid : VEC_WIDTH);
}

CPU_INLINE void sweep_tile(const struct sweep *s, const int maps, const int columns, vec *sums)
{
    vec acc[MAPS_MAX][COLUMNS_MAX];
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int c = 0; c < columns; c++)
            acc[m][c] = vec_set(0);
    }
    for (int row = 0; row < s->rows; row++) {
        int64_t at = row * s->delta_row;
        const float *in = s->in + row * s->in_row;
        for (int unit = 0; unit < s->units - 1; unit++, at += s->delta_unit, in += s->in_unit) {
            vec x[COLUMNS_MAX];
            CPU_UNROLL
            for (int c = 0; c < columns; c++)
                x[c] = vec_load(in + c * s->in_tap);
            CPU_UNROLL
            for (int m = 0; m < maps; m++) {
                vec d = vec_load(s->delta[m] + at);
                CPU_UNROLL
                for (int c = 0; c < columns; c++)
                    acc[m][c] += d * x[c];
            }
        }
        CPU_UNROLL
        for (int m = 0; m < maps; m++) { /* the last unit, perhaps partial */
            vec d = vec_load_first(s->delta[m] + at, s->valid);
            CPU_UNROLL
            for (int c = 0; c < columns; c++)
                acc[m][c] += d * vec_load_first(in + c * s->in_tap, s->valid);
        }
    }
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int c = 0; c < columns; c++)
            sums[m * columns + c] += acc[m][c];
    }
}

/* The same where neighbouring pixels read inputs `in_gather` apart. */
static void sweep_gather(const struct sweep *s, int maps, int columns, vec *sums)
{
    for (int row = 0; row < s->rows; row++)
        for (int unit = 0; unit < s->units; unit++) {
            const float *in = s->in + row * s->in_row + unit * s->in_unit;
            int lanes = unit == s->units - 1 ? s->valid : VEC_WIDTH;
            for (int c = 0; c < columns; c++) {
                vec x = vec_gather(in + c * s->in_tap, s->in_gather, lanes);
                for (int m = 0; m < maps; m++)
                    sums[m * columns + c] +=
                        x * sweep_delta(s, s->delta[m] + row * s->delta_row + unit * s->delta_unit, unit);
            }
        }
}

/* clang-format off */
static void sweep_block(const struct sweep *s, int maps, int columns, vec *sums)
{
    if (s->in_gather != 1) {
        sweep_gather(s, maps, columns, sums);
        return;
    }
    switch (maps * 8 + columns) {
    case 1 * 8 + 1: sweep_tile(s, 1, 1, sums); break;
    case 1 * 8 + 2: sweep_tile(s, 1, 2, sums); break;
    case 1 * 8 + 3: sweep_tile(s, 1, 3, sums); break;
    case 1 * 8 + 4: sweep_tile(s, 1, 4, sums); break;
    case 1 * 8 + 5: sweep_tile(s, 1, 5, sums); break;
    case 2 * 8 + 1: sweep_tile(s, 2, 1, sums); break;
    case 2 * 8 + 2: sweep_tile(s, 2, 2, sums); break;
    case 2 * 8 + 3: sweep_tile(s, 2, 3, sums); break;
    case 2 * 8 + 4: sweep_tile(s, 2, 4, sums); break;
    case 2 * 8 + 5: sweep_tile(s, 2, 5, sums); break;
    case 3 * 8 + 1: sweep_tile(s, 3, 1, sums); break;
    case 3 * 8 + 2: sweep_tile(s, 3, 2, sums); break;
    case 3 * 8 + 3: sweep_tile(s, 3, 3, sums); break;
    case 3 * 8 + 4: sweep_tile(s, 3, 4, sums); break;
    case 3 * 8 + 5: sweep_tile(s, 3, 5, sums); break;
    case 4 * 8 + 1: sweep_tile(s, 4, 1, sums); break;
    case 4 * 8 + 2: sweep_tile(s, 4, 2, sums); break;
    case 4 * 8 + 3: sweep_tile(s, 4, 3, sums); break;
    case 4 * 8 + 4: sweep_tile(s, 4, 4, sums); break;
    case 4 * 8 + 5: sweep_tile(s, 4, 5, sums); break;
    case 5 * 8 + 1: sweep_tile(s, 5, 1, sums); break;
    case 5 * 8 + 2: sweep_tile(s, 5, 2, sums); break;
    case 5 * 8 + 3: sweep_tile(s, 5, 3, sums); break;
    case 5 * 8 + 4: sweep_tile(s, 5, 4, sums); break;
    case 6 * 8 + 1: sweep_tile(s, 6, 1, sums); break;
    case 6 * 8 + 2: sweep_tile(s, 6, 2, sums); break;
    case 6 * 8 + 3: sweep_tile(s, 6, 3, sums); break;
    case 7 * 8 + 1: sweep_tile(s, 7, 1, sums); break;
    case 7 * 8 + 2: sweep_tile(s, 7, 2, sums); break;
    case 8 * 8 + 1: sweep_tile(s, 8, 1, sums); break;
    case 8 * 8 + 2: sweep_tile(s, 8, 2, sums); break;
    default: sweep_gather(s, maps, columns, sums); /* the same sums for any size */
    }
}
/* clang-format on */

#endif
