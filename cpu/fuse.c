/* SPDX-License-Identifier: MIT */
/* Convolutions and the pooling above them as one job each way, where their kernels can. Forward, the convolution pools
 * the rows that it has just written, and while nothing trains it keeps none of them; below a max-pooling its activation
 * waits until one value of a window is left. Backward of the lowest layer that trains, the weight gradient makes the
 * deltas that it reads band by band, so that they never lie in memory, and the gradient of the pooling's gains from the
 * same rows. An inspectable program keeps everything. */
#include "cpu/program.h"

static struct cpu_job *job_of(struct cnn_program *p, enum cnn_operation_kind kind, int layer)
{
    for (int i = 0; i < p->job_count; i++)
        if (p->jobs[i].kernel->kind == kind && p->jobs[i].layer == &p->network->layers[layer])
            return &p->jobs[i];
    return NULL;
}

static bool pool_kinds(enum cnn_layer_kind kind, enum cnn_operation_kind *forward, enum cnn_operation_kind *backward)
{
    switch (kind) {
    case CNN_SUBSAMPLE:
        *forward = CNN_OP_SUBSAMPLE_FORWARD;
        *backward = CNN_OP_SUBSAMPLE_BACKWARD_DATA;
        return true;
    case CNN_MAXPOOL:
        *forward = CNN_OP_MAXPOOL_FORWARD;
        *backward = CNN_OP_MAXPOOL_BACKWARD;
        return true;
    case CNN_AVGPOOL:
        *forward = CNN_OP_AVGPOOL_FORWARD;
        *backward = CNN_OP_AVGPOOL_BACKWARD;
        return true;
    default:
        return false;
    }
}

static bool takes(const struct cpu_job *conv, const struct cpu_job *pool)
{
    return conv && conv->kernel->takes_pool && pool && pool->kernel->joins_conv &&
           conv->kernel->takes_pool(conv, pool->layer);
}

static void join(struct cpu_job *conv, struct cpu_job *pool)
{
    conv->pool = pool;
    pool->joined = true;
}

static void fuse_layer(struct cnn_program *p, int layer)
{
    const struct cnn_layer *below = &p->network->layers[layer], *above = below + 1;
    enum cnn_operation_kind forward, backward;
    if (below->kind != CNN_CONV || !pool_kinds(above->kind, &forward, &backward))
        return;
    struct cpu_job *pool = job_of(p, forward, layer + 1), *back = job_of(p, backward, layer + 1);
    struct cpu_job *conv = job_of(p, CNN_OP_CONV_FORWARD, layer), *weights, *gains;
    if (!takes(conv, pool) || (back && !back->kernel->joins_conv))
        return;
    join(conv, pool);
    if (above->kind == CNN_MAXPOOL && above->activation == CNN_LINEAR) {
        pool->pending = below->activation;
        if (back)
            back->pending = below->activation;
    }
    weights = job_of(p, CNN_OP_CONV_BACKWARD_WEIGHTS, layer);
    if (!takes(weights, back) || job_of(p, CNN_OP_CONV_BACKWARD_DATA, layer))
        return;
    join(weights, back);
    gains = job_of(p, CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS, layer + 1);
    if (gains && gains->kernel->joins_conv) {
        weights->pool_gains = gains;
        gains->joined = true;
    }
}

void cpu_fuse(struct cnn_program *p)
{
    for (int layer = 0; !p->options.inspectable && layer + 1 < p->network->layer_count; layer++)
        fuse_layer(p, layer);
}
