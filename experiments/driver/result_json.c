/* SPDX-License-Identifier: MIT */
/* A result as JSON text and back. One table names every scalar, so that both directions cannot drift apart. A number
 * that is not there is null; 64-bit counts are strings, since a JSON number is a double. */
#include "experiments/driver/result.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field_kind { FIELD_DOUBLE, FIELD_INT, FIELD_INT64, FIELD_HEX, FIELD_TEXT };

struct field {
    const char *name;
    enum field_kind kind;
    size_t at, size;
};

#define FIELD_OF(type, kind, member)                                       \
    {                                                                      \
#member, kind, offsetof(type, member), sizeof(((type *)0)->member) \
    }
#define FIELD(kind, member) FIELD_OF(struct result, kind, member)
#define OPERATION(kind, member) FIELD_OF(struct operation_result, kind, member)

static const struct field fields[] = {
    FIELD(FIELD_TEXT, reason),
    FIELD(FIELD_TEXT, isa),
    FIELD(FIELD_TEXT, device),
    FIELD(FIELD_TEXT, detail),
    FIELD(FIELD_TEXT, stop),
    FIELD(FIELD_TEXT, pinned),
    FIELD(FIELD_TEXT, bound),
    FIELD(FIELD_TEXT, throttled),
    FIELD(FIELD_TEXT, verified_by),
    FIELD(FIELD_INT, threads),
    FIELD(FIELD_INT, samples),
    FIELD(FIELD_INT, steps_per_sample),
    FIELD(FIELD_INT64, parameters),
    FIELD(FIELD_INT64, macs),
    FIELD(FIELD_INT64, plan_bytes),
    FIELD(FIELD_INT64, peak_bytes),
    FIELD(FIELD_INT64, peak_device_bytes),
    FIELD(FIELD_INT64, train_images),
    FIELD(FIELD_INT64, test_images),
    FIELD(FIELD_HEX, parameters_checksum),
    FIELD(FIELD_DOUBLE, median),
    FIELD(FIELD_DOUBLE, low),
    FIELD(FIELD_DOUBLE, high),
    FIELD(FIELD_DOUBLE, mean),
    FIELD(FIELD_DOUBLE, q1),
    FIELD(FIELD_DOUBLE, q3),
    FIELD(FIELD_DOUBLE, min),
    FIELD(FIELD_DOUBLE, flops_useful),
    FIELD(FIELD_DOUBLE, flops_executed),
    FIELD(FIELD_DOUBLE, event_seconds),
    FIELD(FIELD_DOUBLE, copy_seconds),
    FIELD(FIELD_DOUBLE, opened_at),
    FIELD(FIELD_DOUBLE, startup_seconds),
    FIELD(FIELD_DOUBLE, process_seconds),
    FIELD(FIELD_DOUBLE, setup_seconds),
    FIELD(FIELD_DOUBLE, compile_seconds),
    FIELD(FIELD_DOUBLE, verify_seconds),
    FIELD(FIELD_DOUBLE, warmup_seconds),
    FIELD(FIELD_DOUBLE, verified_error),
    FIELD(FIELD_DOUBLE, share_of_limit),
    FIELD(FIELD_DOUBLE, clock_mhz_low),
    FIELD(FIELD_DOUBLE, clock_mhz_high),
    FIELD(FIELD_DOUBLE, power_watts),
    FIELD(FIELD_DOUBLE, energy_per_image),
    FIELD(FIELD_DOUBLE, pixel_mean),
    FIELD(FIELD_DOUBLE, pixel_deviation),
    FIELD(FIELD_DOUBLE, data_seconds),
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

static const char *const epoch_names[] = { "train_loss",   "train_accuracy", "test_loss",   "test_accuracy",
                                           "load_seconds", "train_seconds",  "test_seconds" };
#define EPOCH_NUMBERS (sizeof epoch_names / sizeof *epoch_names)

static double *epoch_number(struct epoch_result *epoch, size_t i)
{
    double *places[EPOCH_NUMBERS] = { &epoch->train_loss,    &epoch->train_accuracy, &epoch->test_loss,
                                      &epoch->test_accuracy, &epoch->load_seconds,   &epoch->train_seconds,
                                      &epoch->test_seconds };
    return places[i];
}

static const struct field operation_fields[] = {
    OPERATION(FIELD_TEXT, operation),      OPERATION(FIELD_INT, layer),
    OPERATION(FIELD_TEXT, name),           OPERATION(FIELD_TEXT, algorithm),
    OPERATION(FIELD_TEXT, file),           OPERATION(FIELD_DOUBLE, seconds),
    OPERATION(FIELD_DOUBLE, flops_useful), OPERATION(FIELD_DOUBLE, flops_executed),
    OPERATION(FIELD_DOUBLE, bytes),
};
#define OPERATION_FIELDS (sizeof operation_fields / sizeof *operation_fields)

/* Printed here, since cJSON drops a last bit or two. */
static cJSON *number_item(double value)
{
    char text[32];
    if (!isfinite(value))
        return cJSON_CreateNull();
    snprintf(text, sizeof text, "%.17g", value);
    return cJSON_CreateRaw(text);
}

/* `of`: the structure that has the field. */
static cJSON *field_item(const void *of, const struct field *field)
{
    const char *place = (const char *)of + field->at;
    char text[32];
    switch (field->kind) {
    case FIELD_DOUBLE:
        return number_item(*(const double *)place);
    case FIELD_INT:
        return cJSON_CreateNumber(*(const int *)place);
    case FIELD_INT64:
        snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)place);
        return cJSON_CreateString(text);
    case FIELD_HEX:
        snprintf(text, sizeof text, "%016" PRIx64, *(const uint64_t *)place);
        return cJSON_CreateString(text);
    default:
        return cJSON_CreateString(place);
    }
}

/* Takes `item`, also where it fails. */
static bool add(cJSON *object, const char *name, cJSON *item)
{
    if (item && cJSON_AddItemToObject(object, name, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static cJSON *samples_item(const double *samples, int count)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; list && i < (samples ? count : 0); i++) {
        cJSON *item = number_item(samples[i]);
        if (!item || !cJSON_AddItemToArray(list, item)) {
            cJSON_Delete(item);
            cJSON_Delete(list);
            return NULL;
        }
    }
    return list;
}

static cJSON *epochs_item(const struct result *result)
{
    cJSON *list = cJSON_CreateArray();
    for (int e = 0; list && e < (result->epoch ? result->epochs : 0); e++) {
        cJSON *item = cJSON_CreateObject();
        bool whole = item && add(item, "epoch", cJSON_CreateNumber(result->epoch[e].epoch));
        for (size_t i = 0; whole && i < EPOCH_NUMBERS; i++)
            whole = add(item, epoch_names[i], number_item(*epoch_number(&result->epoch[e], i)));
        if (!whole || !cJSON_AddItemToArray(list, item)) {
            cJSON_Delete(item);
            cJSON_Delete(list);
            return NULL;
        }
    }
    return list;
}

static cJSON *operations_item(const struct result *result)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; list && i < result->operations; i++) {
        cJSON *item = cJSON_CreateObject();
        bool whole = item != NULL;
        for (size_t f = 0; whole && f < OPERATION_FIELDS; f++)
            whole = add(item, operation_fields[f].name, field_item(&result->operation[i], &operation_fields[f]));
        if (!whole || !cJSON_AddItemToArray(list, item)) {
            cJSON_Delete(item);
            cJSON_Delete(list);
            return NULL;
        }
    }
    return list;
}

char *result_to_json(const struct result *result)
{
    cJSON *object = cJSON_CreateObject();
    char *text = NULL;
    bool whole = object && add(object, "status", cJSON_CreateString(cnn_status_word(result->status)));
    for (size_t i = 0; whole && i < FIELD_COUNT; i++)
        whole = add(object, fields[i].name, field_item(result, &fields[i]));
    if (whole)
        whole = add(object, "choices", result->choices ? cJSON_CreateString(result->choices) : cJSON_CreateNull());
    if (whole && add(object, "operation", operations_item(result)) &&
        add(object, "sample", samples_item(result->sample, result->samples)) &&
        add(object, "event", samples_item(result->event, result->samples)) && add(object, "epoch", epochs_item(result)))
        text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

static int refuse(struct cnn_error *error, const char *name, const char *expected)
{
    return cnn_error_set(error, CNN_INVALID, "result: \"%s\" is missing or is not %s", name, expected);
}

static bool read_number(const cJSON *item, double *out)
{
    *out = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    return cJSON_IsNumber(item) || cJSON_IsNull(item);
}

static bool read_int(const cJSON *item, int *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= INT_MIN && item->valuedouble <= INT_MAX))
        return false;
    *out = (int)item->valuedouble;
    return *out == item->valuedouble;
}

static bool read_word(const cJSON *item, int base, uint64_t *out)
{
    if (!cJSON_IsString(item) || !*item->valuestring)
        return false;
    char *end;
    errno = 0;
    *out = base == 16 ? strtoull(item->valuestring, &end, 16) : (uint64_t)strtoll(item->valuestring, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool read_text(const cJSON *item, char *out, size_t size)
{
    if (!cJSON_IsString(item))
        return false;
    snprintf(out, size, "%s", item->valuestring);
    return true;
}

static int field_read(void *out, const struct field *field, const cJSON *object, struct cnn_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field->name);
    char *place = (char *)out + field->at;
    uint64_t word;
    switch (field->kind) {
    case FIELD_DOUBLE:
        return read_number(item, (double *)place) ? CNN_OK : refuse(error, field->name, "a number or null");
    case FIELD_INT:
        return read_int(item, (int *)place) ? CNN_OK : refuse(error, field->name, "an integer");
    case FIELD_INT64:
    case FIELD_HEX:
        if (!read_word(item, field->kind == FIELD_HEX ? 16 : 10, &word))
            return refuse(error, field->name, "a count in a string");
        memcpy(place, &word, sizeof word);
        return CNN_OK;
    default:
        return read_text(item, place, field->size) ? CNN_OK : refuse(error, field->name, "a string");
    }
}

static int samples_read(double **out, const char *name, int samples, const cJSON *object, struct cnn_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, name), *item;
    int count = cJSON_GetArraySize(list), i = 0;
    if (!cJSON_IsArray(list) || (count > 0 && count != samples))
        return refuse(error, name, "a list of as many numbers as \"samples\" says");
    if (count == 0)
        return CNN_OK;
    *out = calloc((size_t)count, sizeof **out);
    if (!*out)
        return cnn_error_set(error, CNN_OOM, "result: no memory for %d samples", count);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item))
            return refuse(error, name, "a list of numbers");
        (*out)[i++] = item->valuedouble;
    }
    return CNN_OK;
}

static int epochs_read(struct result *out, const cJSON *object, struct cnn_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "epoch"), *item;
    int count = cJSON_GetArraySize(list), e = 0;
    if (!cJSON_IsArray(list))
        return refuse(error, "epoch", "a list");
    if (count == 0)
        return CNN_OK;
    out->epoch = calloc((size_t)count, sizeof *out->epoch);
    if (!out->epoch)
        return cnn_error_set(error, CNN_OOM, "result: no memory for %d epochs", count);
    out->epochs = count;
    cJSON_ArrayForEach(item, list)
    {
        bool whole = read_int(cJSON_GetObjectItemCaseSensitive(item, "epoch"), &out->epoch[e].epoch);
        for (size_t i = 0; whole && i < EPOCH_NUMBERS; i++)
            whole =
                read_number(cJSON_GetObjectItemCaseSensitive(item, epoch_names[i]), epoch_number(&out->epoch[e], i));
        if (!whole)
            return refuse(error, "epoch", "a list of epochs with all their numbers");
        e++;
    }
    return CNN_OK;
}

static int operations_read(struct result *out, const cJSON *object, struct cnn_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "operation"), *item;
    int count = cJSON_GetArraySize(list), status = CNN_OK;
    if (!cJSON_IsArray(list))
        return refuse(error, "operation", "a list");
    if (count == 0)
        return CNN_OK;
    out->operation = calloc((size_t)count, sizeof *out->operation);
    if (!out->operation)
        return cnn_error_set(error, CNN_OOM, "result: no memory for %d operations", count);
    cJSON_ArrayForEach(item, list)
    {
        for (size_t f = 0; f < OPERATION_FIELDS && status == CNN_OK; f++)
            status = field_read(&out->operation[out->operations], &operation_fields[f], item, error);
        out->operations++;
    }
    return status;
}

static int choices_read(struct result *out, const cJSON *object, struct cnn_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "choices");
    if (cJSON_IsString(item))
        out->choices = strdup(item->valuestring);
    return out->choices || cJSON_IsNull(item) ? CNN_OK : refuse(error, "choices", "a string or null");
}

int result_from_json(struct result *out, const char *json, struct cnn_error *error)
{
    result_init(out);
    cJSON *object = cJSON_Parse(json);
    if (!cJSON_IsObject(object)) {
        cJSON_Delete(object);
        return cnn_error_set(error, CNN_INVALID, "result: not a JSON object");
    }
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(object, "status");
    int code = CNN_OK;
    out->status = cJSON_IsString(status) ? cnn_status_parse(status->valuestring) : CNN_STATUS_COUNT;
    if (out->status == CNN_STATUS_COUNT)
        code = refuse(error, "status", "a status word");
    for (size_t i = 0; code == CNN_OK && i < FIELD_COUNT; i++)
        code = field_read(out, &fields[i], object, error);
    if (code == CNN_OK)
        code = choices_read(out, object, error);
    if (code == CNN_OK)
        code = operations_read(out, object, error);
    if (code == CNN_OK)
        code = samples_read(&out->sample, "sample", out->samples, object, error);
    if (code == CNN_OK)
        code = samples_read(&out->event, "event", out->samples, object, error);
    if (code == CNN_OK)
        code = epochs_read(out, object, error);
    cJSON_Delete(object);
    if (code != CNN_OK) {
        result_free(out);
        result_init(out);
    }
    return code;
}
