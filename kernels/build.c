/* SPDX-License-Identifier: MIT */
/* From a network and options to layers, jobs and sizes. cuda_build() checks, chooses kernels and works out every size;
 * cuda_bind() then gives each tensor and job its place, once to add up the sizes and once with memory. */
#include "kernels/build_archs.h"
#include "kernels/program.h"
#include "kernels/registry.h"
#include "lib/checked.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The update of all layers is one kernel, shared.h. */
static bool wanted(const struct cnn_program *p, const struct cnn_operation *operation)
{
    return cnn_operation_is_computed(operation->kind) && operation->kind != CNN_OP_UPDATE &&
           (operation->phases & p->options.phases);
}

static int check_options(const struct cnn_program *p, struct cnn_error *error)
{
    const struct cnn_program_options *o = &p->options;
    int64_t all;
    if (o->batch < 1 || o->slots < 1 || !(o->phases & CNN_PHASE_ALL))
        return cnn_error_set(error, CNN_INVALID, "batch %d, slots %d: expected at least 1 of each, and a phase",
                             o->batch, o->slots);
    if (o->isa && *o->isa)
        return cnn_error_set(error, CNN_INVALID, "instruction set %s: the cuda backend has none to choose", o->isa);
    if ((unsigned)o->precision >= CNN_PRECISION_COUNT || (unsigned)o->copies >= CNN_COPIES_COUNT ||
        (unsigned)o->launch >= CNN_LAUNCH_COUNT)
        return cnn_error_set(error, CNN_INVALID, "precision, copies or launch is none of those there are");
    if (o->precision == CNN_TF32 && p->device->architecture < 80)
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "precision tf32 needs tensor cores and code of sm_80 or later: on this GPU the code of "
                             "sm_%d runs",
                             p->device->architecture);
    if (!cnn_mul3(cnn_shape_size(p->network->input), o->batch, o->slots, &all))
        return cnn_error_set(error, CNN_INVALID, "%s: a batch of %d images is larger than 63 bits can count",
                             p->network->spec.name, o->batch);
    return cnn_algorithms_check(&p->algorithms, cuda_algorithms(), "GPUs", error);
}

static bool take_lists(struct cnn_program *p)
{
    size_t layers = (size_t)p->network->layer_count, slots = (size_t)p->options.slots;
    p->buffer_count = p->options.copies == CNN_COPIES_NONE        ? p->options.slots
                      : p->options.copies == CNN_COPIES_PIPELINED ? 2
                                                                  : 1;
    p->layers = calloc(layers, sizeof *p->layers);
    p->outputs = calloc(layers, sizeof *p->outputs);
    p->deltas = calloc(layers, sizeof *p->deltas);
    p->jobs = calloc((size_t)p->operations->count + 1, sizeof *p->jobs);
    p->slots = calloc(slots, sizeof *p->slots);
    p->buffers = calloc((size_t)p->buffer_count, sizeof *p->buffers);
    p->graphs = calloc((size_t)p->buffer_count * CUDA_PART_COUNT, sizeof(cudaGraphExec_t));
    return p->layers && p->outputs && p->deltas && p->jobs && p->slots && p->buffers && p->graphs;
}

void cuda_job_describe(struct cuda_job *job, const struct cnn_device *device, const struct cnn_program_options *options)
{
    bool tf32 = options->precision == CNN_TF32;
    job->batch = options->batch;
    job->multiprocessors = device->multiprocessors;
    job->shared_bytes = device->shared_bytes;
    job->tensor_cores = tf32;
    job->wgmma = CUDA_BUILD_WGMMA && device->hopper;
    job->products = device->architecture < 80 ? 0 : tf32 ? 1 : 3;
}

static struct cuda_job job_of(const struct cnn_program *p, int layer)
{
    const struct cnn_network *net = p->network;
    return (struct cuda_job){ .network = net,
                              .layer = &net->layers[layer],
                              .shape = &p->layers[layer],
                              .bottom = layer == 0,
                              .below = layer ? net->layers[layer - 1].activation : CNN_LINEAR };
}

/* Max-pooling is listed once for training and once for the other phases; here both are one job. */
static bool has_job(const struct cnn_program *p, const struct cnn_operation *operation)
{
    for (int i = p->job_count - 1; i >= 0; i--)
        if (p->jobs[i].kernel->kind == operation->kind && p->jobs[i].layer == &p->network->layers[operation->layer])
            return true;
    return false;
}

static int add_job(struct cnn_program *p, const struct cnn_operation *operation, struct cnn_error *error)
{
    const char *algorithm = cnn_algorithms_of(&p->algorithms, operation);
    struct cuda_job job = job_of(p, operation->layer);
    cuda_job_describe(&job, p->device, &p->options);
    job.kernel = cuda_kernel_find(algorithm, operation->kind, &job);
    if (!job.kernel)
        return cnn_error_set(error, CNN_INVALID, "algorithm %s has no %s for layer %s on the GPU", algorithm,
                             cnn_operation_kind_name(operation->kind), job.layer->name);
    if (job.kernel->prepare)
        job.kernel->prepare(&job);
    p->needs_blas = p->needs_blas || !strcmp(job.kernel->algorithm, "gemm");
    p->jobs[p->job_count++] = job;
    return CNN_OK;
}

static int make_jobs(struct cnn_program *p, struct cnn_error *error)
{
    for (int l = 0; l < p->network->layer_count; l++)
        if (cuda_layer_shape(&p->layers[l], &p->network->layers[l], error))
            return CNN_INVALID;
    for (int i = 0; i < p->operations->count; i++)
        if (wanted(p, &p->operations->list[i]) && !has_job(p, &p->operations->list[i]) &&
            add_job(p, &p->operations->list[i], error))
            return CNN_INVALID;
    return CNN_OK;
}

int cuda_build(struct cnn_program *p, struct cnn_device *device, const struct cnn_network *network,
               const struct cnn_program_options *options, struct cnn_error *error)
{
    *p = (struct cnn_program){ .device = device, .network = network, .options = *options, .last_count = -1 };
    if (!cnn_algorithms_take(&p->algorithms, options))
        goto no_memory;
    if (check_options(p, error) || cnn_operations_create(&p->operations, network, error))
        goto fail;
    if (!take_lists(p))
        goto no_memory;
    if (make_jobs(p, error))
        goto fail;
    if (cuda_fuse(p, error))
        goto fail;
    cuda_memory_begin(&p->memory, options->guarded);
    cuda_bind(p);
    if (!p->memory.overflow)
        return CNN_OK;
    cnn_error_set(error, CNN_INVALID, "%s: its tensors at batch %d are larger than 63 bits can count",
                  network->spec.name, options->batch);
    goto fail;
no_memory:
    cnn_error_set(error, CNN_OOM, "%s: no memory for the lists of its operations", network->spec.name);
fail:
    cuda_unbuild(p);
    return error ? (int)error->status : CNN_ERROR;
}

void cuda_unbuild(struct cnn_program *p)
{
    cuda_memory_free(&p->memory);
    cuda_unfuse(p);
    cnn_operations_destroy(p->operations);
    cnn_algorithms_free(&p->algorithms);
    free(p->layers);
    free(p->outputs);
    free(p->deltas);
    free(p->jobs);
    free(p->slots);
    free(p->buffers);
    free(p->graphs);
}
