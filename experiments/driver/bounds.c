/* SPDX-License-Identifier: MIT */
#include "experiments/driver/bounds.h"
#include "lib/checked.h"
#include "lib/operations.h"

#include <math.h>
#include <string.h>

/* The largest value of a kind of limit for this precision; `of` NULL: of any instruction set. NAN: none. fp32 products
 * may be done by what counts for fp32 alone, tf32 ones by both. */
static double rate_of(const struct ceiling_set *set, enum cnn_ceiling_kind kind, const char *of,
                      enum cnn_precision precision)
{
    double best = NAN;
    for (int i = 0; i < set->count; i++) {
        const struct cnn_ceiling *ceiling = &set->list[i];
        if (ceiling->kind == kind && (!of || strcmp(ceiling->of, of) == 0) && ceiling->precision <= precision)
            best = fmax(best, ceiling->value);
    }
    return best;
}

/* A BLAS chooses its own instructions; so does a GPU, whose library may know faster ones than its kernels here use. */
static double compute_rate(const struct ceiling_set *set, const struct point *point, const struct result *result)
{
    bool own = strcmp(point->algorithm, "naive") == 0 || strcmp(point->algorithm, "direct") == 0 ||
               strcmp(point->algorithm, "winograd") == 0;
    for (int i = 0; i < point->choice_count; i++)
        own = own && strcmp(point->choices[i].algorithm, "gemm");
    double rate = own && *result->isa ? rate_of(set, CNN_CEILING_FMA, result->isa, point->precision) : NAN;
    return isnan(rate) ? fmax(rate_of(set, CNN_CEILING_FMA, NULL, point->precision),
                              rate_of(set, CNN_CEILING_PRODUCT, NULL, point->precision))
                       : rate;
}

/* The bandwidth of the smallest level that holds so many bytes. */
static double bandwidth_of(const struct ceiling_set *set, int64_t bytes)
{
    const struct cnn_ceiling *found = NULL;
    for (int i = 0; i < set->count; i++) {
        const struct cnn_ceiling *ceiling = &set->list[i];
        if (ceiling->kind == CNN_CEILING_MEMORY && ceiling->bytes >= bytes && (!found || ceiling->bytes < found->bytes))
            found = ceiling;
    }
    return found ? found->value : NAN;
}

static enum cnn_phase phase_of(const struct point *point)
{
    return point->phase == POINT_TRAIN      ? CNN_PHASE_TRAIN
           : point->phase == POINT_CLASSIFY ? CNN_PHASE_CLASSIFY
                                            : CNN_PHASE_EVALUATE;
}

/* Images and labels in; the smallest copies of what comes back cost their latency alone. */
static double copy_seconds(const struct ceiling_set *set, const struct point *point, const struct cnn_network *network)
{
    double bytes = 4.0 * point->batch * (double)(cnn_shape_size(network->input) + 1);
    double seconds = bytes / rate_of(set, CNN_CEILING_COPY, NULL, CNN_FP32);
    double copy = rate_of(set, CNN_CEILING_COPY_STEP, NULL, CNN_FP32);
    switch (point->copies) {
    case CNN_COPIES_ANSWER:
        return seconds + 2 * copy;
    case CNN_COPIES_PAPER:
        return seconds + (point->phase == POINT_TRAIN ? 3 : 2) * copy; /* in, outputs down, output gradient up */
    case CNN_COPIES_PIPELINED:
        return seconds;
    default:
        return NAN;
    }
}

int bounds_of(struct bounds *out, const struct ceiling_set *set, const struct point *point,
              const struct cnn_network *network, const struct result *result, struct cnn_error *error)
{
    struct cnn_operations *operations = NULL;
    *out = (struct bounds){ .memory = 0 };
    if (cnn_operations_create(&operations, network, error))
        return error->status;
    for (int i = 0; i < operations->count; i++) {
        const struct cnn_operation *operation = &operations->list[i];
        if (!(operation->phases & phase_of(point)) || operation->fuses_with_previous ||
            operation->kind == CNN_OP_COPY_IN || operation->kind == CNN_OP_COPY_OUT)
            continue;
        int64_t bytes = operation->bytes_fixed;
        if (!cnn_accumulate(operation->bytes_per_image, point->batch, &bytes) ||
            !cnn_add(out->bytes, bytes, &out->bytes)) {
            cnn_operations_destroy(operations);
            return cnn_error_set(error, CNN_INVALID, "a step of batch %d moves more bytes than 63 bits can count",
                                 point->batch);
        }
        out->memory += (double)bytes / bandwidth_of(set, bytes);
        out->steps++;
    }
    cnn_operations_destroy(operations);
    double step = rate_of(set, CNN_CEILING_STEP, NULL, CNN_FP32);
    double graph = rate_of(set, CNN_CEILING_GRAPH_STEP, NULL, CNN_FP32);
    out->latency = out->steps * (point->launch == CNN_LAUNCH_GRAPH && !isnan(graph) ? graph : step);
    out->compute = result->flops_executed / compute_rate(set, point, result);
    out->copies = copy_seconds(set, point, network);
    return CNN_OK;
}

static void name_bound(struct result *result, const struct bounds *bounds)
{
    const struct {
        const char *word;
        double seconds;
    } all[] = { { "compute", bounds->compute },
                { "memory", bounds->memory },
                { "latency", bounds->latency },
                { "copies", bounds->copies } };
    double most = NAN;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!(isnan(most) || all[i].seconds > most) || isnan(all[i].seconds))
            continue;
        most = all[i].seconds;
        snprintf(result->bound, sizeof result->bound, "%s", all[i].word);
    }
    result->share_of_limit = most / result->median;
}

int bounds_judge(struct result *result, const struct ceilings *ceilings, const struct point *point,
                 const struct cnn_network *network, bool *exceeded, struct cnn_error *error)
{
    static const struct ceiling_set unknown = { .count = 0 };
    bool measured = result->status == CNN_OK || result->status == CNN_UNSTABLE;
    struct bounds bounds;
    *exceeded = false;
    if (!measured || point->phase == POINT_ACCURACY || !(result->median > 0))
        return CNN_OK;
    const struct ceiling_set *set =
        ceilings ? ceilings_find(ceilings, point->backend, point->device, result->threads) : NULL;
    if (bounds_of(&bounds, set ? set : &unknown, point, network, result, error))
        return error->status;
    result->bytes_per_step = (double)bounds.bytes;
    if (!set)
        return CNN_OK;
    result->limit_seconds = (struct limit_seconds){ bounds.compute, bounds.memory, bounds.latency, bounds.copies };
    name_bound(result, &bounds);
    *exceeded = bounds.compute > result->median;
    if (*exceeded)
        result_remark(result,
                      "%.0f %% of the ceiling measured for its multiply-adds: was the machine busy then? --ceilings "
                      "measures anew",
                      100 * bounds.compute / result->median);
    return CNN_OK;
}
