/* SPDX-License-Identifier: MIT */
/* Weight and bias gradients of fully connected layers (and of convolutions over their whole input): dw[o][k] = sum over
 * images of dy[o] * x[k].
 *
 * Method: the inputs are first transposed to [image][input] (in column mode they are so already); then sums of
 * TILE_MAPS units x TILE_UNITS vectors of inputs stay in registers over all images, in index order, and are stored
 * once, in canonical order. The transpose costs one pass over the inputs for `units` passes of FMAs over them, and
 * saves a sum over lanes per weight.
 *
 * Few images instead walk along rows of weights.
 *
 * Limit: FMA throughput; with few images, the bandwidth at which weights are read and written. */
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
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            acc[m][v] = vec_set(0);
    }
    const float *in = o->in, *delta = o->delta;
    for (int left = o->count; left > 0; left -= o->lanes, delta += o->delta_block) {
        int lanes = left < o->lanes ? left : o->lanes;
        for (int lane = 0; lane < lanes; lane++, in += o->in_image) {
            vec x[VECTORS_MAX];
            CPU_UNROLL
            for (int v = 0; v < vectors; v++)
                x[v] = vec_load(in + v * VEC_WIDTH);
            CPU_UNROLL
            for (int m = 0; m < maps; m++) {
                vec d = vec_set(delta[m * o->delta_unit + lane]);
                CPU_UNROLL
                for (int v = 0; v < vectors; v++)
                    acc[m][v] += d * x[v];
            }
        }
    }
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sums[m * vectors + v] = acc[m][v];
    }
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

/* With few images a gradient is little arithmetic for the weights that it changes, so rows of weights pass by as
 * streams and what steers the update waits in registers. */
#define FEW_IMAGES 4
#define FEW_INPUTS 4096 /* of a tile */

static bool has_few_images(const struct cpu_job *job)
{
    return job->lanes == 1 && job->max_blocks <= FEW_IMAGES;
}

/* What a row of weights needs; w, v and kept point at its first input. */
struct few {
    const float *in;
    int64_t in_image;
    float *w, *v, *kept; /* kept: where the gradient goes that is not applied at once; v NULL: no momentum */
    vec delta[FEW_IMAGES], rate, momentum, decay;
};

CPU_INLINE void few_vector(const struct few *f, const int images, int64_t k, int valid)
{
    vec sum = f->delta[0] * vec_load_first(f->in + k, valid);
    for (int n = 1; n < images; n++)
        sum += f->delta[n] * vec_load_first(f->in + n * f->in_image + k, valid);
    if (f->kept) {
        vec_store_first(f->kept + k, sum, valid);
        return;
    }
    vec value = vec_load_first(f->w + k, valid);
    sum += f->decay * value;
    if (f->v) {
        sum += f->momentum * vec_load_first(f->v + k, valid);
        vec_store_first(f->v + k, sum, valid);
    }
    vec_store_first(f->w + k, value - f->rate * sum, valid);
}

/* Inputs begin..end of one unit. */
CPU_INLINE void few_row(const struct few *row, const int images, int64_t begin, int64_t end)
{
    const struct few f = *row; /* a copy that no store can change */
    int64_t k = begin;
    for (; k + VEC_WIDTH <= end; k += VEC_WIDTH)
        few_vector(&f, images, k, VEC_WIDTH);
    if (k < end)
        few_vector(&f, images, k, (int)(end - k));
}

static void run_few(const struct cpu_job *job, const struct cpu_batch *batch, int64_t i)
{
    int64_t inputs = inputs_of(job->layer), chunks = ceil_divide(inputs, FEW_INPUTS), unit = i / chunks;
    int64_t begin = i % chunks * FEW_INPUTS, end = begin + FEW_INPUTS < inputs ? begin + FEW_INPUTS : inputs;
    const float *delta = job->dy.data + unit * job->dy.map;
    struct few f = { .in = job->x.data,
                     .in_image = job->x.block,
                     .w = (float *)job->weights + unit * inputs,
                     .v = job->velocity ? job->velocity + unit * inputs : NULL,
                     .kept = job->fused ? NULL : job->weight_gradient + unit * inputs,
                     .rate = vec_set(batch->rates.rate),
                     .momentum = vec_set(batch->rates.momentum),
                     .decay = vec_set(batch->rates.decay) };
    for (int n = 0; n < batch->count; n++)
        f.delta[n] = vec_set(delta[n * job->dy.block]);
    switch (batch->count) {
    case 1:
        few_row(&f, 1, begin, end);
        break;
    case 2:
        few_row(&f, 2, begin, end);
        break;
    case 3:
        few_row(&f, 3, begin, end);
        break;
    default:
        few_row(&f, FEW_IMAGES, begin, end);
    }
    if (begin == 0) {
        float sum = 0;
        for (int n = 0; n < batch->count; n++)
            sum += delta[n * job->dy.block];
        direct_put_gradient(job, &batch->rates, 0, job->layer->weights + unit, vec_set(sum), 1);
    }
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    int64_t inputs = inputs_of(job->layer), units = job->layer->out.maps;
    return has_few_images(job) ? ceil_divide(inputs, FEW_INPUTS) * units
                               : ceil_divide(inputs, TILE_INPUTS) * ceil_divide(units, TILE_MAPS);
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
        if (has_few_images(job)) {
            run_few(job, batch, i);
            continue;
        }
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
