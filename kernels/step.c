/* SPDX-License-Identifier: MIT */
/* A program at work: batches in, steps, answers out. */
#include "kernels/fault.h"
#include "kernels/program.h"

#include <math.h>
#include <string.h>

static int check_labels(const struct cnn_program *p, const int32_t *labels, int count, struct cnn_error *error)
{
    for (int i = 0; i < count; i++)
        if (labels[i] < 0 || labels[i] >= p->network->label_count)
            return cnn_error_set(error, CNN_INVALID, "label %d of the batch is %d, expected 0 to %d", i, labels[i],
                                 p->network->label_count - 1);
    return CNN_OK;
}

int cuda_load(struct cnn_program *p, int slot, const float *images, const int32_t *labels, int count,
              struct cnn_error *error)
{
    if (slot < 0 || slot >= p->options.slots || count < 1 || count > p->options.batch)
        return cnn_error_set(error, CNN_INVALID, "slot %d, %d images: the program has %d slots of 1 to %d images", slot,
                             count, p->options.slots, p->options.batch);
    if (labels && check_labels(p, labels, count, error))
        return CNN_INVALID;
    size_t bytes = (size_t)cnn_shape_size(p->network->input) * (size_t)count * sizeof(float);
    size_t label_bytes = (size_t)count * sizeof(int32_t);
    p->slots[slot].count = count;
    p->slots[slot].labelled = labels != NULL;
    if (p->options.copies != CNN_COPIES_NONE) { /* every step brings them over */
        float *host = p->slots[slot].host;
        memcpy(host, images, bytes);
        if (labels)
            memcpy(host + (p->batch_words - p->options.batch), labels, label_bytes);
        return CNN_OK;
    }
    struct cuda_slot *buffer = &p->buffers[slot];
    buffer->count = count;
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    cudaError_t code = cudaMemcpyAsync(buffer->images, images, bytes, cudaMemcpyHostToDevice, p->stream);
    if (!code && labels)
        code = cudaMemcpyAsync(buffer->labels, labels, label_bytes, cudaMemcpyHostToDevice, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream); /* the host memory is the caller's again */
    return cuda_check(code, error, "loading a batch");
}

/* The slots loaded from 0 on. */
static int loaded_slots(const struct cnn_program *p)
{
    int slots = 0;
    while (slots < p->options.slots && p->slots[slots].count)
        slots++;
    return slots;
}

int cuda_step_check(const struct cnn_program *p, unsigned phase, int slots, struct cnn_error *error)
{
    if (!(p->options.phases & phase))
        return cnn_error_set(error, CNN_INVALID, "this phase was not compiled into the program");
    if (!slots)
        return cnn_error_set(error, CNN_INVALID, "no batch is loaded in slot 0");
    for (int slot = 0; phase != CNN_PHASE_CLASSIFY && slot < slots; slot++)
        if (!p->slots[slot].labelled)
            return cnn_error_set(error, CNN_INVALID, "the batch in slot %d was loaded without labels", slot);
    return CNN_OK;
}

/* Whether all batches are full, so that one recording runs a step over each. */
static bool rotates(const struct cnn_program *p, enum cuda_part part, int slots)
{
    if (!p->rotations[part] || slots < p->options.slots)
        return false;
    for (int slot = 0; slot < slots; slot++)
        if (p->slots[slot].count < p->options.batch)
            return false;
    return true;
}

static int run_resident(struct cnn_program *p, unsigned phase, int steps, int slots, struct cnn_error *error)
{
    enum cuda_part part = phase == CNN_PHASE_TRAIN      ? CUDA_TRAIN
                          : phase == CNN_PHASE_CLASSIFY ? CUDA_CLASSIFY
                                                        : CUDA_EVALUATE;
    bool rotation = rotates(p, part, slots);
    cudaError_t code = cudaEventRecord(p->begun, p->stream);
    for (int i = 0; !code && i < steps;) {
        if (rotation && i + slots <= steps) {
            code = cudaGraphLaunch(p->rotations[part], p->stream);
            i += slots;
        } else {
            code = cuda_run(p, part, i % slots);
            i++;
        }
    }
    if (!code)
        code = cudaEventRecord(p->ended, p->stream);
    p->timed = !code;
    return cuda_check(code, error, "launching a step");
}

static int run_copying(struct cnn_program *p, unsigned phase, int steps, int slots, struct cnn_error *error)
{
    if (p->options.copies == CNN_COPIES_PIPELINED)
        return cuda_steps_pipelined(p, phase, steps, slots, error);
    for (int i = 0; i < steps; i++) {
        int status = p->options.copies == CNN_COPIES_PAPER ? cuda_step_paper(p, phase, i % slots, error)
                                                           : cuda_step_answer(p, phase, i % slots, error);
        if (status)
            return status;
    }
    return CNN_OK;
}

static int run_phase(struct cnn_program *p, unsigned phase, int steps, struct cnn_error *error)
{
    int slots = loaded_slots(p), status;
    if (cuda_step_check(p, phase, slots, error))
        return CNN_INVALID;
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    status = p->options.copies == CNN_COPIES_NONE ? run_resident(p, phase, steps, slots, error)
                                                  : run_copying(p, phase, steps, slots, error);
    for (int slot = 0; phase != CNN_PHASE_CLASSIFY && slot < slots; slot++)
        p->images += (int64_t)p->slots[slot].count * (steps / slots + (slot < steps % slots));
    if (steps > 0)
        p->last_count = p->slots[(steps - 1) % slots].count;
    return status;
}

int cuda_train(struct cnn_program *p, int steps, struct cnn_error *error)
{
    return run_phase(p, CNN_PHASE_TRAIN, steps, error);
}

int cuda_classify(struct cnn_program *p, int steps, struct cnn_error *error)
{
    return run_phase(p, CNN_PHASE_CLASSIFY, steps, error);
}

int cuda_evaluate(struct cnn_program *p, int steps, struct cnn_error *error)
{
    return run_phase(p, CNN_PHASE_EVALUATE, steps, error);
}

static cudaError_t fetch_labels(struct cnn_program *p, int32_t *labels)
{
    size_t bytes = (size_t)p->last_count * sizeof *labels;
    if (p->options.copies != CNN_COPIES_PAPER)
        return cudaMemcpyAsync(labels, p->loss.predicted, bytes, cudaMemcpyDeviceToHost, p->stream);
    memcpy(labels, p->answer_labels, bytes);
    return cudaSuccess;
}

int cuda_fetch(struct cnn_program *p, struct cnn_answer *answer, struct cnn_error *error)
{
    if (p->last_count < 0 && (answer->labels || answer->outputs))
        return cnn_error_set(error, CNN_INVALID, "no labels or outputs to fetch: no step has run");
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    cudaError_t code = cudaMemcpyAsync(p->answer, p->loss.answer, sizeof *p->answer, cudaMemcpyDeviceToHost, p->stream);
    if (!code)
        code = cudaMemsetAsync(p->loss.answer, 0, sizeof *p->answer, p->stream);
    if (!code && answer->labels)
        code = fetch_labels(p, answer->labels);
    if (!code && answer->outputs)
        code = cudaMemcpyAsync(answer->outputs, p->outputs[p->network->layer_count - 1],
                               (size_t)p->last_count * (size_t)p->network->classes * sizeof(float),
                               cudaMemcpyDeviceToHost, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream);
    if (code)
        return cuda_check(code, error, "fetching an answer");
    answer->loss_sum = p->answer->loss_sum + p->host_loss;
    answer->correct = p->answer->correct + p->host_correct;
    answer->images = p->images;
    p->host_loss = 0;
    p->host_correct = p->images = 0;
    return CNN_OK;
}

int cuda_sync(struct cnn_program *p, struct cnn_error *error)
{
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    if (cuda_check(cudaStreamSynchronize(p->stream), error, "a step") ||
        cuda_check(cudaGetLastError(), error, "a step"))
        return error ? (int)error->status : CNN_ERROR;
    return cuda_memory_check(&p->memory, p->stream, error);
}

/* Asked for once: the driver takes its time, and nothing is allocated after compile(). */
static int read_device_bytes(struct cnn_program *p, struct cnn_error *error)
{
    size_t left = 0, all = 0;
    if (p->device_bytes)
        return CNN_OK;
    if (cuda_check(cudaMemGetInfo(&left, &all), error, "reading the free memory"))
        return error ? (int)error->status : CNN_ERROR;
    p->device_bytes = p->device->free_bytes > left ? (int64_t)(p->device->free_bytes - left) : -1;
    return CNN_OK;
}

int cuda_counters(struct cnn_program *p, struct cnn_counters *out, struct cnn_error *error)
{
    float milliseconds = 0;
    *out = (struct cnn_counters){ .event_seconds = NAN, .device_bytes = -1 };
    if (cuda_sync(p, error) || read_device_bytes(p, error))
        return error ? (int)error->status : CNN_ERROR;
    if (p->timed && cuda_check(cudaEventElapsedTime(&milliseconds, p->begun, p->ended), error, "reading the clock"))
        return error ? (int)error->status : CNN_ERROR;
    out->event_seconds = p->timed ? 1e-3 * (double)milliseconds : NAN;
    out->device_bytes = p->device_bytes;
    return CNN_OK;
}
