/* SPDX-License-Identifier: MIT */
/* A step, kernel by kernel: forward, loss, backward with weight gradients beside the data's, one update. */
#include "kernels/program.h"

static bool is_weights(enum cnn_operation_kind kind)
{
    return kind == CNN_OP_CONV_BACKWARD_WEIGHTS || kind == CNN_OP_FULL_BACKWARD_WEIGHTS ||
           kind == CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS;
}

static cudaError_t forward(struct cnn_program *p, const struct cuda_batch *batch)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; !code && i < p->job_count; i++)
        if (p->jobs[i].kernel->kind < CNN_OP_LOSS)
            code = p->jobs[i].kernel->launch(&p->jobs[i], batch, p->stream);
    return code;
}

static cudaError_t loss(struct cnn_program *p, const struct cuda_slot *buffer, bool labels, bool gradient)
{
    int last = p->network->layer_count - 1;
    return cuda_loss_launch(&p->loss, p->outputs[last], labels ? buffer->labels : NULL,
                            gradient ? p->deltas[last] : NULL, buffer->count, p->stream);
}

/* What the side stream does from here on waits for what the main stream has done so far. */
static cudaError_t order(cudaStream_t before, cudaStream_t after, cudaEvent_t event)
{
    cudaError_t code = cudaEventRecord(event, before);
    return code ? code : cudaStreamWaitEvent(after, event, 0);
}

/* Weight gradients read deltas and nothing waits for them but the update, so a recording lets them run beside. */
static cudaError_t backward(struct cnn_program *p, const struct cuda_batch *batch, bool fork)
{
    cudaError_t code = cudaSuccess;
    bool forked = false;
    for (int i = 0; !code && i < p->job_count; i++) {
        const struct cuda_job *job = &p->jobs[i];
        if (job->kernel->kind < CNN_OP_LOSS)
            continue;
        bool aside = fork && is_weights(job->kernel->kind);
        if (aside) {
            code = order(p->stream, p->side, p->fork);
            forked = true;
        }
        if (!code)
            code = job->kernel->launch(job, batch, aside ? p->side : p->stream);
    }
    if (!code && forked)
        code = order(p->side, p->stream, p->join);
    return code ? code : cuda_update_launch(&p->update, p->stream);
}

cudaError_t cuda_enqueue(struct cnn_program *p, enum cuda_part part, const struct cuda_slot *buffer, bool fork)
{
    const struct cuda_batch batch = { .count = buffer->count, .images = buffer->images };
    cudaError_t code = cudaSuccess;
    if (part != CUDA_TRAIN_BACKWARD)
        code = forward(p, &batch);
    if (!code && (part == CUDA_TRAIN || part == CUDA_EVALUATE || part == CUDA_CLASSIFY))
        code = loss(p, buffer, part != CUDA_CLASSIFY, part == CUDA_TRAIN);
    if (!code && (part == CUDA_TRAIN || part == CUDA_TRAIN_BACKWARD))
        code = backward(p, &batch, fork);
    return code;
}
