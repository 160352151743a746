/* SPDX-License-Identifier: MIT */
/* Windows of 2 x 2 side by side on vectors, for column mode, where a window lies along the vector. */
#ifndef CPU_DIRECT_PAIRS_H
#define CPU_DIRECT_PAIRS_H

#include "cpu/direct.h"

/* The larger; a NaN wins, and the first of equals stays. */
CPU_INLINE vec is_nan_or_above(vec value, vec best)
{
    ivec above = value > best, nan = (value != value) & (best == best);
    return vec_select(above | nan, value, best);
}

/* VEC_WIDTH windows of 2 x 2 side by side, the first `n` of them: their inputs in row-major order. */
struct pairs {
    vec x[4];
};

CPU_INLINE struct pairs pairs_load(const float *in, int64_t row, int n)
{
    struct pairs p;
    for (int i = 0; i < 2; i++) {
        int right = 2 * n - VEC_WIDTH; /* columns in the second vector; none is read beyond them */
        vec a = vec_load_first(in + i * row, 2 * n);
        vec b = right > 0 ? vec_load_first(in + i * row + VEC_WIDTH, right) : vec_set(0);
        p.x[2 * i] = vec_unzip(a, b, 0);
        p.x[2 * i + 1] = vec_unzip(a, b, 1);
    }
    return p;
}

CPU_INLINE void pairs_store(const struct pairs *p, float *out, int64_t row, int n)
{
    for (int i = 0; i < 2; i++) {
        int right = 2 * n - VEC_WIDTH;
        vec_store_first(out + i * row, vec_zip(p->x[2 * i], p->x[2 * i + 1], 0), 2 * n);
        if (right > 0)
            vec_store_first(out + i * row + VEC_WIDTH, vec_zip(p->x[2 * i], p->x[2 * i + 1], 1), right);
    }
}

CPU_INLINE vec pairs_sum(const struct pairs *p)
{
    return (p->x[0] + p->x[1]) + (p->x[2] + p->x[3]);
}

CPU_INLINE vec pairs_max(const struct pairs *p)
{
    vec best = p->x[0];
    for (int i = 1; i < 4; i++)
        best = is_nan_or_above(p->x[i], best);
    return best;
}

#endif
