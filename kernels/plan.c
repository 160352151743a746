/* SPDX-License-Identifier: MIT */
/* What a program would take, and which algorithms could do an operation, asked before anything is allocated. */
#include "kernels/program.h"
#include "kernels/registry.h"

#include <string.h>

int cuda_candidates(struct cnn_device *device, const struct cnn_network *network, const struct cnn_operation *operation,
                    const struct cnn_program_options *options, struct cnn_candidate *out, int capacity)
{
    struct cuda_layer shape;
    int count = 0;
    if (operation->layer < 0 || cuda_layer_shape(&shape, &network->layers[operation->layer], NULL))
        return 0;
    for (const char *const *algorithm = cuda_algorithms(); *algorithm && count < capacity; algorithm++) {
        struct cuda_job job = { .network = network, .layer = &network->layers[operation->layer], .shape = &shape };
        cuda_job_describe(&job, device, options);
        job.kernel = cuda_kernel_find(*algorithm, operation->kind, &job);
        if (!job.kernel)
            continue;
        if (job.kernel->prepare)
            job.kernel->prepare(&job);
        out[count++] = (struct cnn_candidate){ .algorithm = *algorithm,
                                               .file = job.kernel->file,
                                               .workspace = job.workspace_size * (int64_t)sizeof(float) };
    }
    return count;
}

int cuda_plan(struct cnn_device *device, const struct cnn_network *network, const struct cnn_program_options *options,
              struct cnn_plan *out, struct cnn_error *error)
{
    struct cnn_program p;
    struct cnn_error local;
    if (!error)
        error = &local;
    if (cuda_build(&p, device, network, options, error))
        return error->status;
    const int64_t *words = p.memory.size, word = sizeof(float);
    *out = (struct cnn_plan){ .parameters = words[CUDA_PARAMETERS] * word,
                              .gradients = words[CUDA_GRADIENTS] * word,
                              .activations = words[CUDA_ACTIVATIONS] * word,
                              .workspace = words[CUDA_WORKSPACE] * word,
                              .batches = words[CUDA_BATCHES] * word };
    out->total = out->parameters + out->gradients + out->activations + out->workspace + out->batches;
    for (int i = 0; i < p.job_count; i++) {
        int64_t flops = (int64_t)(2 * p.jobs[i].executed_macs * options->batch);
        out->flops_executed_train += flops;
        if (p.jobs[i].kernel->kind < CNN_OP_LOSS)
            out->flops_executed_forward += flops;
    }
    if (!(options->phases & CNN_PHASE_TRAIN))
        out->flops_executed_train = 0;
    cuda_unbuild(&p);
    return CNN_OK;
}
