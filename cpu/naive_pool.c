/* SPDX-License-Identifier: MIT */
/* Sub-sampling (LeCun et al. 1998, section II.B), max- and average-pooling in plain scalar loops, one image at a time.
 * Floor division: last rows and columns that no window reaches are never read, and their gradient is written as 0. */
#include "cpu/kernel.h"
#include "cpu/naive.h"
#include "cpu/simd.h"

/* Lanes without an image are done as well: beside kernels of other algorithms their deltas must be zeros, not what an
 * earlier batch left. */
static int64_t image_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return (int64_t)batch->blocks * job->lanes;
}

static int64_t map_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return job->layer->out.maps;
}

static float window_sum(const struct cpu_job *job, int image, int map, int row, int col)
{
    const struct cnn_layer *layer = job->layer;
    const float *in = cpu_pixel(&job->x, image, map, row * layer->stride, col * layer->stride);
    float sum = 0;
    for (int i = 0; i < layer->kernel_rows; i++)
        for (int j = 0; j < layer->kernel_cols; j++)
            sum += in[i * job->x.row + j * job->lanes];
    return sum;
}

/* Row and column in the window of its first maximum; a NaN is larger than any number. */
static void window_maximum(const struct cpu_job *job, int image, int map, int row, int col, int *max_row, int *max_col)
{
    const struct cnn_layer *layer = job->layer;
    const float *in = cpu_pixel(&job->x, image, map, row * layer->stride, col * layer->stride);
    float best = in[0];
    *max_row = *max_col = 0;
    for (int i = 0; i < layer->kernel_rows; i++)
        for (int j = 0; j < layer->kernel_cols; j++) {
            float value = in[i * job->x.row + j * job->lanes];
            if (value > best || (isnan(value) && !isnan(best))) {
                best = value;
                *max_row = i;
                *max_col = j;
            }
        }
}

static float pooled(const struct cpu_job *job, int image, int map, int row, int col)
{
    const struct cnn_layer *layer = job->layer;
    int i, j;
    switch (layer->kind) {
    case CNN_SUBSAMPLE:
        return job->weights[map] * window_sum(job, image, map, row, col) + job->bias[map];
    case CNN_AVGPOOL:
        return window_sum(job, image, map, row, col) / (float)(layer->kernel_rows * layer->kernel_cols);
    default:
        window_maximum(job, image, map, row, col, &i, &j);
        return *cpu_pixel(&job->x, image, map, row * layer->stride + i, col * layer->stride + j);
    }
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
                        naive_activate(job->layer->activation, pooled(job, image, map, row, col));
}

static void spread(const struct cpu_job *job, int image, int map, int row, int col)
{
    const struct cnn_layer *layer = job->layer;
    float delta = *cpu_pixel(&job->dy, image, map, row, col);
    float *to = cpu_pixel(&job->dx, image, map, row * layer->stride, col * layer->stride);
    if (layer->kind == CNN_MAXPOOL) {
        int i, j;
        window_maximum(job, image, map, row, col, &i, &j);
        to[i * job->dx.row + j * job->lanes] += delta;
        return;
    }
    float factor =
        layer->kind == CNN_SUBSAMPLE ? job->weights[map] : 1.0f / (float)(layer->kernel_rows * layer->kernel_cols);
    for (int i = 0; i < layer->kernel_rows; i++)
        for (int j = 0; j < layer->kernel_cols; j++)
            to[i * job->dx.row + j * job->lanes] += factor * delta;
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
                    spread(job, image, map, row, col);
        naive_apply_slope(job, image);
    }
}

/* Gains and biases of a sub-sampling layer. */
static void backward_gains(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    struct cnn_shape out = job->layer->out;
    for (int map = (int)begin; map < end; map++) {
        job->weight_gradient[map] = job->bias_gradient[map] = 0;
        for (int image = 0; image < batch->count; image++) {
            float gain = 0, bias = 0;
            for (int row = 0; row < out.rows; row++)
                for (int col = 0; col < out.cols; col++) {
                    float delta = *cpu_pixel(&job->dy, image, map, row, col);
                    gain += delta * window_sum(job, image, map, row, col);
                    bias += delta;
                }
            job->weight_gradient[map] += gain;
            job->bias_gradient[map] += bias;
        }
    }
}

#define NAIVE(symbol, operation, tiles_function, run_function)                 \
    const struct cpu_kernel CPU_SYMBOL(symbol) = { .name = #symbol,            \
                                                   .algorithm = "naive",       \
                                                   .file = "cpu/naive_pool.c", \
                                                   .kind = operation,          \
                                                   .main = { tiles_function, run_function } }

NAIVE(naive_subsample_forward, CNN_OP_SUBSAMPLE_FORWARD, image_tiles, forward);
NAIVE(naive_maxpool_forward, CNN_OP_MAXPOOL_FORWARD, image_tiles, forward);
NAIVE(naive_avgpool_forward, CNN_OP_AVGPOOL_FORWARD, image_tiles, forward);
NAIVE(naive_subsample_backward_data, CNN_OP_SUBSAMPLE_BACKWARD_DATA, image_tiles, backward_data);
NAIVE(naive_maxpool_backward, CNN_OP_MAXPOOL_BACKWARD, image_tiles, backward_data);
NAIVE(naive_avgpool_backward, CNN_OP_AVGPOOL_BACKWARD, image_tiles, backward_data);
NAIVE(naive_subsample_backward_weights, CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS, map_tiles, backward_gains);
