/* SPDX-License-Identifier: MIT */
/* Convolution by unfolding and a matrix product, forward and backward-data (Chellapilla, Puri and Simard 2006).
 *
 * Forward: outputs[map][column] = weights[map][term] unfolded[term][column], then bias and activation, tanh by the C
 * library, in plain loops. Backward-data: columns = weights' deltas, folded back onto the inputs, then the slope.
 * A connection table is a dense matrix with zeros, as the first paper's was: the work executed is that of all pairs,
 * and a NaN in an unconnected map shows in the output, since 0 * NaN is NaN.
 *
 * Limits: unfolding writes and reads each input once for each tap, 8 bytes for 2 * maps FLOPs, so few output maps are
 * bound by memory; a product of few rows or terms is far below the BLAS's best. */
#include "cpu/gemm.h"
#include "cpu/naive.h"

#include <string.h>

#define SLOTS 16

static bool masked(const struct cpu_job *job)
{
    return job->layer->first != NULL;
}

static const float *weights_of(const struct cpu_job *job)
{
    return masked(job) ? job->packed : job->weights;
}

static int64_t pack_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return masked(job) ? job->layer->out.maps : 0;
}

/* A row of the dense matrix: kernels where there is a connection, zeros elsewhere. */
static void pack(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    const struct cnn_layer *layer = job->layer;
    int64_t taps = gemm_taps(layer), terms = layer->in.maps * taps;
    for (int map = (int)begin; map < end; map++) {
        float *row = job->packed + map * terms;
        memset(row, 0, (size_t)terms * sizeof *row);
        for (int k = 0; k < cnn_layer_fan_in(layer, map); k++)
            memcpy(row + cnn_layer_source(layer, map, k) * taps,
                   job->weights + (cnn_layer_kernel_at(layer, map, k) - layer->weight_at), (size_t)taps * sizeof *row);
    }
}

static bool prepare(struct cpu_job *job, int64_t chunks_of_image)
{
    struct gemm_plan *plan = job->plan;
    int64_t slots = plan->slots * chunks_of_image;
    plan->slots = slots < SLOTS ? (int)slots : SLOTS;
    job->packed_size = masked(job) ? plan->terms * job->layer->out.maps : 0;
    job->workspace_size = plan->slots * plan->slice;
    job->executed_macs = (double)job->layer->macs_dense;
    return true;
}

static bool prepare_forward(struct cpu_job *job)
{
    struct gemm_plan *plan = job->plan = gemm_plan_create(job, SLOTS);
    return plan && prepare(job, plan->bands);
}

/* Bands of an image overlap in the input, so an image belongs to one slot. */
static bool prepare_backward(struct cpu_job *job)
{
    job->plan = gemm_plan_create(job, SLOTS);
    return job->plan && prepare(job, 1);
}

static int64_t forward_chunks(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct gemm_plan *plan = job->plan;
    return (int64_t)gemm_groups(plan, batch) * plan->bands;
}

static int64_t forward_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct gemm_plan *plan = job->plan;
    int64_t chunks = forward_chunks(job, batch);
    return chunks < plan->slots ? chunks : plan->slots;
}

/* Bias and activation, from the product's rows to the output maps. */
static void store_outputs(const struct cpu_job *job, const struct gemm_chunk *chunk, const float *sums)
{
    int cols = job->layer->out.cols;
    for (int map = 0; map < job->layer->out.maps; map++)
        for (int image = chunk->image; image < chunk->image + chunk->images; image++)
            for (int row = chunk->row; row < chunk->row + chunk->rows; row++, sums += cols) {
                float *to = cpu_at(&job->y, image, map, row, 0);
                for (int col = 0; col < cols; col++)
                    to[col] = naive_activate(job->layer->activation, sums[col] + job->bias[map]);
            }
}

static void forward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct gemm_plan *plan = job->plan;
    int64_t chunks = forward_chunks(job, batch), slots = forward_tiles(job, batch);
    for (int64_t slot = begin; slot < end; slot++) {
        float *unfolded = job->workspace + slot * plan->slice, *sums = unfolded + plan->unfolded;
        for (int64_t i = chunks * slot / slots; i < chunks * (slot + 1) / slots; i++) {
            struct gemm_chunk chunk = gemm_chunk_at(job, batch, (int)(i / plan->bands), (int)(i % plan->bands));
            gemm_unfold(job, &chunk, 0, job->layer->in.maps, unfolded);
            gemm_product(job->layer->out.maps, chunk.columns, plan->terms, weights_of(job), plan->terms, unfolded,
                         chunk.columns, false, sums, chunk.columns);
            store_outputs(job, &chunk, sums);
        }
    }
}

static int64_t backward_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    return gemm_slots(job->plan, batch);
}

/* Zeros, for columns to be added to. */
static void clear_inputs(const struct cpu_job *job, int image)
{
    for (int map = 0; map < job->dx.maps; map++)
        for (int row = 0; row < job->dx.rows; row++)
            memset(cpu_at(&job->dx, image, map, row, 0), 0, (size_t)job->dx.cols * sizeof(float));
}

static void apply_slopes(const struct cpu_job *job, int image)
{
    for (int map = 0; map < job->dx.maps; map++)
        for (int row = 0; row < job->dx.rows; row++) {
            const float *x = cpu_at(&job->x, image, map, row, 0);
            float *dx = cpu_at(&job->dx, image, map, row, 0);
            for (int col = 0; col < job->dx.cols; col++)
                dx[col] *= naive_slope(job->below, x[col]);
        }
}

static void backward_group(const struct cpu_job *job, const struct cpu_batch *batch, int group, float *columns,
                           float *deltas)
{
    const struct gemm_plan *plan = job->plan;
    struct gemm_chunk chunk = gemm_chunk_at(job, batch, group, 0);
    for (int image = chunk.image; image < chunk.image + chunk.images; image++)
        clear_inputs(job, image);
    for (int band = 0; band < plan->bands; band++) {
        chunk = gemm_chunk_at(job, batch, group, band);
        gemm_gather_deltas(job, &chunk, deltas);
        gemm_product_ta(plan->terms, chunk.columns, job->layer->out.maps, weights_of(job), plan->terms, deltas,
                        chunk.columns, false, columns, chunk.columns);
        gemm_fold(job, &chunk, columns);
    }
    for (int image = chunk.image; image < chunk.image + chunk.images; image++)
        apply_slopes(job, image);
}

static void backward(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct gemm_plan *plan = job->plan;
    int64_t groups = gemm_groups(plan, batch), slots = gemm_slots(plan, batch);
    for (int64_t slot = begin; slot < end; slot++) {
        float *columns = job->workspace + slot * plan->slice;
        for (int64_t group = groups * slot / slots; group < groups * (slot + 1) / slots; group++)
            backward_group(job, batch, (int)group, columns, columns + plan->unfolded);
    }
}

const struct cpu_kernel gemm_conv_forward = { .name = "gemm_conv_forward",
                                              .algorithm = "gemm",
                                              .file = "cpu/gemm_conv.c",
                                              .kind = CNN_OP_CONV_FORWARD,
                                              .supports = gemm_supports,
                                              .prepare = prepare_forward,
                                              .pack = { pack_tiles, pack },
                                              .main = { forward_tiles, forward } };

const struct cpu_kernel gemm_conv_backward_data = { .name = "gemm_conv_backward_data",
                                                    .algorithm = "gemm",
                                                    .file = "cpu/gemm_conv.c",
                                                    .kind = CNN_OP_CONV_BACKWARD_DATA,
                                                    .supports = gemm_supports,
                                                    .prepare = prepare_backward,
                                                    .pack = { pack_tiles, pack },
                                                    .main = { backward_tiles, backward } };
