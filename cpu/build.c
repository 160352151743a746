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

/* Images of a block: one where a block would be at most half full; `winograd` has no other way, `naive` and `gemm` go
 * image by image. */
static int preferred_lanes(enum cpu_isa isa, const char *algorithm, int batch)
{
    int width = cpu_isa_width(isa), lanes = width < 8 ? 8 : width;
    if (!strcmp(algorithm, "winograd"))
        return lanes;
    return !strcmp(algorithm, "naive") || !strcmp(algorithm, "gemm") || batch * 2 <= lanes ? 1 : lanes;
}

static bool wanted(const struct cnn_program *p, const struct cnn_operation *operation)
{
    return cnn_operation_is_computed(operation->kind) && (operation->phases & p->options.phases);
}

static const struct cpu_kernel *kernel_of(const struct cnn_program *p, const struct cnn_operation *operation, int lanes)
{
    return cpu_kernel_find(p->isa, cnn_algorithms_of(&p->algorithms, operation), operation->kind,
                           &p->network->layers[operation->layer], lanes);
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
    p->lanes = preferred_lanes(p->isa, p->algorithms.whole, p->options.batch);
    const struct cnn_operation *missing = unsupported(p, p->lanes);
    if (missing && p->lanes > 1) {
        p->lanes = 1;
        missing = unsupported(p, 1);
    }
    if (missing)
        return cnn_error_set(error, CNN_INVALID, "algorithm %s has no %s for layer %s on the CPU",
                             cnn_algorithms_of(&p->algorithms, missing), cnn_operation_kind_name(missing->kind),
                             p->network->layers[missing->layer].name);
    p->max_blocks = (p->options.batch + p->lanes - 1) / p->lanes;
    return CNN_OK;
}

/* Without a BLAS, gemm is not unknown but missing. */
static int check_algorithms(const struct cnn_program *p, struct cnn_error *error)
{
    const struct cnn_algorithms *chosen = &p->algorithms;
    bool gemm = !strcmp(chosen->whole, "gemm");
    for (int i = 0; i < chosen->choice_count; i++)
        gemm = gemm || !strcmp(chosen->choices[i].algorithm, "gemm");
    return gemm && cpu_gemm_check(1, error) ? (int)error->status
                                            : cnn_algorithms_check(chosen, cpu_algorithms(), "the CPU backends", error);
}

static int check_isa(struct cnn_program *p, struct cnn_error *error)
{
    bool known;
    p->isa = !strcmp(p->algorithms.whole, "naive") ? CPU_SCALAR : cpu_isa_best(); /* the 2010 program had no vectors */
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
    if (check_algorithms(p, error))
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
        if (wanted(p, &p->operations->list[i]) &&
            !strcmp(cnn_algorithms_of(&p->algorithms, &p->operations->list[i]), "gemm"))
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
    add_job(p, cpu_kernel_find(p->isa, p->algorithms.whole, CNN_OP_LOSS, &p->network->layers[last], p->lanes), last);
    cpu_fuse(p);
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
    if (!cnn_algorithms_take(&p->algorithms, options))
        goto no_memory;
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
    cnn_algorithms_free(&p->algorithms);
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
