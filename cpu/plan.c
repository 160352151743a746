/* SPDX-License-Identifier: MIT */
/* What a program would take, and which algorithms could do an operation, asked before anything is allocated. */
#include "cpu/program.h"
#include "cpu/registry.h"

#include <string.h>

int cpu_candidates(struct cnn_device *device, const struct cnn_network *network, const struct cnn_operation *operation,
                   const struct cnn_program_options *options, struct cnn_candidate *out, int capacity)
{
    (void)device;
    int count = 0;
    bool known;
    enum cpu_isa isa = cpu_isa_best();
    if (options->isa && *options->isa)
        cpu_isa_parse(options->isa, &isa, &known);
    if (operation->layer < 0)
        return 0;
    for (const char *const *algorithm = cpu_algorithms(); *algorithm && count < capacity; algorithm++) {
        const struct cnn_layer *layer = &network->layers[operation->layer];
        if (cpu_algorithm_rest(isa, *algorithm, operation->kind, layer))
            continue; /* nothing of its own */
        const struct cpu_kernel *kernel = cpu_kernel_find(isa, *algorithm, operation->kind, layer, 1);
        if (!kernel)
            kernel = cpu_kernel_find(isa, *algorithm, operation->kind, layer, CPU_LANES_MAX);
        if (kernel)
            out[count++] = (struct cnn_candidate){ .algorithm = *algorithm, .file = kernel->file };
    }
    return count;
}

int cpu_plan(struct cnn_device *device, const struct cnn_network *network, const struct cnn_program_options *options,
             struct cnn_plan *out, struct cnn_error *error)
{
    struct cnn_program p;
    struct cnn_error local;
    if (!error)
        error = &local;
    if (cpu_build(&p, device, network, options, error))
        return error->status;
    const int64_t *floats = p.memory.size;
    *out = (struct cnn_plan){ .parameters = floats[CPU_PARAMETERS] * (int64_t)sizeof(float),
                              .gradients = floats[CPU_GRADIENTS] * (int64_t)sizeof(float),
                              .activations = floats[CPU_ACTIVATIONS] * (int64_t)sizeof(float),
                              .workspace = floats[CPU_WORKSPACE] * (int64_t)sizeof(float),
                              .batches = floats[CPU_BATCHES] * (int64_t)sizeof(float),
                              .threads = p.threads,
                              .isa = cpu_isa_name(p.isa),
                              .layout = p.lanes };
    out->total = out->parameters + out->gradients + out->activations + out->workspace + out->batches;
    for (int i = 0; i < p.job_count; i++) {
        int64_t flops = (int64_t)(2 * p.jobs[i].executed_macs * options->batch);
        out->flops_executed_train += flops;
        if (p.jobs[i].kernel->kind < CNN_OP_LOSS)
            out->flops_executed_forward += flops;
    }
    if (!(options->phases & CNN_PHASE_TRAIN))
        out->flops_executed_train = 0;
    cpu_unbuild(&p);
    return CNN_OK;
}
