/* SPDX-License-Identifier: MIT */
/* Pooling windows on vectors of images: one row of windows forward, one backward. Pooling on its own goes through them
 * over whole maps (direct_pool.c); a convolution that pools along does so while a few rows of its outputs are in L1.
 *
 * Where an activation is left to a max-pooling (job->pending), its inputs are sums: as the activation is monotone, the
 * maximum of the sums is the sum of the maximum, and only one value of a window goes through it. */
#ifndef CPU_DIRECT_WINDOW_H
#define CPU_DIRECT_WINDOW_H

#include "cpu/direct_pairs.h"

/* Rows in L1 that a convolution and its pooling hand on: floats, on the stack. */
#define WINDOW_FLOATS 16384

/* Windows that neither overlap nor leave gaps: each input belongs to one of them. */
static inline bool direct_tiles_exactly(const struct cnn_layer *pool)
{
    return pool->stride == pool->kernel_rows && pool->stride == pool->kernel_cols &&
           pool->out.rows * pool->stride == pool->in.rows && pool->out.cols * pool->stride == pool->in.cols;
}

/* What multiplies a window's sum, and what is added to it. */
static inline void direct_window_factors(const struct cpu_job *job, int map, float *gain, float *bias)
{
    *gain = 1.0f / (float)(job->layer->kernel_rows * job->layer->kernel_cols);
    *bias = 0;
    if (job->layer->kind == CNN_SUBSAMPLE) {
        *gain = job->weights[map];
        *bias = job->bias[map];
    }
}

/* A row of windows. With constant `side` and `max` their loops unroll; strides are copies that no store can change. */
struct direct_windows {
    bool max;
    int rows, cols;         /* of a window */
    int count, lanes;       /* windows; images from pixel to pixel */
    int64_t in_row, stride; /* floats from row to row of the inputs, and from window to window */
};

CPU_INLINE struct direct_windows direct_windows_of(const struct cpu_job *job, int64_t in_row)
{
    const struct cnn_layer *layer = job->layer;
    return (struct direct_windows){ .max = layer->kind == CNN_MAXPOOL,
                                    .rows = layer->kernel_rows,
                                    .cols = layer->kernel_cols,
                                    .count = layer->out.cols,
                                    .lanes = job->lanes,
                                    .in_row = in_row,
                                    .stride = (int64_t)layer->stride * job->lanes };
}

/* The same, known to be 2 x 2. */
CPU_INLINE struct direct_windows direct_windows_square(struct direct_windows windows, const bool max)
{
    windows.max = max;
    windows.rows = windows.cols = 2;
    return windows;
}

static inline bool direct_windows_are_square(const struct direct_windows *windows)
{
    return windows->rows == 2 && windows->cols == 2;
}

CPU_INLINE vec direct_window(const struct direct_windows *w, const float *in, float gain, float bias)
{
    vec value = vec_load(in), sum = vec_set(0);
    if (w->max) {
        for (int i = 0; i < w->rows; i++)
            for (int j = 0; j < w->cols; j++)
                if (i + j > 0)
                    value = is_nan_or_above(vec_load(in + i * w->in_row + j * w->lanes), value);
        return value;
    }
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->cols; j++)
            sum += vec_load(in + i * w->in_row + j * w->lanes);
    return sum * vec_set(gain) + vec_set(bias);
}

CPU_INLINE void direct_window_row_of(const struct direct_windows w, enum cnn_activation activation, const float *in,
                                     float *out, float gain, float bias)
{
    for (int col = 0; col < w.count; col++)
        for (int lane = 0; lane < w.lanes; lane += VEC_WIDTH)
            vec_store(out + col * w.lanes + lane,
                      vec_activate(activation, direct_window(&w, in + col * w.stride + lane, gain, bias)));
}

/* Forward, a row of windows: inputs from `in`, rows in_row apart, to `out`. */
static inline void direct_window_row(const struct cpu_job *job, const float *in, int64_t in_row, float *out, float gain,
                                     float bias)
{
    enum cnn_activation activation = job->pending != CNN_LINEAR ? job->pending : job->layer->activation;
    const struct direct_windows w = direct_windows_of(job, in_row);
    bool usual = activation == CNN_TANH && direct_windows_are_square(&w); /* decided outside the loop */
    if (usual && w.max)
        direct_window_row_of(direct_windows_square(w, true), CNN_TANH, in, out, gain, bias);
    else if (usual)
        direct_window_row_of(direct_windows_square(w, false), CNN_TANH, in, out, gain, bias);
    else
        direct_window_row_of(w, activation, in, out, gain, bias);
}

/* Where a row of windows that tile exactly puts its deltas; strides in floats, `lanes` images from pixel to pixel. */
struct direct_deltas {
    float *to;
    int64_t row;
    int lanes;
};

CPU_INLINE void direct_window_back(const struct direct_windows *w, enum cnn_activation below,
                                   enum cnn_activation pending, const float *in, float *to,
                                   const struct direct_deltas *deltas, vec delta, float gain)
{
    vec share = delta * vec_set(gain), best = w->max ? direct_window(w, in, 0, 0) : share;
    if (pending != CNN_LINEAR)
        delta *= vec_slope(pending, vec_activate(pending, best));
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->cols; j++) {
            vec x = vec_load(in + i * w->in_row + j * w->lanes);
            if (w->max) { /* the first that equals the maximum takes the delta */
                ivec here = (x == best) | ((x != x) & (best != best));
                share = vec_select(here, delta, vec_set(0));
                delta = vec_select(here, vec_set(0), delta);
            }
            vec_store(to + i * deltas->row + j * deltas->lanes,
                      pending == CNN_LINEAR ? share * vec_slope(below, x) : share);
        }
}

CPU_INLINE void direct_window_back_of(const struct direct_windows w, enum cnn_activation below,
                                      enum cnn_activation pending, const float *delta, const float *in,
                                      const struct direct_deltas deltas, int lanes, float gain)
{
    int64_t step = w.stride / w.lanes * deltas.lanes;
    for (int col = 0; col < w.count; col++)
        for (int lane = 0; lane < lanes; lane += VEC_WIDTH)
            direct_window_back(&w, below, pending, in + col * w.stride + lane, deltas.to + col * step + lane, &deltas,
                               vec_load(delta + (int64_t)col * w.lanes + lane), gain);
}

/* Backward, a row of windows that tile exactly: from their deltas and inputs the deltas of the inputs, complete and
 * through the slope of the layer below. The first `lanes` images from the pointers on. */
static inline void direct_window_row_back(const struct cpu_job *job, const float *delta, const float *in,
                                          const struct direct_deltas *deltas, int lanes, float gain)
{
    const struct direct_windows w = direct_windows_of(job, job->x.row);
    bool square = direct_windows_are_square(&w); /* the usual cases are decided outside the loop */
    if (square && w.max && job->pending == CNN_TANH)
        direct_window_back_of(direct_windows_square(w, true), CNN_LINEAR, CNN_TANH, delta, in, *deltas, lanes, gain);
    else if (square && !w.max && job->below == CNN_TANH)
        direct_window_back_of(direct_windows_square(w, false), CNN_TANH, CNN_LINEAR, delta, in, *deltas, lanes, gain);
    else
        direct_window_back_of(w, job->below, job->pending, delta, in, *deltas, lanes, gain);
}

#endif
