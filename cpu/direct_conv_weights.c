/* SPDX-License-Identifier: MIT */
/* Weight and bias gradients of a convolution: dw[o][i][tap] = sum over images and pixels of dy[o] * x[i] shifted by the
 * tap.
 *
 * Method: the work falls into items (one input map, a few output maps that read it). An item keeps maps x kernel
 * columns sums in registers and slides over the pixels: per pixel `maps` deltas and `columns` inputs are loaded for
 * maps x columns FMAs. Deltas of a block stay in L1 for all kernel rows. Sums run over lanes only at the very end.
 * Images are summed inside an item in index order, so there is nothing to reduce over threads; layers with few items
 * are cut further into slots of blocks, whose partial gradients are added in fixed order. The slots depend on the batch
 * alone.
 *
 * Below a pooling, where no other operation reads the deltas, they are made from the pooling's band by band and stay in
 * L1 (fuse.c); gradients of biases and of the pooling's gains are summed as they pass.
 *
 * Limit: FMA throughput at 9 loads for 20 FMAs (AVX-512, 5 columns); small maps pay for the final sum over lanes. */
#include "cpu/direct_pooled.h"

#include <stdlib.h>

#define SUMS_MAX 2048 /* vectors of sums of a group, on the stack (128 KiB with AVX-512): items x maps x taps */
#define SLOTS_MAX 16
#define LINE_FLOATS 16 /* of a cache line */

struct gradient_plan {
    int64_t items, groups;
    int slots; /* of a full batch */
    int rows;  /* kernel rows of a pass: all of them, unless one item's sums do not fit the buffer */
    struct item item[];
};

/* As many maps as leave room for the sums of `cols` columns. */
static int maps_per_item(int cols)
{
    int columns = cols < COLUMNS_MAX ? cols : COLUMNS_MAX, maps = GRADIENT_VECTORS / columns;
    return maps > MAPS_MAX ? MAPS_MAX : maps < 1 ? 1 : maps;
}

/* Items of input map `in`: its output maps in groups as equal as can be. item NULL: only counts. */
static int64_t items_of(const struct cnn_layer *layer, int in, int most, int32_t *outs, int32_t *pairs,
                        struct item *item)
{
    int count = 0;
    for (int out = 0; out < layer->out.maps; out++) {
        int low = 0, fan_in = cnn_layer_fan_in(layer, out);
        if (layer->first) {
            while (low < fan_in && cnn_layer_source(layer, out, low) < in)
                low++;
            if (low == fan_in || cnn_layer_source(layer, out, low) != in)
                continue;
        } else {
            low = in;
        }
        outs[count] = out;
        pairs[count++] = (layer->first ? layer->first[out] : out * layer->in.maps) + low;
    }
    int groups = (count + most - 1) / most;
    for (int g = 0; item && g < groups; g++) {
        int begin = (int)((int64_t)count * g / groups), end = (int)((int64_t)count * (g + 1) / groups);
        item[g].in_map = in;
        item[g].maps = end - begin;
        for (int m = begin; m < end; m++) {
            item[g].out_map[m - begin] = outs[m];
            item[g].kernel_at[m - begin] = (int64_t)pairs[m] * layer->kernel_rows * layer->kernel_cols;
        }
    }
    return groups;
}

static int slots_for(const struct cpu_job *job)
{
    int64_t slots = GRADIENT_SLOT_FLOATS / job->layer->weights;
    slots = slots < job->max_blocks ? slots : job->max_blocks;
    slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
    return slots < 1 ? 1 : (int)slots;
}

/* Parameters whose gradient an item makes: with a pooling, biases too, and the pooling's own, which lie in this order.
 */
static int64_t gradient_floats(const struct cpu_job *job)
{
    const struct cnn_layer *pool = job->pool_gains ? job->pool_gains->layer : NULL;
    return job->layer->weights + (job->pool ? job->layer->biases : 0) + (pool ? pool->weights + pool->biases : 0);
}

#define POOLED_INPUTS 4 /* maps: each of them makes the deltas anew where its items fall into another group */

static bool takes_pool(const struct cpu_job *job, const struct cnn_layer *pool)
{
    const struct cnn_layer *layer = job->layer;
    int64_t row = (int64_t)maps_per_item(layer->kernel_cols) * layer->out.cols * VEC_WIDTH;
    return job->lanes > 1 && direct_tiles_exactly(pool) && !layer->first && layer->in.maps <= POOLED_INPUTS &&
           row * pool->stride <= WINDOW_FLOATS;
}

/* Items of a group: enough groups for all threads first, then as many as the buffer holds. */
static void cut_groups(struct gradient_plan *plan, const struct cnn_layer *layer, int most)
{
    int64_t row_sums = (int64_t)most * layer->kernel_cols,
            fit = SUMS_MAX / (row_sums * layer->kernel_rows + POOL_SUMS * most);
    int64_t items = plan->items * plan->slots / GRADIENT_TILES;
    items = items < fit ? items : fit;
    items = items < 1 ? 1 : items;
    plan->groups = ceil_divide(plan->items, items);
    plan->rows = fit ? layer->kernel_rows : (int)((SUMS_MAX - POOL_SUMS * most) / row_sums);
}

static int by_outputs(const void *a, const void *b)
{
    const struct item *one = a, *other = b;
    int by_out = one->out_map[0] - other->out_map[0];
    return by_out ? by_out : one->in_map - other->in_map;
}

static bool prepare(struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    int most = maps_per_item(layer->kernel_cols);
    int32_t *outs = malloc(2 * (size_t)layer->out.maps * sizeof *outs);
    struct gradient_plan *plan = NULL;
    int64_t items = 0;
    if (!outs)
        return false;
    for (int in = 0; in < layer->in.maps; in++)
        items += items_of(layer, in, most, outs, outs + layer->out.maps, NULL);
    plan = malloc(sizeof *plan + (size_t)items * sizeof plan->item[0]);
    if (plan) {
        plan->items = items;
        plan->slots = slots_for(job);
        cut_groups(plan, layer, most);
        items = 0;
        for (int in = 0; in < layer->in.maps; in++)
            items += items_of(layer, in, most, outs, outs + layer->out.maps, plan->item + items);
        qsort(plan->item, (size_t)items, sizeof plan->item[0], by_outputs);
        job->workspace_size = plan->slots > 1 ? plan->slots * gradient_floats(job) : 0;
        job->executed_macs = (double)layer->macs;
    }
    free(outs);
    job->plan = plan;
    return plan != NULL;
}

/* Output rows whose deltas stay in L1 while all kernel rows pass over them; whole windows of a pooling. */
static int band_rows(const struct cpu_job *job, const struct sweep *s, int maps)
{
    const struct cnn_layer *layer = job->layer;
    int64_t row = (int64_t)maps * s->units * VEC_WIDTH, rows = GRADIENT_BAND_FLOATS / row;
    if (job->pool)
        rows = ceil_divide(rows, job->pool->layer->stride) * job->pool->layer->stride;
    if (rows * row > WINDOW_FLOATS && job->pool)
        rows = job->pool->layer->stride;
    return rows < 1 ? 1 : rows < layer->out.rows ? (int)rows : layer->out.rows;
}

/* Sums of an item in `rows` kernel rows, and behind them those of the pooling. */
static int sums_of(const struct cnn_layer *layer, const struct item *item, int rows)
{
    return item->maps * (rows * layer->kernel_cols + POOL_SUMS);
}

/* One band of one block of one item: kernel rows first_row..+rows. sums: [row][column chunk][map][column]. */
static void add_band(const struct cpu_job *job, struct sweep *s, const struct item *item, int64_t block, int group,
                     int first_out, int first_row, int rows, const float *deltas, vec *sums)
{
    const struct cnn_layer *layer = job->layer;
    int chunks = (int)ceil_divide(layer->kernel_cols, COLUMNS_MAX);
    for (int m = 0; m < item->maps; m++)
        s->delta[m] = job->pool ? deltas + m * s->rows * s->delta_row
                                : cpu_at(&job->dy, block, item->out_map[m], first_out, 0) + group * VEC_WIDTH;
    for (int row = first_row; row < first_row + rows; row++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            int col = layer->kernel_cols * chunk / chunks, end = layer->kernel_cols * (chunk + 1) / chunks;
            s->in = cpu_at(&job->x, block, item->in_map, first_out * layer->stride + row - layer->pad_before,
                           col - layer->pad_before) +
                    group * VEC_WIDTH;
            sweep_block(s, item->maps, end - col, sums);
            sums += item->maps * (end - col);
        }
}

/* The sums of an item over lanes, into the gradients of its weights. */
static void store_item(const struct cnn_layer *layer, const struct item *item, int first_row, int rows, const vec *sums,
                       float *gradient)
{
    int chunks = (int)ceil_divide(layer->kernel_cols, COLUMNS_MAX);
    for (int row = first_row; row < first_row + rows; row++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            int begin = layer->kernel_cols * chunk / chunks, end = layer->kernel_cols * (chunk + 1) / chunks;
            for (int m = 0; m < item->maps; m++)
                for (int col = begin; col < end; col++)
                    gradient[item->kernel_at[m] + row * layer->kernel_cols + col] = vec_sum(*sums++);
        }
}

static struct sweep sweep_of(const struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    bool columns = job->lanes == 1;
    int per_unit = columns ? VEC_WIDTH : 1, units = direct_units(job->lanes, layer->out.cols);
    return (struct sweep){ .delta_row = job->pool ? (int64_t)layer->out.cols * VEC_WIDTH : job->dy.row,
                           .delta_unit = job->pool ? VEC_WIDTH : (int64_t)job->lanes * per_unit,
                           .in_row = job->x.row * layer->stride,
                           .in_unit = (int64_t)job->lanes * per_unit * layer->stride,
                           .in_tap = job->lanes,
                           .in_gather = columns ? layer->stride : 1,
                           .units = units,
                           .valid = columns ? layer->out.cols - (units - 1) * VEC_WIDTH : VEC_WIDTH };
}

/* Asks for the rows of an item's inputs that the next band reads and this one does not. They come while the other items
 * pass: maps lie too far apart for the processor to see a row coming. */
static void prefetch_band(const struct cpu_job *job, const struct item *item, int64_t block, int next_out, int outs)
{
    const struct cnn_layer *layer = job->layer;
    int begin = (next_out - 1) * layer->stride + layer->kernel_rows - layer->pad_before;
    int end = (next_out + outs - 1) * layer->stride + layer->kernel_rows - layer->pad_before;
    for (int row = begin; row < end && row < layer->in.rows; row++) {
        const float *in = cpu_at(&job->x, block, item->in_map, row, 0);
        for (int64_t i = 0; i < (int64_t)layer->in.cols * job->lanes; i += LINE_FLOATS)
            __builtin_prefetch(in + i, 0, 2);
    }
}

/* A block, band by band: all items of a group pass over a band, most of them with the same deltas, while it is in L1.
 */
static void add_block(const struct cpu_job *job, struct sweep *s, const struct item *item, int items, int64_t block,
                      int group, int first_row, int rows, vec *sums)
{
    const struct cnn_layer *layer = job->layer;
    int most = job->pool ? maps_per_item(layer->kernel_cols) : item[0].maps, band = band_rows(job, s, most);
    int outs = layer->out.rows;
    bool far = job->x.block > SOURCE_FLOATS && job->lanes > 1 && group == 0;
    float deltas[WINDOW_FLOATS] __attribute__((aligned(64)));
    for (int first = 0; first < outs; first += band) {
        s->rows = outs - first < band ? outs - first : band;
        for (int i = 0, at = 0; i < items; at += sums_of(layer, &item[i++], rows)) {
            if (job->pool && (i == 0 || item[i].out_map[0] != item[i - 1].out_map[0])) {
                struct pooled_band made = { job, &item[i], block, group, first, s->rows, s->delta_row };
                bool sum = item[i].in_map == 0 && first_row == 0;
                make_deltas(&made, deltas, sum ? sums + at + item[i].maps * rows * layer->kernel_cols : NULL);
            }
            add_band(job, s, &item[i], block, group, first, first_row, rows, deltas, sums + at);
            if (far && first + band < outs)
                prefetch_band(job, &item[i], block, first + band, band);
        }
    }
}

/* Items begin..end over blocks first..last; gradient: where the layer's weight gradients begin. */
static void run_group(const struct cpu_job *job, const struct item *item, int items, int64_t first, int64_t last,
                      float *gradient)
{
    const struct cnn_layer *layer = job->layer;
    const struct gradient_plan *plan = job->plan;
    struct sweep s = sweep_of(job);
    vec sums[SUMS_MAX];
    for (int row = 0; row < layer->kernel_rows; row += plan->rows) {
        int rows = layer->kernel_rows - row < plan->rows ? layer->kernel_rows - row : plan->rows, count = 0;
        for (int i = 0; i < items; i++)
            count += sums_of(layer, &item[i], rows);
        for (int i = 0; i < count; i++)
            sums[i] = vec_set(0);
        for (int64_t block = first; block < last; block++)
            for (int group = 0; group < direct_groups(job->lanes); group++)
                add_block(job, &s, item, items, block, group, row, rows, sums);
        for (int i = 0, at = 0; i < items; at += sums_of(layer, &item[i++], rows)) {
            store_item(layer, &item[i], row, rows, sums + at, gradient);
            if (job->pool && item[i].in_map == 0 && row == 0)
                store_pool(job, &item[i], sums + at + item[i].maps * rows * layer->kernel_cols, gradient);
        }
    }
}

static void run_bias(const struct cpu_job *job, int blocks, int map)
{
    int units = direct_units(job->lanes, job->layer->out.cols), per_unit = job->lanes == 1 ? VEC_WIDTH : 1;
    int valid = job->lanes == 1 ? job->layer->out.cols - (units - 1) * VEC_WIDTH : VEC_WIDTH;
    vec total = vec_set(0);
    for (int64_t block = 0; block < blocks; block++)
        for (int group = 0; group < direct_groups(job->lanes); group++)
            for (int row = 0; row < job->layer->out.rows; row++) {
                const float *delta = cpu_at(&job->dy, block, map, row, 0) + group * VEC_WIDTH;
                vec sum = vec_set(0); /* of a row: short chains round less */
                for (int unit = 0; unit < units; unit++)
                    sum += vec_load_first(delta + (int64_t)unit * per_unit * job->lanes,
                                          unit == units - 1 ? valid : VEC_WIDTH);
                total += sum;
            }
    job->bias_gradient[map] = vec_sum(total);
}

/* Slots of the running batch: a short batch may have fewer blocks than slots. */
static int slots_of(const struct gradient_plan *plan, const struct cpu_batch *batch)
{
    return plan->slots < batch->blocks ? plan->slots : batch->blocks;
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct gradient_plan *plan = job->plan;
    return plan->groups * slots_of(plan, batch) + (job->pool ? 0 : job->layer->out.maps);
}

static void run(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct gradient_plan *plan = job->plan;
    int64_t slots = slots_of(plan, batch), group_tiles = plan->groups * slots;
    for (int64_t i = begin; i < end; i++) {
        if (i >= group_tiles) {
            run_bias(job, batch->blocks, (int)(i - group_tiles));
            continue;
        }
        int64_t slot = i % slots, group = i / slots;
        int64_t first = plan->items * group / plan->groups, last = plan->items * (group + 1) / plan->groups;
        float *gradient = plan->slots > 1 ? job->workspace + slot * gradient_floats(job) : job->weight_gradient;
        run_group(job, &plan->item[first], (int)(last - first), batch->blocks * slot / slots,
                  batch->blocks * (slot + 1) / slots, gradient);
    }
}

#define FINISH_FLOATS 1024

static int64_t finish_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    const struct gradient_plan *plan = job->plan;
    return plan->slots > 1 ? ceil_divide(gradient_floats(job), FINISH_FLOATS) : 0;
}

static void finish(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct gradient_plan *plan = job->plan;
    int slots = slots_of(plan, batch);
    int64_t size = gradient_floats(job), last = end * FINISH_FLOATS < size ? end * FINISH_FLOATS : size;
    for (int64_t i = begin * FINISH_FLOATS; i < last; i++) {
        float sum = job->workspace[i];
        for (int slot = 1; slot < slots; slot++)
            sum += job->workspace[slot * size + i];
        job->weight_gradient[i] = sum;
    }
}

const struct cpu_kernel CPU_SYMBOL(direct_conv_backward_weights) = { .name = "direct_conv_backward_weights",
                                                                     .algorithm = "direct",
                                                                     .file = "cpu/direct_conv_weights.c",
                                                                     .kind = CNN_OP_CONV_BACKWARD_WEIGHTS,
                                                                     .supports = direct_supports,
                                                                     .prepare = prepare,
                                                                     .main = { tiles, run },
                                                                     .finish = { finish_tiles, finish },
                                                                     .takes_pool = takes_pool };
