/* SPDX-License-Identifier: MIT */
/* The cutting-up of a direct convolution; see direct_plan.h. Compiled once: nothing here depends on the instruction
 * set. */
#include "cpu/direct_plan.h"

#include <stdlib.h>
#include <string.h>

/* Connections seen from the correlation's side: `outs` maps that read from `ins` maps. */
struct view {
    const struct cnn_layer *layer;
    bool backward;
    int outs, ins;
    int32_t *kernel; /* [out][in]: number of the pair among the layer's weights, -1 where not connected; NULL: full */
};

static int64_t pair_of(const struct view *v, int out, int in)
{
    if (v->kernel)
        return v->kernel[(int64_t)out * v->ins + in];
    return v->backward ? (int64_t)in * v->outs + out : (int64_t)out * v->ins + in;
}

static bool view_open(struct view *v, const struct cnn_layer *layer, bool backward)
{
    *v = (struct view){ .layer = layer, .backward = backward };
    v->outs = backward ? layer->in.maps : layer->out.maps;
    v->ins = backward ? layer->out.maps : layer->in.maps;
    if (!layer->first)
        return true;
    v->kernel = malloc((size_t)v->outs * (size_t)v->ins * sizeof *v->kernel);
    if (!v->kernel)
        return false;
    memset(v->kernel, -1, (size_t)v->outs * (size_t)v->ins * sizeof *v->kernel);
    for (int out = 0; out < layer->out.maps; out++)
        for (int k = layer->first[out]; k < layer->first[out + 1]; k++) {
            int in = layer->source[k];
            v->kernel[backward ? (int64_t)in * v->ins + out : (int64_t)out * v->ins + in] = k;
        }
    return true;
}

/* Source maps that maps first..first+maps-1 read, ascending, into list (may be NULL). */
static int sources_of(const struct view *v, int first, int maps, int32_t *list)
{
    if (!v->kernel) {
        for (int in = 0; list && in < v->ins; in++)
            list[in] = in;
        return v->ins;
    }
    int count = 0;
    for (int in = 0; in < v->ins; in++)
        for (int out = first; out < first + maps; out++)
            if (pair_of(v, out, in) >= 0) {
                if (list)
                    list[count] = in;
                count++;
                break;
            }
    return count;
}

/* Tiles of at most `most` maps, as equal as can be. */
static int tile_first(int outs, int tiles, int tile)
{
    return (int)((int64_t)outs * tile / tiles);
}

/* Vector operations of all tiles: FMAs, and loads, which a core does at the same rate side by side. */
static double tiling_cost(const struct view *v, int most, int units)
{
    int tiles = (v->outs + most - 1) / most;
    double cost = 0;
    for (int t = 0; t < tiles; t++) {
        int first = tile_first(v->outs, tiles, t), maps = tile_first(v->outs, tiles, t + 1) - first;
        double fmas = (double)maps * units, loads = maps + units;
        cost += sources_of(v, first, maps, NULL) * (fmas > loads ? fmas : loads);
    }
    return cost;
}

static int best_tile_maps(const struct view *v, int most, int units)
{
    if (!v->kernel)
        return most;
    int best = most;
    double best_cost = tiling_cost(v, most, units);
    for (int maps = most - 1; maps >= 1; maps--) {
        double cost = tiling_cost(v, maps, units);
        if (cost < best_cost) {
            best = maps;
            best_cost = cost;
        }
    }
    return best;
}

static struct direct_axis forward_axis(const struct cnn_layer *layer, int outs, int taps)
{
    return (struct direct_axis){ .out_step = 1,
                                 .outs = outs,
                                 .in_first = -layer->pad_before,
                                 .in_step = layer->stride,
                                 .taps = taps,
                                 .tap_step = 1 };
}

/* Positions p of the input with (p + pad) % s == remainder: p = s q + remainder - pad. Tap remainder + s j of them
 * reads delta q - j, so taps run backwards from the highest. */
static struct direct_axis backward_axis(const struct cnn_layer *layer, int side, int kernel, int remainder)
{
    int s = layer->stride, pad = layer->pad_before;
    int taps = remainder < kernel ? (kernel - remainder + s - 1) / s : 0;
    int first_q = pad > remainder ? (pad - remainder + s - 1) / s : 0;
    int first = s * first_q + remainder - pad;
    int outs = first < side ? (side - first + s - 1) / s : 0;
    return (struct direct_axis){ .out_first = first,
                                 .out_step = s,
                                 .outs = outs,
                                 .in_first = first_q - (taps - 1),
                                 .in_step = 1,
                                 .taps = taps,
                                 .tap_first = remainder + s * (taps - 1),
                                 .tap_step = -s };
}

static void fill_phases(struct direct_plan *plan, const struct cnn_layer *layer, bool backward, int64_t pairs,
                        struct cpu_job *job)
{
    int64_t at = 0;
    double macs = 0;
    for (int p = 0; p < plan->phases; p++) {
        struct direct_phase *phase = &plan->phase[p];
        if (backward) {
            phase->row = backward_axis(layer, layer->in.rows, layer->kernel_rows, p / layer->stride);
            phase->col = backward_axis(layer, layer->in.cols, layer->kernel_cols, p % layer->stride);
        } else {
            phase->row = forward_axis(layer, layer->out.rows, layer->kernel_rows);
            phase->col = forward_axis(layer, layer->out.cols, layer->kernel_cols);
        }
        phase->weights = at;
        at += pairs * phase->row.taps * phase->col.taps;
        macs += (double)pairs * phase->row.taps * phase->col.taps * phase->row.outs * phase->col.outs;
    }
    job->packed_size = at;
    job->executed_macs = macs;
}

static void fill_tiles(struct direct_plan *plan, const struct view *v)
{
    int64_t pairs = 0;
    int at = 0;
    for (int t = 0; t < plan->tiles; t++) {
        struct direct_map_tile *tile = &plan->tile[t];
        tile->first = tile_first(v->outs, plan->tiles, t);
        tile->maps = tile_first(v->outs, plan->tiles, t + 1) - tile->first;
        tile->source_at = at;
        tile->sources = sources_of(v, tile->first, tile->maps, plan->sources + at);
        tile->pairs = pairs;
        int64_t taps = (int64_t)v->layer->kernel_rows * v->layer->kernel_cols;
        for (int k = 0; k < tile->sources; k++)
            for (int m = 0; m < tile->maps; m++) {
                int64_t pair = pair_of(v, tile->first + m, plan->sources[at + k]);
                plan->kernel_at[pairs++] = pair < 0 ? -1 : pair * taps;
            }
        at += tile->sources;
    }
}

/* One piece of memory: the plan, then its lists, each aligned for what it holds. */
static struct direct_plan *plan_allocate(int phases, int tiles, int64_t sources, int64_t pairs)
{
    size_t phase_at = sizeof(struct direct_plan), tile_at = phase_at + (size_t)phases * sizeof(struct direct_phase);
    size_t kernel_at = (tile_at + (size_t)tiles * sizeof(struct direct_map_tile) + 7) / 8 * 8;
    size_t source_at = kernel_at + (size_t)pairs * sizeof(int64_t);
    char *piece = malloc(source_at + (size_t)sources * sizeof(int32_t));
    if (!piece)
        return NULL;
    struct direct_plan *plan = (struct direct_plan *)piece;
    *plan = (struct direct_plan){ .phases = phases,
                                  .tiles = tiles,
                                  .phase = (struct direct_phase *)(piece + phase_at),
                                  .tile = (struct direct_map_tile *)(piece + tile_at),
                                  .kernel_at = (int64_t *)(piece + kernel_at),
                                  .sources = (int32_t *)(piece + source_at) };
    return plan;
}

/* Rows of the largest phase in tiles of about tile_work multiply-adds of vectors; the other phases follow in
 * proportion. */
static void cut_rows(struct direct_plan *plan, int lanes, int64_t pairs, int64_t tile_work, int width)
{
    const struct direct_phase *phase = &plan->phase[0];
    for (int p = 1; p < plan->phases; p++)
        if (plan->phase[p].row.outs > phase->row.outs)
            phase = &plan->phase[p];
    int64_t units = lanes == 1 ? (phase->col.outs + width - 1) / width : (int64_t)phase->col.outs * (lanes / width);
    int64_t row_work = units * phase->row.taps * phase->col.taps * pairs;
    int64_t rows = row_work > 0 ? (tile_work + row_work - 1) / row_work : phase->row.outs;
    if (rows > phase->row.outs)
        rows = phase->row.outs;
    plan->row_tiles = rows > 0 ? (int)((phase->row.outs + rows - 1) / rows) : 1;
}

#define CHUNKED_TILES 32 /* of a full batch, so that threads have enough of them */
#define CHUNKED_ROWS 4   /* fewer rows would read their neighbours' inputs too often */

/* Where the sources of a block are larger than `source_floats`, a tile of work is a band of rows whose sources fit, and
 * many map tiles go over it one after the other; where CHUNKED_ROWS rows are still too large, the maps of the sources
 * pass by in chunks as well. */
static void cut_sources(struct direct_plan *plan, const struct cpu_job *job, bool backward, int64_t source_floats)
{
    const struct cpu_tensor *in = backward ? &job->dy : &job->x;
    const struct direct_axis *rows_of = &plan->phase[0].row;
    int64_t row = (int64_t)in->maps * in->cols * in->lanes, more = rows_of->taps - 1;
    plan->chunks = 1;
    plan->tile_groups = plan->tiles;
    if (job->layer->first || row * in->rows <= source_floats || job->lanes == 1 || plan->phases > 1)
        return;
    int64_t rows = source_floats / row - more, most = rows_of->outs;
    rows = rows < CHUNKED_ROWS ? CHUNKED_ROWS : rows;
    rows = rows < most ? rows : most;
    int64_t chunks = (row * (rows + more) + source_floats - 1) / source_floats;
    plan->chunks = (int)(chunks < in->maps ? chunks : in->maps);
    plan->row_tiles = (int)((most + rows - 1) / rows);
    int64_t bands = (int64_t)plan->row_tiles * job->max_blocks, groups = (CHUNKED_TILES + bands - 1) / bands;
    plan->tile_groups = (int)(groups < plan->tiles ? groups : plan->tiles);
}

struct direct_plan *direct_plan_create(struct cpu_job *job, bool backward, int tile_maps, int tile_units,
                                       int64_t tile_work, int width, int64_t source_floats)
{
    const struct cnn_layer *layer = job->layer;
    struct view v;
    struct direct_plan *plan = NULL;
    if (!view_open(&v, layer, backward))
        return NULL;
    int most = best_tile_maps(&v, tile_maps, tile_units), tiles = (v.outs + most - 1) / most;
    int64_t sources = 0, pairs = 0;
    for (int t = 0; t < tiles; t++) {
        int first = tile_first(v.outs, tiles, t), maps = tile_first(v.outs, tiles, t + 1) - first;
        int count = sources_of(&v, first, maps, NULL);
        sources += count;
        pairs += (int64_t)count * maps;
    }
    int phases = backward ? layer->stride * layer->stride : 1;
    plan = plan_allocate(phases, tiles, sources, pairs);
    if (plan) {
        fill_phases(plan, layer, backward, pairs, job);
        fill_tiles(plan, &v);
        cut_rows(plan, job->lanes, pairs / tiles, tile_work, width);
        cut_sources(plan, job, backward, source_floats);
    }
    free(v.kernel);
    return plan;
}
