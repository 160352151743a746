/* SPDX-License-Identifier: MIT */
/* Members of the record: a value, or null where it is not known. */
#include "experiments/driver/machine_parts.h"
#include "experiments/driver/sysfiles.h"

#include <math.h>

void record_text(cJSON *object, const char *name, const char *text)
{
    if (text && *text)
        cJSON_AddStringToObject(object, name, text);
    else
        cJSON_AddNullToObject(object, name);
}

void record_number(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

void record_count(cJSON *object, const char *name, int64_t value)
{
    record_number(object, name, value >= 0 ? (double)value : NAN);
}

void record_switch(cJSON *object, const char *name, int value)
{
    if (value < 0)
        cJSON_AddNullToObject(object, name);
    else
        cJSON_AddBoolToObject(object, name, value);
}

void record_line(cJSON *object, const char *name, const char *root, const char *path)
{
    char line[256];
    sysfile_line(root, path, line, sizeof line);
    record_text(object, name, line);
}
