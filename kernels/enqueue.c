/* SPDX-License-Identifier: MIT */
/* A step, kernel by kernel: forward, loss, backward with weight gradients beside the data's, one update. */
#include "kernels/program.h"

static bool is_weights(enum cnn_operation_kind kind)
{
    return kind == CNN_OP_CONV_BACKWARD_WEIGHTS || kind == CNN_OP_FULL_BACKWARD_WEIGHTS ||
           kind == CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS;
}

static cudaError_t launch(const struct cnn_program *p, const struct cuda_job *job, const struct cuda_batch *batch,
                          cudaStream_t stream)
{
    cuda_range_begin(p, job->kernel->kind, (int)(job->layer - p->network->layers));
    cudaError_t code = job->kernel->launch(job, batch, stream);
    cuda_range_end(p);
    return code;
}

static cudaError_t forward(struct cnn_program *p, const struct cuda_batch *batch)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; !code && i < p->job_count; i++)
        if (p->jobs[i].kernel->kind < CNN_OP_LOSS)
            code = launch(p, &p->jobs[i], batch, p->stream);
    return code;
}

static cudaError_t loss(struct cnn_program *p, const struct cuda_slot *buffer, bool labels, bool gradient)
{
    int last = p->network->layer_count - 1;
    cuda_range_begin(p, CNN_OP_LOSS, last);
    cudaError_t code = cuda_loss_launch(&p->loss, p->outputs[last], labels ? buffer->labels : NULL,
                                        gradient ? p->deltas[last] : NULL, buffer->count, p->stream);
    cuda_range_end(p);
    return code;
}

/* What the side stream does from here on waits for what the main stream has done so far. */
static cudaError_t order(cudaStream_t before, cudaStream_t after, cudaEvent_t event)
{
    cudaError_t code = cudaEventRecord(event, before);
    return code ? code : cudaStreamWaitEvent(after, event, 0);
}

/* A layer's weight gradient, wherever it stands in the list. */
static const struct cuda_job *weights_of(const struct cnn_program *p, const struct cnn_layer *layer)
{
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].layer == layer && is_weights(p->jobs[i].kernel->kind))
            return &p->jobs[i];
    return NULL;
}

/* Weight gradients read deltas and nothing waits for them but the update: in a recording each starts as soon as its
 * delta is there, beside the data's gradient. */
static cudaError_t start_weights(struct cnn_program *p, const struct cnn_layer *layer, const struct cuda_batch *batch)
{
    const struct cuda_job *job = weights_of(p, layer);
    cudaError_t code = job ? order(p->stream, p->side, p->fork) : cudaSuccess;
    return code || !job ? code : launch(p, job, batch, p->side);
}

static cudaError_t backward_forked(struct cnn_program *p, const struct cuda_batch *batch)
{
    cudaError_t code = cudaSuccess;
    for (int l = p->network->layer_count - 1; !code && l >= 0; l--) {
        const struct cnn_layer *layer = &p->network->layers[l];
        code = start_weights(p, layer, batch);
        for (int i = 0; !code && i < p->job_count; i++) {
            const struct cuda_job *job = &p->jobs[i];
            if (job->layer == layer && job->kernel->kind > CNN_OP_LOSS && !is_weights(job->kernel->kind))
                code = launch(p, job, batch, p->stream);
        }
    }
    return code ? code : order(p->side, p->stream, p->join);
}

static cudaError_t backward(struct cnn_program *p, const struct cuda_batch *batch, bool fork)
{
    cudaError_t code = cudaSuccess;
    if (fork)
        code = backward_forked(p, batch);
    for (int i = 0; !fork && !code && i < p->job_count; i++)
        if (p->jobs[i].kernel->kind > CNN_OP_LOSS)
            code = launch(p, &p->jobs[i], batch, p->stream);
    if (code)
        return code;
    cuda_range_begin(p, CNN_OP_UPDATE, p->network->layer_count - 1);
    code = cuda_update_launch(&p->update, p->stream);
    cuda_range_end(p);
    return code;
}

static cudaError_t launch_stages(struct cnn_program *p, const struct cuda_stage *stages, int count,
                                 const struct cuda_batch *batch)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; !code && i < count; i++) {
        cuda_range_begin(p, stages[i].job->kernel->kind, (int)(stages[i].job->layer - p->network->layers));
        code = stages[i].launch(&stages[i], batch, p->stream);
        cuda_range_end(p);
    }
    return code;
}

/* Few images: stage by stage, one after another. The last stage forward may have done the loss. */
static cudaError_t enqueue_stages(struct cnn_program *p, enum cuda_part part, const struct cuda_slot *buffer)
{
    const struct cuda_fusion *f = &p->fusion;
    const struct cuda_batch batch = { .count = buffer->count,
                                      .images = buffer->images,
                                      .labels = part == CUDA_CLASSIFY ? NULL : buffer->labels,
                                      .training = part == CUDA_TRAIN };
    cudaError_t code = launch_stages(p, f->forward, f->forward_count, &batch);
    if (!code && !f->forward[f->forward_count - 1].loss)
        code = loss(p, buffer, part != CUDA_CLASSIFY, part == CUDA_TRAIN);
    if (code || part != CUDA_TRAIN)
        return code;
    code = launch_stages(p, f->backward, f->backward_count, &batch);
    if (code)
        return code;
    cuda_range_begin(p, CNN_OP_UPDATE, p->network->layer_count - 1);
    code = cuda_fused_update_launch(&f->update, &p->update, &batch, p->stream);
    cuda_range_end(p);
    return code;
}

cudaError_t cuda_enqueue(struct cnn_program *p, enum cuda_part part, const struct cuda_slot *buffer, bool fork)
{
    const struct cuda_batch batch = { .count = buffer->count, .images = buffer->images };
    cudaError_t code = cudaSuccess;
    if (p->fusion.on)
        return enqueue_stages(p, part, buffer);
    if (part != CUDA_TRAIN_BACKWARD)
        code = forward(p, &batch);
    if (!code && (part == CUDA_TRAIN || part == CUDA_EVALUATE || part == CUDA_CLASSIFY))
        code = loss(p, buffer, part != CUDA_CLASSIFY, part == CUDA_TRAIN);
    if (!code && (part == CUDA_TRAIN || part == CUDA_TRAIN_BACKWARD))
        code = backward(p, &batch, fork);
    return code;
}
