/* SPDX-License-Identifier: MIT */
/* A step taken apart: the passes of each job run on their own, and the caller's clock is read when they are done.
 * Packing belongs to the operation whose weights it packs, though it runs at the end of the step. */
#include "cpu/program.h"

#include <math.h>

struct profile {
    struct cnn_program *program;
    const struct cpu_batch *batch;
    double (*clock)(void);
    double last; /* what the clock said */
    struct cnn_profile_entry *out;
    int capacity, count;
};

static struct cnn_profile_entry entry_of(const struct cnn_program *p, const struct cpu_job *job, int images)
{
    return (struct cnn_profile_entry){ .kind = job->kernel->kind,
                                       .layer = (int)(job->layer - p->network->layers),
                                       .algorithm = job->kernel->algorithm,
                                       .file = job->kernel->file,
                                       .flops_executed = (int64_t)(2 * job->executed_macs * images) };
}

/* The seconds of this job's entry, which is made where it has none yet; NULL where there is no room. */
static double *seconds_of(struct profile *profile, const struct cpu_job *job)
{
    struct cnn_profile_entry entry = entry_of(profile->program, job, profile->batch->count);
    int known = profile->count < profile->capacity ? profile->count : profile->capacity;
    for (int i = 0; i < known; i++)
        if (profile->out[i].kind == entry.kind && profile->out[i].layer == entry.layer)
            return &profile->out[i].seconds;
    if (profile->count++ >= profile->capacity)
        return NULL;
    profile->out[known] = entry;
    return &profile->out[known].seconds;
}

static void read_clock(struct profile *profile, double *seconds)
{
    double now = profile->clock();
    if (seconds)
        *seconds += now - profile->last;
    profile->last = now;
}

/* Neighbouring steps of one job are one operation. */
static void run_steps(struct profile *profile, const struct cpu_step *steps, int count)
{
    struct cnn_program *p = profile->program;
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && steps[end].job == steps[begin].job;)
            end++;
        p->device->run(p->threads, steps + begin, end - begin, profile->batch);
        read_clock(profile, seconds_of(profile, steps[begin].job));
    }
}

static void run_step(struct profile *profile, enum cnn_phase phase)
{
    struct cnn_program *p = profile->program;
    bool paper = p->options.copies == CNN_COPIES_PAPER;
    read_clock(profile, NULL);
    run_steps(profile, p->steps, p->forward_count);
    if (phase != CNN_PHASE_TRAIN)
        return;
    if (paper) {
        cpu_paper_exchange(p, profile->batch);
        read_clock(profile, NULL); /* the host's time is no operation's */
    }
    run_steps(profile, p->steps + p->backward_at, p->backward_count);
    if (paper)
        cpu_paper_finish(p, profile->batch);
}

int cpu_profile(struct cnn_program *p, enum cnn_phase phase, double (*clock)(void), struct cnn_profile_entry *out,
                int capacity, int *count, struct cnn_error *error)
{
    *count = 0;
    if (cpu_step_check(p, phase, p->counts[0] ? 1 : 0, error))
        return CNN_INVALID;
    struct cpu_batch batch = cpu_step_begin(p, phase, 0);
    struct profile profile = { p, &batch, clock, 0, out, capacity, 0 };
    run_step(&profile, phase);
    cpu_step_end(p, &batch, 0);
    *count = profile.count;
    return CNN_OK;
}

/* A processor's steps are timed by the caller's clock alone, and their memory is the process's. */
int cpu_counters(struct cnn_program *p, struct cnn_counters *out, struct cnn_error *error)
{
    *out = (struct cnn_counters){ .event_seconds = NAN, .device_bytes = -1 };
    return cpu_sync(p, error);
}

/* Profilers of a CPU watch the process and are told by it. */
void cpu_watch(struct cnn_program *p, bool on)
{
    (void)p;
    (void)on;
}
