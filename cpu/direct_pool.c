/* SPDX-License-Identifier: MIT */
/* Sub-sampling (LeCun et al. 1998, section II.B), max- and average-pooling.
 *
 * Bytes: a 2x2 window reads 4 values for 1 result, so these are bound by memory (0.4 FLOP/byte) and by their tanh. In
 * image mode every load is one aligned vector and odd sides need no masks; in column mode windows of 2 x 2 are unzipped
 * into their four inputs, and other windows are scalar but for their activation. Nothing is stored for backward: the
 * place of a maximum is found again from the inputs, which costs less than writing and reading an index. Where the
 * convolution below can, it pools along and these passes are not run (fuse.c). */
#include "cpu/direct_window.h"

#include <math.h>

static int64_t map_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return (int64_t)batch->blocks * job->layer->out.maps;
}

static float window_scalar(const struct cpu_job *job, const float *in, float gain, float bias)
{
    const struct cnn_layer *layer = job->layer;
    float value = in[0], sum = 0;
    for (int i = 0; i < layer->kernel_rows; i++)
        for (int j = 0; j < layer->kernel_cols; j++) {
            float x = in[i * job->x.row + j];
            sum += x;
            if (x > value || (isnan(x) && !isnan(value)))
                value = x;
        }
    return layer->kind == CNN_MAXPOOL ? value : sum * gain + bias;
}

/* Whether windows are the usual 2 x 2, which column mode does on vectors. */
static bool has_pairs(const struct cnn_layer *layer)
{
    return layer->stride == 2 && layer->kernel_rows == 2 && layer->kernel_cols == 2;
}

static void forward_row_columns(const struct cpu_job *job, const float *in, float *out, float gain, float bias)
{
    const struct cnn_layer *layer = job->layer;
    if (has_pairs(layer)) {
        for (int col = 0; col < layer->out.cols; col += VEC_WIDTH) {
            int n = layer->out.cols - col < VEC_WIDTH ? layer->out.cols - col : VEC_WIDTH;
            struct pairs p = pairs_load(in + 2 * col, job->x.row, n);
            vec value = layer->kind == CNN_MAXPOOL ? pairs_max(&p) : pairs_sum(&p) * vec_set(gain) + vec_set(bias);
            vec_store_first(out + col, vec_activate(layer->activation, value), n);
        }
        return;
    }
    for (int col = 0; col < layer->out.cols; col++)
        out[col] = window_scalar(job, in + col * layer->stride, gain, bias);
    for (int col = 0; layer->activation != CNN_LINEAR && col < layer->out.cols; col += VEC_WIDTH)
        vec_store_first(out + col, vec_activate(layer->activation, vec_load_first(out + col, layer->out.cols - col)),
                        layer->out.cols - col);
}

static void forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    const struct cnn_layer *layer = job->layer;
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i / layer->out.maps;
        int map = (int)(i % layer->out.maps);
        float gain, bias;
        direct_window_factors(job, map, &gain, &bias);
        for (int row = 0; row < layer->out.rows; row++) {
            const float *in = cpu_at(&job->x, block, map, row * layer->stride, 0);
            float *out = cpu_at(&job->y, block, map, row, 0);
            if (job->lanes == 1) {
                forward_row_columns(job, in, out, gain, bias);
                continue;
            }
            direct_window_row(job, in, job->x.row, out, gain, bias);
        }
    }
}

/* Adds a window's delta to the inputs it read. */
CPU_INLINE void spread_vector(const struct cpu_job *job, const float *in, float *to, vec delta, float gain)
{
    const struct cnn_layer *layer = job->layer;
    if (layer->kind != CNN_MAXPOOL) {
        vec share = delta * vec_set(gain);
        for (int i = 0; i < layer->kernel_rows; i++)
            for (int j = 0; j < layer->kernel_cols; j++) {
                float *at = to + i * job->dx.row + j * job->lanes;
                vec_store(at, vec_load(at) + share);
            }
        return;
    }
    const struct direct_windows w = direct_windows_of(job, job->x.row);
    vec best = direct_window(&w, in, 0, 0);
    for (int i = 0; i < layer->kernel_rows; i++)
        for (int j = 0; j < layer->kernel_cols; j++) { /* the first that equals the maximum takes the delta */
            vec x = vec_load(in + i * job->x.row + j * job->lanes);
            float *at = to + i * job->dx.row + j * job->lanes;
            ivec here = (x == best) | ((x != x) & (best != best));
            vec_store(at, vec_load(at) + vec_select(here, delta, vec_set(0)));
            delta = vec_select(here, vec_set(0), delta);
        }
}

static void spread_scalar(const struct cpu_job *job, const float *in, float *to, float delta, float gain)
{
    const struct cnn_layer *layer = job->layer;
    int max_row = 0, max_col = 0;
    float best = in[0];
    for (int i = 0; i < layer->kernel_rows; i++)
        for (int j = 0; j < layer->kernel_cols; j++) {
            float x = in[i * job->x.row + j];
            if (layer->kind != CNN_MAXPOOL) {
                to[i * job->dx.row + j] += gain * delta;
            } else if (x > best || (isnan(x) && !isnan(best))) {
                best = x;
                max_row = i;
                max_col = j;
            }
        }
    if (layer->kind == CNN_MAXPOOL)
        to[max_row * job->dx.row + max_col] += delta;
}

/* dx = 0, or dx *= slope of the layer below, over a whole map. */
static void clear_map(const struct cpu_job *job, int64_t block, int map)
{
    for (int row = 0; row < job->dx.rows; row++)
        memset(cpu_at(&job->dx, block, map, row, 0), 0, (size_t)job->dx.cols * (size_t)job->lanes * sizeof(float));
}

static void slope_map(const struct cpu_job *job, int64_t block, int map)
{
    int count = job->dx.cols * job->lanes;
    for (int row = 0; row < job->dx.rows; row++) {
        float *dx = cpu_at(&job->dx, block, map, row, 0);
        const float *y = cpu_at(&job->x, block, map, row, 0);
        for (int i = 0; i < count; i += VEC_WIDTH)
            vec_store_first(dx + i,
                            vec_load_first(dx + i, count - i) * vec_slope(job->below, vec_load_first(y + i, count - i)),
                            count - i);
    }
}

/* Windows that tile exactly, in image mode: each input's delta is complete at once. */
static void backward_windows(const struct cpu_job *job, int64_t block, int map, float gain)
{
    const struct cnn_layer *layer = job->layer;
    for (int row = 0; row < layer->out.rows; row++) {
        struct direct_deltas deltas = { cpu_at(&job->dx, block, map, row * layer->stride, 0), job->dx.row, job->lanes };
        direct_window_row_back(job, cpu_at(&job->dy, block, map, row, 0),
                               cpu_at(&job->x, block, map, row * layer->stride, 0), &deltas, job->lanes, gain);
    }
}

/* Column mode, 2 x 2: each delta goes to its window's inputs, through the slopes there. Of a maximum, the first that
 * equals it takes the delta. */
CPU_INLINE void backward_pairs_of(const struct cpu_job *job, enum cnn_activation below, bool max, int64_t block,
                                  int map, float gain)
{
    int cols = job->layer->out.cols;
    for (int row = 0; row < job->layer->out.rows; row++)
        for (int col = 0; col < cols; col += VEC_WIDTH) {
            int n = cols - col < VEC_WIDTH ? cols - col : VEC_WIDTH;
            vec delta = vec_load_first(cpu_at(&job->dy, block, map, row, col), n), share = delta * vec_set(gain);
            struct pairs p = pairs_load(cpu_at(&job->x, block, map, 2 * row, 2 * col), job->x.row, n);
            vec best = max ? pairs_max(&p) : share;
            for (int i = 0; i < 4; i++) {
                if (max) {
                    ivec here = (p.x[i] == best) | ((p.x[i] != p.x[i]) & (best != best));
                    share = vec_select(here, delta, vec_set(0));
                    delta = vec_select(here, vec_set(0), delta);
                }
                p.x[i] = share * vec_slope(below, p.x[i]);
            }
            pairs_store(&p, cpu_at(&job->dx, block, map, 2 * row, 2 * col), job->dx.row, n);
        }
}

static void backward_pairs(const struct cpu_job *job, int64_t block, int map, float gain)
{
    bool max = job->layer->kind == CNN_MAXPOOL;
    if (max && job->below == CNN_TANH) /* the usual cases, decided outside the loops */
        backward_pairs_of(job, CNN_TANH, true, block, map, gain);
    else if (job->below == CNN_TANH)
        backward_pairs_of(job, CNN_TANH, false, block, map, gain);
    else
        backward_pairs_of(job, job->below, max, block, map, gain);
}

static void backward_map(const struct cpu_job *job, int64_t block, int map)
{
    const struct cnn_layer *layer = job->layer;
    float gain, bias;
    direct_window_factors(job, map, &gain, &bias);
    if (job->lanes > 1 && direct_tiles_exactly(layer)) {
        backward_windows(job, block, map, gain);
        return;
    }
    bool pairs = job->lanes == 1 && has_pairs(layer);
    if (!pairs || !direct_tiles_exactly(layer))
        clear_map(job, block, map);
    if (pairs) {
        backward_pairs(job, block, map, gain);
        return;
    }
    for (int row = 0; row < layer->out.rows; row++)
        for (int col = 0; col < layer->out.cols; col++) {
            const float *delta = cpu_at(&job->dy, block, map, row, col);
            const float *in = cpu_at(&job->x, block, map, row * layer->stride, col * layer->stride);
            float *to = cpu_at(&job->dx, block, map, row * layer->stride, col * layer->stride);
            if (job->lanes == 1) {
                spread_scalar(job, in, to, *delta, gain);
                continue;
            }
            for (int lane = 0; lane < job->lanes; lane += VEC_WIDTH)
                spread_vector(job, in + lane, to + lane, vec_load(delta + lane), gain);
        }
    if (job->below != CNN_LINEAR)
        slope_map(job, block, map);
}

static void backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    for (int64_t i = begin; i < end; i++)
        backward_map(job, i / job->layer->out.maps, (int)(i % job->layer->out.maps));
}

static int64_t gain_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return job->layer->out.maps;
}

/* One row of dg and db, added to the sums: short chains round less. */
static void gain_row(const struct cpu_job *job, int64_t block, int map, int row, vec *gains, vec *biases)
{
    const struct cnn_layer *layer = job->layer;
    const struct direct_windows of = direct_windows_of(job, job->x.row);
    const struct direct_windows w = has_pairs(layer) ? direct_windows_square(of, false) : of;
    vec gain = vec_set(0), bias = vec_set(0);
    float gain_scalar = 0, bias_scalar = 0;
    int col = 0;
    for (; job->lanes == 1 && has_pairs(layer) && col < layer->out.cols; col += VEC_WIDTH) {
        int n = layer->out.cols - col < VEC_WIDTH ? layer->out.cols - col : VEC_WIDTH;
        vec delta = vec_load_first(cpu_at(&job->dy, block, map, row, col), n);
        struct pairs p = pairs_load(cpu_at(&job->x, block, map, 2 * row, 2 * col), job->x.row, n);
        gain += delta * pairs_sum(&p);
        bias += delta;
    }
    for (; col < layer->out.cols; col++) {
        const float *delta = cpu_at(&job->dy, block, map, row, col);
        const float *in = cpu_at(&job->x, block, map, row * layer->stride, col * layer->stride);
        if (job->lanes == 1) {
            gain_scalar += *delta * window_scalar(job, in, 1, 0);
            bias_scalar += *delta;
            continue;
        }
        for (int lane = 0; lane < job->lanes; lane += VEC_WIDTH) {
            gain += vec_load(delta + lane) * direct_window(&w, in + lane, 1, 0);
            bias += vec_load(delta + lane);
        }
    }
    *gains += gain + vec_load_first(&gain_scalar, 1);
    *biases += bias + vec_load_first(&bias_scalar, 1);
}

/* dg = sum(delta * window sum), db = sum(delta), images in order. */
static void backward_gains(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    for (int map = (int)begin; map < end; map++) {
        vec gains = vec_set(0), biases = vec_set(0);
        for (int64_t block = 0; block < batch->blocks; block++)
            for (int row = 0; row < job->layer->out.rows; row++)
                gain_row(job, block, map, row, &gains, &biases);
        job->weight_gradient[map] = vec_sum(gains);
        job->bias_gradient[map] = vec_sum(biases);
    }
}

#define POOL(symbol, operation, tiles_function, run_function, joins)                         \
    const struct cpu_kernel CPU_SYMBOL(symbol) = { .name = #symbol,                          \
                                                   .algorithm = "direct",                    \
                                                   .file = "cpu/direct_pool.c",              \
                                                   .kind = operation,                        \
                                                   .supports = direct_supports,              \
                                                   .main = { tiles_function, run_function }, \
                                                   .joins_conv = joins }

POOL(direct_subsample_forward, CNN_OP_SUBSAMPLE_FORWARD, map_tiles, forward, true);
POOL(direct_maxpool_forward, CNN_OP_MAXPOOL_FORWARD, map_tiles, forward, true);
POOL(direct_avgpool_forward, CNN_OP_AVGPOOL_FORWARD, map_tiles, forward, true);
POOL(direct_subsample_backward_data, CNN_OP_SUBSAMPLE_BACKWARD_DATA, map_tiles, backward, true);
POOL(direct_maxpool_backward, CNN_OP_MAXPOOL_BACKWARD, map_tiles, backward, true);
POOL(direct_avgpool_backward, CNN_OP_AVGPOOL_BACKWARD, map_tiles, backward, true);
POOL(direct_subsample_backward_weights, CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS, gain_tiles, backward_gains, true);
