/* SPDX-License-Identifier: MIT */
/* Weight and bias gradients of fully connected layers (and of convolutions over their whole input): dw[o][k] = sum over
 * images of dy[o] * x[k].
 *
 * Method: the inputs are first transposed to [image][input] (in column mode they are so already); then sums of
 * TILE_MAPS units x TILE_UNITS vectors of inputs stay in registers over all images, in index order, and are stored
 * once, in canonical order. The transpose costs one pass over the inputs for `units` passes of FMAs over them, and
 * saves a sum over lanes per weight.
 *
 * Limit: FMA throughput; with few images, the bandwidth at which gradients are written. */
#include "cpu/direct.h"

#define MAPS_MAX 6
#define VECTORS_MAX 4

static int64_t inputs_of(const struct cnn_layer *layer)
{
    return (int64_t)layer->in.maps * layer->in.rows * layer->in.cols;
}

/* Floats from image to image in the transposed inputs: whole vectors, and off the powers of two that share a cache set.
 */
static int64_t image_stride(const struct cpu_job *job)
{
    int64_t stride = ceil_divide(inputs_of(job->layer), VEC_WIDTH) * VEC_WIDTH;
    return stride % 256 == 0 ? stride + 16 : stride;
}

static bool prepare(struct cpu_job *job)
{
    job->executed_macs = (double)job->layer->macs;
    job->workspace_size =
        job->lanes == 1 ? 0 : image_stride(job) * job->lanes * job->max_blocks + VECTORS_MAX * VEC_WIDTH;
    return true;
}

#define TRANSPOSE_INPUTS 64

static int64_t transpose_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return job->lanes == 1 ? 0 : batch->blocks * ceil_divide(inputs_of(job->layer), TRANSPOSE_INPUTS);
}

static void transpose(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    int64_t inputs = inputs_of(job->layer), chunks = ceil_divide(inputs, TRANSPOSE_INPUTS), stride = image_stride(job);
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i / chunks, first = i % chunks * TRANSPOSE_INPUTS;
        int64_t count = inputs - first < TRANSPOSE_INPUTS ? inputs - first : TRANSPOSE_INPUTS;
        const float *from = job->x.data + block * job->x.block + first * job->lanes;
        float *to = job->workspace + block * job->lanes * stride + first;
        for (int lane = 0; lane < job->lanes; lane++)
            for (int64_t k = 0; k < count; k++)
                to[lane * stride + k] = from[k * job->lanes + lane];
    }
}

/* A tile: units first..+maps, inputs in `vectors` vectors from `in`; the deltas of image n of unit m are at
 * delta + m * delta_unit + n. */
struct outer {
    const float *delta, *in;
    int64_t delta_unit, delta_block, in_image;
    int lanes, count;
};

CPU_INLINE void outer_tile(const struct outer *o, const int maps, const int vectors, vec *sums)
{
    vec acc[MAPS_MAX][VECTORS_MAX];
#pragma GCC unroll 8
    for (int m = 0; m < maps; m++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            acc[m][v] = vec_set(0);
    const float *in = o->in, *delta = o->delta;
    for (int left = o->count; left > 0; left -= o->lanes, delta += o->delta_block) {
        int lanes = left < o->lanes ? left : o->lanes;
        for (int lane = 0; lane < lanes; lane++, in += o->in_image) {
            vec x[VECTORS_MAX];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                x[v] = vec_load(in + v * VEC_WIDTH);
#pragma GCC unroll 8
            for (int m = 0; m < maps; m++) {
                vec d = vec_set(delta[m * o->delta_unit + lane]);
#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++)
                    acc[m][v] += d * x[v];
            }
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < maps; m++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sums[m * vectors + v] = acc[m][v];
}

/* clang-format off */
static void outer_sum(const struct outer *o, int maps, vec *sums)
{
    switch (maps) { /* always all vectors of a tile: what lies beyond the last input is not stored */
    case 1: outer_tile(o, 1, TILE_UNITS, sums); break;
    case 2: outer_tile(o, 2, TILE_UNITS, sums); break;
    case 3: outer_tile(o, 3, TILE_UNITS, sums); break;
#if TILE_MAPS > 3
    case 4: outer_tile(o, 4, TILE_UNITS, sums); break;
    case 5: outer_tile(o, 5, TILE_UNITS, sums); break;
    case 6: outer_tile(o, 6, TILE_UNITS, sums); break;
#endif
    }
}
/* clang-format on */

#define TILE_INPUTS (TILE_UNITS * VEC_WIDTH)

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return ceil_divide(inputs_of(job->layer), TILE_INPUTS) * ceil_divide(job->layer->out.maps, TILE_MAPS);
}

static void sum_biases(const struct cpu_job *job, const struct cnn_rates *rates, const struct outer *o, int first,
                       int maps)
{
    for (int m = 0; m < maps; m++) {
        float sum = 0;
        const float *delta = o->delta + m * o->delta_unit;
        for (int n = 0; n < o->count; n++)
            sum += delta[n / o->lanes * o->delta_block + n % o->lanes];
        direct_put_gradient(job, rates, 0, job->layer->weights + first + m, vec_set(sum), 1);
    }
}

/* Neighbouring tiles share their inputs, which then stay in L1. */
static void run(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct cnn_layer *layer = job->layer;
    int64_t inputs = inputs_of(layer), map_tiles = ceil_divide(layer->out.maps, TILE_MAPS);
    for (int64_t i = begin; i < end; i++) {
        int first = (int)(i % map_tiles) * TILE_MAPS;
        int maps = layer->out.maps - first < TILE_MAPS ? layer->out.maps - first : TILE_MAPS;
        int64_t input = i / map_tiles * TILE_INPUTS;
        struct outer o = { .delta = job->dy.data + first * job->dy.map,
                           .delta_unit = job->dy.map,
                           .delta_block = job->dy.block,
                           .in = (job->lanes == 1 ? job->x.data : job->workspace) + input,
                           .in_image = job->lanes == 1 ? job->x.block : image_stride(job),
                           .lanes = job->lanes,
                           .count = batch->count };
        vec sums[MAPS_MAX * VECTORS_MAX];
        outer_sum(&o, maps, sums);
        for (int m = 0; m < maps; m++)
            for (int v = 0; v < TILE_UNITS && input + v * VEC_WIDTH < inputs; v++) {
                int64_t left = inputs - input - v * VEC_WIDTH;
                direct_put_gradient(job, &batch->rates, batch->rates.decay,
                                    (first + m) * inputs + input + v * VEC_WIDTH, sums[m * TILE_UNITS + v],
                                    left < VEC_WIDTH ? (int)left : VEC_WIDTH);
            }
        if (input == 0)
            sum_biases(job, &batch->rates, &o, first, maps);
    }
}

#define FULL(symbol, operation)                                                             \
    const struct cpu_kernel CPU_SYMBOL(symbol) = { .name = #symbol,                         \
                                                   .algorithm = "direct",                   \
                                                   .file = "cpu/direct_full_weights.c",     \
                                                   .kind = operation,                       \
                                                   .supports = direct_full_supports,        \
                                                   .prepare = prepare,                      \
                                                   .stage = { transpose_tiles, transpose }, \
                                                   .main = { tiles, run },                  \
                                                   .fuses_update = true }

FULL(direct_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS);
FULL(direct_whole_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS);
