/* SPDX-License-Identifier: MIT */
/* Weight and bias gradients of a convolution where the batch does not fill vectors: vectors run over output maps.
 *
 * Method: the deltas are first transposed to [map vector][pixel][map], once, so that those of one vector stay in L1. A
 * tile then keeps the sums of some output-map vectors x taps of one input map in registers and walks over all pixels: a
 * delta vector is loaded for all taps, an input is broadcast for all map vectors. Nothing is summed over lanes, which
 * along columns costs more than the FMAs themselves (every weight needs its own sum there), no row has a partial
 * vector, and a stride is only a longer step. A connection table is done dense, its absent pairs dropped, as long as
 * dense work is less than twice the connected.
 *
 * Limit: FMA throughput with several map vectors; one broadcast per FMA with a single one. Lanes without a map are
 * wasted. */
#include "cpu/direct.h"
#include "cpu/transpose.h"

#include <stdlib.h>

#define COLUMNS_MAX 5
#define VECTORS_MAX 2
#define ROWS_MAX 5
#if VEC_WIDTH == 16 || defined(CPU_ISA_NEON)
#define SUMS_IN_REGISTERS 25 /* map vectors x kernel rows x kernel columns */
#else
#define SUMS_IN_REGISTERS 10
#endif

#define TAPS_MAX 64     /* of a tile */
#define PAIRS_GAIN 0.95 /* two vectors in a tile must be so much faster than one */

/* A tile: one input map, a group of output-map vectors, and kernel rows and columns. Its rows pass in chunks whose sums
 * fit the registers. */
struct map_plan {
    int vectors; /* of output maps, in all */
    int group;   /* of them in a tile: 1 or 2 */
    int row_chunks, row_tiles, col_chunks, groups;
    int64_t kernel_at[]; /* [input map][output map]: offset among the layer's weights, -1: not connected */
};

static bool supports(const struct cnn_layer *layer, int lanes)
{
    return VEC_WIDTH > 1 && lanes == 1 && layer->macs_dense < 2 * layer->macs;
}

static int64_t padded_maps(const struct map_plan *plan)
{
    return (int64_t)plan->vectors * VEC_WIDTH;
}

/* Cycles of a core that does two FMAs and two loads in each, and waits four for a sum, per pixel and map vector, where
 * tiles have `group` vectors. */
static double cycles(const struct cnn_layer *layer, int columns, int group, int most_rows)
{
    int chunks = (int)ceil_divide(layer->kernel_rows, most_rows);
    double all = 0;
    for (int i = 0; i < chunks; i++) {
        int taps = (layer->kernel_rows * (i + 1) / chunks - layer->kernel_rows * i / chunks) * columns;
        double fmas = group * taps / 2.0, loads = (group + taps) / 2.0, longer = fmas > loads ? fmas : loads;
        all += longer > 4 ? longer : 4;
    }
    return all / group;
}

static int rows_that_fit(const struct cnn_layer *layer, int columns, int group)
{
    int fit = SUMS_IN_REGISTERS / (group * columns),
        rows = layer->kernel_rows < ROWS_MAX ? layer->kernel_rows : ROWS_MAX;
    return fit < rows ? fit : rows;
}

static void cut(struct map_plan *plan, const struct cnn_layer *layer)
{
    int columns = layer->kernel_cols < COLUMNS_MAX ? layer->kernel_cols : COLUMNS_MAX;
    int one = rows_that_fit(layer, columns, 1), two = rows_that_fit(layer, columns, 2);
    plan->vectors = (int)ceil_divide(layer->out.maps, VEC_WIDTH);
    bool pairs =
        plan->vectors >= 2 && two > 0 && cycles(layer, columns, 2, two) < PAIRS_GAIN * cycles(layer, columns, 1, one);
    plan->group = pairs ? 2 : 1;
    plan->groups = (int)ceil_divide(plan->vectors, plan->group);
    plan->row_chunks = (int)ceil_divide(layer->kernel_rows, pairs ? two : one);
    plan->col_chunks = (int)ceil_divide(layer->kernel_cols, COLUMNS_MAX);
    bool whole = plan->col_chunks == 1 && layer->kernel_rows * layer->kernel_cols <= TAPS_MAX &&
                 layer->in.maps * plan->groups >= GRADIENT_TILES;
    plan->row_tiles = whole ? 1 : plan->row_chunks;
}

static bool prepare(struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    size_t pairs = (size_t)layer->in.maps * (size_t)layer->out.maps;
    struct map_plan *plan = malloc(sizeof *plan + pairs * sizeof plan->kernel_at[0]);
    if (!plan)
        return false;
    cut(plan, layer);
    for (size_t i = 0; i < pairs; i++)
        plan->kernel_at[i] = -1;
    for (int out = 0; out < layer->out.maps; out++)
        for (int k = 0; k < cnn_layer_fan_in(layer, out); k++)
            plan->kernel_at[(int64_t)cnn_layer_source(layer, out, k) * layer->out.maps + out] =
                cnn_layer_kernel_at(layer, out, k) - layer->weight_at;
    job->plan = plan;
    job->workspace_size =
        (int64_t)job->max_blocks * layer->out.rows * layer->out.cols * padded_maps(plan) + VECTORS_MAX * VEC_WIDTH;
    job->executed_macs = (double)layer->macs_dense;
    return true;
}

/* deltas [image][vector][row][col][lane], lanes without a map zero */
static int64_t stage_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return (int64_t)batch->count * job->layer->out.rows;
}

static void stage(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    const struct map_plan *plan = job->plan;
    struct cnn_shape out = job->layer->out;
    int64_t pixels = (int64_t)out.rows * out.cols;
    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / out.rows, row = i % out.rows;
        float *to = job->workspace + image * pixels * padded_maps(plan) + row * out.cols * VEC_WIDTH;
        for (int v = 0; v < plan->vectors; v++, to += pixels * VEC_WIDTH)
            for (int col = 0; col < out.cols; col += VEC_WIDTH) {
                int valid = out.cols - col < VEC_WIDTH ? out.cols - col : VEC_WIDTH;
                vec square[VEC_WIDTH];
                for (int m = 0; m < VEC_WIDTH; m++) {
                    int map = v * VEC_WIDTH + m;
                    square[m] = map < out.maps ? vec_load_first(cpu_at(&job->dy, image, map, (int)row, col), valid)
                                               : vec_set(0);
                }
                vec_transpose(square);
                for (int c = 0; c < valid; c++)
                    vec_store(to + (int64_t)(col + c) * VEC_WIDTH, square[c]);
            }
    }
}

/* Where a tile reads: the deltas of its map vectors and the input of its first tap, for one image. */
struct walk {
    const float *delta, *in;
    int64_t delta_vector, in_row, in_tap_row; /* next map vector's deltas; next output row's input; next kernel row's */
    int rows, cols, stride;
    int sums_vector; /* next map vector's sums */
};

CPU_INLINE void walk_tile(const struct walk *w, const int vectors, const int tap_rows, const int tap_cols, vec *sums)
{
    vec acc[VECTORS_MAX][ROWS_MAX][COLUMNS_MAX];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        CPU_UNROLL
        for (int r = 0; r < tap_rows; r++) {
            CPU_UNROLL
            for (int c = 0; c < tap_cols; c++)
                acc[v][r][c] = vec_set(0);
        }
    }
    const float *delta = w->delta;
    for (int row = 0; row < w->rows; row++) {
        const float *in = w->in + row * w->in_row;
        for (int col = 0; col < w->cols; col++, delta += VEC_WIDTH, in += w->stride) {
            vec d[VECTORS_MAX];
            CPU_UNROLL
            for (int v = 0; v < vectors; v++)
                d[v] = vec_load(delta + v * w->delta_vector);
            CPU_UNROLL
            for (int r = 0; r < tap_rows; r++) {
                CPU_UNROLL
                for (int c = 0; c < tap_cols; c++) {
                    vec x = vec_set(in[r * w->in_tap_row + c]);
                    CPU_UNROLL
                    for (int v = 0; v < vectors; v++)
                        acc[v][r][c] += d[v] * x;
                }
            }
        }
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        CPU_UNROLL
        for (int r = 0; r < tap_rows; r++) {
            CPU_UNROLL
            for (int c = 0; c < tap_cols; c++)
                sums[v * w->sums_vector + r * tap_cols + c] += acc[v][r][c];
        }
    }
}

/* clang-format off */
#define COLUMNS(v, r)                                              \
    case (v) * 100 + (r) * 10 + 1: walk_tile(w, v, r, 1, sums); break; \
    case (v) * 100 + (r) * 10 + 2: walk_tile(w, v, r, 2, sums); break; \
    case (v) * 100 + (r) * 10 + 3: walk_tile(w, v, r, 3, sums); break; \
    case (v) * 100 + (r) * 10 + 4: walk_tile(w, v, r, 4, sums); break; \
    case (v) * 100 + (r) * 10 + 5: walk_tile(w, v, r, 5, sums); break;

static void walk_image(const struct walk *w, int vectors, int tap_rows, int tap_cols, vec *sums)
{
    switch (vectors * 100 + tap_rows * 10 + tap_cols) {
        COLUMNS(1, 1)
        COLUMNS(1, 2)
        COLUMNS(2, 1)
#if SUMS_IN_REGISTERS == 10
    case 131: walk_tile(w, 1, 3, 1, sums); break;
    case 132: walk_tile(w, 1, 3, 2, sums); break;
    case 133: walk_tile(w, 1, 3, 3, sums); break;
    case 221: walk_tile(w, 2, 2, 1, sums); break;
    case 222: walk_tile(w, 2, 2, 2, sums); break;
#else
        COLUMNS(1, 3)
        COLUMNS(1, 4)
        COLUMNS(1, 5)
        COLUMNS(2, 2)
    case 231: walk_tile(w, 2, 3, 1, sums); break;
    case 232: walk_tile(w, 2, 3, 2, sums); break;
    case 233: walk_tile(w, 2, 3, 3, sums); break;
#endif
    default: /* what is left over of a group or of the kernel's rows, or a narrow kernel: piece by piece */
        for (int v = 0; v < vectors; v++)
            for (int r = 0; r < tap_rows; r++) {
                struct walk part = *w;
                part.delta += v * w->delta_vector;
                part.in += r * w->in_tap_row;
                walk_image(&part, 1, 1, tap_cols, sums + v * w->sums_vector + r * tap_cols);
            }
    }
}
#undef COLUMNS
/* clang-format on */

/* Kernel rows and columns of a tile. */
struct taps {
    int row, rows, col, cols;
};

/* Sums of one map vector to its maps' kernels: [tap][lane] is transposed, so that a kernel's taps are stored together.
 */
static void store_vector(const struct cpu_job *job, const int64_t *kernel_at, int maps, const struct taps *taps,
                         const vec *sums)
{
    int count = taps->rows * taps->cols, kernel_cols = job->layer->kernel_cols;
    float *gradient = job->weight_gradient + (int64_t)taps->row * kernel_cols + taps->col;
    for (int tap = 0; tap < count; tap += VEC_WIDTH) {
        int valid = count - tap < VEC_WIDTH ? count - tap : VEC_WIDTH;
        vec lanes[VEC_WIDTH];
        for (int i = 0; i < VEC_WIDTH; i++)
            lanes[i] = i < valid ? sums[tap + i] : vec_set(0);
        vec_transpose(lanes);
        for (int m = 0; m < maps; m++) {
            if (kernel_at[m] < 0)
                continue;
            float one[VEC_WIDTH], *to = gradient + kernel_at[m];
            if (valid == VEC_WIDTH && taps->cols == kernel_cols) {
                vec_store(to + tap, lanes[m]);
                continue;
            }
            vec_store(one, lanes[m]);
            for (int i = 0; i < valid; i++)
                to[(tap + i) / taps->cols * kernel_cols + (tap + i) % taps->cols] = one[i];
        }
    }
}

/* The sums of a tile, over all images. */
static void sum_tile(const struct cpu_job *job, int count, int in_map, int first, int vectors, const struct taps *taps,
                     int chunks, vec *sums)
{
    const struct cnn_layer *layer = job->layer;
    int64_t maps = padded_maps(job->plan), pixels = (int64_t)layer->out.rows * layer->out.cols;
    struct walk w = { .delta_vector = pixels * VEC_WIDTH,
                      .in_row = job->x.row * layer->stride,
                      .in_tap_row = job->x.row,
                      .rows = layer->out.rows,
                      .cols = layer->out.cols,
                      .stride = layer->stride,
                      .sums_vector = taps->rows * taps->cols };
    for (int chunk = 0; chunk < chunks; chunk++) {
        int begin = taps->rows * chunk / chunks, end = taps->rows * (chunk + 1) / chunks;
        for (int image = 0; image < count; image++) {
            w.delta = job->workspace + image * pixels * maps + first * pixels * VEC_WIDTH;
            w.in = cpu_at(&job->x, image, in_map, taps->row + begin - layer->pad_before, taps->col - layer->pad_before);
            walk_image(&w, vectors, end - begin, taps->cols, sums + begin * taps->cols);
        }
    }
}

static void run_tile(const struct cpu_job *job, int count, int in_map, int group, int row_tile, int col_chunk)
{
    const struct cnn_layer *layer = job->layer;
    const struct map_plan *plan = job->plan;
    int first = group * plan->group,
        vectors = plan->vectors - first < plan->group ? plan->vectors - first : plan->group;
    struct taps taps = { .row = layer->kernel_rows * row_tile / plan->row_tiles,
                         .col = layer->kernel_cols * col_chunk / plan->col_chunks };
    taps.rows = layer->kernel_rows * (row_tile + 1) / plan->row_tiles - taps.row;
    taps.cols = layer->kernel_cols * (col_chunk + 1) / plan->col_chunks - taps.col;
    vec sums[VECTORS_MAX * TAPS_MAX];
    for (int i = 0; i < vectors * taps.rows * taps.cols; i++)
        sums[i] = vec_set(0);
    sum_tile(job, count, in_map, first, vectors, &taps, plan->row_chunks / plan->row_tiles, sums);
    for (int v = 0; v < vectors; v++) {
        int map = (first + v) * VEC_WIDTH, maps = layer->out.maps - map;
        store_vector(job, plan->kernel_at + (int64_t)in_map * layer->out.maps + map,
                     maps < VEC_WIDTH ? maps : VEC_WIDTH, &taps, sums + v * taps.rows * taps.cols);
    }
}

/* Bias gradients of one vector of maps: a sum for each row, then their sum. */
static void run_bias(const struct cpu_job *job, int count, int vector)
{
    const struct map_plan *plan = job->plan;
    struct cnn_shape out = job->layer->out;
    int64_t pixels = (int64_t)out.rows * out.cols;
    vec total = vec_set(0);
    for (int image = 0; image < count; image++)
        for (int row = 0; row < out.rows; row++) {
            const float *delta = job->workspace + image * pixels * padded_maps(plan) +
                                 (vector * pixels + (int64_t)row * out.cols) * VEC_WIDTH;
            vec sum = vec_set(0);
            for (int col = 0; col < out.cols; col++)
                sum += vec_load(delta + col * VEC_WIDTH);
            total += sum;
        }
    int first = vector * VEC_WIDTH, n = out.maps - first < VEC_WIDTH ? out.maps - first : VEC_WIDTH;
    vec_store_first(job->bias_gradient + first, total, n);
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    const struct map_plan *plan = job->plan;
    return (int64_t)job->layer->in.maps * plan->groups * plan->row_tiles * plan->col_chunks + plan->vectors;
}

static void run(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct map_plan *plan = job->plan;
    int64_t weights = tiles(job, batch) - plan->vectors, chunks = (int64_t)plan->row_tiles * plan->col_chunks;
    for (int64_t i = begin; i < end; i++) {
        if (i >= weights) {
            run_bias(job, batch->count, (int)(i - weights));
            continue;
        }
        int chunk = (int)(i % chunks);
        run_tile(job, batch->count, (int)(i / chunks / plan->groups), (int)(i / chunks % plan->groups),
                 chunk / plan->col_chunks, chunk % plan->col_chunks);
    }
}

const struct cpu_kernel CPU_SYMBOL(direct_map_backward_weights) = { .name = "direct_map_backward_weights",
                                                                    .algorithm = "direct",
                                                                    .file = "cpu/direct_map_weights.c",
                                                                    .kind = CNN_OP_CONV_BACKWARD_WEIGHTS,
                                                                    .supports = supports,
                                                                    .prepare = prepare,
                                                                    .stage = { stage_tiles, stage },
                                                                    .main = { tiles, run } };
