/* SPDX-License-Identifier: MIT */
/* Recorded graphs of a step over a full batch. A short batch has other grids, so it is launched kernel by kernel, with
 * the same kernels and the same bits. */
#include "kernels/fault.h"
#include "kernels/program.h"

static cudaError_t make(cudaGraphExec_t *out, cudaGraph_t graph, cudaStream_t stream)
{
    cudaError_t code = cudaGraphInstantiate(out, graph, 0);
    if (!code)
        code = cudaGraphUpload(*out, stream);
    cudaGraphDestroy(graph);
    return code;
}

/* A part over one buffer; where every step brings its answer, between the copies. */
static cudaError_t enqueue(struct cnn_program *p, enum cuda_part part, const struct cuda_slot *buffer, bool fork)
{
    bool copies = p->options.copies == CNN_COPIES_ANSWER;
    cudaError_t code = copies ? cuda_copy_in(p, (int)(buffer - p->buffers), buffer->count, p->stream) : cudaSuccess;
    if (!code)
        code = cuda_enqueue(p, part, buffer, fork);
    return code || !copies ? code : cuda_copy_out(p, part, buffer->count);
}

/* Records a part over buffers [first, last). */
static cudaError_t record(struct cnn_program *p, enum cuda_part part, int first, int last, cudaGraphExec_t *out)
{
    cudaGraph_t graph = NULL;
    cudaError_t code = cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeThreadLocal), ended;
    if (code)
        return code;
    for (int i = first; !code && i < last; i++) {
        p->buffers[i].count = p->options.batch; /* a recording is of a full batch */
        code = enqueue(p, part, &p->buffers[i], true);
        p->buffers[i].count = 0;
    }
    ended = cudaStreamEndCapture(p->stream, &graph); /* also after a failure, or the stream stays in capture */
    if (code || ended) {
        if (graph)
            cudaGraphDestroy(graph);
        return code ? code : ended;
    }
    return make(out, graph, p->stream);
}

static bool part_wanted(const struct cnn_program *p, enum cuda_part part)
{
    bool paper = p->options.copies == CNN_COPIES_PAPER;
    switch (part) {
    case CUDA_TRAIN:
        return !paper && (p->options.phases & CNN_PHASE_TRAIN);
    case CUDA_TRAIN_BACKWARD:
        return paper && (p->options.phases & CNN_PHASE_TRAIN);
    case CUDA_TRAIN_FORWARD:
        return paper;
    case CUDA_CLASSIFY:
        return !paper && (p->options.phases & CNN_PHASE_CLASSIFY);
    default:
        return !paper && (p->options.phases & CNN_PHASE_EVALUATE);
    }
}

int cuda_record(struct cnn_program *p, struct cnn_error *error)
{
    cudaError_t code = cudaSuccess;
    if (p->options.launch != CNN_LAUNCH_GRAPH)
        return CNN_OK;
    for (int part = 0; !code && part < CUDA_PART_COUNT; part++) {
        if (!part_wanted(p, part))
            continue;
        for (int i = 0; !code && i < p->buffer_count; i++)
            code = record(p, part, i, i + 1, &p->graphs[part * p->buffer_count + i]);
        if (!code && p->options.copies == CNN_COPIES_NONE && p->buffer_count > 1)
            code = record(p, part, 0, p->buffer_count, &p->rotations[part]);
    }
    if (!code)
        code = cudaStreamSynchronize(p->stream);
    return cuda_check(code, error, "recording a step");
}

void cuda_forget(struct cnn_program *p)
{
    for (int i = 0; p->graphs && i < CUDA_PART_COUNT * p->buffer_count; i++)
        if (p->graphs[i])
            cudaGraphExecDestroy(p->graphs[i]);
    for (int part = 0; part < CUDA_PART_COUNT; part++)
        if (p->rotations[part])
            cudaGraphExecDestroy(p->rotations[part]);
}

cudaError_t cuda_run(struct cnn_program *p, enum cuda_part part, int buffer)
{
    cudaGraphExec_t graph = p->graphs[part * p->buffer_count + buffer];
    if (graph && p->buffers[buffer].count == p->options.batch)
        return cudaGraphLaunch(graph, p->stream);
    return enqueue(p, part, &p->buffers[buffer], false);
}
