/* SPDX-License-Identifier: MIT */
/* Fully connected layers (and convolutions over their whole input), forward and backward-data: a matrix product, batch
 * by batch.
 *
 * Method, image mode: sums of TILE_MAPS units x TILE_UNITS vectors of images stay in registers over all inputs, so a
 * weight is loaded once for TILE_UNITS x VEC_WIDTH images and an input once for TILE_MAPS units. Both directions read
 * the canonical weights, forward along a unit's row, backward across rows, so nothing is packed. Column mode (batch 1):
 * forward takes dot products of several units at once along the inputs, backward adds rows of weights, and both are
 * bound by the bandwidth at which the weights arrive: 2 FLOPs for 4 bytes.
 *
 * Limit: FMA throughput in image mode while inputs of a vector column (inputs x 64 bytes) stay in L2. */
#include "cpu/direct.h"

#define MAPS_MAX 6
#define VECTORS_MAX 4
#define CHUNK_VECTORS 4 /* column mode, backward: inputs of a tile, in vectors */

/* One register tile: sums[m][v] = sum over k of weights[m * weight_unit + k * weight_step] * in[v][k * in_step]. */
struct product {
    const float *weights, *in[VECTORS_MAX];
    int64_t weight_unit, weight_step, in_step, terms;
};

CPU_INLINE void product_tile(const struct product *p, const int maps, const int vectors, vec *sums)
{
    vec acc[MAPS_MAX][VECTORS_MAX];
    CPU_UNROLL
    for (int m = 0; m < maps; m++) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            acc[m][v] = vec_set(0);
    }
    const float *weight = p->weights;
    for (int64_t k = 0, at = 0; k < p->terms; k++, at += p->in_step, weight += p->weight_step) {
        vec x[VECTORS_MAX];
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            x[v] = vec_load(p->in[v] + at);
        CPU_UNROLL
        for (int m = 0; m < maps; m++) {
            vec w = vec_set(weight[m * p->weight_unit]);
            CPU_UNROLL
            for (int v = 0; v < vectors; v++)
                acc[m][v] += w * x[v];
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
static void product_sum(const struct product *p, int maps, int vectors, vec *sums)
{
    switch (maps * 8 + vectors) {
    case 1 * 8 + 1: product_tile(p, 1, 1, sums); break;
    case 1 * 8 + 2: product_tile(p, 1, 2, sums); break;
    case 1 * 8 + 3: product_tile(p, 1, 3, sums); break;
    case 1 * 8 + 4: product_tile(p, 1, 4, sums); break;
    case 2 * 8 + 1: product_tile(p, 2, 1, sums); break;
    case 2 * 8 + 2: product_tile(p, 2, 2, sums); break;
    case 2 * 8 + 3: product_tile(p, 2, 3, sums); break;
    case 2 * 8 + 4: product_tile(p, 2, 4, sums); break;
    case 3 * 8 + 1: product_tile(p, 3, 1, sums); break;
    case 3 * 8 + 2: product_tile(p, 3, 2, sums); break;
    case 3 * 8 + 3: product_tile(p, 3, 3, sums); break;
    case 3 * 8 + 4: product_tile(p, 3, 4, sums); break;
#if TILE_MAPS > 3
    case 4 * 8 + 1: product_tile(p, 4, 1, sums); break;
    case 4 * 8 + 2: product_tile(p, 4, 2, sums); break;
    case 4 * 8 + 3: product_tile(p, 4, 3, sums); break;
    case 4 * 8 + 4: product_tile(p, 4, 4, sums); break;
    case 5 * 8 + 1: product_tile(p, 5, 1, sums); break;
    case 5 * 8 + 2: product_tile(p, 5, 2, sums); break;
    case 5 * 8 + 3: product_tile(p, 5, 3, sums); break;
    case 5 * 8 + 4: product_tile(p, 5, 4, sums); break;
    case 6 * 8 + 1: product_tile(p, 6, 1, sums); break;
    case 6 * 8 + 2: product_tile(p, 6, 2, sums); break;
    case 6 * 8 + 3: product_tile(p, 6, 3, sums); break;
    case 6 * 8 + 4: product_tile(p, 6, 4, sums); break;
#endif
    }
}
/* clang-format on */

static int64_t inputs_of(const struct cnn_layer *layer)
{
    return (int64_t)layer->in.maps * layer->in.rows * layer->in.cols;
}

/* Input k of an image, counted in canonical order; only the deltas of a convolution below have a halo between rows. */
CPU_INLINE int64_t input_at(const struct cpu_tensor *t, int64_t k)
{
    if (t->halo == 0)
        return k * t->lanes; /* no divisions: with few units they took longer than the sums */
    int64_t pixels = (int64_t)t->rows * t->cols, pixel = k % pixels;
    return k / pixels * t->map + pixel / t->cols * t->row + pixel % t->cols * t->lanes;
}

static bool prepare(struct cpu_job *job)
{
    job->executed_macs = (double)job->layer->macs;
    return true;
}

/* Image mode: groups of VECTORS_MAX vectors of images, times tiles of units (forward) or inputs (backward). */
static int64_t vector_groups(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return ceil_divide((int64_t)batch->blocks * direct_groups(job->lanes), TILE_UNITS);
}

static int vectors_of_group(const struct cpu_job *job, const struct cpu_batch *batch, int64_t group)
{
    int64_t left = (int64_t)batch->blocks * direct_groups(job->lanes) - group * TILE_UNITS;
    return left < TILE_UNITS ? (int)left : TILE_UNITS;
}

static float *vector_at(const struct cpu_job *job, const struct cpu_tensor *t, int64_t vector)
{
    int groups = direct_groups(job->lanes);
    return t->data + vector / groups * t->block + vector % groups * VEC_WIDTH;
}

static void forward_tile(const struct cpu_job *job, const struct cpu_batch *batch, int64_t group, int64_t tile)
{
    const struct cnn_layer *layer = job->layer;
    int vectors = vectors_of_group(job, batch, group), first = (int)(tile * TILE_MAPS);
    int maps = layer->out.maps - first < TILE_MAPS ? layer->out.maps - first : TILE_MAPS;
    struct product p = { .terms = inputs_of(layer), .weight_step = 1, .in_step = job->lanes };
    p.weight_unit = p.terms;
    p.weights = job->weights + first * p.terms;
    for (int v = 0; v < vectors; v++)
        p.in[v] = vector_at(job, &job->x, group * TILE_UNITS + v);
    vec sums[MAPS_MAX * VECTORS_MAX];
    product_sum(&p, maps, vectors, sums);
    for (int m = 0; m < maps; m++)
        for (int v = 0; v < vectors; v++)
            vec_store(vector_at(job, &job->y, group * TILE_UNITS + v) + (first + m) * job->y.map,
                      vec_activate(layer->activation, sums[m * vectors + v] + vec_set(job->bias[first + m])));
}

/* Column mode: dot products of up to 4 units along the inputs. */
static void forward_dots(const struct cpu_job *job, int64_t block, int64_t tile)
{
    const struct cnn_layer *layer = job->layer;
    int64_t inputs = inputs_of(layer), first = tile * 4;
    int maps = layer->out.maps - first < 4 ? (int)(layer->out.maps - first) : 4;
    const float *x = job->x.data + block * job->x.block, *rows[4];
    for (int m = 0; m < 4; m++)
        rows[m] = job->weights + (first + (m < maps ? m : 0)) * inputs;
    vec acc[4] = { vec_set(0), vec_set(0), vec_set(0), vec_set(0) };
    int64_t k = 0;
    for (; k + VEC_WIDTH <= inputs; k += VEC_WIDTH) {
        vec value = vec_load(x + k);
        for (int m = 0; m < 4; m++)
            acc[m] += vec_load(rows[m] + k) * value;
    }
    for (int m = 0; m < maps; m++) {
        if (k < inputs)
            acc[m] += vec_load_first(rows[m] + k, (int)(inputs - k)) * vec_load_first(x + k, (int)(inputs - k));
        vec y = vec_activate(layer->activation, vec_set(vec_sum(acc[m]) + job->bias[first + m]));
        vec_store_first(job->y.data + block * job->y.block + (first + m) * job->y.map, y, 1);
    }
}

static int64_t forward_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    if (job->lanes == 1)
        return batch->blocks * ceil_divide(job->layer->out.maps, 4);
    return vector_groups(job, batch) * ceil_divide(job->layer->out.maps, TILE_MAPS);
}

static void forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    int64_t tiles = ceil_divide(job->layer->out.maps, job->lanes == 1 ? 4 : TILE_MAPS);
    for (int64_t i = begin; i < end; i++) {
        if (job->lanes == 1)
            forward_dots(job, i / tiles, i % tiles);
        else
            forward_tile(job, batch, i / tiles, i % tiles);
    }
}

/* Units first_unit..+units of the sums of one tile of inputs; the sums wait in dx between chunks of units. */
static void backward_tile(const struct cpu_job *job, const struct cpu_batch *batch, int64_t group, int64_t first,
                          int first_unit, int units)
{
    int64_t inputs = inputs_of(job->layer);
    int vectors = vectors_of_group(job, batch, group);
    int maps = inputs - first < TILE_MAPS ? (int)(inputs - first) : TILE_MAPS;
    struct product p = { .terms = units,
                         .weights = job->weights + first_unit * inputs + first,
                         .weight_unit = 1,
                         .weight_step = inputs,
                         .in_step = job->dy.map };
    for (int v = 0; v < vectors; v++)
        p.in[v] = vector_at(job, &job->dy, group * TILE_UNITS + v) + first_unit * job->dy.map;
    vec sums[MAPS_MAX * VECTORS_MAX];
    product_sum(&p, maps, vectors, sums);
    bool last = first_unit + units == job->layer->out.maps;
    for (int m = 0; m < maps; m++) {
        int64_t to = input_at(&job->dx, first + m), from = input_at(&job->x, first + m);
        for (int v = 0; v < vectors; v++) {
            float *dx = vector_at(job, &job->dx, group * TILE_UNITS + v) + to;
            vec sum = first_unit ? sums[m * vectors + v] + vec_load(dx) : sums[m * vectors + v];
            if (last)
                sum *= vec_slope(job->below, vec_load(vector_at(job, &job->x, group * TILE_UNITS + v) + from));
            vec_store(dx, sum);
        }
    }
}

#define BACKWARD_TILES 16 /* of inputs, that go through a chunk of units one after the other */

static void backward_tiles_of(const struct cpu_job *job, const struct cpu_batch *batch, int64_t group, int64_t part)
{
    int64_t inputs = inputs_of(job->layer), begin = part * BACKWARD_TILES * TILE_MAPS;
    int64_t end = begin + BACKWARD_TILES * TILE_MAPS < inputs ? begin + BACKWARD_TILES * TILE_MAPS : inputs;
    for (int unit = 0; unit < job->layer->out.maps; unit += BACKWARD_UNITS) {
        int units = job->layer->out.maps - unit < BACKWARD_UNITS ? job->layer->out.maps - unit : BACKWARD_UNITS;
        for (int64_t first = begin; first < end; first += TILE_MAPS)
            backward_tile(job, batch, group, first, unit, units);
    }
}

/* Column mode: a chunk of inputs of one image, rows of weights added up. */
static void backward_rows(const struct cpu_job *job, int64_t block, int64_t chunk)
{
    int64_t inputs = inputs_of(job->layer), first = chunk * CHUNK_VECTORS * VEC_WIDTH;
    int64_t left = inputs - first;
    const float *x = job->x.data + block * job->x.block + first, *dy = job->dy.data + block * job->dy.block;
    float *dx = job->dx.data + block * job->dx.block;
    vec acc[CHUNK_VECTORS];
    float buffer[CHUNK_VECTORS * VEC_WIDTH];
    for (int v = 0; v < CHUNK_VECTORS; v++)
        acc[v] = vec_set(0);
    if (left >= CHUNK_VECTORS * VEC_WIDTH) {
        for (int map = 0; map < job->layer->out.maps; map++) {
            CPU_UNROLL
            for (int v = 0; v < CHUNK_VECTORS; v++)
                acc[v] +=
                    vec_set(dy[map * job->dy.map]) * vec_load(job->weights + map * inputs + first + v * VEC_WIDTH);
        }
        left = CHUNK_VECTORS * VEC_WIDTH;
    } else {
        for (int map = 0; map < job->layer->out.maps; map++)
            for (int v = 0; v * VEC_WIDTH < left; v++)
                acc[v] +=
                    vec_set(dy[map * job->dy.map]) *
                    vec_load_first(job->weights + map * inputs + first + v * VEC_WIDTH, (int)left - v * VEC_WIDTH);
    }
    for (int v = 0; v * VEC_WIDTH < left; v++)
        vec_store(buffer + v * VEC_WIDTH,
                  acc[v] * vec_slope(job->below, vec_load_first(x + v * VEC_WIDTH, (int)left - v * VEC_WIDTH)));
    int rows = job->dx.rows, cols = job->dx.cols; /* canonical order is row by row, map by map */
    int64_t line = first / cols;
    for (int64_t i = 0, col = first % cols; i < left; line++, col = 0) {
        int64_t count = cols - col < left - i ? cols - col : left - i;
        memcpy(dx + line / rows * job->dx.map + line % rows * job->dx.row + col, buffer + i,
               (size_t)count * sizeof *dx);
        i += count;
    }
}

static int64_t backward_parts(const struct cpu_job *job)
{
    return ceil_divide(inputs_of(job->layer), job->lanes == 1 ? CHUNK_VECTORS * VEC_WIDTH : BACKWARD_TILES * TILE_MAPS);
}

static int64_t backward_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return (job->lanes == 1 ? batch->blocks : vector_groups(job, batch)) * backward_parts(job);
}

static void backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    int64_t parts = backward_parts(job);
    for (int64_t i = begin; i < end; i++) {
        if (job->lanes == 1)
            backward_rows(job, i / parts, i % parts);
        else
            backward_tiles_of(job, batch, i / parts, i % parts);
    }
}

#define FULL(symbol, operation, tiles_function, run_function)                        \
    const struct cpu_kernel CPU_SYMBOL(symbol) = { .name = #symbol,                  \
                                                   .algorithm = "direct",            \
                                                   .file = "cpu/direct_full.c",      \
                                                   .kind = operation,                \
                                                   .supports = direct_full_supports, \
                                                   .prepare = prepare,               \
                                                   .main = { tiles_function, run_function } }

FULL(direct_full_forward, CNN_OP_FULL_FORWARD, forward_tiles, forward);
FULL(direct_whole_forward, CNN_OP_CONV_FORWARD, forward_tiles, forward);
FULL(direct_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, backward_tiles, backward);
FULL(direct_whole_backward_data, CNN_OP_CONV_BACKWARD_DATA, backward_tiles, backward);
