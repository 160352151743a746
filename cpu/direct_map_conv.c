/* SPDX-License-Identifier: MIT */
/* Convolution, forward and backward-data, where the batch does not fill vectors: vectors run over output maps.
 *
 * Method: a tile keeps the sums of neighbouring pixels x map vectors in registers while source maps and taps pass by;
 * per tap it loads `vectors` weights and broadcasts `pixels` inputs. So no row has a partial vector, a stride is only a
 * longer step between broadcasts, and many maps of small sides fill their lanes, where vectors along columns would be
 * half empty. The sums of a band of rows wait in L1 while a chunk of sources, whose weights fit there beside them,
 * passes over the band. At the end squares of maps x pixels are transposed in registers, and bias and activation (or
 * the slope of the layer below) are applied along columns before the only store.
 *
 * Limit: FMA throughput with several map vectors; one broadcast per FMA with a single one. Lanes without a map are
 * wasted, and so are pairs that are not connected: a table is done dense. */
#include "cpu/direct.h"
#include "cpu/transpose.h"

#include <stdlib.h>

#if VEC_WIDTH == 16 || defined(CPU_ISA_NEON)
#define VECTORS_MAX 4
#define SUMS_IN_REGISTERS 24
#else
#define VECTORS_MAX 3
#define SUMS_IN_REGISTERS 12
#endif
#define PIXELS_MAX 12
#define BAND_FLOATS 4096  /* sums of a band: half of a 32 KiB L1 */
#define CHUNK_FLOATS 4096 /* weights of the sources that pass over it: the other half */
#define STRIDE_MAX 2

/* The correlation that a layer is in one direction: `outs` maps of rows x cols pixels that read `ins` maps. */
struct map_plan {
    int outs, ins, rows, cols;
    int vectors, groups; /* map vectors of a tile; tiles of map vectors */
    int pixels,
        tiles; /* of a tile; tiles of a row, whose last may reach beyond it: what it makes there is not stored */
    int band;  /* rows */
    int chunk; /* sources */
    int first; /* row and column of the first tap, of pixel 0 */
    int stride;
};

static double lanes_used(int count)
{
    return (double)count / (double)(ceil_divide(count, VEC_WIDTH) * VEC_WIDTH);
}

/* Where lanes over maps are the fuller ones. With a stride the other way gathers its inputs one by one. */
static bool fits(const struct cnn_layer *layer, int lanes, int outs, int cols)
{
    double dense = (double)layer->macs_dense / (double)layer->macs;
    return VEC_WIDTH > 1 && lanes == 1 && layer->stride <= STRIDE_MAX &&
           (cols + PIXELS_MAX) * VEC_WIDTH <= BAND_FLOATS &&
           lanes_used(outs) > lanes_used(cols) * dense / layer->stride;
}

static bool forward_fits(const struct cnn_layer *layer, int lanes)
{
    return fits(layer, lanes, layer->out.maps, layer->out.cols);
}

static bool backward_fits(const struct cnn_layer *layer, int lanes)
{
    return layer->stride == 1 && fits(layer, lanes, layer->in.maps, layer->in.cols);
}

/* Pixels of a tile: of the sizes that are compiled the smallest that covers a row in as few tiles as the largest. */
static int choose_pixels(int cols, int most)
{
    static const int sizes[] = { 1, 2, 3, 4, 5, 6, 8, 10, 12 };
    int tiles = (int)ceil_divide(cols, most), i = 0;
    while (sizes[i] * tiles < cols)
        i++;
    return sizes[i];
}

static void cut(struct map_plan *plan, const struct cnn_layer *layer)
{
    int vectors = (int)ceil_divide(plan->outs, VEC_WIDTH), most = BAND_FLOATS / ((plan->cols + PIXELS_MAX) * VEC_WIDTH);
    most = most < VECTORS_MAX ? most : VECTORS_MAX;
    plan->groups = (int)ceil_divide(vectors, most);
    plan->vectors = (int)ceil_divide(vectors, plan->groups);
    plan->groups = (int)ceil_divide(vectors, plan->vectors);
    int pixels = SUMS_IN_REGISTERS / plan->vectors;
    plan->pixels = choose_pixels(plan->cols, pixels < PIXELS_MAX ? pixels : PIXELS_MAX);
    plan->tiles = (int)ceil_divide(plan->cols, plan->pixels);
    int band = BAND_FLOATS / (plan->tiles * plan->pixels * plan->vectors * VEC_WIDTH);
    plan->band = band < plan->rows ? band : plan->rows;
    int chunk = CHUNK_FLOATS / (layer->kernel_rows * layer->kernel_cols * plan->vectors * VEC_WIDTH);
    plan->chunk = chunk < 1 ? 1 : chunk;
}

static bool prepare(struct cpu_job *job, struct map_plan made)
{
    const struct cnn_layer *layer = job->layer;
    struct map_plan *plan = malloc(sizeof *plan);
    if (!plan)
        return false;
    *plan = made;
    cut(plan, layer);
    int64_t lanes = (int64_t)plan->groups * plan->vectors * VEC_WIDTH,
            taps = (int64_t)layer->kernel_rows * layer->kernel_cols;
    job->plan = plan;
    job->packed_size = lanes * plan->ins * taps;
    job->executed_macs = (double)plan->outs * plan->ins * (double)taps * plan->rows * plan->cols;
    return true;
}

static bool prepare_forward(struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    return prepare(job, (struct map_plan){ .outs = layer->out.maps,
                                           .ins = layer->in.maps,
                                           .rows = layer->out.rows,
                                           .cols = layer->out.cols,
                                           .first = -layer->pad_before,
                                           .stride = layer->stride });
}

static bool prepare_backward(struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    return prepare(job, (struct map_plan){ .outs = layer->in.maps,
                                           .ins = layer->out.maps,
                                           .rows = layer->in.rows,
                                           .cols = layer->in.cols,
                                           .first = layer->pad_before - (layer->kernel_rows - 1),
                                           .stride = 1 });
}

/* ---- weights, [group][source][tap][vector][lane] ---- */

/* The kernel of a pair, among the layer's weights; -1: not connected. */
static int64_t kernel_of(const struct cnn_layer *layer, int out, int in)
{
    int64_t taps = (int64_t)layer->kernel_rows * layer->kernel_cols;
    if (!layer->first)
        return ((int64_t)out * layer->in.maps + in) * taps;
    for (int k = layer->first[out]; k < layer->first[out + 1]; k++)
        if (layer->source[k] == in)
            return k * taps;
    return -1;
}

/* One source's weights of one map vector: kernels are loaded along their taps, and transposed. */
static void pack_vector(const struct cpu_job *job, bool backward, int first_map, int source, float *out, int step)
{
    const struct cnn_layer *layer = job->layer;
    const struct map_plan *plan = job->plan;
    int taps = layer->kernel_rows * layer->kernel_cols;
    int64_t at[VEC_WIDTH];
    for (int lane = 0; lane < VEC_WIDTH; lane++) {
        int map = first_map + lane;
        at[lane] = map >= plan->outs ? -1 : backward ? kernel_of(layer, source, map) : kernel_of(layer, map, source);
    }
    for (int tap = 0; tap < taps; tap += VEC_WIDTH) {
        int count = taps - tap < VEC_WIDTH ? taps - tap : VEC_WIDTH;
        vec rows[VEC_WIDTH];
        for (int lane = 0; lane < VEC_WIDTH; lane++)
            rows[lane] = at[lane] < 0 ? vec_set(0) : vec_load_first(job->weights + at[lane] + tap, count);
        vec_transpose(rows);
        for (int i = 0; i < count; i++)
            vec_store(out + (int64_t)(backward ? taps - 1 - tap - i : tap + i) * step, rows[i]);
    }
}

static int64_t pack_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    const struct map_plan *plan = job->plan;
    return (int64_t)plan->groups * plan->ins;
}

static void pack(const struct cpu_job *job, bool backward, int64_t begin, int64_t end)
{
    const struct map_plan *plan = job->plan;
    int lanes = plan->vectors * VEC_WIDTH;
    int64_t taps = (int64_t)job->layer->kernel_rows * job->layer->kernel_cols;
    for (int64_t i = begin; i < end; i++)
        for (int v = 0; v < plan->vectors; v++)
            pack_vector(job, backward, (int)(i / plan->ins) * lanes + v * VEC_WIDTH, (int)(i % plan->ins),
                        job->packed + i * taps * lanes + v * VEC_WIDTH, lanes);
}

static void pack_forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    pack(job, false, begin, end);
}

static void pack_backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    pack(job, true, begin, end);
}

/* ---- sums ---- */

/* A tile of a chunk of sources. */
struct walk {
    const float *in, *weights; /* of the first source, tap (0, 0), first pixel */
    float *sums;               /* [pixel][vector][lane] */
    int64_t in_map, in_row;
    int sources, tap_rows, tap_cols;
    int row_begin, row_end; /* tap rows that meet the input; the others would read its halo */
    bool resume;            /* add to what stands in sums */
};

CPU_INLINE void walk_tile(const struct walk *w, const int vectors, const int pixels, const int stride)
{
    vec acc[PIXELS_MAX][VECTORS_MAX];
    CPU_UNROLL
    for (int p = 0; p < pixels; p++) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            acc[p][v] = w->resume ? vec_load(w->sums + (p * vectors + v) * VEC_WIDTH) : vec_set(0);
    }
    for (int k = 0; k < w->sources; k++)
        for (int row = w->row_begin; row < w->row_end; row++) {
            const float *in = w->in + k * w->in_map + row * w->in_row;
            const float *weight = w->weights + ((int64_t)k * w->tap_rows + row) * w->tap_cols * vectors * VEC_WIDTH;
            for (int col = 0; col < w->tap_cols; col++, in++, weight += vectors * VEC_WIDTH) {
                vec tap[VECTORS_MAX];
                /* or gcc carries inputs from tap to tap, in registers that the sums need */
                __asm__("" : "+r"(in));
                CPU_UNROLL
                for (int v = 0; v < vectors; v++)
                    tap[v] = vec_load(weight + v * VEC_WIDTH);
                CPU_UNROLL
                for (int p = 0; p < pixels; p++) {
                    vec x = vec_set(in[p * stride]);
                    CPU_UNROLL
                    for (int v = 0; v < vectors; v++)
                        acc[p][v] += tap[v] * x;
                }
            }
        }
    CPU_UNROLL
    for (int p = 0; p < pixels; p++) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            vec_store(w->sums + (p * vectors + v) * VEC_WIDTH, acc[p][v]);
    }
}

/* clang-format off */
#define TILE(v, p)                                            \
    case ((v) * 16 + (p)) * 4 + 1: walk_tile(w, v, p, 1); break; \
    case ((v) * 16 + (p)) * 4 + 2: walk_tile(w, v, p, 2); break;
#define TILES_TO_4(v) TILE(v, 1) TILE(v, 2) TILE(v, 3) TILE(v, 4)
#define TILES_TO_6(v) TILES_TO_4(v) TILE(v, 5) TILE(v, 6)
#define TILES_TO_12(v) TILES_TO_6(v) TILE(v, 8) TILE(v, 10) TILE(v, 12)

static void walk(const struct walk *w, int vectors, int pixels, int stride)
{
    switch ((vectors * 16 + pixels) * 4 + stride) {
        TILES_TO_12(1)
#if SUMS_IN_REGISTERS == 24
        TILES_TO_12(2)
        TILES_TO_6(3)
        TILE(3, 8)
        TILES_TO_6(4)
#else
        TILES_TO_6(2)
        TILES_TO_4(3)
#endif
    }
}
/* clang-format on */

/* The sums of a row over one chunk of sources. */
static void sum_row(const struct cpu_job *job, const struct direct_ends *ends, int64_t image, int group, int row,
                    int source, float *sums)
{
    const struct map_plan *plan = job->plan;
    const struct cnn_layer *layer = job->layer;
    int lanes = plan->vectors * VEC_WIDTH, in_row = plan->first + row * plan->stride, left = ends->in->rows - in_row;
    int taps = layer->kernel_rows * layer->kernel_cols;
    struct walk w = { .in = cpu_at(ends->in, image, source, in_row, plan->first),
                      .weights = job->packed + ((int64_t)group * plan->ins + source) * taps * lanes,
                      .sums = sums,
                      .in_map = ends->in->map,
                      .in_row = ends->in->row,
                      .sources = plan->ins - source < plan->chunk ? plan->ins - source : plan->chunk,
                      .tap_rows = layer->kernel_rows,
                      .tap_cols = layer->kernel_cols,
                      .row_begin = in_row < 0 ? -in_row : 0,
                      .row_end = left < layer->kernel_rows ? left : layer->kernel_rows,
                      .resume = source > 0 };
    for (int tile = 0; tile < plan->tiles; tile++) {
        walk(&w, plan->vectors, plan->pixels, plan->stride);
        w.in += plan->pixels * plan->stride;
        w.sums += plan->pixels * lanes;
    }
}

/* A square of map vector x columns, from sums to the tensor. */
static void finish_square(const struct direct_ends *ends, int64_t image, int first_map, int maps, int row, int col,
                          int cols, const float *sums, int step)
{
    vec rows[VEC_WIDTH];
    for (int i = 0; i < VEC_WIDTH; i++)
        rows[i] = i < cols ? vec_load(sums + i * step) : vec_set(0);
    vec_transpose(rows);
    for (int m = 0; m < maps; m++) {
        vec v = rows[m];
        if (ends->bias)
            v = vec_activate(ends->activation, v + vec_set(ends->bias[first_map + m]));
        else if (ends->below)
            v *= vec_slope(ends->activation, vec_load_first(cpu_at(ends->below, image, first_map + m, row, col), cols));
        vec_store_first(cpu_at(ends->out, image, first_map + m, row, col), v, cols);
    }
}

static void finish_row(const struct map_plan *plan, const struct direct_ends *ends, int64_t image, int group, int row,
                       const float *sums)
{
    int lanes = plan->vectors * VEC_WIDTH;
    for (int v = 0; v < plan->vectors; v++)
        for (int col = 0; col < plan->cols; col += VEC_WIDTH) {
            int map = group * lanes + v * VEC_WIDTH, maps = plan->outs - map, cols = plan->cols - col;
            if (maps > 0)
                finish_square(ends, image, map, maps < VEC_WIDTH ? maps : VEC_WIDTH, row, col,
                              cols < VEC_WIDTH ? cols : VEC_WIDTH, sums + (int64_t)col * lanes + v * VEC_WIDTH, lanes);
        }
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct map_plan *plan = job->plan;
    return (int64_t)batch->count * plan->groups * ceil_divide(plan->rows, plan->band);
}

static void run(const struct cpu_job *job, const struct direct_ends *ends, int64_t begin, int64_t end)
{
    const struct map_plan *plan = job->plan;
    int64_t bands = ceil_divide(plan->rows, plan->band);
    int pitch = plan->tiles * plan->pixels * plan->vectors * VEC_WIDTH;
    float sums[BAND_FLOATS] __attribute__((aligned(64)));
    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / bands / plan->groups;
        int group = (int)(i / bands % plan->groups), band = (int)(i % bands);
        int first = (int)(plan->rows * (int64_t)band / bands), last = (int)(plan->rows * (int64_t)(band + 1) / bands);
        for (int source = 0; source < plan->ins; source += plan->chunk)
            for (int row = first; row < last; row++)
                sum_row(job, ends, image, group, row, source, sums + (row - first) * pitch);
        for (int row = first; row < last; row++)
            finish_row(plan, ends, image, group, row, sums + (row - first) * pitch);
    }
}

static void run_forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    struct direct_ends ends = direct_ends_forward(job);
    run(job, &ends, begin, end);
}

static void run_backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    struct direct_ends ends = direct_ends_backward(job);
    run(job, &ends, begin, end);
}

const struct cpu_kernel CPU_SYMBOL(direct_map_forward) = { .name = "direct_map_forward",
                                                           .algorithm = "direct",
                                                           .file = "cpu/direct_map_conv.c",
                                                           .kind = CNN_OP_CONV_FORWARD,
                                                           .supports = forward_fits,
                                                           .prepare = prepare_forward,
                                                           .pack = { pack_tiles, pack_forward },
                                                           .main = { tiles, run_forward } };

const struct cpu_kernel CPU_SYMBOL(direct_map_backward_data) = { .name = "direct_map_backward_data",
                                                                 .algorithm = "direct",
                                                                 .file = "cpu/direct_map_conv.c",
                                                                 .kind = CNN_OP_CONV_BACKWARD_DATA,
                                                                 .supports = backward_fits,
                                                                 .prepare = prepare_backward,
                                                                 .pack = { pack_tiles, pack_backward },
                                                                 .main = { tiles, run_backward } };
