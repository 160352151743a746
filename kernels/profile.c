/* SPDX-License-Identifier: MIT */
/* A step taken apart: kernel by kernel, each waited for before the caller's clock is read. */
#include "kernels/fault.h"
#include "kernels/program.h"

struct profile {
    struct cnn_program *program;
    double (*clock)(void);
    double last; /* what the clock said */
    struct cnn_profile_entry *out;
    int capacity, count;
    cudaError_t code;
};

/* Waits for what was launched and puts it down as one operation. */
static void finish(struct profile *profile, struct cnn_profile_entry entry, cudaError_t launched)
{
    profile->code = launched ? launched : cudaStreamSynchronize(profile->program->stream);
    double now = profile->clock();
    entry.seconds = now - profile->last;
    profile->last = now;
    if (profile->count < profile->capacity)
        profile->out[profile->count] = entry;
    profile->count++;
}

static void run_jobs(struct profile *profile, const struct cuda_batch *batch, bool backward)
{
    struct cnn_program *p = profile->program;
    for (int i = 0; !profile->code && i < p->job_count; i++) {
        const struct cuda_job *job = &p->jobs[i];
        if (backward != (job->kernel->kind > CNN_OP_LOSS))
            continue;
        struct cnn_profile_entry entry = { .kind = job->kernel->kind,
                                           .layer = (int)(job->layer - p->network->layers),
                                           .algorithm = job->kernel->algorithm,
                                           .file = job->kernel->file,
                                           .flops_executed = (int64_t)(2 * job->executed_macs * batch->count) };
        finish(profile, entry, job->kernel->launch(job, batch, p->stream));
    }
}

static void run_stages(struct profile *profile, const struct cuda_stage *stages, int count,
                       const struct cuda_batch *batch)
{
    struct cnn_program *p = profile->program;
    for (int i = 0; !profile->code && i < count; i++) {
        const struct cuda_job *job = stages[i].job;
        struct cnn_profile_entry entry = { .kind = job->kernel->kind,
                                           .layer = (int)(job->layer - p->network->layers),
                                           .algorithm = job->kernel->algorithm,
                                           .file = stages[i].file,
                                           .flops_executed = (int64_t)(2 * stages[i].executed_macs * batch->count) };
        finish(profile, entry, stages[i].launch(&stages[i], batch, p->stream));
    }
}

/* The update is one kernel for all layers: it stands at the last one, whose gradient is ready first. */
static void run_update(struct profile *profile, const struct cuda_batch *batch)
{
    struct cnn_program *p = profile->program;
    int layer = p->network->layer_count - 1;
    while (layer > 0 && p->network->layers[layer].weights == 0)
        layer--;
    struct cnn_profile_entry entry = {
        .kind = CNN_OP_UPDATE, .layer = layer, .algorithm = "", .file = "kernels/update.cu"
    };
    if (profile->code || p->update.blocks == 0)
        return;
    if (!p->fusion.on) {
        finish(profile, entry, cuda_update_launch(&p->update, p->stream));
        return;
    }
    entry.file = "kernels/fused_update.cu";
    entry.flops_executed = (int64_t)(2 * p->fusion.update.executed_macs * batch->count);
    finish(profile, entry, cuda_fused_update_launch(&p->fusion.update, &p->update, batch, p->stream));
}

static void run_loss(struct profile *profile, enum cnn_phase phase, const struct cuda_slot *slot)
{
    struct cnn_program *p = profile->program;
    int last = p->network->layer_count - 1;
    struct cnn_profile_entry loss = { .kind = CNN_OP_LOSS, .layer = last, .algorithm = "", .file = "kernels/loss.cu" };
    if (!profile->code)
        finish(profile, loss,
               cuda_loss_launch(&p->loss, p->outputs[last], phase == CNN_PHASE_CLASSIFY ? NULL : slot->labels,
                                phase == CNN_PHASE_TRAIN ? p->deltas[last] : NULL, slot->count, p->stream));
}

/* Operation by operation, or stage by stage as the step runs. */
static void run_step(struct profile *profile, enum cnn_phase phase, int buffer)
{
    struct cnn_program *p = profile->program;
    const struct cuda_fusion *f = &p->fusion;
    const struct cuda_slot *slot = &p->buffers[buffer];
    bool train = phase == CNN_PHASE_TRAIN, paper = p->options.copies == CNN_COPIES_PAPER;
    const struct cuda_batch batch = { .count = slot->count,
                                      .images = slot->images,
                                      .labels = phase == CNN_PHASE_CLASSIFY ? NULL : slot->labels,
                                      .training = train };
    profile->code = cudaStreamSynchronize(p->stream);
    profile->last = profile->clock();
    if (f->on)
        run_stages(profile, f->forward, f->forward_count, &batch);
    else
        run_jobs(profile, &batch, false);
    if (!profile->code && paper) {
        profile->code = cuda_paper_exchange(p, phase, 0);
        profile->last = profile->clock(); /* the host's time is no operation's */
    } else if (!f->on || !f->forward[f->forward_count - 1].loss) {
        run_loss(profile, phase, slot);
    }
    if (!train)
        return;
    if (f->on)
        run_stages(profile, f->backward, f->backward_count, &batch);
    else
        run_jobs(profile, &batch, true);
    run_update(profile, &batch);
    if (!profile->code && paper)
        profile->code = cuda_paper_finish(p, slot->count);
}

int cuda_profile(struct cnn_program *p, enum cnn_phase phase, double (*clock)(void), struct cnn_profile_entry *out,
                 int capacity, int *count, struct cnn_error *error)
{
    struct profile profile = { .program = p, .clock = clock, .out = out, .capacity = capacity };
    *count = 0;
    if (cuda_step_check(p, phase, p->slots[0].count ? 1 : 0, error))
        return CNN_INVALID;
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    cudaError_t code = p->options.copies == CNN_COPIES_NONE ? cudaSuccess : cuda_bring(p, 0, 0, p->stream);
    if (!code) {
        run_step(&profile, phase, 0);
        code = profile.code;
    }
    p->last_count = p->slots[0].count;
    if (phase != CNN_PHASE_CLASSIFY)
        p->images += p->last_count;
    *count = profile.count;
    return cuda_check(code, error, "profiling a step");
}
