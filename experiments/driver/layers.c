/* SPDX-License-Identifier: MIT */
/* Times the operations of a step, in the point's own process, behind its samples. */
#include "experiments/driver/layers.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/statistics.h"

#include <stdlib.h>
#include <string.h>

#define PASSES_MIN 5
#define PASSES_MAX 101
#define PASSES_SECONDS 0.3 /* where PASSES_MIN take less */

/* Passes over a program: seconds[operation][pass], ascending. */
struct passes {
    struct cnn_operations *operations;
    struct cnn_profile_entry *entry;
    double (*seconds)[PASSES_MAX];
    int count; /* of entries */
    int done;
};

double layers_flops(const struct cnn_operations *operations, enum cnn_operation_kind kind, int layer, int images)
{
    double flops = 0;
    for (int i = 0; i < operations->count; i++)
        if (operations->list[i].kind == kind && operations->list[i].layer == layer)
            flops += (double)operations->list[i].flops * images;
    return flops;
}

static int take_pass(struct bench *bench, struct passes *passes, struct cnn_error *error)
{
    int capacity = passes->operations->count, count = 0;
    if (bench->backend->profile(bench->program, bench_phase(bench), clock_seconds, passes->entry, capacity, &count,
                                error))
        return error->status;
    if (count < 1 || count > capacity || (passes->done > 0 && count != passes->count))
        return cnn_error_set(error, CNN_ERROR, "a step came apart into %d operations, expected 1 to %d", count,
                             capacity);
    passes->count = count;
    for (int i = 0; i < count; i++)
        statistics_insert(passes->seconds[i], passes->done, passes->entry[i].seconds);
    passes->done++;
    return CNN_OK;
}

/* The first pass only warms up. */
static int take_passes(struct bench *bench, struct passes *passes, struct cnn_error *error)
{
    const int32_t *labels = bench_phase(bench) == CNN_PHASE_CLASSIFY ? NULL : batches_labels(&bench->batches, 0);
    if (bench->backend->write_parameters(bench->program, bench->parameters, error) ||
        bench->backend->load(bench->program, 0, batches_images(&bench->batches, 0), labels, bench->point->batch,
                             error) ||
        take_pass(bench, passes, error))
        return error->status;
    passes->done = 0;
    double start = clock_seconds();
    while (passes->done < PASSES_MIN || (passes->done < PASSES_MAX && clock_seconds() - start < PASSES_SECONDS))
        if (take_pass(bench, passes, error))
            return error->status;
    return bench->backend->sync(bench->program, error);
}

/* As the phase has the operation: its tensors, each once. */
static double bytes_of(const struct bench *bench, const struct cnn_operations *operations,
                       const struct cnn_profile_entry *entry)
{
    double bytes = 0;
    for (int i = 0; i < operations->count; i++) {
        const struct cnn_operation *of = &operations->list[i];
        if (of->kind == entry->kind && (of->layer < 0 || of->layer == entry->layer) &&
            (of->phases & bench_phase(bench)))
            bytes += (double)of->bytes_per_image * bench->point->batch + (double)of->bytes_fixed;
    }
    return bytes;
}

static int report(const struct bench *bench, const struct passes *passes, struct result *result,
                  struct cnn_error *error)
{
    result->operation = calloc((size_t)passes->count, sizeof *result->operation);
    if (!result->operation)
        return cnn_error_set(error, CNN_OOM, "no memory for %d operations", passes->count);
    for (int i = 0; i < passes->count; i++) {
        const struct cnn_profile_entry *entry = &passes->entry[i];
        struct operation_result *out = &result->operation[result->operations++];
        *out = (struct operation_result){
            .layer = entry->layer,
            .seconds = statistics_quantile(passes->seconds[i], passes->done, 0.5),
            .flops_useful = layers_flops(passes->operations, entry->kind, entry->layer, bench->point->batch),
            .flops_executed = (double)entry->flops_executed,
            .bytes = bytes_of(bench, passes->operations, entry),
        };
        snprintf(out->operation, sizeof out->operation, "%s", cnn_operation_kind_name(entry->kind));
        snprintf(out->name, sizeof out->name, "%s", bench->network->layers[entry->layer].name);
        snprintf(out->algorithm, sizeof out->algorithm, "%s", entry->algorithm);
        snprintf(out->file, sizeof out->file, "%s", entry->file);
    }
    return CNN_OK;
}

int layers_measure(struct bench *bench, struct result *result, struct cnn_error *error)
{
    struct passes passes = { .count = 0 };
    if (cnn_operations_create(&passes.operations, bench->network, error))
        return error->status;
    size_t count = (size_t)passes.operations->count;
    passes.entry = calloc(count, sizeof *passes.entry);
    passes.seconds = calloc(count, sizeof *passes.seconds);
    int status = passes.entry && passes.seconds
                     ? take_passes(bench, &passes, error)
                     : cnn_error_set(error, CNN_OOM, "no memory for the times of %zu operations", count);
    if (!status)
        status = report(bench, &passes, result, error);
    cnn_operations_destroy(passes.operations);
    free(passes.entry);
    free(passes.seconds);
    return status;
}
