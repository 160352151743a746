/* SPDX-License-Identifier: MIT */
/* Places: each tensor, table and job of a program gets its device memory. */
#include "kernels/program.h"
#include "kernels/tuning.h"
#include "lib/checked.h"

static int64_t batch_of(const struct cnn_program *p, struct cnn_shape shape)
{
    int64_t size;
    return cnn_mul(cnn_shape_size(shape), p->options.batch, &size) ? size : -1;
}

/* Whether some operation of training reads the delta of this layer. */
static bool has_delta(const struct cnn_program *p, int layer)
{
    if (!(p->options.phases & CNN_PHASE_TRAIN))
        return false;
    if (layer == p->network->layer_count - 1)
        return true;
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].layer == &p->network->layers[layer] && p->jobs[i].kernel->kind >= CNN_OP_CONV_BACKWARD_DATA &&
            p->jobs[i].kernel->kind <= CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS)
            return true;
    return false;
}

static void carve_tensors(struct cnn_program *p)
{
    const struct cnn_network *net = p->network;
    struct cuda_memory *memory = &p->memory;
    bool train = p->options.phases & CNN_PHASE_TRAIN;
    int64_t images = batch_of(p, net->input);
    if (images < 0 || !cnn_add(images, p->options.batch, &p->batch_words))
        p->batch_words = -1;
    for (int i = 0; i < p->buffer_count; i++) {
        p->buffers[i].images = cuda_carve(memory, CUDA_BATCHES, p->batch_words, "batch", i);
        p->buffers[i].labels = p->buffers[i].images ? (int32_t *)(p->buffers[i].images + images) : NULL;
    }
    for (int l = 0; l < net->layer_count; l++) {
        int64_t size = batch_of(p, net->layers[l].out);
        p->outputs[l] = cuda_carve(memory, CUDA_ACTIVATIONS, size, "output of layer", l);
        if (has_delta(p, l))
            p->deltas[l] = cuda_carve(memory, CUDA_ACTIVATIONS, size, "delta of layer", l);
        cuda_layer_carve(&p->layers[l], &net->layers[l], memory, l);
    }
    if (net->spec.input_gradient && train)
        p->input_gradient = cuda_carve(memory, CUDA_ACTIVATIONS, images, "input gradient", -1);
    p->parameters = cuda_carve(memory, CUDA_PARAMETERS, net->parameters, "parameters", -1);
    if (train && p->options.inspectable)
        p->gradient = cuda_carve(memory, CUDA_GRADIENTS, net->parameters, "gradient", -1);
    if (train && p->options.momentum)
        p->velocity = cuda_carve(memory, CUDA_GRADIENTS, net->parameters, "velocity", -1);
}

static void carve_loss(struct cnn_program *p)
{
    const struct cnn_layer *last = &p->network->layers[p->network->layer_count - 1];
    struct cuda_loss *loss = &p->loss;
    *loss = (struct cuda_loss){ .classes = p->network->classes, .softmax = p->network->loss == CNN_SOFTMAX };
    loss->activation = last->activation;
    loss->on = 1;
    loss->off = last->activation == CNN_LOGISTIC ? 0 : -1;
    loss->losses = cuda_carve(&p->memory, CUDA_WORKSPACE, 2 * (int64_t)p->options.batch, "losses", -1);
    loss->predicted = cuda_carve(&p->memory, CUDA_WORKSPACE, p->options.batch, "predicted labels", -1);
    loss->answer = cuda_carve(&p->memory, CUDA_WORKSPACE, sizeof(struct cuda_answer) / 4, "answer", -1);
}

/* Threads that share the slices of a parameter: sums of many slices would be long chains of loads. */
static int lanes_of(const struct cuda_layer *shape)
{
    return shape->slices > 48 ? 32 : shape->slices > 8 ? 4 : 1;
}

static int64_t segment_blocks(const struct cuda_layer *shape, const struct cnn_layer *layer)
{
    int64_t each = (int64_t)CUDA_UPDATE_THREADS / lanes_of(shape) * CUDA_UPDATE_EACH;
    return (layer->weights + layer->biases + each - 1) / each;
}

static void carve_update(struct cnn_program *p)
{
    int64_t blocks = 0, segments = 0;
    for (int l = 0; l < p->network->layer_count; l++)
        if (p->network->layers[l].weights > 0) {
            segments++;
            blocks += segment_blocks(&p->layers[l], &p->network->layers[l]);
        }
    p->update = (struct cuda_update){ .segment_count = (int)segments, .blocks = (int)blocks };
    int64_t words = segments * (int64_t)(sizeof(struct cuda_segment) / 4);
    p->update.segments = cuda_carve(&p->memory, CUDA_WORKSPACE, words, "segments of the update", -1);
    p->update.owners = cuda_carve(&p->memory, CUDA_WORKSPACE, blocks, "blocks of the update", -1);
    p->update.rates = cuda_carve(&p->memory, CUDA_WORKSPACE, sizeof(struct cuda_rates) / 4, "rates", -1);
    p->update.parameters = p->parameters;
    p->update.velocity = p->velocity;
    p->update.gradient = p->gradient;
}

static void carve_told(struct cnn_program *p)
{
    p->mapped = p->options.copies == CNN_COPIES_ANSWER && p->batch_words > 0 && p->batch_words <= MAPPED_WORDS;
    p->told.device_answer = p->loss.answer;
    p->told.device_count = cuda_carve(&p->memory, CUDA_WORKSPACE, p->mapped ? 1 : 0, "steps told to the host", -1);
}

static void bind_job(struct cnn_program *p, struct cuda_job *job, int index)
{
    int l = (int)(job->layer - p->network->layers);
    job->x = l ? p->outputs[l - 1] : NULL;
    job->y = p->outputs[l];
    job->dy = p->deltas[l];
    job->dx = l ? p->deltas[l - 1] : p->input_gradient;
    job->below_y = job->x;
    if (p->parameters) {
        job->weights = p->parameters + job->layer->weight_at;
        job->bias = p->parameters + job->layer->bias_at;
        if (job->shape->connected)
            job->shape->dense = p->parameters + job->layer->weight_at;
    }
    job->workspace = cuda_carve(&p->memory, CUDA_WORKSPACE, job->workspace_size, "workspace of job", index);
    job->library = p->device->blas;
}

void cuda_bind(struct cnn_program *p)
{
    carve_tensors(p);
    carve_loss(p);
    carve_told(p);
    carve_update(p);
    for (int i = 0; i < p->job_count; i++)
        bind_job(p, &p->jobs[i], i);
    cuda_fuse_bind(p);
}
