/* SPDX-License-Identifier: MIT */
/* Reads /proc/meminfo and the control groups (version 1 and 2). A process lives in a nest of groups and the tightest
 * one binds, so every level from its own group up to the root counts; inside a container the upper levels are simply
 * not there. */
#include "experiments/driver/resources.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_TEXT 1024

/* The first line of a small file without its end. */
static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    bool read = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read;
}

/* The number behind `name` in a file of "name number" lines; -1. */
static int64_t read_named(const char *path, const char *name)
{
    char line[256];
    size_t length = strlen(name);
    int64_t value = -1;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == ':')) {
            value = strtoll(line + length + 1, NULL, 10);
            break;
        }
    }
    if (file)
        fclose(file);
    return value;
}

/* -1 for "max", a missing file or nonsense. */
static int64_t read_number(const char *folder, const char *name)
{
    char path[PATH_TEXT + 64], text[64], *end;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!read_line(path, text, sizeof text))
        return -1;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    return end == text || errno ? -1 : value;
}

static void take_smaller(int64_t *least, int64_t value)
{
    if (value >= 0 && (*least < 0 || value < *least))
        *least = value;
}

/* One level of a memory group; `old` is version 1. */
static void memory_level(struct resources *out, const char *folder, bool old)
{
    char path[PATH_TEXT + 64];
    int64_t limit = read_number(folder, old ? "memory.limit_in_bytes" : "memory.max");
    int64_t used = read_number(folder, old ? "memory.usage_in_bytes" : "memory.current");
    /* version 1 writes a number near 2^63 for no limit */
    if (limit >= 0 && (out->memory_total < 0 || limit < out->memory_total)) {
        snprintf(path, sizeof path, "%s/memory.stat", folder);
        int64_t cached = read_named(path, old ? "total_inactive_file" : "inactive_file");
        used = (used < 0 ? 0 : used) - (cached < 0 ? 0 : cached);
        take_smaller(&out->group_limit, limit);
        take_smaller(&out->group_free, used > limit ? 0 : limit - (used < 0 ? 0 : used));
    }
    snprintf(path, sizeof path, "%s/%s", folder, old ? "memory.oom_control" : "memory.events");
    int64_t kills = read_named(path, "oom_kill");
    if (kills > 0) /* a sum over levels: only that it grows means something */
        out->oom_kills = kills + (out->oom_kills < 0 ? 0 : out->oom_kills);
}

static void cpu_level(struct resources *out, const char *folder, bool old)
{
    int64_t quota = -1, period = -1;
    if (old) {
        quota = read_number(folder, "cpu.cfs_quota_us");
        period = read_number(folder, "cpu.cfs_period_us");
    } else {
        char path[PATH_TEXT + 64], text[64];
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        if (!read_line(path, text, sizeof text) || sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
            return;
    }
    if (quota > 0 && period > 0 && !((double)quota / (double)period >= out->cpu_quota)) /* true for NAN */
        out->cpu_quota = (double)quota / (double)period;
}

typedef void (*level_reader)(struct resources *out, const char *folder, bool old);

/* Calls `read` for the group `path` below `mount` and for every group above it. */
static void each_level(struct resources *out, const char *mount, const char *path, bool old, level_reader read)
{
    char folder[PATH_TEXT];
    size_t base = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, path) >= (int)sizeof folder)
        return;
    for (size_t length = strlen(folder); length >= base; length--) {
        if (length == base || folder[length] == '/' || folder[length] == '\0') {
            folder[length] = '\0';
            read(out, folder, old);
        }
    }
}

/* One line of /proc/self/cgroup: "hierarchy:controllers:path"; version 2 has no controllers. */
static void group_line(struct resources *out, const char *root, char *line)
{
    char mount[PATH_TEXT];
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *controllers++ = '\0';
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (strcmp(controllers, "") == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        each_level(out, mount, path, false, memory_level);
        each_level(out, mount, path, false, cpu_level);
        return;
    }
    for (char *rest = controllers, *name; (name = strtok_r(rest, ",", &rest));) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, name);
        if (strcmp(name, "memory") == 0)
            each_level(out, mount, path, true, memory_level);
        if (strcmp(name, "cpu") == 0)
            each_level(out, mount, path, true, cpu_level);
    }
}

void resources_read(struct resources *out, const char *root)
{
    char path[PATH_TEXT], line[PATH_TEXT];
    *out = (struct resources){ -1, -1, -1, -1, -1, -1, NAN };
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    int64_t total = read_named(path, "MemTotal"), available = read_named(path, "MemAvailable");
    out->memory_total = total < 0 ? -1 : total * 1024;
    out->memory_free = available < 0 ? -1 : available * 1024;
    snprintf(path, sizeof path, "%s/proc/vmstat", root);
    out->oom_kills = read_named(path, "oom_kill");
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        group_line(out, root, line);
    if (file)
        fclose(file);
    out->memory_available = out->memory_free;
    take_smaller(&out->memory_available, out->group_free);
}
