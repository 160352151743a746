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

static float weighted_sum(const struct cpu_job *job, int image, int out_map, int out_row, int out_col)
{
    const struct cnn_layer *layer = job->layer;
    int top = out_row * layer->stride - layer->pad_before, left = out_col * layer->stride - layer->pad_before;
    const float *weight = job->weights + (cnn_layer_kernel_at(layer, out_map, 0) - layer->weight_at);
    float sum = job->bias[out_map];
    for (int k = 0; k < cnn_layer_fan_in(layer, out_map); k++) {
        const float *in = cpu_pixel(&job->x, image, cnn_layer_source(layer, out_map, k), top, left);
        for (int row = 0; row < layer->kernel_rows; row++)
            for (int col = 0; col < layer->kernel_cols; col++)
                sum += *weight++ * in[row * job->x.row + col * job->lanes];
    }
    return sum;
}

static void forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    struct cnn_shape out = job->layer->out;
    for (int image = (int)begin; image < end; image++)
        for (int map = 0; map < out.maps; map++)
            for (int row = 0; row < out.rows; row++)
                for (int col = 0; col < out.cols; col++)
                    *cpu_pixel(&job->y, image, map, row, col) =
                        naive_activate(job->layer->activation, weighted_sum(job, image, map, row, col));
}

static void scatter_delta(const struct cpu_job *job, int image, int out_map, int out_row, int out_col)
{
    const struct cnn_layer *layer = job->layer;
    float delta = *cpu_pixel(&job->dy, image, out_map, out_row, out_col);
    const float *weight = job->weights + (cnn_layer_kernel_at(layer, out_map, 0) - layer->weight_at);
    for (int k = 0; k < cnn_layer_fan_in(layer, out_map); k++) {
        int in_map = cnn_layer_source(layer, out_map, k);
        for (int tap_row = 0; tap_row < layer->kernel_rows; tap_row++)
            for (int tap_col = 0; tap_col < layer->kernel_cols; tap_col++, weight++) {
                int row = out_row * layer->stride - layer->pad_before + tap_row;
                int col = out_col * layer->stride - layer->pad_before + tap_col;
                if (row >= 0 && row < layer->in.rows && col >= 0 && col < layer->in.cols)
                    *cpu_pixel(&job->dx, image, in_map, row, col) += *weight * delta;
            }
    }
}

static void backward_data(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    struct cnn_shape out = job->layer->out;
    for (int image = (int)begin; image < end; image++) {
        naive_clear(&job->dx, image);
        for (int map = 0; map < out.maps; map++)
            for (int row = 0; row < out.rows; row++)
                for (int col = 0; col < out.cols; col++)
                    scatter_delta(job, image, map, row, col);
        naive_apply_slope(job, image);
    }
}

static int64_t out_map_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return job->layer->out.maps;
}

/* The gradient of one weight from one image: every place it was used. */
static float weight_gradient(const struct cpu_job *job, int image, int out_map, int in_map, int tap_row, int tap_col)
{
    const struct cnn_layer *layer = job->layer;
    float sum = 0;
    for (int row = 0; row < layer->out.rows; row++) {
        const float *delta = cpu_pixel(&job->dy, image, out_map, row, 0);
        const float *in = cpu_pixel(&job->x, image, in_map, row * layer->stride - layer->pad_before + tap_row,
                                    tap_col - layer->pad_before);
        for (int col = 0; col < layer->out.cols; col++)
            sum += delta[col * job->lanes] * in[col * layer->stride * job->lanes];
    }
    return sum;
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
                        sum += weight_gradient(job, image, map, cnn_layer_source(layer, map, k), row, col);
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
