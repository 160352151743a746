/* SPDX-License-Identifier: MIT */
/* Ceilings as JSON: { "schema": 1, "machine", "build", "measured", "devices": [ { "backend", "device", "index",
 * "threads", "ceilings": [ { "kind", "of", "precision", "bytes", "value", "unit" } ] } ] }. */
#include "experiments/driver/ceilings.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 1

static const char *const units[CNN_CEILING_KIND_COUNT] = {
    "FLOP/s", "FLOP/s", "byte/s", "byte/s", "s", "s", "s",
};

/* Without memory an item is missing; the reader refuses what is not whole. */
static cJSON *ceiling_json(const struct cnn_ceiling *ceiling)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "kind", cnn_ceiling_name(ceiling->kind));
    cJSON_AddStringToObject(item, "of", ceiling->of);
    cJSON_AddStringToObject(item, "precision", cnn_precision_name(ceiling->precision));
    if (ceiling->kind == CNN_CEILING_MEMORY && ceiling->bytes < INT64_MAX)
        cJSON_AddNumberToObject(item, "bytes", (double)ceiling->bytes);
    cJSON_AddNumberToObject(item, "value", ceiling->value);
    cJSON_AddStringToObject(item, "unit", units[ceiling->kind]);
    return item;
}

char *ceilings_to_json(const struct ceilings *ceilings)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "schema", SCHEMA);
    cJSON_AddStringToObject(root, "machine", ceilings->machine);
    cJSON_AddStringToObject(root, "build", ceilings->build);
    cJSON_AddStringToObject(root, "measured", ceilings->measured);
    cJSON *devices = cJSON_AddArrayToObject(root, "devices");
    for (int i = 0; i < ceilings->count; i++) {
        const struct ceiling_set *set = &ceilings->list[i];
        cJSON *device = cJSON_CreateObject();
        cJSON_AddStringToObject(device, "backend", set->backend);
        cJSON_AddStringToObject(device, "device", set->device);
        cJSON_AddNumberToObject(device, "index", set->index);
        cJSON_AddNumberToObject(device, "threads", set->threads);
        cJSON *list = cJSON_AddArrayToObject(device, "ceilings");
        for (int c = 0; c < set->count; c++)
            cJSON_AddItemToArray(list, ceiling_json(&set->list[c]));
        cJSON_AddItemToArray(devices, device);
    }
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

static bool read_text(const cJSON *object, const char *name, char *out, size_t size)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= size)
        return false;
    strcpy(out, item->valuestring);
    return true;
}

static bool read_int(const cJSON *object, const char *name, int *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item))
        return false;
    *out = item->valueint;
    return true;
}

static bool read_ceiling(const cJSON *item, struct cnn_ceiling *out)
{
    char kind[32], precision[16];
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "value");
    const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(item, "bytes");
    *out = (struct cnn_ceiling){ .bytes = 0 };
    if (!read_text(item, "kind", kind, sizeof kind) || !cnn_ceiling_parse(kind, &out->kind) ||
        !read_text(item, "of", out->of, sizeof out->of) || !read_text(item, "precision", precision, sizeof precision) ||
        !cnn_precision_parse(precision, &out->precision) || !cJSON_IsNumber(value) || !(value->valuedouble > 0))
        return false;
    out->value = value->valuedouble;
    if (out->kind == CNN_CEILING_MEMORY)
        out->bytes = cJSON_IsNumber(bytes) ? (int64_t)bytes->valuedouble : INT64_MAX;
    return true;
}

static bool read_set(const cJSON *device, struct ceiling_set *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(device, "ceilings"), *item;
    *out = (struct ceiling_set){ .count = 0 };
    if (!read_text(device, "backend", out->backend, sizeof out->backend) ||
        !read_text(device, "device", out->device, sizeof out->device) || !read_int(device, "index", &out->index) ||
        !read_int(device, "threads", &out->threads) || !cJSON_IsArray(list))
        return false;
    cJSON_ArrayForEach(item, list)
    {
        if (out->count == CEILINGS_MAX || !read_ceiling(item, &out->list[out->count]))
            return false;
        out->count++;
    }
    return true;
}

static bool read_all(const cJSON *root, struct ceilings *out)
{
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(root, "devices"), *device;
    int schema = 0;
    if (!read_int(root, "schema", &schema) || schema != SCHEMA ||
        !read_text(root, "machine", out->machine, sizeof out->machine) ||
        !read_text(root, "build", out->build, sizeof out->build) ||
        !read_text(root, "measured", out->measured, sizeof out->measured) || !cJSON_IsArray(devices))
        return false;
    out->list = calloc((size_t)cJSON_GetArraySize(devices) + 1, sizeof *out->list);
    if (!out->list)
        return false;
    cJSON_ArrayForEach(device, devices) if (!read_set(device, &out->list[out->count++])) return false;
    return true;
}

int ceilings_from_json(struct ceilings *out, const char *json, struct cnn_error *error)
{
    cJSON *root = cJSON_Parse(json);
    *out = (struct ceilings){ .list = NULL };
    bool fine = root && read_all(root, out);
    cJSON_Delete(root);
    if (fine)
        return CNN_OK;
    ceilings_free(out);
    return cnn_error_set(error, CNN_INVALID,
                         "this is no " CEILINGS_FILE " of this version: measure it with --ceilings");
}
