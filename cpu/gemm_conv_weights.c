/* SPDX-License-Identifier: MIT */
/* Weight gradients of a convolution by unfolding and a matrix product (Chellapilla, Puri and Simard 2006):
 * gradient[map][term] = deltas[map][column] unfolded[term][column]', summed over chunks of columns.
 *
 * Few weights: each slot of images has a sum of its own, and the slots are added in order afterwards. Many: one sum,
 * cut into tiles of input maps, so that nothing is unfolded twice. Either way the partition knows no threads, so the
 * bits are the same for any number of them. With a connection table all pairs are computed, as the first paper's
 * program did, and what is not connected is dropped. */
#include "cpu/gemm.h"

#define SLOTS 16
#define SUMS_FLOATS 262144 /* of all slots together */
#define TERMS_MIN 128      /* of a tile of input maps: narrower products are slow */

static int64_t gradient_floats(const struct cpu_job *job)
{
    const struct gemm_plan *plan = job->plan;
    return job->layer->out.maps * (plan->terms + 1); /* weights, then biases */
}

/* One sum of all connected pairs: the gradient itself. */
static bool in_place(const struct cpu_job *job)
{
    const struct gemm_plan *plan = job->plan;
    return plan->slots == 1 && !job->layer->first;
}

static bool prepare(struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    struct gemm_plan *plan = job->plan = gemm_plan_create(job, SLOTS);
    if (!plan)
        return false;
    int64_t most = SUMS_FLOATS / gradient_floats(job), tiles = plan->terms / TERMS_MIN;
    plan->slots = plan->slots < most ? plan->slots : most < 1 ? 1 : (int)most;
    tiles = tiles < SLOTS / plan->slots ? tiles : SLOTS / plan->slots;
    tiles = tiles < layer->in.maps ? tiles : layer->in.maps;
    plan->map_tiles = tiles < 1 ? 1 : (int)tiles;
    int64_t maps = (layer->in.maps + plan->map_tiles - 1) / plan->map_tiles, deltas = plan->slice - plan->unfolded;
    plan->unfolded = (maps * gemm_taps(layer) * plan->columns + 15) / 16 * 16;
    plan->slice = plan->unfolded + deltas;
    job->workspace_size = plan->slots * (plan->map_tiles * plan->slice + (in_place(job) ? 0 : gradient_floats(job)));
    job->executed_macs = (double)layer->macs_dense;
    return true;
}

static float *sums_of_slot(const struct cpu_job *job, int64_t slot)
{
    const struct gemm_plan *plan = job->plan;
    if (in_place(job))
        return job->weight_gradient;
    return job->workspace + plan->slots * plan->map_tiles * plan->slice + slot * gradient_floats(job);
}

static float *bias_sums_of_slot(const struct cpu_job *job, int64_t slot)
{
    const struct gemm_plan *plan = job->plan;
    return in_place(job) ? job->bias_gradient : sums_of_slot(job, slot) + job->layer->out.maps * plan->terms;
}

static void add_biases(const struct cpu_job *job, const float *deltas, int64_t columns, bool add, float *sums)
{
    for (int map = 0; map < job->layer->out.maps; map++, deltas += columns) {
        float sum = 0;
        for (int64_t i = 0; i < columns; i++)
            sum += deltas[i];
        sums[map] = add ? sums[map] + sum : sum;
    }
}

/* One tile of input maps over one chunk. */
static void add_chunk(const struct cpu_job *job, const struct gemm_chunk *chunk, int64_t slot, int tile, bool add)
{
    const struct gemm_plan *plan = job->plan;
    int maps = job->layer->in.maps;
    int first = (int)((int64_t)maps * tile / plan->map_tiles),
        end = (int)((int64_t)maps * (tile + 1) / plan->map_tiles);
    int64_t taps = gemm_taps(job->layer);
    float *unfolded = job->workspace + (slot * plan->map_tiles + tile) * plan->slice;
    float *deltas = unfolded + plan->unfolded;
    gemm_gather_deltas(job, chunk, deltas);
    gemm_unfold(job, chunk, first, end - first, unfolded);
    gemm_product_tb(job->layer->out.maps, (end - first) * taps, chunk->columns, deltas, chunk->columns, unfolded,
                    chunk->columns, add, sums_of_slot(job, slot) + first * taps, plan->terms);
    if (tile == 0)
        add_biases(job, deltas, chunk->columns, add, bias_sums_of_slot(job, slot));
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    const struct gemm_plan *plan = job->plan;
    return (int64_t)gemm_slots(plan, batch) * plan->map_tiles;
}

static void run(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct gemm_plan *plan = job->plan;
    int64_t groups = gemm_groups(plan, batch), slots = gemm_slots(plan, batch);
    for (int64_t i = begin; i < end; i++) {
        int64_t slot = i / plan->map_tiles, first = groups * slot / slots, last = groups * (slot + 1) / slots;
        for (int64_t group = first; group < last; group++)
            for (int band = 0; band < plan->bands; band++) {
                struct gemm_chunk chunk = gemm_chunk_at(job, batch, (int)group, band);
                add_chunk(job, &chunk, slot, (int)(i % plan->map_tiles), group > first || band > 0);
            }
    }
}

static int64_t finish_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return in_place(job) ? 0 : job->layer->out.maps;
}

/* Slots are added in order; pairs that are not connected are left behind. */
static void finish(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct cnn_layer *layer = job->layer;
    const struct gemm_plan *plan = job->plan;
    int slots = gemm_slots(plan, batch);
    int64_t taps = gemm_taps(layer);
    for (int map = (int)begin; map < end; map++) {
        float *gradient = job->weight_gradient + (cnn_layer_kernel_at(layer, map, 0) - layer->weight_at);
        for (int k = 0; k < cnn_layer_fan_in(layer, map); k++)
            for (int64_t tap = 0; tap < taps; tap++) {
                int64_t at = map * plan->terms + cnn_layer_source(layer, map, k) * taps + tap;
                float sum = sums_of_slot(job, 0)[at];
                for (int slot = 1; slot < slots; slot++)
                    sum += sums_of_slot(job, slot)[at];
                *gradient++ = sum;
            }
        float sum = bias_sums_of_slot(job, 0)[map];
        for (int slot = 1; slot < slots; slot++)
            sum += bias_sums_of_slot(job, slot)[map];
        job->bias_gradient[map] = sum;
    }
}

const struct cpu_kernel gemm_conv_backward_weights = { .name = "gemm_conv_backward_weights",
                                                       .algorithm = "gemm",
                                                       .file = "cpu/gemm_conv_weights.c",
                                                       .kind = CNN_OP_CONV_BACKWARD_WEIGHTS,
                                                       .supports = gemm_supports,
                                                       .prepare = prepare,
                                                       .main = { tiles, run },
                                                       .finish = { finish_tiles, finish } };
