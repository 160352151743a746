/* SPDX-License-Identifier: MIT */
/* Times one program operation by operation: a step of few images that shows what would take for ever, then some full
 * ones, of which the least time of each operation counts. */
#include "experiments/driver/auto_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSES_MIN 3
#define PASSES_MAX 25
#define PASSES_SECONDS 0.05 /* of a program, where PASSES_MIN take less */

struct cnn_program_options auto_options(struct search *search, const char *algorithm, const struct cnn_choice *choices,
                                        int count)
{
    const struct bench *bench = search->bench;
    struct cnn_program_options options = bench->options;
    if (count > 0)
        memcpy(search->mixed, choices, (size_t)count * sizeof *choices);
    for (int i = 0; i < bench->point->choice_count; i++)
        search->mixed[count + i] = bench->choices[i];
    options.algorithm = algorithm;
    options.choices = search->mixed;
    options.choice_count = count + bench->point->choice_count;
    options.slots = 1;
    return options;
}

void auto_timed_free(struct timed *timed)
{
    free(timed->entry);
    *timed = (struct timed){ .seconds = INFINITY };
}

static void keep_least(struct timed *timed, const struct cnn_profile_entry *pass, int count)
{
    double sum = 0;
    for (int i = 0; i < count && i < timed->count; i++)
        timed->entry[i].seconds = fmin(timed->entry[i].seconds, pass[i].seconds);
    for (int i = 0; i < timed->count; i++)
        sum += timed->entry[i].seconds;
    timed->seconds = sum;
}

/* One profiled step; the sum of its operations. */
static int pass_of(struct search *search, struct cnn_program *program, int *count, double *seconds,
                   struct cnn_error *error)
{
    int capacity = search->operations->count + 1;
    if (search->bench->backend->profile(program, bench_phase(search->bench), search->clock, search->scratch, capacity,
                                        count, error))
        return error->status;
    *count = *count < capacity ? *count : capacity;
    *seconds = 0;
    for (int i = 0; i < *count; i++)
        *seconds += search->scratch[i].seconds;
    return CNN_OK;
}

static int load(struct search *search, struct cnn_program *program, int count, struct cnn_error *error)
{
    const struct bench *bench = search->bench;
    return bench->backend->load(program, 0, batches_images(&search->batches, 0), batches_labels(&search->batches, 0),
                                count, error);
}

static int keep_pass(struct search *search, struct timed *timed, int count, struct cnn_error *error)
{
    if (!timed->entry) {
        timed->entry = calloc((size_t)count + 1, sizeof *timed->entry);
        if (!timed->entry)
            return cnn_error_set(error, CNN_OOM, "no memory for the times of operations");
        memcpy(timed->entry, search->scratch, (size_t)count * sizeof *timed->entry);
        timed->count = count;
    }
    keep_least(timed, search->scratch, count);
    return CNN_OK;
}

/* A step of few images, in whole blocks, and what it says of the full batch: enough to tell what would take for ever
 * there. It warms up as well. */
static int screen(struct search *search, struct cnn_program *program, struct timed *timed, struct cnn_error *error)
{
    int batch = search->bench->point->batch, few = batch, count;
    double seconds;
    if (timed->layout > 0 && timed->layout < batch)
        few = timed->layout;
    if (load(search, program, few, error) || pass_of(search, program, &count, &seconds, error))
        return error->status;
    for (int i = 0; i < count; i++)
        search->scratch[i].seconds *= (double)batch / few;
    return keep_pass(search, timed, count, error);
}

static int take_passes(struct search *search, struct cnn_program *program, struct timed *timed, struct cnn_error *error)
{
    double spent = 0, seconds = 0;
    if (load(search, program, search->bench->point->batch, error))
        return error->status;
    for (int pass = 0; pass < PASSES_MAX && (pass < PASSES_MIN || spent < PASSES_SECONDS); pass++) {
        int count;
        if (pass_of(search, program, &count, &seconds, error))
            return error->status;
        if (keep_pass(search, timed, count, error))
            return error->status;
        spent += seconds;
    }
    return CNN_OK;
}

int auto_time(struct search *search, const struct cnn_program_options *options, bool screened_only, struct timed *timed,
              struct cnn_error *error)
{
    const struct bench *bench = search->bench;
    struct cnn_program *program = NULL;
    struct cnn_plan plan = { 0 };
    *timed = (struct timed){ .seconds = INFINITY };
    if (bench->backend->plan(bench->device, bench->network, options, &plan, error) ||
        bench_check_memory(bench, search->info, &plan, error) ||
        bench->backend->compile(&program, bench->device, bench->network, options, error))
        return CNN_OK;
    timed->layout = plan.layout;
    int status = bench->backend->write_parameters(program, bench->parameters, error);
    if (!status)
        status = screen(search, program, timed, error);
    bool hopeless = !status && timed->seconds > HOPELESS * search->best;
    if (!status && !screened_only) {
        auto_timed_free(timed);
        timed->layout = plan.layout;
        if (!hopeless)
            status = take_passes(search, program, timed, error);
    }
    bench->backend->release(program);
    return status;
}
