/* SPDX-License-Identifier: MIT */
/* Convolution and fully connected layers as a plain C program of 2010 has them: one image at a time, scalar loops in
 * the order of the formula, tanh from the C library. This is the baseline that published speed-ups were measured
 * against, so it stays plain. Padding is a halo of zeros around the input, so the inner loops have no conditions.
 *
 * FLOPs: exactly 2 * MACs of connected pairs. A sum is one chain of dependent additions of 4 cycles each: about 1
 * GFLOP/s. */
#include "cpu/kernel.h"
#include "cpu/naive.h"
#include "cpu/simd.h"

/* Lanes without an image are done as well: beside kernels of other algorithms their deltas must be zeros, not what an
 * earlier batch left. */
static int64_t image_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return (int64_t)batch->blocks * job->lanes;
}

static bool count_macs(struct cpu_job *job)
{
    job->executed_macs = (double)job->layer->macs;
    return true;
}

/* The sum of one output. x: the image's first pixel. `lanes` is a constant 1 in the usual layout, so that this is the
 * loop over contiguous rows that a plain program has. */
CPU_INLINE float weighted_sum(const struct cpu_job *job, const float *x, const int lanes, int out_map, int out_row,
                              int out_col)
{
    const struct cnn_layer *layer = job->layer;
    int64_t top = (int64_t)out_row * layer->stride - layer->pad_before;
    int64_t left = (int64_t)out_col * layer->stride - layer->pad_before;
    const float *weight = job->weights + (cnn_layer_kernel_at(layer, out_map, 0) - layer->weight_at);
    float sum = job->bias[out_map];
    for (int k = 0, fan_in = cnn_layer_fan_in(layer, out_map); k < fan_in; k++) {
        const float *in = x + cnn_layer_source(layer, out_map, k) * job->x.map + top * job->x.row + left * lanes;
        for (int row = 0; row < layer->kernel_rows; row++, in += job->x.row)
            for (int col = 0; col < layer->kernel_cols; col++)
                sum += *weight++ * in[(int64_t)col * lanes];
    }
    return sum;
}

CPU_INLINE void forward_image(const struct cpu_job *job, int image, const int lanes)
{
    struct cnn_shape out = job->layer->out;
    const float *x = cpu_pixel(&job->x, image, 0, 0, 0);
    for (int map = 0; map < out.maps; map++)
        for (int row = 0; row < out.rows; row++) {
            float *y = cpu_pixel(&job->y, image, map, row, 0);
            for (int col = 0; col < out.cols; col++)
                y[(int64_t)col * lanes] =
                    naive_activate(job->layer->activation, weighted_sum(job, x, lanes, map, row, col));
        }
}

static void forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    for (int image = (int)begin; image < end; image++)
        if (job->lanes == 1)
            forward_image(job, image, 1);
        else
            forward_image(job, image, job->lanes);
}

/* The part of a kernel's rows (columns) that meets an input side, when its first tap is at `first`. */
static void clip(int first, int taps, int side, int *begin, int *end)
{
    *begin = first < 0 ? -first : 0;
    *end = side - first < taps ? side - first : taps;
}

/* Adds one delta, weighted, to all inputs that its sum read. */
CPU_INLINE void scatter_delta(const struct cpu_job *job, float *dx, const int lanes, float delta, int out_map, int top,
                              int left)
{
    const struct cnn_layer *layer = job->layer;
    int row_begin, row_end, col_begin, col_end;
    clip(top, layer->kernel_rows, layer->in.rows, &row_begin, &row_end);
    clip(left, layer->kernel_cols, layer->in.cols, &col_begin, &col_end);
    const float *weight = job->weights + (cnn_layer_kernel_at(layer, out_map, 0) - layer->weight_at);
    for (int k = 0, fan_in = cnn_layer_fan_in(layer, out_map); k < fan_in; k++) {
        float *to = dx + cnn_layer_source(layer, out_map, k) * job->dx.map;
        for (int row = row_begin; row < row_end; row++) {
            float *at = to + (int64_t)(top + row) * job->dx.row + (int64_t)left * lanes;
            const float *tap = weight + row * layer->kernel_cols;
            for (int col = col_begin; col < col_end; col++)
                at[(int64_t)col * lanes] += tap[col] * delta;
        }
        weight += layer->kernel_rows * layer->kernel_cols;
    }
}

CPU_INLINE void backward_image(const struct cpu_job *job, int image, const int lanes)
{
    const struct cnn_layer *layer = job->layer;
    struct cnn_shape out = layer->out;
    float *dx = cpu_pixel(&job->dx, image, 0, 0, 0);
    naive_clear(&job->dx, image);
    for (int map = 0; map < out.maps; map++)
        for (int row = 0; row < out.rows; row++) {
            const float *dy = cpu_pixel(&job->dy, image, map, row, 0);
            for (int col = 0; col < out.cols; col++)
                scatter_delta(job, dx, lanes, dy[(int64_t)col * lanes], map, row * layer->stride - layer->pad_before,
                              col * layer->stride - layer->pad_before);
        }
    naive_apply_slope(job, image);
}

static void backward_data(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    for (int image = (int)begin; image < end; image++)
        if (job->lanes == 1)
            backward_image(job, image, 1);
        else
            backward_image(job, image, job->lanes);
}

static int64_t out_map_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return job->layer->out.maps;
}

/* The gradient of one weight from one image: every place it was used. */
CPU_INLINE float weight_gradient(const struct cpu_job *job, const int lanes, const int stride, const float *delta,
                                 const float *in)
{
    const struct cnn_layer *layer = job->layer;
    float sum = 0;
    for (int row = 0; row < layer->out.rows; row++, delta += job->dy.row, in += job->x.row * stride)
        for (int col = 0; col < layer->out.cols; col++)
            sum += delta[(int64_t)col * lanes] * in[(int64_t)col * stride * lanes];
    return sum;
}

static float image_gradient(const struct cpu_job *job, int image, int out_map, int in_map, int tap_row, int tap_col)
{
    const struct cnn_layer *layer = job->layer;
    if (job->lanes == 1 && layer->stride == 1) /* cpu_pixel() would divide by the lanes for every weight */
        return weight_gradient(
            job, 1, 1, job->dy.data + image * job->dy.block + out_map * job->dy.map,
            cpu_at(&job->x, image, in_map, tap_row - layer->pad_before, tap_col - layer->pad_before));
    return weight_gradient(job, job->lanes, layer->stride, cpu_pixel(&job->dy, image, out_map, 0, 0),
                           cpu_pixel(&job->x, image, in_map, tap_row - layer->pad_before, tap_col - layer->pad_before));
}

static float bias_gradient(const struct cpu_job *job, int image, int map)
{
    float sum = 0;
    for (int row = 0; row < job->layer->out.rows; row++)
        for (int col = 0; col < job->layer->out.cols; col++)
            sum += *cpu_pixel(&job->dy, image, map, row, col);
    return sum;
}

/* Images are summed in index order, each one's sum on its own first. */
static void backward_weights(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct cnn_layer *layer = job->layer;
    for (int map = (int)begin; map < end; map++) {
        float *gradient = job->weight_gradient + (cnn_layer_kernel_at(layer, map, 0) - layer->weight_at);
        for (int k = 0; k < cnn_layer_fan_in(layer, map); k++)
            for (int row = 0; row < layer->kernel_rows; row++)
                for (int col = 0; col < layer->kernel_cols; col++) {
                    float sum = 0;
                    for (int image = 0; image < batch->count; image++)
                        sum += image_gradient(job, image, map, cnn_layer_source(layer, map, k), row, col);
                    *gradient++ = sum;
                }
        job->bias_gradient[map] = 0;
        for (int image = 0; image < batch->count; image++)
            job->bias_gradient[map] += bias_gradient(job, image, map);
    }
}

#define NAIVE(symbol, operation, tiles_function, run_function)                 \
    const struct cpu_kernel CPU_SYMBOL(symbol) = { .name = #symbol,            \
                                                   .algorithm = "naive",       \
                                                   .file = "cpu/naive_conv.c", \
                                                   .kind = operation,          \
                                                   .prepare = count_macs,      \
                                                   .main = { tiles_function, run_function } }

NAIVE(naive_conv_forward, CNN_OP_CONV_FORWARD, image_tiles, forward);
NAIVE(naive_full_forward, CNN_OP_FULL_FORWARD, image_tiles, forward);
NAIVE(naive_conv_backward_data, CNN_OP_CONV_BACKWARD_DATA, image_tiles, backward_data);
NAIVE(naive_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, image_tiles, backward_data);
NAIVE(naive_conv_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, out_map_tiles, backward_weights);
NAIVE(naive_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, out_map_tiles, backward_weights);
