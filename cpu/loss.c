/* SPDX-License-Identifier: MIT */
/* Loss, its gradient and the predicted label, the same for every algorithm: `classes` numbers per image, so plain
 * scalar code. Softmax cross-entropy subtracts the maximum first (log-sum-exp), so no finite output overflows. */
#include "lib/loss.h"
#include "cpu/kernel.h"
#include "cpu/naive.h"
#include "cpu/simd.h"

static int64_t block_tiles(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)job;
    return batch->blocks;
}

/* Outputs are classes x 1 x 1, or a map for each class; both read in canonical order. */
static float *output(const struct cpu_tensor *t, int image, int k)
{
    int pixels = t->rows * t->cols, map = k / pixels, place = k % pixels;
    return cpu_pixel(t, image, map, place / t->cols, place % t->cols);
}

static double softmax(const struct cpu_job *job, int image, int label, float scale, bool train)
{
    int classes = job->network->classes;
    double top = -INFINITY, sum = 0;
    for (int k = 0; k < classes; k++) {
        double y = *output(&job->y, image, k);
        top = y > top ? y : top;
    }
    for (int k = 0; k < classes; k++)
        sum += exp(*output(&job->y, image, k) - top);
    for (int k = 0; train && k < classes; k++) {
        float y = *output(&job->y, image, k);
        double gradient = exp(y - top) / sum - (k == label);
        *output(&job->dy, image, k) = scale * (float)gradient * naive_slope(job->layer->activation, y);
    }
    return log(sum) + top - *output(&job->y, image, label);
}

static double squared_error(const struct cpu_job *job, int image, int label, float scale, bool train)
{
    float on, off;
    cnn_loss_targets(job->network, &on, &off);
    double loss = 0;
    for (int k = 0; k < job->network->classes; k++) {
        float y = *output(&job->y, image, k);
        double error = (double)y - (k == label ? on : off);
        loss += error * error / 2;
        if (train)
            *output(&job->dy, image, k) = scale * (float)error * naive_slope(job->layer->activation, y);
    }
    return loss;
}

static int32_t predicted_label(const struct cpu_job *job, int image)
{
    int best = 0, classes = job->network->classes;
    for (int k = 0; k < classes; k++) {
        float y = *output(&job->y, image, k);
        if (isnan(y))
            return -1;
        if (y > *output(&job->y, image, best))
            best = k;
    }
    return classes == 1 ? cnn_answer_label(job->network, output(&job->y, image, 0)) : best;
}

static void run_loss(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    float scale = 1.0f / (float)batch->count;
    for (int64_t image = begin * job->lanes; image < end * job->lanes; image++) {
        if (image >= batch->count) { /* lanes without an image must add nothing to any gradient */
            for (int k = 0; batch->train && k < job->network->classes; k++)
                *output(&job->dy, (int)image, k) = 0;
            continue;
        }
        double (*loss)(const struct cpu_job *, int, int, float, bool) =
            job->network->loss == CNN_SOFTMAX ? softmax : squared_error;
        if (batch->labels)
            batch->losses[image] = loss(job, (int)image, batch->labels[image], scale, batch->train);
        batch->predicted[image] = predicted_label(job, (int)image);
    }
}

const struct cpu_kernel CPU_SYMBOL(shared_loss) = {
    .name = "shared_loss", .algorithm = "", .file = "cpu/loss.c", .kind = CNN_OP_LOSS, .main = { block_tiles, run_loss }
};
