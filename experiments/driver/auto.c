/* SPDX-License-Identifier: MIT */
/* The search: whole programs, then operations inside the fastest, then the mixture as a whole. */
#include "experiments/driver/auto.h"
#include "experiments/driver/auto_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAIN 0.02 /* what another algorithm must save of an operation */
#define CANDIDATES_MAX 16

/* ---- whole programs ---- */

/* From the last that the backend lists to the first: plain ones come first in lists, and are the slow ones. */
static int time_wholes(struct search *search, const char *const *names, int count, struct timed *wholes, int *best,
                       struct cnn_error *error)
{
    struct cnn_error why = { CNN_OK, "" };
    for (int i = count - 1; i >= 0; i--) {
        const struct cnn_program_options options = auto_options(search, names[i], NULL, 0);
        if (auto_time(search, &options, false, &wholes[i], &why)) {
            *error = why;
            return why.status;
        }
        if (wholes[i].seconds <= search->best && isfinite(wholes[i].seconds)) {
            search->best = wholes[i].seconds;
            *best = i;
        }
    }
    if (*best >= 0)
        return CNN_OK;
    *error = why;
    return why.status ? (int)why.status
                      : cnn_error_set(error, CNN_INVALID, "auto: %s has no algorithm that does this network",
                                      search->bench->backend->name);
}

/* ---- operation by operation ---- */

static bool is_fixed(const struct bench *bench, const struct cnn_profile_entry *entry)
{
    for (int i = 0; i < bench->point->choice_count; i++)
        if (bench->choices[i].kind == entry->kind &&
            (bench->choices[i].layer < 0 || bench->choices[i].layer == entry->layer))
            return true;
    return false;
}

static bool can_do(struct search *search, const struct cnn_profile_entry *entry, const char *algorithm)
{
    const struct bench *bench = search->bench;
    struct cnn_candidate found[CANDIDATES_MAX];
    for (int i = 0; i < search->operations->count; i++) {
        const struct cnn_operation *operation = &search->operations->list[i];
        if (operation->kind != entry->kind || operation->layer != entry->layer)
            continue;
        int count = bench->backend->candidates(bench->device, bench->network, operation, &bench->options, found,
                                               CANDIDATES_MAX);
        for (int k = 0; k < count && k < CANDIDATES_MAX; k++)
            if (!strcmp(found[k].algorithm, algorithm))
                return true;
        return false;
    }
    return false;
}

static bool keeps_layout(struct search *search, const char *algorithm, const struct cnn_choice *choices, int count,
                         int layout)
{
    const struct bench *bench = search->bench;
    const struct cnn_program_options options = auto_options(search, algorithm, choices, count);
    struct cnn_plan plan = { 0 };
    struct cnn_error why;
    return !bench->backend->plan(bench->device, bench->network, &options, &plan, &why) && plan.layout == layout;
}

/* The operations that `algorithm` can do inside the base program: all together, or those that fit one by one. */
static int fitting(struct search *search, const struct timed *base, const char *of_base, const char *algorithm,
                   struct cnn_choice *out)
{
    int count = 0, kept = 0;
    for (int i = 0; i < base->count; i++) {
        const struct cnn_profile_entry *entry = &base->entry[i];
        if (*entry->algorithm && strcmp(entry->algorithm, algorithm) && !is_fixed(search->bench, entry) &&
            can_do(search, entry, algorithm))
            out[count++] = (struct cnn_choice){ entry->kind, entry->layer, algorithm };
    }
    if (count == 0 || keeps_layout(search, of_base, out, count, base->layout))
        return count;
    for (int i = 0; i < count; i++)
        if (keeps_layout(search, of_base, &out[i], 1, base->layout))
            out[kept++] = out[i];
    return kept && keeps_layout(search, of_base, out, kept, base->layout) ? kept : 0;
}

static const struct cnn_profile_entry *entry_of(const struct timed *timed, enum cnn_operation_kind kind, int layer)
{
    for (int i = 0; i < timed->count; i++)
        if (timed->entry[i].kind == kind && timed->entry[i].layer == layer)
            return &timed->entry[i];
    return NULL;
}

/* Of these, the ones that a few images do not show to be hopeless; -1: an error. */
static int promising(struct search *search, const struct timed *base, const char *of_base, struct cnn_choice *tried,
                     int count, struct cnn_error *error)
{
    const struct cnn_program_options options = auto_options(search, of_base, tried, count);
    struct timed screened;
    int kept = 0;
    if (auto_time(search, &options, true, &screened, error))
        return -1;
    for (int i = 0; i < count; i++) {
        const struct cnn_profile_entry *now = entry_of(&screened, tried[i].kind, tried[i].layer);
        const struct cnn_profile_entry *before = entry_of(base, tried[i].kind, tried[i].layer);
        if (now && before && now->seconds <= HOPELESS * before->seconds)
            tried[kept++] = tried[i];
    }
    auto_timed_free(&screened);
    return kept;
}

/* Takes what `algorithm` does faster into *chosen, in the order of the base's entries. */
static void take_faster(struct timed *best, const struct timed *mixed, const struct cnn_choice *tried, int count)
{
    for (int i = 0; i < count; i++) {
        const struct cnn_profile_entry *now = entry_of(mixed, tried[i].kind, tried[i].layer);
        struct cnn_profile_entry *before = (struct cnn_profile_entry *)entry_of(best, tried[i].kind, tried[i].layer);
        if (now && before && now->seconds < before->seconds * (1 - GAIN)) {
            before->seconds = now->seconds;
            before->algorithm = tried[i].algorithm;
        }
    }
}

/* What differs from the base algorithm. */
static int differences(const struct timed *best, const struct timed *base, struct cnn_choice *out)
{
    int count = 0;
    for (int i = 0; i < best->count; i++)
        if (strcmp(best->entry[i].algorithm, base->entry[i].algorithm))
            out[count++] = (struct cnn_choice){ best->entry[i].kind, best->entry[i].layer, best->entry[i].algorithm };
    return count;
}

static int refine(struct search *search, const char *const *names, int count, const struct timed *base,
                  const char *of_base, struct timed *best, struct choices *out, struct cnn_error *error)
{
    for (int i = 0; i < count; i++) {
        struct timed mixed;
        int tried = strcmp(names[i], of_base) ? fitting(search, base, of_base, names[i], out->list) : 0;
        if (!tried)
            continue;
        tried = promising(search, base, of_base, out->list, tried, error);
        if (tried <= 0) {
            if (tried < 0)
                return error->status;
            continue;
        }
        const struct cnn_program_options options = auto_options(search, of_base, out->list, tried);
        if (auto_time(search, &options, false, &mixed, error))
            return error->status;
        take_faster(best, &mixed, out->list, tried);
        auto_timed_free(&mixed);
    }
    out->count = differences(best, base, out->list);
    if (!out->count)
        return CNN_OK;
    struct timed whole;
    const struct cnn_program_options options = auto_options(search, of_base, out->list, out->count);
    int status = auto_time(search, &options, false, &whole, error);
    if (!status && !(whole.seconds < base->seconds))
        out->count = 0;
    auto_timed_free(&whole);
    return status;
}

static int choose(struct search *search, const char *const *names, int count, struct choices *out,
                  struct cnn_error *error)
{
    struct timed wholes[CANDIDATES_MAX], best = { .entry = NULL };
    int at = -1;
    for (int i = 0; i < count; i++)
        wholes[i] = (struct timed){ .seconds = INFINITY };
    int status = time_wholes(search, names, count, wholes, &at, error);
    if (!status) {
        const struct timed *base = &wholes[at];
        out->algorithm = names[at];
        best = *base;
        best.entry = malloc(((size_t)base->count + 1) * sizeof *best.entry);
        out->list = calloc((size_t)base->count + 1, sizeof *out->list);
        if (best.entry && out->list) {
            memcpy(best.entry, base->entry, (size_t)base->count * sizeof *best.entry);
            status = refine(search, names, count, base, names[at], &best, out, error);
        } else {
            status = cnn_error_set(error, CNN_OOM, "no memory for choices of algorithms");
        }
    }
    for (int i = 0; i < count; i++)
        auto_timed_free(&wholes[i]);
    auto_timed_free(&best);
    return status;
}

/* Seeded noise, whatever the point's data are: times do not depend on it. */
static int prepare(struct search *search, struct cnn_error *error)
{
    const struct bench *bench = search->bench;
    struct point point = *bench->point;
    strcpy(point.data, "normal");
    if (cnn_operations_create(&search->operations, bench->network, error) ||
        batches_create(&search->batches, bench->network, &point, error))
        return error->status;
    size_t operations = (size_t)search->operations->count;
    search->scratch = calloc(operations + 1, sizeof *search->scratch);
    search->mixed = calloc(operations + POINT_CHOICES_MAX + 1, sizeof *search->mixed);
    return search->scratch && search->mixed ? CNN_OK
                                            : cnn_error_set(error, CNN_OOM, "no memory for the times of operations");
}

int auto_choose(const struct bench *bench, const struct cnn_device_info *info, double (*clock)(void),
                struct choices *out, struct cnn_error *error)
{
    struct search search = { .bench = bench, .info = info, .clock = clock, .best = INFINITY };
    const char *const *names = bench->backend->algorithms();
    int count = 0;
    *out = (struct choices){ .algorithm = NULL };
    if (bench->point->replay)
        return choices_parse(out, bench->point->replay, bench->network, bench->backend, error);
    while (names[count] && count < CANDIDATES_MAX)
        count++;
    int status = prepare(&search, error);
    if (!status)
        status = choose(&search, names, count, out, error);
    batches_free(&search.batches);
    cnn_operations_destroy(search.operations);
    free(search.scratch);
    free(search.mixed);
    if (status)
        choices_free(out);
    return status;
}

const char *auto_guess(const struct bench *bench, struct cnn_device *device)
{
    struct cnn_operations *operations = NULL;
    struct cnn_candidate found;
    struct cnn_error why;
    const char *guess = bench->backend->algorithms()[0];
    if (cnn_operations_create(&operations, bench->network, &why))
        return guess;
    const struct cnn_operation *most = &operations->list[0];
    for (int i = 0; i < operations->count; i++)
        if (operations->list[i].flops > most->flops)
            most = &operations->list[i];
    if (bench->backend->candidates(device, bench->network, most, &bench->options, &found, 1) > 0)
        guess = found.algorithm;
    cnn_operations_destroy(operations);
    return guess;
}
