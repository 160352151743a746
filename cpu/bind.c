/* SPDX-License-Identifier: MIT */
/* Places: each tensor and job of a program gets its memory, and the passes are put into the order in which they run. */
#include "cpu/program.h"

#include <string.h>

/* Zeros around a layer's input: what its padding reads. */
static int input_halo(const struct cnn_layer *layer)
{
    if (layer->kind != CNN_CONV || cpu_layer_is_full(layer))
        return 0;
    int rows_after = (layer->out.rows - 1) * layer->stride + layer->kernel_rows - layer->pad_before - layer->in.rows;
    int cols_after = (layer->out.cols - 1) * layer->stride + layer->kernel_cols - layer->pad_before - layer->in.cols;
    int halo = layer->pad_before > rows_after ? layer->pad_before : rows_after;
    halo = cols_after > halo ? cols_after : halo;
    return halo > 0 ? halo : 0;
}

/* Zeros around a layer's delta: what its backward-data reads beyond the edge. */
static int delta_halo(const struct cnn_layer *layer)
{
    if (layer->kind != CNN_CONV || cpu_layer_is_full(layer))
        return 0;
    return (layer->kernel_rows - 1 + layer->stride - 1) / layer->stride;
}

int cpu_output_halo(const struct cnn_program *p, int layer)
{
    return layer + 1 < p->network->layer_count ? input_halo(&p->network->layers[layer + 1]) : 0;
}

/* The lowest layer that trains has no backward-data, so nothing reads beyond its delta's edge. */
int cpu_delta_halo(const struct cnn_program *p, int layer)
{
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].layer == &p->network->layers[layer] && p->jobs[i].kernel->kind == CNN_OP_CONV_BACKWARD_DATA)
            return delta_halo(p->jobs[i].layer);
    return 0;
}

static void carve_slots(struct cnn_program *p)
{
    int halo = input_halo(&p->network->layers[0]);
    for (int slot = 0; slot < p->options.slots; slot++) {
        int64_t size = cpu_tensor_shape(&p->slots[slot], p->network->input, p->lanes, halo, p->max_blocks);
        cpu_tensor_place(&p->slots[slot], cpu_carve(&p->memory, CPU_BATCHES, size, "images of slot", slot));
    }
}

static void carve_parameters(struct cnn_program *p)
{
    const struct cnn_network *net = p->network;
    p->parameters = cpu_carve(&p->memory, CPU_PARAMETERS, net->parameters, "parameters", -1);
    if (p->options.phases & CNN_PHASE_TRAIN) {
        p->gradient = cpu_carve(&p->memory, CPU_GRADIENTS, net->parameters, "gradient", -1);
        if (p->options.momentum)
            p->velocity = cpu_carve(&p->memory, CPU_GRADIENTS, net->parameters, "velocity", -1);
    }
}

static void bind_parameters(const struct cnn_program *p, struct cpu_job *job)
{
    const struct cnn_layer *layer = job->layer;
    if (p->parameters) {
        job->weights = p->parameters + layer->weight_at;
        job->bias = p->parameters + layer->bias_at;
    }
    if (p->gradient) {
        job->weight_gradient = p->gradient + layer->weight_at;
        job->bias_gradient = p->gradient + layer->bias_at;
    }
    if (p->velocity)
        job->velocity = p->velocity + layer->weight_at;
}

void cpu_bind(struct cnn_program *p)
{
    carve_slots(p);
    cpu_carve_shared(p);
    carve_parameters(p);
    for (int i = 0; i < p->job_count; i++) {
        struct cpu_job *job = &p->jobs[i];
        int l = (int)(job->layer - p->network->layers);
        job->x = l ? p->outputs[l - 1] : p->slots[0];
        job->y = p->outputs[l];
        job->dy = p->deltas[l];
        job->dx = l ? p->deltas[l - 1] : p->input_gradient;
        job->below = l ? p->network->layers[l - 1].activation : CNN_LINEAR;
        bind_parameters(p, job);
        job->packed = cpu_carve(&p->memory, CPU_PARAMETERS, job->packed_size, "packed weights of job", i);
        job->workspace = cpu_carve(&p->memory, CPU_WORKSPACE, job->workspace_size, "workspace of job", i);
    }
}

enum stage { FORWARD, LOSS, BACKWARD, UPDATE };

static enum stage stage_of(enum cnn_operation_kind kind)
{
    return kind == CNN_OP_LOSS ? LOSS : kind == CNN_OP_UPDATE ? UPDATE : kind < CNN_OP_LOSS ? FORWARD : BACKWARD;
}

static void add_step(struct cnn_program *p, int *count, const struct cpu_job *job, struct cpu_pass pass)
{
    if (pass.run)
        p->steps[(*count)++] = (struct cpu_step){ .job = job, .pass = pass, .barrier = true };
}

static bool is_fused(const struct cnn_program *p, const struct cnn_layer *layer)
{
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].layer == layer && p->jobs[i].fused)
            return true;
    return false;
}

static void add_stage(struct cnn_program *p, int *count, enum stage stage)
{
    for (int i = 0; i < p->job_count; i++) {
        const struct cpu_job *job = &p->jobs[i];
        if (stage_of(job->kernel->kind) != stage || job->joined || (stage == UPDATE && is_fused(p, job->layer)))
            continue;
        add_step(p, count, job, job->kernel->stage);
        add_step(p, count, job, job->kernel->main);
        add_step(p, count, job, job->kernel->finish);
    }
}

/* Updates touch different layers, and so do packings: none of them waits for another, only the last for all. */
static void drop_barriers(struct cnn_program *p, int begin, int end)
{
    for (int i = begin; i < end - 1; i++)
        p->steps[i].barrier = false;
}

bool cpu_list_steps(struct cnn_program *p)
{
    int count = 0, update_at;
    add_stage(p, &count, FORWARD);
    add_stage(p, &count, LOSS);
    p->forward_count = p->backward_at = count;
    add_stage(p, &count, BACKWARD);
    update_at = count;
    add_stage(p, &count, UPDATE);
    drop_barriers(p, update_at, count);
    p->pack_at = count;
    for (int i = 0; i < p->job_count; i++)
        add_step(p, &count, &p->jobs[i], p->jobs[i].kernel->pack);
    drop_barriers(p, p->pack_at, count);
    p->pack_count = count - p->pack_at;
    p->backward_count = count - p->backward_at; /* packing ends a training step */
    return count > 0;
}
