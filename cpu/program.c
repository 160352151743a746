/* SPDX-License-Identifier: MIT */
/* A program's life: compile and release, parameters in and out. */
#include "cpu/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* First touch: each block is zeroed by the worker that will compute it. */
static int64_t touch_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)job;
    return batch->blocks;
}

static void touch(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)batch;
    const struct cpu_tensor *t = &job->x;
    float *base = t->data - (t->row + t->lanes) * t->halo;
    memset(base + begin * t->block, 0, (size_t)((end - begin) * t->block) * sizeof *base);
}

static void touch_tensor(struct cnn_program *p, const struct cpu_tensor *t)
{
    if (!t->data)
        return;
    struct cpu_job job = { .x = *t };
    struct cpu_step step = { &job, { touch_tiles, touch }, true };
    struct cpu_batch batch = { .count = p->options.batch, .blocks = p->max_blocks };
    p->device->run(p->threads, &step, 1, &batch);
}

static void clear_slack(const struct cnn_program *p, const struct cpu_tensor *t)
{
    if (t->data)
        memset(t->data - (t->row + t->lanes) * t->halo + t->block * p->max_blocks, 0, CPU_TENSOR_SLACK * sizeof(float));
}

static void clear_tensors(struct cnn_program *p)
{
    for (int slot = 0; slot < p->options.slots; slot++) {
        touch_tensor(p, &p->slots[slot]);
        clear_slack(p, &p->slots[slot]);
    }
    for (int l = 0; l < p->network->layer_count; l++) {
        touch_tensor(p, &p->outputs[l]);
        clear_slack(p, &p->outputs[l]);
        touch_tensor(p, &p->deltas[l]);
        clear_slack(p, &p->deltas[l]);
    }
    touch_tensor(p, &p->input_gradient);
    clear_slack(p, &p->input_gradient);
}

static void fill_nan(float *values, int64_t count)
{
    for (int64_t i = 0; values && i < count; i++)
        values[i] = NAN;
}

/* Guarded programs start from NaN, so that what is read before it is written shows. */
static void poison(struct cnn_program *p)
{
    for (int l = 0; l < p->network->layer_count; l++) {
        if (p->outputs[l].data)
            cpu_tensor_poison(&p->outputs[l], p->max_blocks);
        if (p->deltas[l].data)
            cpu_tensor_poison(&p->deltas[l], p->max_blocks);
    }
    if (p->input_gradient.data)
        cpu_tensor_poison(&p->input_gradient, p->max_blocks);
    fill_nan(p->gradient, p->network->parameters);
    for (int i = 0; i < p->job_count; i++)
        fill_nan(p->jobs[i].workspace, p->jobs[i].workspace_size);
}

static bool take_host_side(struct cnn_program *p)
{
    size_t batch = (size_t)p->options.batch, slots = (size_t)p->options.slots;
    size_t outputs = batch * (size_t)p->network->classes;
    p->labels = calloc(batch * slots, sizeof *p->labels);
    p->counts = calloc(slots, sizeof *p->counts);
    p->labelled = calloc(slots, sizeof *p->labelled);
    p->predicted = calloc(batch, sizeof *p->predicted);
    p->losses = calloc(batch, sizeof *p->losses);
    bool ok = p->labels && p->counts && p->labelled && p->predicted && p->losses;
    if (p->options.copies != CNN_COPIES_PAPER)
        return ok;
    p->host_outputs = calloc(outputs, sizeof *p->host_outputs);
    p->host_gradient = calloc(outputs, sizeof *p->host_gradient);
    if (p->network->spec.input_gradient) {
        p->host_input_gradient =
            calloc(batch * (size_t)cnn_shape_size(p->network->input), sizeof *p->host_input_gradient);
        ok = ok && p->host_input_gradient;
    }
    return ok && p->host_outputs && p->host_gradient;
}

int cpu_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                const struct cnn_program_options *options, struct cnn_error *error)
{
    struct cnn_error local;
    if (!error)
        error = &local;
    struct cnn_program *p = calloc(1, sizeof *p);
    if (!p)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for a program's head", network->spec.name);
    if (cpu_build(p, device, network, options, error)) {
        free(p); /* a failed build has freed its parts */
        return error->status;
    }
    if (cpu_memory_take(&p->memory, error))
        goto fail;
    cpu_bind(p);
    if (!take_host_side(p)) {
        cnn_error_set(error, CNN_OOM, "%s: no memory for labels and answers", network->spec.name);
        goto fail;
    }
    clear_tensors(p);
    cpu_list_steps(p);
    if (options->guarded)
        poison(p);
    *out = p;
    return CNN_OK;
fail:
    cpu_release(p);
    return error->status;
}

void cpu_release(struct cnn_program *p)
{
    if (!p)
        return;
    cpu_unbuild(p);
    free(p);
}

int cpu_write_parameters(struct cnn_program *p, const float *parameters, struct cnn_error *error)
{
    (void)error;
    memcpy(p->parameters, parameters, (size_t)p->network->parameters * sizeof *parameters);
    if (p->velocity)
        memset(p->velocity, 0, (size_t)p->network->parameters * sizeof *parameters);
    struct cpu_batch batch = { .count = p->options.batch, .blocks = p->max_blocks };
    p->device->run(p->threads, p->steps + p->pack_at, p->pack_count, &batch);
    return CNN_OK;
}

int cpu_read_parameters(struct cnn_program *p, float *parameters, struct cnn_error *error)
{
    (void)error;
    memcpy(parameters, p->parameters, (size_t)p->network->parameters * sizeof *parameters);
    return CNN_OK;
}

int cpu_set_rates(struct cnn_program *p, const struct cnn_rates *rates, struct cnn_error *error)
{
    if (rates->momentum != 0 && !p->options.momentum && (p->options.phases & CNN_PHASE_TRAIN))
        return cnn_error_set(error, CNN_INVALID, "momentum %g: the program was compiled without velocities",
                             (double)rates->momentum);
    p->rates = *rates;
    return CNN_OK;
}
