/* SPDX-License-Identifier: MIT */
/* Reading what the kernel tells, a line at a time. */
#include "experiments/driver/sysfiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_TEXT 1024

static FILE *open_below(const char *root, const char *path)
{
    char whole[PATH_TEXT];
    return snprintf(whole, sizeof whole, "%s%s", root, path) < (int)sizeof whole ? fopen(whole, "r") : NULL;
}

bool sysfile_line(const char *root, const char *path, char *out, size_t size)
{
    FILE *file = open_below(root, path);
    bool read = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    out[read ? strcspn(out, "\n") : 0] = '\0';
    return read;
}

double sysfile_number(const char *root, const char *path)
{
    char line[64], *end;
    if (!sysfile_line(root, path, line, sizeof line))
        return NAN;
    double value = strtod(line, &end);
    return end == line ? NAN : value;
}

bool sysfile_value(const char *root, const char *path, const char *name, char *out, size_t size)
{
    char line[4096];
    bool found = false;
    FILE *file = open_below(root, path);
    while (file && !found && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value || strncmp(line, name, strlen(name)) != 0)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}
