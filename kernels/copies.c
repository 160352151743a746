/* SPDX-License-Identifier: MIT */
/* Steps with their copies inside. The caller's batches stay in pageable host memory; a step brings its batch to pinned
 * memory, to the device, and what it has to say back. */
#include "kernels/fault.h"
#include "kernels/program.h"
#include "kernels/tuning.h"
#include "lib/loss.h"

#include <stdatomic.h>
#include <string.h>

static int64_t image_words(const struct cnn_program *p)
{
    return cnn_shape_size(p->network->input);
}

/* Host to pinned memory of buffer `b`. */
static void stage(struct cnn_program *p, int slot, int b)
{
    const struct cuda_slot *from = &p->slots[slot];
    int64_t labels_at = image_words(p) * p->options.batch;
    p->buffers[b].count = from->count;
    p->buffers[b].labelled = from->labelled;
    memcpy(p->staging[b], from->host, (size_t)(image_words(p) * from->count) * sizeof(float));
    memcpy(p->staging[b] + labels_at, from->host + labels_at, (size_t)from->count * sizeof(int32_t));
}

static int is_early(const struct cnn_program *p)
{
    return p->device->architecture >= 90;
}

/* A full batch is one copy; the labels stand behind the images. */
cudaError_t cuda_copy_in(struct cnn_program *p, int b, int count, cudaStream_t stream)
{
    const struct cuda_slot *to = &p->buffers[b];
    const float *staging = p->staging[b], *labels = staging + image_words(p) * p->options.batch;
    size_t images = (size_t)(image_words(p) * count) * sizeof(float);
    if (p->mapped)
        return cuda_bring_launch(to->images, staging, image_words(p) * count, image_words(p) * p->options.batch, count,
                                 is_early(p), stream);
    if (count == p->options.batch)
        return cudaMemcpyAsync(to->images, staging, (size_t)p->batch_words * sizeof(float), cudaMemcpyHostToDevice,
                               stream);
    cudaError_t code = cudaMemcpyAsync(to->images, staging, images, cudaMemcpyHostToDevice, stream);
    return code ? code
                : cudaMemcpyAsync(to->labels, labels, (size_t)count * sizeof(int32_t), cudaMemcpyHostToDevice, stream);
}

cudaError_t cuda_bring(struct cnn_program *p, int slot, int b, cudaStream_t stream)
{
    stage(p, slot, b);
    return cuda_copy_in(p, b, p->slots[slot].count, stream);
}

/* Loss after training and evaluation, labels after classification. */
cudaError_t cuda_copy_out(struct cnn_program *p, enum cuda_part part, int count)
{
    if (p->mapped)
        return cuda_tell_launch(&p->told, p->loss.predicted, part == CUDA_CLASSIFY ? count : 0, is_early(p), p->stream);
    if (part == CUDA_CLASSIFY)
        return cudaMemcpyAsync(p->answer_labels, p->loss.predicted, (size_t)count * sizeof(int32_t),
                               cudaMemcpyDeviceToHost, p->stream);
    return cudaMemcpyAsync(p->answer, p->loss.answer, sizeof *p->answer, cudaMemcpyDeviceToHost, p->stream);
}

static enum cuda_part part_of(unsigned phase)
{
    return phase == CNN_PHASE_TRAIN ? CUDA_TRAIN : phase == CNN_PHASE_CLASSIFY ? CUDA_CLASSIFY : CUDA_EVALUATE;
}

/* Until the step has told that it is done. A step that failed never does: the stream knows. */
static cudaError_t await_told(struct cnn_program *p)
{
    p->steps_told++;
    for (int looks = 0; looks < MAPPED_LOOKS; looks++)
        if (*p->told.count == p->steps_told) {
            atomic_thread_fence(memory_order_acquire);
            return cudaSuccess;
        }
    return cudaStreamSynchronize(p->stream);
}

int cuda_step_answer(struct cnn_program *p, unsigned phase, int slot, struct cnn_error *error)
{
    stage(p, slot, 0);
    cudaError_t code = cuda_run(p, part_of(phase), 0); /* with both copies, recorded or not */
    if (!code)
        code = p->mapped ? await_told(p) : cudaStreamSynchronize(p->stream);
    return cuda_check(code, error, "a step with its copies");
}

/* The next batch travels while this one is worked on; the step still ends with its answer on the host. */
int cuda_steps_pipelined(struct cnn_program *p, unsigned phase, int steps, int slots, struct cnn_error *error)
{
    cudaError_t code = cudaSuccess;
    for (int i = 0; !code && i < steps; i++) {
        int b = i & 1, slot = i % slots;
        if (i == 0)
            code = cuda_bring(p, 0, 0, p->copying);
        if (!code && i == 0)
            code = cudaEventRecord(p->copied[0], p->copying);
        if (!code)
            code = cudaStreamWaitEvent(p->stream, p->copied[b], 0);
        if (!code)
            code = cuda_run(p, part_of(phase), b);
        if (!code)
            code = cuda_copy_out(p, part_of(phase), p->slots[slot].count);
        if (!code && i + 1 < steps) {
            code = cuda_bring(p, (i + 1) % slots, 1 - b, p->copying);
            if (!code)
                code = cudaEventRecord(p->copied[1 - b], p->copying);
        }
        if (!code)
            code = cudaStreamSynchronize(p->stream);
    }
    return cuda_check(code, error, "a step with its copies");
}

/* The slope of the output's activation, from its value: the host's gradient is by the outputs. */
static float slope(enum cnn_activation kind, float y)
{
    switch (kind) {
    case CNN_TANH:
        return 1 - y * y;
    case CNN_LECUN_TANH:
        return 1.7159f * 2.0f / 3.0f - y * y * (2.0f / 3.0f / 1.7159f);
    case CNN_LOGISTIC:
        return y * (1 - y);
    case CNN_RELU:
        return y > 0 ? 1 : y - y; /* 0, and NaN stays NaN */
    default:
        return 1;
    }
}

/* Labels and loss on the host; in training also the delta, ready to go up. */
static void answer_on_host(struct cnn_program *p, unsigned phase, const struct cuda_slot *slot)
{
    const struct cnn_network *net = p->network;
    const int32_t *labels = (const int32_t *)(slot->host + image_words(p) * p->options.batch);
    float *gradient = phase == CNN_PHASE_TRAIN ? p->host_gradient : NULL;
    for (int i = 0; i < slot->count; i++) {
        p->answer_labels[i] = cnn_answer_label(net, p->host_outputs + (int64_t)i * net->classes);
        p->host_correct += phase != CNN_PHASE_CLASSIFY && p->answer_labels[i] == labels[i];
    }
    if (phase != CNN_PHASE_CLASSIFY)
        p->host_loss += cnn_loss_host(net, p->host_outputs, labels, slot->count, gradient);
    int64_t size = (int64_t)slot->count * net->classes;
    enum cnn_activation activation = net->layers[net->layer_count - 1].activation;
    for (int64_t i = 0; gradient && i < size; i++)
        gradient[i] *= slope(activation, p->host_outputs[i]);
}

/* Outputs down, loss on the host, in training the delta up. The host waits for the outputs. */
cudaError_t cuda_paper_exchange(struct cnn_program *p, unsigned phase, int slot)
{
    int last = p->network->layer_count - 1;
    size_t bytes = (size_t)p->slots[slot].count * (size_t)p->network->classes * sizeof(float);
    cudaError_t code = cudaMemcpyAsync(p->host_outputs, p->outputs[last], bytes, cudaMemcpyDeviceToHost, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream);
    if (code)
        return code;
    answer_on_host(p, phase, &p->slots[slot]);
    if (phase != CNN_PHASE_TRAIN)
        return cudaSuccess;
    return cudaMemcpyAsync(p->deltas[last], p->host_gradient, bytes, cudaMemcpyHostToDevice, p->stream);
}

/* The input gradient down, where it is asked for. */
cudaError_t cuda_paper_finish(struct cnn_program *p, int count)
{
    if (!p->host_input_gradient)
        return cudaSuccess;
    cudaError_t code =
        cudaMemcpyAsync(p->host_input_gradient, p->input_gradient, (size_t)(image_words(p) * count) * sizeof(float),
                        cudaMemcpyDeviceToHost, p->stream);
    return code ? code : cudaStreamSynchronize(p->stream);
}

/* As the first paper's program: pattern in, outputs down, loss on the host, gradient up, input gradient down where it
 * is asked for. The host waits where it must: for the outputs and for the input gradient. */
int cuda_step_paper(struct cnn_program *p, unsigned phase, int slot, struct cnn_error *error)
{
    cudaError_t code = cuda_bring(p, slot, 0, p->stream);
    if (!code)
        code = cuda_run(p, CUDA_TRAIN_FORWARD, 0);
    if (!code)
        code = cuda_paper_exchange(p, phase, slot);
    if (!code && phase == CNN_PHASE_TRAIN)
        code = cuda_run(p, CUDA_TRAIN_BACKWARD, 0);
    if (!code && phase == CNN_PHASE_TRAIN)
        code = cuda_paper_finish(p, p->slots[slot].count);
    return cuda_check(code, error, "a pattern's step");
}
