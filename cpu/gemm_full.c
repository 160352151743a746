/* SPDX-License-Identifier: MIT */
/* Fully connected layers (and convolutions over their whole input) by matrix products: images are rows, nothing needs
 * unfolding. For one image the products become matrix times vector, bound by the bandwidth at which the weights arrive.
 *
 * Tiles are units (forward and gradient) or inputs (backward), each over the whole batch, so every weight is read once
 * and no two tiles write the same. */
#include "cpu/gemm.h"
#include "cpu/naive.h"

#define TILE_UNITS 64
#define TILE_INPUTS 512

static int64_t inputs_of(const struct cnn_layer *layer)
{
    return (int64_t)layer->in.maps * layer->in.rows * layer->in.cols;
}

static int64_t tiles_of(int64_t all, int64_t tile)
{
    return (all + tile - 1) / tile;
}

static int64_t left_of(int64_t all, int64_t first, int64_t tile)
{
    return all - first < tile ? all - first : tile;
}

static bool prepare_forward(struct cpu_job *job)
{
    job->workspace_size = tiles_of(job->layer->out.maps, TILE_UNITS) * job->max_blocks * TILE_UNITS;
    job->executed_macs = (double)job->layer->macs;
    return true;
}

static int64_t unit_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return tiles_of(job->layer->out.maps, TILE_UNITS);
}

static void forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct cnn_layer *layer = job->layer;
    int64_t inputs = inputs_of(layer);
    for (int64_t tile = begin; tile < end; tile++) {
        int64_t first = tile * TILE_UNITS, units = left_of(layer->out.maps, first, TILE_UNITS);
        float *sums = job->workspace + tile * job->max_blocks * TILE_UNITS;
        gemm_product_tb(batch->count, units, inputs, job->x.data, job->x.block, job->weights + first * inputs, inputs,
                        false, sums, units);
        for (int image = 0; image < batch->count; image++)
            for (int64_t unit = first; unit < first + units; unit++)
                *cpu_at(&job->y, image, (int)unit, 0, 0) = naive_activate(layer->activation, *sums++ + job->bias[unit]);
    }
}

static bool prepare_backward(struct cpu_job *job)
{
    job->workspace_size = tiles_of(inputs_of(job->layer), TILE_INPUTS) * job->max_blocks * TILE_INPUTS;
    job->executed_macs = (double)job->layer->macs;
    return true;
}

static int64_t input_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return tiles_of(inputs_of(job->layer), TILE_INPUTS);
}

/* Gradients by the inputs first..+inputs of an image, counted in canonical order, become deltas. */
static void store_deltas(const struct cpu_job *job, int image, int64_t first, int64_t inputs, const float *sums)
{
    int cols = job->dx.cols, rows = job->dx.rows, col = (int)(first % cols), row = (int)(first / cols % rows);
    int map = (int)(first / cols / rows);
    while (inputs > 0) {
        int count = inputs < cols - col ? (int)inputs : cols - col;
        const float *x = cpu_at(&job->x, image, map, row, col);
        float *dx = cpu_at(&job->dx, image, map, row, col);
        for (int i = 0; i < count; i++)
            dx[i] = sums[i] * naive_slope(job->below, x[i]);
        sums += count;
        inputs -= count;
        col = 0;
        if (++row == rows) {
            row = 0;
            map++;
        }
    }
}

static void backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    int64_t all = inputs_of(job->layer);
    for (int64_t tile = begin; tile < end; tile++) {
        int64_t first = tile * TILE_INPUTS, inputs = left_of(all, first, TILE_INPUTS);
        float *sums = job->workspace + tile * job->max_blocks * TILE_INPUTS;
        gemm_product(batch->count, inputs, job->layer->out.maps, job->dy.data, job->dy.block, job->weights + first, all,
                     false, sums, inputs);
        for (int image = 0; image < batch->count; image++)
            store_deltas(job, image, first, inputs, sums + image * inputs);
    }
}

static bool prepare_weights(struct cpu_job *job)
{
    job->executed_macs = (double)job->layer->macs;
    return true;
}

static void backward_weights(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct cnn_layer *layer = job->layer;
    int64_t inputs = inputs_of(layer);
    for (int64_t tile = begin; tile < end; tile++) {
        int64_t first = tile * TILE_UNITS, units = left_of(layer->out.maps, first, TILE_UNITS);
        gemm_product_ta(units, inputs, batch->count, job->dy.data + first, job->dy.block, job->x.data, job->x.block,
                        false, job->weight_gradient + first * inputs, inputs);
        for (int64_t unit = first; unit < first + units; unit++) {
            float sum = 0;
            for (int image = 0; image < batch->count; image++)
                sum += *cpu_at(&job->dy, image, (int)unit, 0, 0);
            job->bias_gradient[unit] = sum;
        }
    }
}

#define FULL(symbol, operation, prepare_function, tiles_function, run_function) \
    const struct cpu_kernel symbol = { .name = #symbol,                         \
                                       .algorithm = "gemm",                     \
                                       .file = "cpu/gemm_full.c",               \
                                       .kind = operation,                       \
                                       .supports = gemm_full_supports,          \
                                       .prepare = prepare_function,             \
                                       .main = { tiles_function, run_function } }

FULL(gemm_full_forward, CNN_OP_FULL_FORWARD, prepare_forward, unit_tiles, forward);
FULL(gemm_whole_forward, CNN_OP_CONV_FORWARD, prepare_forward, unit_tiles, forward);
FULL(gemm_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, prepare_backward, input_tiles, backward);
FULL(gemm_whole_backward_data, CNN_OP_CONV_BACKWARD_DATA, prepare_backward, input_tiles, backward);
FULL(gemm_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, prepare_weights, unit_tiles, backward_weights);
FULL(gemm_whole_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, prepare_weights, unit_tiles, backward_weights);
