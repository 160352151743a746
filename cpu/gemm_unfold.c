/* SPDX-License-Identifier: MIT */
/* Unfolding for algorithm `gemm`: every output pixel becomes a column of the inputs it reads, so that a convolution is
 * one matrix product (Chellapilla, Puri and Simard 2006); folding adds columns back to where they came from.
 *
 * Padding is the input's halo of zeros, so unfolding has no conditions: rows are copied. A chunk of columns is cut so
 * that the unfolded matrix stays in L2 where the number of terms allows, and several small images share a product,
 * which a BLAS does better than many narrow ones. The order of terms is that of the weights. */
#include "cpu/gemm.h"

#include <stdlib.h>
#include <string.h>

#define UNFOLDED_FLOATS 65536 /* of a chunk: 256 KiB */
#define COLUMNS_MIN 128       /* fewer make narrow products, even if they would fit */
#define ALIGN 16

static int64_t aligned(int64_t floats)
{
    return (floats + ALIGN - 1) / ALIGN * ALIGN;
}

struct gemm_plan *gemm_plan_create(const struct cpu_job *job, int slots)
{
    const struct cnn_layer *layer = job->layer;
    struct gemm_plan *plan = malloc(sizeof *plan);
    if (!plan)
        return NULL;
    int64_t terms = layer->in.maps * gemm_taps(layer), columns = UNFOLDED_FLOATS / terms;
    int64_t pixels = (int64_t)layer->out.rows * layer->out.cols;
    int batch = job->max_blocks, most = (batch + slots - 1) / slots; /* images of a chunk that leave every slot one */
    columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
    *plan = (struct gemm_plan){ .terms = terms, .images = 1, .rows = layer->out.rows, .bands = 1, .map_tiles = 1 };
    if (pixels <= columns) {
        plan->images = columns / pixels < most ? (int)(columns / pixels) : most;
    } else {
        int rows = columns > layer->out.cols ? (int)(columns / layer->out.cols) : 1;
        plan->bands = (layer->out.rows + rows - 1) / rows; /* and all of about the same height */
        plan->rows = (layer->out.rows + plan->bands - 1) / plan->bands;
        plan->bands = (layer->out.rows + plan->rows - 1) / plan->rows;
    }
    int groups = (batch + plan->images - 1) / plan->images;
    plan->columns = (int64_t)plan->images * plan->rows * layer->out.cols;
    plan->slots = groups < slots ? groups : slots;
    plan->unfolded = aligned(terms * plan->columns);
    plan->slice = plan->unfolded + aligned(layer->out.maps * plan->columns);
    return plan;
}

int gemm_groups(const struct gemm_plan *plan, const struct cpu_batch *batch)
{
    return (batch->count + plan->images - 1) / plan->images;
}

int gemm_slots(const struct gemm_plan *plan, const struct cpu_batch *batch)
{
    int groups = gemm_groups(plan, batch);
    return plan->slots < groups ? plan->slots : groups;
}

struct gemm_chunk gemm_chunk_at(const struct cpu_job *job, const struct cpu_batch *batch, int group, int band)
{
    const struct gemm_plan *plan = job->plan;
    int image = group * plan->images, left = batch->count - image, row = band * plan->rows;
    struct gemm_chunk chunk = { .image = image, .images = left < plan->images ? left : plan->images, .row = row };
    left = job->layer->out.rows - row;
    chunk.rows = left < plan->rows ? left : plan->rows;
    chunk.columns = (int64_t)chunk.images * chunk.rows * job->layer->out.cols;
    return chunk;
}

/* One row of the unfolded matrix: the pixel under one tap, for every column. */
static float *unfold_tap(const struct cpu_job *job, const struct gemm_chunk *chunk, int map, int tap_row, int tap_col,
                         float *to)
{
    const struct cnn_layer *layer = job->layer;
    int cols = layer->out.cols, stride = layer->stride;
    for (int image = chunk->image; image < chunk->image + chunk->images; image++)
        for (int row = chunk->row; row < chunk->row + chunk->rows; row++, to += cols) {
            const float *from =
                cpu_at(&job->x, image, map, row * stride - layer->pad_before + tap_row, tap_col - layer->pad_before);
            if (stride == 1)
                memcpy(to, from, (size_t)cols * sizeof *to);
            else
                for (int col = 0; col < cols; col++)
                    to[col] = from[col * stride];
        }
    return to;
}

void gemm_unfold(const struct cpu_job *job, const struct gemm_chunk *chunk, int first, int maps, float *to)
{
    for (int map = first; map < first + maps; map++)
        for (int row = 0; row < job->layer->kernel_rows; row++)
            for (int col = 0; col < job->layer->kernel_cols; col++)
                to = unfold_tap(job, chunk, map, row, col, to);
}

/* Output columns whose tap lies inside the input: begin..end-1. */
static void columns_inside(const struct cnn_layer *layer, int tap_col, int *begin, int *end)
{
    int shift = tap_col - layer->pad_before, stride = layer->stride;
    *begin = shift < 0 ? (-shift + stride - 1) / stride : 0;
    int last = layer->in.cols - 1 - shift; /* largest col * stride */
    *end = last < 0 ? 0 : last / stride + 1;
    *end = *end < layer->out.cols ? *end : layer->out.cols;
}

static const float *fold_tap(const struct cpu_job *job, const struct gemm_chunk *chunk, int map, int tap_row,
                             int tap_col, const float *from)
{
    const struct cnn_layer *layer = job->layer;
    int begin, end, stride = layer->stride, shift = tap_col - layer->pad_before;
    columns_inside(layer, tap_col, &begin, &end);
    for (int image = chunk->image; image < chunk->image + chunk->images; image++)
        for (int out = chunk->row; out < chunk->row + chunk->rows; out++, from += layer->out.cols) {
            int row = out * stride - layer->pad_before + tap_row;
            if (row < 0 || row >= layer->in.rows)
                continue;
            float *to = cpu_at(&job->dx, image, map, row, 0);
            for (int col = begin; col < end; col++)
                to[col * stride + shift] += from[col];
        }
    return from;
}

void gemm_fold(const struct cpu_job *job, const struct gemm_chunk *chunk, const float *from)
{
    for (int map = 0; map < job->layer->in.maps; map++)
        for (int row = 0; row < job->layer->kernel_rows; row++)
            for (int col = 0; col < job->layer->kernel_cols; col++)
                from = fold_tap(job, chunk, map, row, col, from);
}

void gemm_gather_deltas(const struct cpu_job *job, const struct gemm_chunk *chunk, float *to)
{
    int cols = job->layer->out.cols;
    for (int map = 0; map < job->layer->out.maps; map++)
        for (int image = chunk->image; image < chunk->image + chunk->images; image++)
            for (int row = chunk->row; row < chunk->row + chunk->rows; row++, to += cols)
                memcpy(to, cpu_at(&job->dy, image, map, row, 0), (size_t)cols * sizeof *to);
}
