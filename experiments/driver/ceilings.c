/* SPDX-License-Identifier: MIT */
/* Ceilings are measured by the backends; here they are gathered, looked up and shown. */
#include "experiments/driver/ceilings.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/machine.h"

#include <stdlib.h>
#include <string.h>

#define SECONDS_EACH 0.03
#define GPUS_MAX 64

void ceilings_free(struct ceilings *ceilings)
{
    free(ceilings->list);
    *ceilings = (struct ceilings){ .list = NULL };
}

/* ---- measuring ---- */

/* Appends what one device says. *threads becomes how many it has. CNN_UNAVAILABLE where it is not there. */
static int measure_device(struct ceilings *out, const struct cnn_backend *backend, int index, int *threads,
                          struct cnn_error *error)
{
    const struct cnn_device_options options = { .index = index, .threads = *threads, .pin = true };
    struct cnn_device *device = NULL;
    struct cnn_device_info info;
    struct ceiling_set *set, *list = realloc(out->list, ((size_t)out->count + 1) * sizeof *list);
    if (!list)
        return cnn_error_set(error, CNN_OOM, "no memory for the ceilings of %s", backend->name);
    out->list = list;
    set = &list[out->count];
    *set = (struct ceiling_set){ .index = index };
    int status = backend->open(&device, &options, error);
    if (status == CNN_OK)
        status = backend->describe(device, &info, error);
    if (status == CNN_OK)
        status = backend->ceiling(device, clock_seconds, SECONDS_EACH, set->list, CEILINGS_MAX, &set->count, error);
    if (status == CNN_OK) {
        snprintf(set->backend, sizeof set->backend, "%s", backend->name);
        snprintf(set->device, sizeof set->device, "%s", info.name);
        set->count = set->count < CEILINGS_MAX ? set->count : CEILINGS_MAX;
        *threads = set->threads = info.threads;
        out->count++;
    }
    backend->close(device);
    return status;
}

/* 1, 2, 4, ... and all threads; the number of all is learnt first, and its set put behind the others. */
static int measure_threads(struct ceilings *out, const struct cnn_backend *backend, struct cnn_error *error)
{
    int all = 0, status = measure_device(out, backend, 0, &all, error), last = out->count - 1;
    for (int threads = 1; status == CNN_OK && threads < all; threads *= 2) {
        int asked = threads;
        status = measure_device(out, backend, 0, &asked, error);
    }
    if (status == CNN_OK) {
        struct ceiling_set whole = out->list[last];
        memmove(&out->list[last], &out->list[last + 1], (size_t)(out->count - 1 - last) * sizeof *out->list);
        out->list[out->count - 1] = whole;
    }
    return status;
}

static int measure_backend(struct ceilings *out, const struct backend_entry *entry, struct cnn_error *error)
{
    int threads = 0, index = 0;
    if (entry->threads)
        return measure_threads(out, entry->backend, error);
    int status = measure_device(out, entry->backend, index, &threads, error);
    while (status == CNN_OK && entry->launch && ++index < GPUS_MAX) /* one GPU after the other until there is none */
        if (measure_device(out, entry->backend, index, &threads, error))
            break;
    return status;
}

int ceilings_measure(struct ceilings *out, FILE *log, struct cnn_error *error)
{
    *out = (struct ceilings){ .list = NULL };
    machine_slug(out->machine);
    machine_time(out->measured, sizeof out->measured);
    snprintf(out->build, sizeof out->build, "%s", machine_build());
    for (const struct backend_entry *entry = backend_entries(); entry->name; entry++) {
        int status = CNN_UNAVAILABLE;
        if (entry->backend)
            status = measure_backend(out, entry, error);
        if (status != CNN_OK && log)
            fprintf(log, "%s: no ceilings: %s\n", entry->label, entry->backend ? error->text : entry->missing);
    }
    return out->count > 0 ? CNN_OK : cnn_error_set(error, CNN_UNAVAILABLE, "no device of this build can be measured");
}

/* ---- use ---- */

const struct ceiling_set *ceilings_find(const struct ceilings *ceilings, const char *backend, int index, int threads)
{
    const struct ceiling_set *found = NULL;
    for (int i = 0; i < ceilings->count; i++) {
        const struct ceiling_set *set = &ceilings->list[i];
        if (strcmp(set->backend, backend) || set->index != index)
            continue;
        bool enough = set->threads >= threads, had = found && found->threads >= threads;
        if (!found || (enough ? !had || set->threads < found->threads : !had && set->threads > found->threads))
            found = set;
    }
    return found;
}

static void print_value(FILE *out, const struct cnn_ceiling *ceiling)
{
    switch (ceiling->kind) {
    case CNN_CEILING_FMA:
    case CNN_CEILING_PRODUCT:
        fprintf(out, "%10.1f GFLOP/s", ceiling->value * 1e-9);
        break;
    case CNN_CEILING_MEMORY:
    case CNN_CEILING_COPY:
        fprintf(out, "%10.1f GB/s", ceiling->value * 1e-9);
        break;
    default:
        fprintf(out, "%10.3f us", ceiling->value * 1e6);
    }
}

static void print_json(FILE *out, const struct ceilings *ceilings)
{
    char *text = ceilings_to_json(ceilings);
    fprintf(out, "%s\n", text ? text : "");
    free(text);
}

void ceilings_print(FILE *out, const struct ceilings *ceilings, bool json)
{
    if (json) {
        print_json(out, ceilings);
        return;
    }
    fprintf(out, "What %s can do at most (build %s, %s)\n", ceilings->machine, ceilings->build, ceilings->measured);
    for (int i = 0; i < ceilings->count; i++) {
        const struct ceiling_set *set = &ceilings->list[i];
        const struct backend_entry *entry = backend_entry(set->backend);
        fprintf(out, "\n%s: %s", entry ? entry->label : set->backend, set->device);
        if (set->threads > 0)
            fprintf(out, ", %d thread%s", set->threads, set->threads == 1 ? "" : "s");
        fputc('\n', out);
        for (int c = 0; c < set->count; c++) {
            const struct cnn_ceiling *ceiling = &set->list[c];
            fprintf(out, "  %-14s %-12s", cnn_ceiling_name(ceiling->kind), ceiling->of);
            print_value(out, ceiling);
            fputc('\n', out);
        }
    }
}
