/* SPDX-License-Identifier: MIT */
/* Which operations of a step of few images become one launch, fused.h. The conditions are on shapes alone; where a
 * layer does not fit, its own jobs stand between the stages, and where the weights' gradients do not, the step runs
 * operation by operation. */
#include "kernels/fused.h"
#include "kernels/program.h"
#include "kernels/tuning.h"

#include <stdlib.h>
#include <string.h>

static const struct cuda_job *job_of(const struct cnn_program *p, int layer, bool backward)
{
    for (int i = 0; i < p->job_count; i++) {
        enum cnn_operation_kind kind = p->jobs[i].kernel->kind;
        bool data = kind > CNN_OP_LOSS && kind < CNN_OP_CONV_BACKWARD_WEIGHTS;
        if (p->jobs[i].layer == &p->network->layers[layer] && (backward ? data : kind < CNN_OP_LOSS))
            return &p->jobs[i];
    }
    return NULL;
}

static bool is_pool(const struct cnn_layer *layer)
{
    return layer->kind == CNN_SUBSAMPLE || layer->kind == CNN_MAXPOOL || layer->kind == CNN_AVGPOOL;
}

/* Windows that do not overlap, so that each lies in a cell of its own; a block holds a cell whole. */
static bool has_cells(const struct cuda_layer *s)
{
    return s->kernel_rows <= s->stride && s->kernel_cols <= s->stride && s->stride <= 5;
}

/* A convolution that is better off with a thread per pixel than with tiles, and whose weights fit a block. */
static bool is_small_conv(const struct cnn_program *p, int layer)
{
    const struct cnn_layer *l = &p->network->layers[layer];
    const struct cuda_layer *s = &p->layers[layer];
    if (l->kind != CNN_CONV || s->full)
        return false;
    for (int map = 0; l->first && map < s->out_maps; map++)
        if (l->first[map] == l->first[map + 1])
            return false; /* its bias has no pair to go with */
    return s->in_maps <= FUSED_MAPS && s->out_maps <= FUSED_MAPS && s->reduction <= FUSED_WEIGHTS &&
           (int64_t)s->out_maps * s->taps <= FUSED_WEIGHTS && (double)l->macs * p->options.batch <= FUSED_MACS;
}

/* A layer that one block does in no time. */
static bool is_tail(const struct cnn_program *p, int layer)
{
    const struct cuda_layer *s = &p->layers[layer];
    return s->full && p->network->layers[layer].weights <= FUSED_TAIL_WEIGHTS &&
           (int64_t)p->options.batch * s->out_maps <= FUSED_OUTPUTS;
}

/* The fully connected layer whose launch ends the step; -1: none. */
static int ending_of(const struct cnn_program *p)
{
    int last = p->network->layer_count - 1, at = last;
    while (at > 0 && last - at < FUSED_TAIL && is_tail(p, at) && p->layers[at - 1].full)
        at--;
    return p->layers[at].full && (int64_t)p->options.batch * p->layers[at].out_maps <= FUSED_OUTPUTS ? at : -1;
}

/* Everything is asked of `direct`, or left to what all share. */
static bool is_direct(const struct cnn_program *p)
{
    for (int i = 0; i < p->job_count; i++)
        if (*p->jobs[i].kernel->algorithm && strcmp(p->jobs[i].kernel->algorithm, "direct"))
            return false;
    return true;
}

static bool has_fused_update(const struct cnn_program *p)
{
    int count = 0;
    for (int l = 0; l < p->network->layer_count; l++) {
        const struct cuda_layer *s = &p->layers[l];
        if (p->network->layers[l].weights == 0)
            continue;
        if (!s->full && s->kind != CNN_SUBSAMPLE && !is_small_conv(p, l))
            return false;
        if (s->kind == CNN_SUBSAMPLE && (int64_t)p->options.batch * s->out_rows * s->out_cols > 1 << 20)
            return false;
        count++;
    }
    return count <= FUSED_UPDATES;
}

static cudaError_t launch_job(const struct cuda_stage *stage, const struct cuda_batch *batch, cudaStream_t stream)
{
    return stage->job->kernel->launch(stage->job, batch, stream);
}

static struct cuda_stage stage_of(const struct cnn_program *p, const struct cuda_job *job, int before)
{
    struct cuda_stage stage = { .job = job, .file = job->kernel->file, .launch = launch_job };
    stage.executed_macs = job->executed_macs;
    stage.early = p->device->architecture >= 90;
    stage.prefetch = stage.early && before > 0;
    return stage;
}

/* Layer by layer; a pooling layer goes with the convolution before it. */
static void fuse_forward(struct cnn_program *p)
{
    struct cuda_fusion *f = &p->fusion;
    int ending = ending_of(p), count = p->network->layer_count;
    for (int l = 0; l < count; l++) {
        struct cuda_stage stage = stage_of(p, job_of(p, l, false), f->forward_count);
        if (is_small_conv(p, l)) {
            stage.launch = cuda_fused_conv_forward;
            stage.file = "kernels/fused_conv.cu";
            if (l + 1 < count && is_pool(&p->network->layers[l + 1]) && has_cells(&p->layers[l + 1]))
                stage.pool = job_of(p, ++l, false);
        } else if (p->layers[l].full) {
            stage.launch = cuda_fused_full_forward;
            stage.file = "kernels/fused_full.cu";
        }
        for (int t = l + 1; l == ending && t < count; t++) {
            stage.tail[stage.tail_count++] = job_of(p, t, false);
            stage.executed_macs += stage.tail[stage.tail_count - 1]->executed_macs;
        }
        stage.loss = l == ending ? &p->loss : NULL;
        f->forward[f->forward_count++] = stage;
        if (l == ending)
            break;
    }
}

/* From the lowest layer whose delta the end has found, downwards; a pooling layer goes with the layer above it. */
static void fuse_backward(struct cnn_program *p)
{
    struct cuda_fusion *f = &p->fusion;
    int ending = ending_of(p);
    for (int l = ending < 0 ? p->network->layer_count - 1 : ending; l >= 0; l--) {
        const struct cuda_job *job = job_of(p, l, true);
        if (!job)
            continue;
        struct cuda_stage stage = stage_of(p, job, f->forward_count + f->backward_count);
        if (is_small_conv(p, l) || p->layers[l].full) {
            stage.launch = p->layers[l].full ? cuda_fused_full_data : cuda_fused_conv_data;
            stage.file = p->layers[l].full ? "kernels/fused_full.cu" : "kernels/fused_conv.cu";
            if (l > 0 && is_pool(&p->network->layers[l - 1]) && has_cells(&p->layers[l - 1]))
                stage.pool = job_of(p, l - 1, true);
            l -= stage.pool != NULL;
        }
        f->backward[f->backward_count++] = stage;
    }
}

static void fuse_update(struct cnn_program *p)
{
    struct cuda_fused_update *update = &p->fusion.update;
    update->early = p->device->architecture >= 90;
    for (int l = p->network->layer_count - 1; l >= 0; l--) { /* largest first: they take longest */
        if (p->network->layers[l].weights == 0)
            continue;
        update->layers[update->count] = job_of(p, l, false);
        update->slices[update->count] = cuda_fused_slices(update->layers[update->count]);
        update->executed_macs += update->layers[update->count]->executed_macs;
        update->count++;
    }
}

int cuda_fuse(struct cnn_program *p, struct cnn_error *error)
{
    struct cuda_fusion *f = &p->fusion;
    bool train = p->options.phases & CNN_PHASE_TRAIN;
    if (p->options.batch > FEW_IMAGES || p->options.copies == CNN_COPIES_PAPER || !is_direct(p) ||
        (train && !has_fused_update(p)))
        return CNN_OK;
    size_t most = (size_t)p->operations->count + 1;
    f->forward = calloc(most, sizeof *f->forward);
    f->backward = calloc(most, sizeof *f->backward);
    if (!f->forward || !f->backward)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for the stages of a step", p->network->spec.name);
    for (int i = 0; i < p->job_count; i++)
        if (is_small_conv(p, (int)(p->jobs[i].layer - p->network->layers)))
            p->jobs[i].executed_macs = (double)p->jobs[i].layer->macs; /* connected pairs alone */
    fuse_forward(p);
    if (train) {
        fuse_backward(p);
        fuse_update(p);
    }
    f->on = 1;
    return CNN_OK;
}

void cuda_fuse_bind(struct cnn_program *p)
{
    struct cuda_fusion *f = &p->fusion;
    if (f->on && p->mapped) /* its predecessor brings the batch */
        f->forward[0].prefetch = f->forward[0].early;
    for (int i = 0; i < f->forward_count; i++) {
        struct cuda_stage *stage = &f->forward[i];
        if (stage->launch != cuda_fused_full_forward)
            continue;
        stage->partial =
            cuda_carve(&p->memory, CUDA_WORKSPACE, cuda_fused_full_partial(stage->job), "sums of stage", i);
        stage->tickets = cuda_carve(&p->memory, CUDA_WORKSPACE, 1, "ticket of stage", i);
    }
    for (int i = 0; i < f->update.count; i++) {
        const struct cuda_job *job = f->update.layers[i];
        f->update.partial[i] = cuda_carve(&p->memory, CUDA_WORKSPACE, cuda_fused_sums(job), "sums of update", i);
        f->update.tickets[i] = cuda_carve(&p->memory, CUDA_WORKSPACE, cuda_fused_tickets(job), "tickets of update", i);
    }
}

void cuda_unfuse(struct cnn_program *p)
{
    free(p->fusion.forward);
    free(p->fusion.backward);
}
