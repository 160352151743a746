/* SPDX-License-Identifier: MIT */
/* A program's life: compile and release, parameters in and out. */
#include "kernels/program.h"
#include "kernels/blas.h"
#include "kernels/fault.h"

#include <stdlib.h>
#include <string.h>

/* Guarded programs start from NaN, so that what is read before it is written shows. All bits set are a NaN. */
static cudaError_t poison(struct cnn_program *p)
{
    int layers = p->network->layer_count;
    cudaError_t code = cudaSuccess;
    for (int l = 0; !code && l < layers; l++) {
        size_t bytes = (size_t)cnn_shape_size(p->network->layers[l].out) * (size_t)p->options.batch * sizeof(float);
        const struct cuda_layer *s = &p->layers[l];
        code = cudaMemset(p->outputs[l], 0xff, bytes);
        if (!code && p->deltas[l])
            code = cudaMemset(p->deltas[l], 0xff, bytes);
        size_t partial = (size_t)s->slices * (size_t)s->out_maps * ((size_t)s->reduction + 1) * sizeof(float);
        if (!code && s->partial)
            code = cudaMemset(s->partial, 0xff, partial);
    }
    if (!code && p->input_gradient)
        code = cudaMemset(p->input_gradient, 0xff, (size_t)(p->batch_words - p->options.batch) * sizeof(float));
    if (!code && p->gradient)
        code = cudaMemset(p->gradient, 0xff, (size_t)p->network->parameters * sizeof(float));
    for (int i = 0; !code && i < p->job_count; i++)
        if (p->jobs[i].workspace)
            code = cudaMemset(p->jobs[i].workspace + p->jobs[i].tickets, 0xff,
                              (size_t)(p->jobs[i].workspace_size - p->jobs[i].tickets) * sizeof(float));
    return code;
}

static void fill_segment(const struct cnn_program *p, int layer, struct cuda_segment *segment)
{
    const struct cnn_layer *l = &p->network->layers[layer];
    const struct cuda_layer *s = &p->layers[layer];
    *segment = (struct cuda_segment){ .at = l->weight_at, .weights = l->weights, .biases = l->biases };
    segment->partial = s->partial;
    segment->dense = s->connected ? NULL : s->dense;
    segment->first = s->first;
    segment->source = s->source;
    segment->pair_out = s->pair_out;
    segment->slice = (int64_t)s->out_maps * (s->reduction + 1);
    segment->slices = s->slices;
    segment->taps = l->kind == CNN_SUBSAMPLE ? 1 : s->taps;
    segment->reduction = s->reduction;
    segment->in_maps = l->kind == CNN_SUBSAMPLE ? 1 : s->in_maps;
    segment->decays = l->kind != CNN_SUBSAMPLE;
    segment->lanes = s->slices > 48 ? 32 : s->slices > 8 ? 4 : 1;
}

static int fill_update(struct cnn_program *p, struct cnn_error *error)
{
    size_t count = (size_t)p->update.segment_count, blocks = (size_t)p->update.blocks;
    struct cuda_segment *segments = calloc(count + 1, sizeof *segments);
    int32_t *owners = calloc(blocks + 1, sizeof *owners);
    int status = CNN_OK, block = 0, at = 0;
    if (!segments || !owners)
        status = cnn_error_set(error, CNN_OOM, "no memory for the list of updates");
    for (int l = 0; status == CNN_OK && l < p->network->layer_count; l++) {
        if (p->network->layers[l].weights == 0)
            continue;
        fill_segment(p, l, &segments[at]);
        segments[at].block_at = block;
        int64_t each = (int64_t)CUDA_UPDATE_THREADS / segments[at].lanes * CUDA_UPDATE_EACH;
        int64_t own = (segments[at].weights + segments[at].biases + each - 1) / each;
        for (int64_t i = 0; i < own; i++)
            owners[block++] = at;
        at++;
    }
    if (status == CNN_OK && count > 0)
        status = cuda_check(cudaMemcpy(p->update.segments, segments, count * sizeof *segments, cudaMemcpyHostToDevice),
                            error, "the list of updates");
    if (status == CNN_OK && count > 0)
        status = cuda_check(cudaMemcpy(p->update.owners, owners, blocks * sizeof *owners, cudaMemcpyHostToDevice),
                            error, "the blocks of the update");
    free(segments);
    free(owners);
    return status;
}

static int take_host(void **out, size_t bytes, struct cnn_error *error)
{
    return cuda_check(cudaHostAlloc(out, bytes, cudaHostAllocDefault), error, "pinned host memory");
}

static int take_host_side(struct cnn_program *p, struct cnn_error *error)
{
    size_t batch = (size_t)p->options.batch, outputs = batch * (size_t)p->network->classes * sizeof(float);
    size_t bytes = (size_t)p->batch_words * sizeof(float);
    if (take_host((void **)&p->answer, sizeof *p->answer, error) ||
        take_host((void **)&p->answer_labels, batch * sizeof(int32_t), error) ||
        take_host((void **)&p->told.count, sizeof *p->told.count, error))
        return error->status;
    p->told.answer = p->answer;
    p->told.labels = p->answer_labels;
    *p->told.count = 0;
    if (p->options.copies == CNN_COPIES_NONE)
        return CNN_OK;
    for (int i = 0; i < p->buffer_count; i++)
        if (take_host((void **)&p->staging[i], bytes, error))
            return error->status;
    for (int i = 0; i < p->options.slots; i++)
        if (!(p->slots[i].host = calloc((size_t)p->batch_words, sizeof(float))))
            return cnn_error_set(error, CNN_OOM, "no host memory for the batches that every step copies");
    if (p->options.copies != CNN_COPIES_PAPER)
        return CNN_OK;
    if (take_host((void **)&p->host_outputs, outputs, error) || take_host((void **)&p->host_gradient, outputs, error))
        return error->status;
    return p->input_gradient ? take_host((void **)&p->host_input_gradient, bytes - batch * sizeof(float), error)
                             : CNN_OK;
}

static int take_streams(struct cnn_program *p, struct cnn_error *error)
{
    cudaError_t code = cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking);
    if (!code)
        code = cudaStreamCreateWithFlags(&p->side, cudaStreamNonBlocking);
    if (!code)
        code = cudaStreamCreateWithFlags(&p->copying, cudaStreamNonBlocking);
    cudaEvent_t *events[4] = { &p->fork, &p->join, &p->copied[0], &p->copied[1] };
    for (int i = 0; !code && i < 4; i++)
        code = cudaEventCreateWithFlags(events[i], cudaEventDisableTiming);
    if (!code)
        code = cudaEventCreate(&p->begun);
    if (!code)
        code = cudaEventCreate(&p->ended);
    return cuda_check(code, error, "streams and events");
}

static int fill(struct cnn_program *p, struct cnn_error *error)
{
    for (int l = 0; l < p->network->layer_count; l++)
        if (cuda_layer_fill(&p->layers[l], &p->network->layers[l], error))
            return error->status;
    if (fill_update(p, error) || (p->options.guarded && cuda_check(poison(p), error, "poisoning")) ||
        cuda_memory_guard(&p->memory, error))
        return error->status;
    return cuda_check(cudaDeviceSynchronize(), error, "making a program ready");
}

int cuda_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                 const struct cnn_program_options *options, struct cnn_error *error)
{
    struct cnn_error local;
    if (!error)
        error = &local;
    struct cnn_program *p = calloc(1, sizeof *p);
    if (!p)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for a program's head", network->spec.name);
    if (cuda_build(p, device, network, options, error)) {
        free(p); /* a failed build has freed its parts */
        return error->status;
    }
    if (cuda_device_use(device, error) || (p->needs_blas && !device->blas && cuda_blas_open(&device->blas, error)) ||
        cuda_memory_take(&p->memory, error))
        goto fail;
    cuda_bind(p);
    if (take_host_side(p, error) || take_streams(p, error) || fill(p, error) || cuda_record(p, error))
        goto fail;
    *out = p;
    return CNN_OK;
fail:
    cuda_release(p);
    return error->status;
}

void cuda_release(struct cnn_program *p)
{
    if (!p)
        return;
    cudaSetDevice(p->device->index);
    if (p->stream)
        cudaStreamSynchronize(p->stream);
    cuda_forget(p);
    cudaEvent_t events[6] = { p->fork, p->join, p->copied[0], p->copied[1], p->begun, p->ended };
    for (int i = 0; i < 6; i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    cudaStream_t streams[3] = { p->stream, p->side, p->copying };
    for (int i = 0; i < 3; i++)
        if (streams[i])
            cudaStreamDestroy(streams[i]);
    void *pinned[8] = { p->staging[0],          p->staging[1],        p->answer,
                        p->answer_labels,       p->host_outputs,      p->host_gradient,
                        p->host_input_gradient, (void *)p->told.count };
    for (int i = 0; i < 8; i++)
        if (pinned[i])
            cudaFreeHost(pinned[i]);
    for (int i = 0; p->slots && i < p->options.slots; i++)
        free(p->slots[i].host);
    cuda_unbuild(p);
    free(p);
}

int cuda_write_parameters(struct cnn_program *p, const float *parameters, struct cnn_error *error)
{
    size_t bytes = (size_t)p->network->parameters * sizeof *parameters;
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    cudaError_t code = cudaMemcpyAsync(p->parameters, parameters, bytes, cudaMemcpyHostToDevice, p->stream);
    if (!code)
        code = cuda_expand_launch(&p->update, p->stream);
    if (!code && p->velocity)
        code = cudaMemsetAsync(p->velocity, 0, bytes, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream);
    return cuda_check(code, error, "writing parameters");
}

int cuda_read_parameters(struct cnn_program *p, float *parameters, struct cnn_error *error)
{
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    cudaError_t code = cudaMemcpyAsync(parameters, p->parameters, (size_t)p->network->parameters * sizeof *parameters,
                                       cudaMemcpyDeviceToHost, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream);
    return cuda_check(code, error, "reading parameters");
}

int cuda_set_rates(struct cnn_program *p, const struct cnn_rates *rates, struct cnn_error *error)
{
    if (rates->momentum != 0 && !p->options.momentum && (p->options.phases & CNN_PHASE_TRAIN))
        return cnn_error_set(error, CNN_INVALID, "momentum %g: the program was compiled without velocities",
                             (double)rates->momentum);
    struct cuda_rates values = { rates->rate, rates->momentum, rates->decay };
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    cudaError_t code =
        cudaMemcpyAsync((void *)p->update.rates, &values, sizeof values, cudaMemcpyHostToDevice, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream); /* `values` ends with this call */
    return cuda_check(code, error, "setting rates");
}
