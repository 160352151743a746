/* SPDX-License-Identifier: MIT */
/* Algorithm `winograd`: 3x3 convolutions of stride 1 by minimal filtering, F(2x2, 3x3) (Winograd 1980; Lavin and Gray
 * 2016), forward and backward-data. Everything else of a network is done as by `direct`.
 *
 * Method: a tile of 2x2 outputs needs 16 products for each pair of maps where the plain way needs 36. Inputs of a chunk
 * of tiles are transformed once (additions only), then come 16 matrix products, one for each place in a tile, with
 * images innermost, so that a vector is one place of VEC_WIDTH images; then sums are transformed back, finished (bias
 * and activation, or the slope of the layer below) and stored. Weights are transformed by the pack pass. Backward-data
 * is the same with kernels turned by half a circle and the roles of the maps exchanged.
 *
 * Why 2x2 and not 4x4, which needs another 1.8 times fewer products: every factor is 0, 1 or 1/2, each input that an
 * output does not depend on drops out exactly, so its error stays that of a plain sum and a NaN spreads no further than
 * it should. With 4x4 the error of an output is that of the largest input near it. Few maps do not pay for the
 * transforms and have few terms for rounding to average out over: from MAPS_MIN on.
 *
 * Limits: at most 2.25 times `direct`, less the transforms (64 additions for an input map, 24 for an output map,
 * against 16 FMAs for each pair); odd sides compute pixels that nobody stores, and a batch fills up its blocks of
 * lanes. */
#include "cpu/direct.h"

#include <stdlib.h>

#define PLACES 16
#define MAPS_MIN 8
#define SLOTS 32
#define CHUNK_FLOATS 65536 /* transformed inputs and sums of a slot: 256 KiB, half of a small L2 */
#define CHUNK_TILES_MAX 16

struct winograd_plan {
    int ins, outs, map_tiles;        /* maps; tiles of TILE_MAPS output maps */
    int row_tiles, col_tiles, tiles; /* 2x2 tiles of an image; of a chunk, a multiple of TILE_UNITS */
    int chunks, slots;               /* of an image; that share the work */
    int64_t sums, slice;             /* floats of a slot: where the sums begin, all */
};

static bool supports(const struct cnn_layer *layer, int lanes)
{
    return layer->kind == CNN_CONV && !layer->first && layer->kernel_rows == 3 && layer->kernel_cols == 3 &&
           layer->stride == 1 && layer->in.maps >= MAPS_MIN && layer->out.maps >= MAPS_MIN &&
           !cpu_layer_is_full(layer) && lanes % VEC_WIDTH == 0;
}

static bool prepare(struct cpu_job *job, int ins, int outs, struct cnn_shape out)
{
    struct winograd_plan *plan = job->plan = malloc(sizeof *plan);
    if (!plan)
        return false;
    *plan = (struct winograd_plan){
        .ins = ins, .outs = outs, .row_tiles = (out.rows + 1) / 2, .col_tiles = (out.cols + 1) / 2
    };
    plan->map_tiles = (int)ceil_divide(outs, TILE_MAPS);
    int64_t maps = ins + (int64_t)plan->map_tiles * TILE_MAPS, all = (int64_t)plan->row_tiles * plan->col_tiles;
    int64_t units = CHUNK_FLOATS / (PLACES * VEC_WIDTH * TILE_UNITS * maps);
    int64_t most = all < CHUNK_TILES_MAX ? ceil_divide(all, TILE_UNITS) : CHUNK_TILES_MAX / TILE_UNITS;
    units = units < 1 ? 1 : units < most ? units : most;
    plan->tiles = (int)units * TILE_UNITS;
    plan->chunks = (int)ceil_divide(all, plan->tiles);
    int64_t items = (int64_t)job->max_blocks * direct_groups(job->lanes) * plan->chunks;
    plan->slots = items < SLOTS ? (int)items : SLOTS;
    plan->sums = (int64_t)PLACES * ins * plan->tiles * VEC_WIDTH;
    plan->slice = PLACES * maps * plan->tiles * VEC_WIDTH;
    job->workspace_size = plan->slots * plan->slice;
    job->packed_size = (int64_t)PLACES * plan->map_tiles * TILE_MAPS * ins;
    job->executed_macs = (double)PLACES * plan->map_tiles * TILE_MAPS * ins * plan->chunks * plan->tiles;
    return true;
}

static bool prepare_forward(struct cpu_job *job)
{
    return prepare(job, job->layer->in.maps, job->layer->out.maps, job->layer->out);
}

static bool prepare_backward(struct cpu_job *job)
{
    return prepare(job, job->layer->out.maps, job->layer->in.maps, job->layer->in);
}

static int64_t pack_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    const struct winograd_plan *plan = job->plan;
    return plan->map_tiles;
}

/* G w with the rows of G (1 0 0), (1 1 1)/2, (1 -1 1)/2, (0 0 1). */
static void transform_three(const float w[3], float to[4])
{
    to[0] = w[0];
    to[1] = (w[0] + w[1] + w[2]) * 0.5f;
    to[2] = (w[0] - w[1] + w[2]) * 0.5f;
    to[3] = w[2];
}

static void transform_kernel(const float *kernel, bool turned, float to[PLACES])
{
    float rows[3][4], column[3], place[4];
    for (int row = 0; row < 3; row++) {
        for (int col = 0; col < 3; col++)
            column[col] = turned ? kernel[8 - row * 3 - col] : kernel[row * 3 + col];
        transform_three(column, rows[row]);
    }
    for (int col = 0; col < 4; col++) {
        for (int row = 0; row < 3; row++)
            column[row] = rows[row][col];
        transform_three(column, place);
        for (int row = 0; row < 4; row++)
            to[row * 4 + col] = place[row];
    }
}

/* Packed: [place][tile of output maps][input map][output map]; maps beyond the last are zero. */
static void pack(const struct cpu_job *job, int64_t begin, int64_t end, bool backward)
{
    const struct winograd_plan *plan = job->plan;
    float places[PLACES];
    for (int64_t tile = begin; tile < end; tile++)
        for (int in = 0; in < plan->ins; in++)
            for (int m = 0; m < TILE_MAPS; m++) {
                int64_t out = tile * TILE_MAPS + m;
                int64_t pair = backward ? (int64_t)in * plan->outs + out : out * plan->ins + in;
                memset(places, 0, sizeof places);
                if (out < plan->outs)
                    transform_kernel(job->weights + pair * 9, backward, places);
                for (int place = 0; place < PLACES; place++)
                    job->packed[((place * plan->map_tiles + tile) * plan->ins + in) * TILE_MAPS + m] = places[place];
            }
}

static void pack_forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    pack(job, begin, end, false);
}

static void pack_backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    pack(job, begin, end, true);
}

/* B' d B with the rows of B' (1 0 -1 0), (0 1 1 0), (0 -1 1 0), (0 1 0 -1); places lie `place` floats apart. */
CPU_INLINE void transform_input(vec d[4][4], float *to, int64_t place)
{
    vec t[4][4];
    for (int col = 0; col < 4; col++) {
        t[0][col] = d[0][col] - d[2][col];
        t[1][col] = d[1][col] + d[2][col];
        t[2][col] = d[2][col] - d[1][col];
        t[3][col] = d[1][col] - d[3][col];
    }
    for (int row = 0; row < 4; row++) {
        vec_store(to + (row * 4 + 0) * place, t[row][0] - t[row][2]);
        vec_store(to + (row * 4 + 1) * place, t[row][1] + t[row][2]);
        vec_store(to + (row * 4 + 2) * place, t[row][2] - t[row][1]);
        vec_store(to + (row * 4 + 3) * place, t[row][1] - t[row][3]);
    }
}

/* The same where a tile reaches beyond the halo: zeros are read there, which only outputs that nobody stores see. */
static void transform_edge(const struct cpu_tensor *in, const float *map, int row, int col, float *to, int64_t place)
{
    vec d[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            bool inside = row + i >= 0 && row + i < in->rows && col + j >= 0 && col + j < in->cols;
            d[i][j] = inside ? vec_load(map + (row + i) * in->row + (col + j) * in->lanes) : vec_set(0);
        }
    transform_input(d, to, place);
}

/* One input map of one tile of a chunk; `map` is its first interior pixel. */
static void transform_tile(const struct cpu_tensor *in, const float *map, int row, int col, float *to, int64_t place)
{
    int halo = in->halo;
    if (row < -halo || col < -halo || row + 3 >= in->rows + halo || col + 3 >= in->cols + halo) {
        transform_edge(in, map, row, col, to, place);
        return;
    }
    const float *first = map + row * in->row + (int64_t)col * in->lanes;
    vec d[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            d[i][j] = vec_load(first + i * in->row + j * in->lanes);
    transform_input(d, to, place);
}

/* Sums of TILE_MAPS maps x TILE_UNITS tiles in registers over all input maps; `to` has a row of `tiles` vectors for
 * each map. */
CPU_INLINE void product_tile(const float *weights, const float *in, int ins, int64_t tiles, float *to)
{
    vec acc[TILE_MAPS][TILE_UNITS];
    CPU_UNROLL
    for (int m = 0; m < TILE_MAPS; m++) {
        CPU_UNROLL
        for (int u = 0; u < TILE_UNITS; u++)
            acc[m][u] = vec_set(0);
    }
    for (int k = 0; k < ins; k++, in += tiles * VEC_WIDTH, weights += TILE_MAPS) {
        vec w[TILE_MAPS];
        CPU_UNROLL
        for (int m = 0; m < TILE_MAPS; m++)
            w[m] = vec_set(weights[m]);
        CPU_UNROLL
        for (int u = 0; u < TILE_UNITS; u++) {
            vec x = vec_load(in + u * VEC_WIDTH);
            CPU_UNROLL
            for (int m = 0; m < TILE_MAPS; m++)
                acc[m][u] += w[m] * x;
        }
    }
    CPU_UNROLL
    for (int m = 0; m < TILE_MAPS; m++) {
        CPU_UNROLL
        for (int u = 0; u < TILE_UNITS; u++)
            vec_store(to + (m * tiles + u) * VEC_WIDTH, acc[m][u]);
    }
}

/* The 16 products of a chunk: [place][input map][tile] to [place][output map][tile]. */
static void multiply(const struct cpu_job *job, const float *inputs, float *sums)
{
    const struct winograd_plan *plan = job->plan;
    int64_t row = (int64_t)plan->tiles * VEC_WIDTH, tile_weights = (int64_t)plan->ins * TILE_MAPS;
    const float *weights = job->packed;
    for (int place = 0; place < PLACES; place++, inputs += plan->ins * row)
        for (int tile = 0; tile < plan->map_tiles; tile++, weights += tile_weights, sums += TILE_MAPS * row)
            for (int unit = 0; unit < plan->tiles; unit += TILE_UNITS)
                product_tile(weights, inputs + unit * VEC_WIDTH, plan->ins, plan->tiles, sums + unit * VEC_WIDTH);
}

/* A' m A with the rows of A' (1 1 1 0), (0 1 -1 -1). */
CPU_INLINE void transform_sums(const float *sums, int64_t place, vec y[2][2])
{
    vec t[2][4];
    for (int col = 0; col < 4; col++) {
        vec m1 = vec_load(sums + (4 + col) * place), m2 = vec_load(sums + (8 + col) * place);
        t[0][col] = vec_load(sums + col * place) + m1 + m2;
        t[1][col] = m1 - m2 - vec_load(sums + (12 + col) * place);
    }
    for (int row = 0; row < 2; row++) {
        y[row][0] = t[row][0] + t[row][1] + t[row][2];
        y[row][1] = t[row][1] - t[row][2] - t[row][3];
    }
}

/* One output map of one tile: back to pixels, finished and stored. */
static void store_tile(const struct direct_ends *ends, int64_t block, int map, int row, int col, int group,
                       const float *sums, int64_t place)
{
    vec y[2][2];
    transform_sums(sums, place, y);
    for (int i = 0; i < 2 && row + i < ends->out->rows; i++)
        for (int j = 0; j < 2 && col + j < ends->out->cols; j++) {
            vec v = y[i][j];
            if (ends->bias)
                v = vec_activate(ends->activation, v + vec_set(ends->bias[map]));
            else if (ends->below)
                v *= vec_slope(ends->activation,
                               vec_load(cpu_at(ends->below, block, map, row + i, col + j) + group * VEC_WIDTH));
            vec_store(cpu_at(ends->out, block, map, row + i, col + j) + group * VEC_WIDTH, v);
        }
}

static void run_chunk(const struct cpu_job *job, const struct direct_ends *ends, int64_t block, int group, int chunk,
                      float *inputs, float *sums)
{
    const struct winograd_plan *plan = job->plan;
    int first = chunk * plan->tiles, left = plan->row_tiles * plan->col_tiles - first;
    int tiles = left < plan->tiles ? left : plan->tiles;
    int64_t row = (int64_t)plan->tiles * VEC_WIDTH;
    for (int map = 0; map < plan->ins; map++) {
        const float *from = cpu_at(ends->in, block, map, 0, 0) + group * VEC_WIDTH;
        for (int t = 0; t < tiles; t++)
            transform_tile(ends->in, from, (first + t) / plan->col_tiles * 2 - ends->pad,
                           (first + t) % plan->col_tiles * 2 - ends->pad, inputs + map * row + t * VEC_WIDTH,
                           plan->ins * row);
    }
    multiply(job, inputs, sums);
    for (int map = 0; map < plan->outs; map++)
        for (int t = 0; t < tiles; t++)
            store_tile(ends, block, map, (first + t) / plan->col_tiles * 2, (first + t) % plan->col_tiles * 2, group,
                       sums + map * row + t * VEC_WIDTH, plan->map_tiles * TILE_MAPS * row);
}

static int64_t items_of(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct winograd_plan *plan = job->plan;
    return (int64_t)batch->blocks * direct_groups(job->lanes) * plan->chunks;
}

static int64_t slots_of(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct winograd_plan *plan = job->plan;
    int64_t items = items_of(job, batch);
    return items < plan->slots ? items : plan->slots;
}

static void run(const struct cpu_job *job, const struct cpu_batch *batch, const struct direct_ends *ends, int64_t begin,
                int64_t end)
{
    const struct winograd_plan *plan = job->plan;
    int64_t items = items_of(job, batch), slots = slots_of(job, batch), groups = direct_groups(job->lanes);
    for (int64_t slot = begin; slot < end; slot++) {
        float *inputs = job->workspace + slot * plan->slice;
        for (int64_t i = items * slot / slots; i < items * (slot + 1) / slots; i++)
            run_chunk(job, ends, i / plan->chunks / groups, (int)(i / plan->chunks % groups), (int)(i % plan->chunks),
                      inputs, inputs + plan->sums);
    }
}

static void run_forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    struct direct_ends ends = direct_ends_forward(job);
    run(job, batch, &ends, begin, end);
}

static void run_backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    struct direct_ends ends = direct_ends_backward(job);
    run(job, batch, &ends, begin, end);
}

const struct cpu_kernel CPU_SYMBOL(winograd_conv_forward) = { .name = "winograd_conv_forward",
                                                              .algorithm = "winograd",
                                                              .file = "cpu/winograd.c",
                                                              .kind = CNN_OP_CONV_FORWARD,
                                                              .supports = supports,
                                                              .prepare = prepare_forward,
                                                              .pack = { pack_tiles, pack_forward },
                                                              .main = { slots_of, run_forward } };

const struct cpu_kernel CPU_SYMBOL(winograd_conv_backward_data) = { .name = "winograd_conv_backward_data",
                                                                    .algorithm = "winograd",
                                                                    .file = "cpu/winograd.c",
                                                                    .kind = CNN_OP_CONV_BACKWARD_DATA,
                                                                    .supports = supports,
                                                                    .prepare = prepare_backward,
                                                                    .pack = { pack_tiles, pack_backward },
                                                                    .main = { slots_of, run_backward } };
