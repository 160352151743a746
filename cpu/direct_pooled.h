/* SPDX-License-Identifier: MIT */
/* The weight gradient of a convolution below a pooling: a band of its deltas out of the pooling's, into a buffer in L1,
 * and while the rows pass, the gradients of biases and of the pooling's gains. */
#ifndef CPU_DIRECT_POOLED_H
#define CPU_DIRECT_POOLED_H

#include "cpu/direct_sweep.h"
#include "cpu/direct_window.h"

/* One input map and a few output maps that read it. */
struct item {
    int in_map, maps;
    int out_map[MAPS_MAX];
    int64_t kernel_at[MAPS_MAX]; /* among the layer's weights */
};

/* Sums of a map that a pooling adds: its bias, and the pooling's gain and bias. */
#define POOL_SUMS 3

/* Rows first_out..+rows of an item's maps in one vector of images. */
struct pooled_band {
    const struct cpu_job *job;
    const struct item *item;
    int64_t block;
    int group, first_out, rows;
    int64_t delta_row;
};

/* Of one row of windows: a delta times its window's sum for the gain, the deltas for the bias. */
static void add_gains(const struct cpu_job *pool, const float *delta, const float *in, vec *sums)
{
    const struct direct_windows of = direct_windows_of(pool, pool->x.row);
    const struct direct_windows w = direct_windows_are_square(&of) ? direct_windows_square(of, false) : of;
    vec gain = vec_set(0), bias = vec_set(0);
    for (int col = 0; col < w.count; col++) {
        vec d = vec_load(delta + (int64_t)col * w.lanes);
        gain += d * direct_window(&w, in + col * w.stride, 1, 0);
        bias += d;
    }
    sums[1] += gain;
    sums[2] += bias;
}

/* Over the deltas of one row of windows, row by row: short chains round less. */
static void add_bias(const float *deltas, int rows, int units, vec *sums)
{
    for (int row = 0; row < rows; row++) {
        vec sum = vec_set(0);
        for (int unit = 0; unit < units; unit++, deltas += VEC_WIDTH)
            sum += vec_load(deltas);
        sums[0] += sum;
    }
}

/* deltas: [map][row][col], out. sums: POOL_SUMS for each map, added to; NULL: another item has made them. */
static void make_deltas(const struct pooled_band *b, float *deltas, vec *sums)
{
    const struct cpu_job *pool = b->job->pool;
    int stride = pool->layer->stride;
    for (int m = 0; m < b->item->maps; m++) {
        int map = b->item->out_map[m];
        float gain, bias;
        direct_window_factors(pool, map, &gain, &bias);
        for (int row = 0; row < b->rows; row += stride) {
            const float *in = cpu_at(&pool->x, b->block, map, b->first_out + row, 0) + b->group * VEC_WIDTH;
            const float *delta =
                cpu_at(&pool->dy, b->block, map, (b->first_out + row) / stride, 0) + b->group * VEC_WIDTH;
            struct direct_deltas to = { deltas + (m * b->rows + row) * b->delta_row, b->delta_row, VEC_WIDTH };
            direct_window_row_back(pool, delta, in, &to, VEC_WIDTH, gain);
            if (sums)
                add_bias(to.to, stride, pool->x.cols, sums + m * POOL_SUMS);
            if (sums && b->job->pool_gains)
                add_gains(pool, delta, in, sums + m * POOL_SUMS);
        }
    }
}

/* What a pooling adds, into the gradients behind those of the weights; they lie in the order of the parameters. */
static void store_pool(const struct cpu_job *job, const struct item *item, const vec *sums, float *gradient)
{
    float *bias = gradient + job->layer->weights, *gain = bias + job->layer->biases;
    for (int m = 0; m < item->maps; m++, sums += POOL_SUMS) {
        bias[item->out_map[m]] = vec_sum(sums[0]);
        if (job->pool_gains) {
            gain[item->out_map[m]] = vec_sum(sums[1]);
            gain[job->pool_gains->layer->weights + item->out_map[m]] = vec_sum(sums[2]);
        }
    }
}

#endif
