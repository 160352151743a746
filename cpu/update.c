/* SPDX-License-Identifier: MIT */
/* SGD with momentum and decay, the same for every algorithm: v = momentum v + g + decay w (weights of convolutions and
 * fully connected layers only), w -= rate v. Bytes: 3 to 5 floats per parameter for 2 to 6 FLOPs, so it runs at memory
 * speed. */
#include "cpu/direct.h"

#define UPDATE_FLOATS 4096

static int64_t size_of(const struct cpu_job *job)
{
    return job->layer->weights + job->layer->biases;
}

static int64_t tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return ceil_divide(size_of(job), UPDATE_FLOATS);
}

/* A layer's biases follow its weights in the arena, and so in the gradient and the velocity. */
static void update_range(const struct cpu_job *job, const struct cnn_rates *rates, float decay, int64_t begin,
                         int64_t end)
{
    float *w = (float *)job->weights, *v = job->velocity;
    const float *g = job->weight_gradient;
    for (int64_t i = begin; i < end; i += VEC_WIDTH) {
        int n = end - i < VEC_WIDTH ? (int)(end - i) : VEC_WIDTH;
        vec value = vec_load_first(w + i, n), step = vec_load_first(g + i, n) + vec_set(decay) * value;
        if (v) {
            step += vec_set(rates->momentum) * vec_load_first(v + i, n);
            vec_store_first(v + i, step, n);
        }
        vec_store_first(w + i, value - vec_set(rates->rate) * step, n);
    }
}

static void run(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    bool decays = job->layer->kind == CNN_CONV || job->layer->kind == CNN_FULL;
    int64_t size = size_of(job), weights = decays ? job->layer->weights : 0;
    int64_t first = begin * UPDATE_FLOATS, last = end * UPDATE_FLOATS < size ? end * UPDATE_FLOATS : size;
    int64_t middle = weights < first ? first : weights > last ? last : weights;
    update_range(job, &batch->rates, batch->rates.decay, first, middle);
    update_range(job, &batch->rates, 0, middle, last);
}

const struct cpu_kernel CPU_SYMBOL(shared_update) = {
    .name = "shared_update", .algorithm = "", .file = "cpu/update.c", .kind = CNN_OP_UPDATE, .main = { tiles, run }
};
