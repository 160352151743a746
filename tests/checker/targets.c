/* SPDX-License-Identifier: MIT */
/* Who can be checked on this machine. */
#include "tests/checker/targets.h"

#include "experiments/driver/backends.h"

#include <string.h>

/* Whether a list of names apart by commas has this one; NULL has all. */
static bool wanted(const char *filter, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = filter; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
            return true;
    return !filter;
}

/* Says what of the backends that were asked for is not in this build; false where one does not exist at all. */
static bool backends_exist(const char *filter)
{
    bool exist = true;
    char copy[256], *rest = copy, *name;
    snprintf(copy, sizeof copy, "%s", filter ? filter : "");
    while ((name = strtok_r(rest, ",", &rest))) {
        struct cnn_error error = { 0 };
        if (backend_find(name, &error))
            continue;
        printf("%s\n", error.text);
        exist = exist && error.status == CNN_UNAVAILABLE;
    }
    return exist;
}

static void add_targets(struct check_room *room, int device, const struct check_filter *filter, int threads)
{
    const struct cnn_backend *backend = room->owners[device];
    const char *const *algorithm;
    char *words = room->info[device].isas, *word;
    int isa_count = 0;
    while (isa_count < ISAS_MAX && (word = strtok_r(words, " ", &words)))
        if (wanted(filter->isa, word))
            snprintf(room->isas[device][isa_count++], sizeof room->isas[device][0], "%s", word);
    bool has_isas = room->info[device].isas[0] != '\0';
    for (algorithm = backend->algorithms(); *algorithm; algorithm++)
        for (int i = 0; wanted(filter->algorithm, *algorithm) && i < (has_isas ? isa_count : 1); i++) {
            if (room->target_count == TARGETS_MAX)
                return;
            bool cpu = !strcmp(backend->name, "cpu") || !strcmp(backend->name, "omp");
            room->targets[room->target_count++] = (struct check_target){ .backend = backend,
                                                                         .device = room->devices[device],
                                                                         .group = cpu ? "cpu and omp" : backend->name,
                                                                         .algorithm = *algorithm,
                                                                         .isa = has_isas ? room->isas[device][i] : NULL,
                                                                         .threads = threads };
        }
}

/* Returns false where the device is there but wrong; an unavailable one is left out aloud. */
static bool add_device(struct check_room *room, const struct cnn_backend *backend, const struct check_filter *filter,
                       int threads)
{
    struct cnn_device_options options = { .threads = threads };
    struct cnn_error error = { 0 };
    int at = room->device_count;
    int status = backend->open(&room->devices[at], &options, &error);
    if (status == CNN_UNAVAILABLE) {
        printf("%s is left out: %s\n", backend->name, error.text);
        return true;
    }
    if (status || backend->describe(room->devices[at], &room->info[at], &error)) {
        printf("%s: %s\n", backend->name, error.text);
        return false;
    }
    room->owners[at] = backend;
    room->device_count++;
    add_targets(room, at, filter, threads);
    return true;
}

static bool add_backend(struct check_room *room, const struct cnn_backend *backend, const struct check_filter *filter)
{
    bool right = true, omp = !strcmp(backend->name, "omp");
    for (int threads = omp ? 1 : 0; threads <= (omp ? CHECK_THREADS_MAX : 0); threads++)
        right = add_device(room, backend, filter, threads) && right;
    return right;
}

int check_room_open(struct check_room *room, const struct check_filter *filter)
{
    bool right = true;
    if (!backends_exist(filter->backend))
        return 2;
    for (const struct cnn_backend *const *backend = backends(); *backend; backend++)
        if (wanted(filter->backend, (*backend)->name))
            right = add_backend(room, *backend, filter) && right;
    if (!right)
        return 1;
    if (room->target_count > 0)
        return 0;
    printf("nothing to check here: no backend, algorithm and instruction set that was asked for can run\n");
    return 77;
}

void check_room_close(struct check_room *room)
{
    for (int i = 0; i < room->device_count; i++)
        room->owners[i]->close(room->devices[i]);
}

void check_target_name(const struct check_target *target, char *text, size_t size)
{
    char threads[32] = "";
    if (target->threads > 0)
        snprintf(threads, sizeof threads, ", %d thread%s", target->threads, target->threads > 1 ? "s" : "");
    snprintf(text, size, "%s %s%s%s%s", target->backend->name, target->algorithm, target->isa ? " " : "",
             target->isa ? target->isa : "", threads);
}
