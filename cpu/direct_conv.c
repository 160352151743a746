/* SPDX-License-Identifier: MIT */
/* Convolution, forward and backward-data, as one register-tiled correlation (no unfolding).
 *
 * Method: for a tile of output maps x pixels the sums stay in registers while all source maps and taps pass by; bias
 * and activation (or the slope of the layer below) are applied before the only store. Images are innermost where the
 * batch fills vectors, else vectors run along columns; a connection table is honoured by tiles that share sources, with
 * zero weights for pairs that are not connected (counted in executed FLOPs). Backward-data reads deltas with a halo of
 * zeros, so it needs no edge cases; a stride falls into phases (direct_plan.h). A pooling above takes the rows of its
 * windows while they are in L1; while nothing trains they go no further (fuse.c).
 *
 * Limit: FMA throughput, as long as sources of a tile's rows stay in L2. Column mode wastes the lanes of a last partial
 * vector, and gathers where the stride is not 1. */
#include "cpu/direct_plan.h"
#include "cpu/direct_tile.h"
#include "cpu/direct_window.h"

static bool prepare(struct cpu_job *job, bool backward)
{
    job->plan = direct_plan_create(job, backward, TILE_MAPS, TILE_UNITS, TILE_WORK, VEC_WIDTH, SOURCE_FLOATS);
    return job->plan != NULL;
}

static bool prepare_forward(struct cpu_job *job)
{
    return prepare(job, false);
}

static bool prepare_backward(struct cpu_job *job)
{
    return prepare(job, true);
}

static int64_t pack_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    const struct direct_plan *plan = job->plan;
    return plan->tiles;
}

static void pack_phase(const struct cpu_job *job, const struct direct_phase *phase, const struct direct_map_tile *tile,
                       const int64_t *kernel_at)
{
    int kernel_cols = job->layer->kernel_cols, taps = phase->row.taps * phase->col.taps;
    float *out = job->packed + phase->weights + tile->pairs * taps;
    for (int k = 0; k < tile->sources; k++)
        for (int row = 0; row < phase->row.taps; row++)
            for (int col = 0; col < phase->col.taps; col++) {
                int64_t tap = (int64_t)(phase->row.tap_first + row * phase->row.tap_step) * kernel_cols +
                              phase->col.tap_first + col * phase->col.tap_step;
                for (int m = 0; m < tile->maps; m++) {
                    int64_t at = kernel_at[(int64_t)k * tile->maps + m];
                    *out++ = at < 0 ? 0 : job->weights[at + tap];
                }
            }
}

static void pack(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    const struct direct_plan *plan = job->plan;
    for (int64_t t = begin; t < end; t++)
        for (int p = 0; p < plan->phases; p++)
            pack_phase(job, &plan->phase[p], &plan->tile[t], plan->kernel_at + plan->tile[t].pairs);
}

/* clang-format off */
static void sum_tile(const struct direct_span *s, int maps, int units, int first, int begin, int end, vec *sums)
{
    switch (maps * 8 + units) {
    case 1 * 8 + 1: direct_tile(s, 1, 1, first, begin, end, sums); break;
    case 1 * 8 + 2: direct_tile(s, 1, 2, first, begin, end, sums); break;
    case 1 * 8 + 3: direct_tile(s, 1, 3, first, begin, end, sums); break;
    case 1 * 8 + 4: direct_tile(s, 1, 4, first, begin, end, sums); break;
    case 2 * 8 + 1: direct_tile(s, 2, 1, first, begin, end, sums); break;
    case 2 * 8 + 2: direct_tile(s, 2, 2, first, begin, end, sums); break;
    case 2 * 8 + 3: direct_tile(s, 2, 3, first, begin, end, sums); break;
    case 2 * 8 + 4: direct_tile(s, 2, 4, first, begin, end, sums); break;
    case 3 * 8 + 1: direct_tile(s, 3, 1, first, begin, end, sums); break;
    case 3 * 8 + 2: direct_tile(s, 3, 2, first, begin, end, sums); break;
    case 3 * 8 + 3: direct_tile(s, 3, 3, first, begin, end, sums); break;
    case 3 * 8 + 4: direct_tile(s, 3, 4, first, begin, end, sums); break;
#if TILE_MAPS > 3
    case 4 * 8 + 1: direct_tile(s, 4, 1, first, begin, end, sums); break;
    case 4 * 8 + 2: direct_tile(s, 4, 2, first, begin, end, sums); break;
    case 4 * 8 + 3: direct_tile(s, 4, 3, first, begin, end, sums); break;
    case 4 * 8 + 4: direct_tile(s, 4, 4, first, begin, end, sums); break;
    case 5 * 8 + 1: direct_tile(s, 5, 1, first, begin, end, sums); break;
    case 5 * 8 + 2: direct_tile(s, 5, 2, first, begin, end, sums); break;
    case 5 * 8 + 3: direct_tile(s, 5, 3, first, begin, end, sums); break;
    case 5 * 8 + 4: direct_tile(s, 5, 4, first, begin, end, sums); break;
    case 6 * 8 + 1: direct_tile(s, 6, 1, first, begin, end, sums); break;
    case 6 * 8 + 2: direct_tile(s, 6, 2, first, begin, end, sums); break;
    case 6 * 8 + 3: direct_tile(s, 6, 3, first, begin, end, sums); break;
    case 6 * 8 + 4: direct_tile(s, 6, 4, first, begin, end, sums); break;
#endif
    }
}
/* clang-format on */

/* Tap columns that meet the input for some unit of a tile (image mode: a unit is a pixel). Those left out would add
 * zeros of the halo: in backward-data of a valid convolution, up to half of all taps. */
static void clip_columns(const struct direct_span *s, int first, int count, int *begin, int *end)
{
    int left = s->in_col + first * s->in_step, right = s->in_col + (first + count - 1) * s->in_step;
    *begin = right < 0 ? -right : 0;
    *end = s->in_cols - left < s->tap_cols ? s->in_cols - left : s->tap_cols;
    if (*end < *begin)
        *end = *begin;
}

/* All units of a row, cut into tiles as equal as can be. */
static void run_row(const struct direct_span *s, int maps)
{
    int tiles = (int)ceil_divide(s->units, TILE_UNITS);
    for (int t = 0; t < tiles; t++) {
        vec sums[TILE_MAPS_MAX * TILE_UNITS_MAX];
        int first = s->units * t / tiles, count = s->units * (t + 1) / tiles - first;
        int valid = t == tiles - 1 ? s->valid : VEC_WIDTH, begin = 0, end = s->tap_cols;
        if (s->in_step > 0)
            clip_columns(s, first, count, &begin, &end);
        if (s->in_gather != 1)
            direct_tile_gather(s, maps, count, first, sums);
        else
            sum_tile(s, maps, count, first, begin, end, sums);
        if (s->activation == CNN_TANH) /* the usual cases, the first with its constants in registers */
            direct_finish(s, CNN_TANH, maps, count, sums, first, valid);
        else if (s->activation == CNN_LINEAR)
            direct_finish(s, CNN_LINEAR, maps, count, sums, first, valid);
        else
            direct_finish(s, s->activation, maps, count, sums, first, valid);
    }
}

static void fill_span(struct direct_span *s, const struct cpu_job *job, const struct direct_ends *ends,
                      const struct direct_phase *phase, const struct direct_map_tile *tile)
{
    const struct direct_plan *plan = job->plan;
    bool columns = job->lanes == 1;
    int per_unit = columns ? VEC_WIDTH : 1, units = direct_units(job->lanes, phase->col.outs);
    *s =
        (struct direct_span){ .in_map = ends->in->map,
                              .in_row = ends->in->row,
                              .in_tap = job->lanes,
                              .in_unit = (int64_t)phase->col.in_step * job->lanes * per_unit,
                              .in_gather = columns ? phase->col.in_step : 1,
                              .sources = plan->sources + tile->source_at,
                              .source_count = tile->sources,
                              .tap_rows = phase->row.taps,
                              .tap_cols = phase->col.taps,
                              .weights = job->packed + phase->weights + tile->pairs * phase->row.taps * phase->col.taps,
                              .out_map = ends->out->map,
                              .out_unit = (int64_t)phase->col.out_step * job->lanes * per_unit,
                              .out_scatter = columns ? phase->col.out_step : 1,
                              .bias = ends->bias ? ends->bias + tile->first : NULL,
                              .activation = ends->activation,
                              .units = units,
                              .valid = columns ? phase->col.outs - (units - 1) * VEC_WIDTH : VEC_WIDTH };
    if (!columns) {
        s->in_step = phase->col.in_step;
        s->in_col = phase->col.in_first;
        s->in_cols = ends->in->cols;
    }
    if (ends->below) {
        s->below_map = ends->below->map;
        s->below_unit = s->out_unit;
    }
}

static void run_rows(const struct cpu_job *job, const struct direct_ends *ends, const struct direct_phase *phase,
                     const struct direct_map_tile *tile, int64_t block, int chunk, int first_row, int end_row)
{
    const struct direct_plan *plan = job->plan;
    struct direct_span s;
    fill_span(&s, job, ends, phase, tile);
    s.source_begin = (int)((int64_t)tile->sources * chunk / plan->chunks);
    s.source_count = (int)((int64_t)tile->sources * (chunk + 1) / plan->chunks) - s.source_begin;
    s.resume = chunk > 0;
    s.suspend = chunk < plan->chunks - 1;
    for (int row = first_row; row < end_row; row++)
        for (int group = 0; group < direct_groups(job->lanes); group++) {
            int out_row = phase->row.out_first + row * phase->row.out_step;
            int in_row = phase->row.in_first + row * phase->row.in_step, left = ends->in->rows - in_row;
            s.row_begin = in_row < 0 ? -in_row : 0;
            s.row_end = left < s.tap_rows ? left : s.tap_rows;
            s.in = cpu_at(ends->in, block, 0, in_row, phase->col.in_first) + group * VEC_WIDTH;
            s.out =
                cpu_at(ends->out, block, tile->first - ends->out_map, out_row - ends->out_row, phase->col.out_first) +
                group * VEC_WIDTH;
            if (ends->below)
                s.below = cpu_at(ends->below, block, tile->first, out_row, phase->col.out_first) + group * VEC_WIDTH;
            run_row(&s, tile->maps);
        }
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct direct_plan *plan = job->plan;
    return (int64_t)batch->blocks * plan->tile_groups * plan->row_tiles;
}

/* Rows of a share are whole windows where a pooling follows. */
static int row_of_part(const struct cpu_job *job, int rows, int part)
{
    const struct direct_plan *plan = job->plan;
    int step = job->pool ? job->pool->layer->stride : 1;
    return (int)((int64_t)(rows / step) * part / plan->row_tiles) * step;
}

static bool takes_pool(const struct cpu_job *job, const struct cnn_layer *pool)
{
    return job->lanes > 1 && direct_tiles_exactly(pool);
}

/* The pooling's row of windows `row` from rows of outputs in `from`, whose first map is the tile's. */
static void pool_rows(const struct cpu_job *pool, const struct direct_map_tile *tile, int64_t block, int row,
                      const float *from, int64_t from_map, int64_t from_row)
{
    for (int m = 0; m < tile->maps; m++) {
        float gain, bias;
        direct_window_factors(pool, tile->first + m, &gain, &bias);
        direct_window_row(pool, from + m * from_map, from_row, cpu_at(&pool->y, block, tile->first + m, row, 0), gain,
                          bias);
    }
}

/* Forward with a pooling: row of windows by row of windows, in `y` where backward reads them again, else nowhere. */
static void run_pooled(const struct cpu_job *job, const struct direct_ends *ends, const struct direct_map_tile *tile,
                       int64_t block, int chunk, int part, bool train)
{
    const struct direct_plan *plan = job->plan;
    const struct direct_phase *phase = &plan->phase[0];
    int step = job->pool->layer->stride, rows = phase->row.outs;
    float window[WINDOW_FLOATS] __attribute__((aligned(64)));
    struct cpu_tensor passing = { .data = window, .lanes = job->lanes, .row = (int64_t)job->y.cols * job->lanes };
    passing.map = passing.row * step;
    bool keep = train || plan->chunks > 1 || passing.map * tile->maps > WINDOW_FLOATS;
    for (int row = row_of_part(job, rows, part); row < row_of_part(job, rows, part + 1); row += step) {
        struct direct_ends to = *ends;
        if (!keep) {
            to.out = &passing;
            to.out_map = tile->first;
            to.out_row = row;
        }
        run_rows(job, &to, phase, tile, block, chunk, row, row + step);
        if (chunk == plan->chunks - 1)
            pool_rows(job->pool, tile, block, row / step, keep ? cpu_at(&job->y, block, tile->first, row, 0) : window,
                      to.out->map, to.out->row);
    }
}

/* A share of each phase's rows, for one tile of maps and one chunk of its sources. */
static void run_part(const struct cpu_job *job, const struct direct_ends *ends, const struct direct_map_tile *tile,
                     int64_t block, int chunk, int part)
{
    const struct direct_plan *plan = job->plan;
    for (int p = 0; p < plan->phases; p++) {
        const struct direct_phase *phase = &plan->phase[p];
        int rows = phase->row.outs;
        if (phase->col.outs > 0)
            run_rows(job, ends, phase, tile, block, chunk, row_of_part(job, rows, part),
                     row_of_part(job, rows, part + 1));
    }
}

static void run(const struct cpu_job *job, const struct direct_ends *ends, bool train, int64_t begin, int64_t end)
{
    const struct direct_plan *plan = job->plan;
    for (int64_t i = begin; i < end; i++) {
        int part = (int)(i % plan->row_tiles);
        int64_t group = i / plan->row_tiles % plan->tile_groups, block = i / plan->row_tiles / plan->tile_groups;
        int64_t first = plan->tiles * group / plan->tile_groups, last = plan->tiles * (group + 1) / plan->tile_groups;
        for (int chunk = 0; chunk < plan->chunks; chunk++)
            for (int64_t tile = first; tile < last; tile++)
                if (job->pool)
                    run_pooled(job, ends, &plan->tile[tile], block, chunk, part, train);
                else
                    run_part(job, ends, &plan->tile[tile], block, chunk, part);
    }
}

static void run_forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    struct direct_ends ends = direct_ends_forward(job);
    run(job, &ends, batch->train, begin, end);
}

static void run_backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    struct direct_ends ends = direct_ends_backward(job);
    run(job, &ends, batch->train, begin, end);
}

const struct cpu_kernel CPU_SYMBOL(direct_conv_forward) = { .name = "direct_conv_forward",
                                                            .algorithm = "direct",
                                                            .file = "cpu/direct_conv.c",
                                                            .kind = CNN_OP_CONV_FORWARD,
                                                            .supports = direct_supports,
                                                            .prepare = prepare_forward,
                                                            .pack = { pack_tiles, pack },
                                                            .main = { tiles, run_forward },
                                                            .takes_pool = takes_pool };

const struct cpu_kernel CPU_SYMBOL(direct_conv_backward_data) = { .name = "direct_conv_backward_data",
                                                                  .algorithm = "direct",
                                                                  .file = "cpu/direct_conv.c",
                                                                  .kind = CNN_OP_CONV_BACKWARD_DATA,
                                                                  .supports = direct_supports,
                                                                  .prepare = prepare_backward,
                                                                  .pack = { pack_tiles, pack },
                                                                  .main = { tiles, run_backward } };
