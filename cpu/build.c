/* SPDX-License-Identifier: MIT */
/* From a network and options to tensors, jobs and passes. cpu_build() chooses layout and kernels and works out every
 * size; cpu_bind() then gives each tensor and job its place, once to add up the sizes and once with memory. */
#include "cpu/gemm_list.h"
#include "cpu/program.h"
#include "cpu/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds, forward, of a whole batch that a step needs for more than one thread, and for each of them. Measured
 * as medians of alternating runs of cpu and omp on an idle Xeon of 8 cores (AVX-512; LeNet-5, mlp, garcia and stack of
 * width 1 at batches 1 to 128; 4, 8 and 16 threads), time of omp over that of cpu:
 *   below 0.1 million       1.4 to 2.1: some 20 barriers of 1 us outweigh the work
 *   0.1 to 1 million        0.2 to 0.9, but 0.9 to 1.3 for garcia at batch 16: a single block of images has few tiles
 *   1 to 2 million          0.1 to 0.8, but 1.1 for mlp at batch 4, whose update is bound by memory
 *   above 2 million         at most 0.54, at 2 million already with 8 threads what it is with 4, or better
 * so that below 2 million some point may be slower, and above it a quarter of a million is enough for each thread. */
#define STEP_MACS_MIN 2000000
#define STEP_MACS_PER_THREAD 250000

/* Images of a block: with `direct` one where a block would be at most half full; `winograd` has no other way. */
static int preferred_lanes(enum cpu_isa isa, const char *algorithm, int batch)
{
    int width = cpu_isa_width(isa), lanes = width < 8 ? 8 : width;
    if (!strcmp(algorithm, "winograd"))
        return lanes;
    return strcmp(algorithm, "direct") || batch * 2 <= lanes ? 1 : lanes;
}

static bool has_kernel(enum cnn_operation_kind kind)
{
    switch (kind) {
    case CNN_OP_COPY_IN:
    case CNN_OP_ACTIVATION_FORWARD: /* part of the layer's own operation here */
    case CNN_OP_ACTIVATION_BACKWARD:
    case CNN_OP_ARGMAX: /* part of the loss */
    case CNN_OP_LOSS:
    case CNN_OP_COPY_OUT:
        return false;
    default:
        return true;
    }
}

static bool wanted(const struct cnn_program *p, const struct cnn_operation *operation)
{
    return has_kernel(operation->kind) && (operation->phases & p->options.phases);
}

/* The program's algorithm, unless a choice names another for this operation. */
static const char *algorithm_of(const struct cnn_program *p, const struct cnn_operation *operation)
{
    const char *algorithm = p->algorithm;
    for (int i = 0; i < p->options.choice_count; i++)
        if (p->choices[i].kind == operation->kind &&
            (p->choices[i].layer < 0 || p->choices[i].layer == operation->layer))
            algorithm = p->choices[i].algorithm;
    return algorithm;
}

static const struct cpu_kernel *kernel_of(const struct cnn_program *p, const struct cnn_operation *operation, int lanes)
{
    return cpu_kernel_find(p->isa, algorithm_of(p, operation), operation->kind, &p->network->layers[operation->layer],
                           lanes);
}

static const struct cnn_operation *unsupported(const struct cnn_program *p, int lanes)
{
    for (int i = 0; i < p->operations->count; i++)
        if (wanted(p, &p->operations->list[i]) && !kernel_of(p, &p->operations->list[i], lanes))
            return &p->operations->list[i];
    return NULL;
}

static int choose_lanes(struct cnn_program *p, struct cnn_error *error)
{
    p->lanes = preferred_lanes(p->isa, p->algorithm, p->options.batch);
    const struct cnn_operation *missing = unsupported(p, p->lanes);
    if (missing && p->lanes > 1) {
        p->lanes = 1;
        missing = unsupported(p, 1);
    }
    if (missing)
        return cnn_error_set(error, CNN_INVALID, "algorithm %s has no %s for layer %s on the CPU",
                             algorithm_of(p, missing), cnn_operation_kind_name(missing->kind),
                             p->network->layers[missing->layer].name);
    p->max_blocks = (p->options.batch + p->lanes - 1) / p->lanes;
    return CNN_OK;
}

/* `what`: "algorithm", or the operation that chose it. */
static int check_algorithm(const char *what, const char *name, struct cnn_error *error)
{
    for (const char *const *a = cpu_algorithms(); *a; a++)
        if (!strcmp(*a, name))
            return CNN_OK;
    if (!strcmp(name, "gemm"))
        return cpu_gemm_check(1, error);
    char list[80] = "";
    for (const char *const *a = cpu_algorithms(); *a; a++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", a == cpu_algorithms() ? "" : ", ", *a);
    return cnn_error_set(error, CNN_INVALID, "%s = %s: the CPU backends have %s", what, name, list);
}

static int check_isa(struct cnn_program *p, struct cnn_error *error)
{
    bool known;
    p->isa = !strcmp(p->algorithm, "naive") ? CPU_SCALAR : cpu_isa_best(); /* the 2010 program had no vectors */
    if (!p->options.isa || !*p->options.isa || cpu_isa_parse(p->options.isa, &p->isa, &known))
        return CNN_OK;
    if (known)
        return cnn_error_set(error, CNN_UNAVAILABLE, "instruction set %s: this processor does not have it",
                             p->options.isa);
    return cnn_error_set(error, CNN_INVALID, "instruction set %s: expected scalar, avx2, avx512 or neon",
                         p->options.isa);
}

static int check_options(struct cnn_program *p, struct cnn_error *error)
{
    const struct cnn_program_options *o = &p->options;
    if (o->batch < 1 || o->slots < 1 || !(o->phases & CNN_PHASE_ALL))
        return cnn_error_set(error, CNN_INVALID, "batch %d, slots %d: expected at least 1 of each, and a phase",
                             o->batch, o->slots);
    if (check_algorithm("algorithm", p->algorithm, error))
        return error->status;
    for (int i = 0; i < o->choice_count; i++)
        if (check_algorithm(cnn_operation_kind_name(p->choices[i].kind), p->choices[i].algorithm, error))
            return error->status;
    if (o->precision != CNN_FP32)
        return cnn_error_set(error, CNN_INVALID, "precision %s: the CPU backends compute in fp32",
                             cnn_precision_name(o->precision));
    if (o->copies == CNN_COPIES_PIPELINED)
        return cnn_error_set(error, CNN_INVALID,
                             "copies = pipelined: the CPU backends have no device to copy to while they compute");
    return check_isa(p, error);
}

static int threads_worth(const struct cnn_program *p)
{
    double macs = (double)p->network->macs * p->options.batch;
    int worth = macs < STEP_MACS_MIN ? 1 : macs > 1e12 ? 1 << 20 : (int)(macs / STEP_MACS_PER_THREAD);
    return worth < p->device->threads ? worth : p->device->threads;
}

static int check_gemm(const struct cnn_program *p, struct cnn_error *error)
{
    for (int i = 0; i < p->operations->count; i++)
        if (wanted(p, &p->operations->list[i]) && !strcmp(algorithm_of(p, &p->operations->list[i]), "gemm"))
            return cpu_gemm_check(p->threads, error);
    return CNN_OK;
}

static bool take_lists(struct cnn_program *p)
{
    size_t layers = (size_t)p->network->layer_count, operations = (size_t)p->operations->count;
    p->slots = calloc((size_t)p->options.slots, sizeof *p->slots);
    p->outputs = calloc(layers, sizeof *p->outputs);
    p->deltas = calloc(layers, sizeof *p->deltas);
    p->shares = calloc(2 * layers + 1, sizeof *p->shares);
    p->share_order = calloc(2 * (2 * layers + 1), sizeof *p->share_order);
    p->jobs = calloc(operations + 1, sizeof *p->jobs);
    p->steps = calloc(4 * (operations + 1), sizeof *p->steps);
    return p->slots && p->outputs && p->deltas && p->shares && p->share_order && p->jobs && p->steps;
}

static void add_job(struct cnn_program *p, const struct cpu_kernel *kernel, int layer)
{
    struct cpu_job *job = &p->jobs[p->job_count++];
    *job = (struct cpu_job){ .kernel = kernel,
                             .fused = kernel->fuses_update && !p->options.inspectable,
                             .network = p->network,
                             .layer = &p->network->layers[layer],
                             .lanes = p->lanes,
                             .max_blocks = p->max_blocks };
}

/* Max-pooling is listed once for training, which keeps the places of the maxima, and once for the other phases; here
 * both are one job, since the places are found again. */
static bool has_job(const struct cnn_program *p, const struct cnn_operation *operation)
{
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].kernel->kind == operation->kind && p->jobs[i].layer == &p->network->layers[operation->layer])
            return true;
    return false;
}

static bool make_jobs(struct cnn_program *p)
{
    for (int i = 0; i < p->operations->count; i++)
        if (wanted(p, &p->operations->list[i]) && !has_job(p, &p->operations->list[i]))
            add_job(p, kernel_of(p, &p->operations->list[i], p->lanes), p->operations->list[i].layer);
    int last = p->network->layer_count - 1;
    add_job(p, cpu_kernel_find(p->isa, p->algorithm, CNN_OP_LOSS, &p->network->layers[last], p->lanes), last);
    cpu_bind(p); /* geometry, for prepare() */
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].kernel->prepare && !p->jobs[i].kernel->prepare(&p->jobs[i]))
            return false;
    return true;
}

int cpu_build(struct cnn_program *p, struct cnn_device *device, const struct cnn_network *network,
              const struct cnn_program_options *options, struct cnn_error *error)
{
    *p = (struct cnn_program){ .device = device, .network = network, .options = *options, .last_slot = -1 };
    strncat(p->algorithm, options->algorithm ? options->algorithm : "direct", sizeof p->algorithm - 1);
    if (options->choice_count > 0) {
        p->choices = malloc((size_t)options->choice_count * sizeof *p->choices);
        if (!p->choices)
            goto no_memory;
        memcpy(p->choices, options->choices, (size_t)options->choice_count * sizeof *p->choices);
    }
    if (check_options(p, error) || cnn_operations_create(&p->operations, network, error) || choose_lanes(p, error))
        goto fail;
    p->threads = threads_worth(p);
    if (check_gemm(p, error))
        goto fail;
    cpu_memory_begin(&p->memory, options->guarded);
    if (!take_lists(p) || !make_jobs(p))
        goto no_memory;
    cpu_memory_begin(&p->memory, options->guarded);
    cpu_bind(p); /* sizes, with what prepare() asked for */
    if (!p->memory.overflow)
        return CNN_OK;
    cnn_error_set(error, CNN_INVALID, "%s: its tensors at batch %d are larger than 63 bits can count",
                  network->spec.name, options->batch);
    goto fail;
no_memory:
    cnn_error_set(error, CNN_OOM, "%s: no memory for the lists of its operations", network->spec.name);
fail:
    cpu_unbuild(p);
    return error ? (int)error->status : CNN_ERROR;
}

void cpu_unbuild(struct cnn_program *p)
{
    for (int i = 0; i < p->job_count; i++)
        free(p->jobs[i].plan);
    cpu_memory_free(&p->memory);
    cnn_operations_destroy(p->operations);
    free(p->choices);
    free(p->slots);
    free(p->outputs);
    free(p->deltas);
    free(p->shares);
    free(p->share_order);
    free(p->jobs);
    free(p->steps);
    free(p->labels);
    free(p->counts);
    free(p->labelled);
    free(p->predicted);
    free(p->losses);
    free(p->host_outputs);
    free(p->host_gradient);
    free(p->host_input_gradient);
}
