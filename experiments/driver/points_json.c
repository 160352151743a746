/* SPDX-License-Identifier: MIT */
/* A point as JSON and back, field by field. Every field must be there: a parent and a child of different builds notice.
 * Numbers that a double in JSON cannot hold exactly, and doubles, which cJSON shortens, are written as we want them. */
#include "experiments/driver/points.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One walk over all fields serves both directions, so that none is forgotten in one of them. */
struct walk {
    cJSON *object;
    bool writing, failed; /* writing: no memory; reading: error is set */
    struct cnn_error *error;
};

static void fail(struct walk *walk, const char *name, const char *expected)
{
    if (!walk->failed && !walk->writing)
        cnn_error_set(walk->error, CNN_INVALID, "point as JSON: \"%s\": expected %s", name, expected);
    walk->failed = true;
}

static const cJSON *item(struct walk *walk, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(walk->object, name);
    if (!found)
        fail(walk, name, "it to be there");
    return found;
}

static void walk_double(struct walk *walk, const char *name, double *value)
{
    char digits[40];
    if (walk->writing) {
        snprintf(digits, sizeof digits, "%.17g", *value);
        if (!isfinite(*value) || !cJSON_AddRawToObject(walk->object, name, digits))
            fail(walk, name, "a finite number");
        return;
    }
    const cJSON *found = item(walk, name);
    if (found && cJSON_IsNumber(found))
        *value = found->valuedouble;
    else
        fail(walk, name, "a number");
}

static void walk_float(struct walk *walk, const char *name, float *value)
{
    double wide = (double)*value;
    walk_double(walk, name, &wide);
    *value = (float)wide;
}

static void walk_int(struct walk *walk, const char *name, int *value)
{
    double wide = *value;
    walk_double(walk, name, &wide);
    if (wide != floor(wide) || wide < INT_MIN || wide > INT_MAX)
        fail(walk, name, "a whole number");
    else
        *value = (int)wide;
}

/* An enum's value; `count` is the first number that is none. */
#define WALK_ENUM(walk, name, field, count)           \
    do {                                              \
        int number_ = (int)(field);                   \
        walk_int(walk, name, &number_);               \
        if (number_ < 0 || number_ >= (int)(count))   \
            fail(walk, name, "the number of a word"); \
        else                                          \
            (field) = number_;                        \
    } while (0)

static void walk_bool(struct walk *walk, const char *name, bool *value)
{
    if (walk->writing) {
        if (!cJSON_AddBoolToObject(walk->object, name, *value))
            fail(walk, name, "memory");
        return;
    }
    const cJSON *found = item(walk, name);
    if (found && cJSON_IsBool(found))
        *value = cJSON_IsTrue(found);
    else
        fail(walk, name, "true or false");
}

static void walk_text(struct walk *walk, const char *name, char *value, size_t size)
{
    if (walk->writing) {
        if (!cJSON_AddStringToObject(walk->object, name, value))
            fail(walk, name, "memory");
        return;
    }
    const cJSON *found = item(walk, name);
    if (found && cJSON_IsString(found) && strlen(found->valuestring) < size)
        strcpy(value, found->valuestring);
    else
        fail(walk, name, "a text that fits");
}

/* As text: a double holds 53 bits only. */
static void walk_seed(struct walk *walk, const char *name, uint64_t *value)
{
    char digits[24], *end = digits;
    snprintf(digits, sizeof digits, "%" PRIu64, *value);
    walk_text(walk, name, digits, sizeof digits);
    errno = 0;
    *value = strtoull(digits, &end, 10);
    if (errno || end == digits || *end)
        fail(walk, name, "digits");
}

/* An array of `count` groups: reads it, or makes it with empty groups; NULL after a failure. */
static cJSON *walk_array(struct walk *walk, const char *name, int *count, int most)
{
    if (!walk->writing) {
        const cJSON *found = item(walk, name);
        *count = found && cJSON_IsArray(found) ? cJSON_GetArraySize(found) : -1;
        if (*count < 0 || *count > most)
            fail(walk, name, "a list that fits");
        return walk->failed ? NULL : (cJSON *)found;
    }
    cJSON *array = cJSON_AddArrayToObject(walk->object, name);
    for (int i = 0; array && i < *count; i++)
        if (!cJSON_AddItemToArray(array, cJSON_CreateObject()))
            walk->failed = true;
    return walk->failed ? NULL : array;
}

static void walk_connections(struct walk *walk, struct cnn_connection_spec *connections)
{
    WALK_ENUM(walk, "connection_kind", connections->kind, CNN_CONNECTION_KIND_COUNT);
    walk_int(walk, "fan_in", &connections->fan_in);
    walk_double(walk, "density", &connections->density);
}

static void walk_layer(struct walk *walk, struct cnn_layer_spec *layer)
{
    WALK_ENUM(walk, "kind", layer->kind, CNN_LAYER_KIND_COUNT);
    walk_text(walk, "name", layer->name, sizeof layer->name);
    walk_int(walk, "maps", &layer->maps);
    walk_int(walk, "kernel", &layer->kernel);
    walk_int(walk, "stride", &layer->stride);
    WALK_ENUM(walk, "padding", layer->padding, CNN_PADDING_COUNT);
    WALK_ENUM(walk, "activation", layer->activation, CNN_ACTIVATION_COUNT);
    walk_connections(walk, &layer->connections);
    WALK_ENUM(walk, "repeat", layer->repeat, CNN_DEPTH_LESS_ONE_TIMES + 1);
}

static void walk_spec(struct walk *walk, struct cnn_network_spec *spec)
{
    walk_text(walk, "network", spec->name, sizeof spec->name);
    walk_int(walk, "channels", &spec->channels);
    walk_int(walk, "image", &spec->image);
    walk_int(walk, "classes", &spec->classes);
    walk_int(walk, "width", &spec->width);
    walk_int(walk, "depth", &spec->depth);
    WALK_ENUM(walk, "loss", spec->loss, CNN_LOSS_COUNT);
    walk_bool(walk, "paper_connections", &spec->connections.paper);
    walk_connections(walk, &spec->connections.all);
    walk_bool(walk, "input_gradient", &spec->input_gradient);
    walk_seed(walk, "seed", &spec->seed);
    cJSON *layers = walk_array(walk, "layers", &spec->layer_count, CNN_SPEC_LAYERS_MAX);
    for (int i = 0; layers && i < spec->layer_count && !walk->failed; i++) {
        struct walk inner = { cJSON_GetArrayItem(layers, i), walk->writing, false, walk->error };
        walk_layer(&inner, &spec->layers[i]);
        walk->failed = inner.failed;
    }
}

static void walk_choices(struct walk *walk, struct point *point)
{
    cJSON *choices = walk_array(walk, "choices", &point->choice_count, POINT_CHOICES_MAX);
    for (int i = 0; choices && i < point->choice_count && !walk->failed; i++) {
        struct point_choice *choice = &point->choices[i];
        struct walk inner = { cJSON_GetArrayItem(choices, i), walk->writing, false, walk->error };
        WALK_ENUM(&inner, "operation", choice->kind, CNN_OPERATION_KIND_COUNT);
        walk_int(&inner, "layer", &choice->layer);
        walk_text(&inner, "algorithm", choice->algorithm, sizeof choice->algorithm);
        walk->failed = inner.failed;
    }
}

/* A text or null; read, it is malloc'd. */
static void walk_replay(struct walk *walk, struct point *point)
{
    if (walk->writing) {
        if (!(point->replay ? cJSON_AddStringToObject(walk->object, "replay", point->replay)
                            : cJSON_AddNullToObject(walk->object, "replay")))
            fail(walk, "replay", "memory");
        return;
    }
    const cJSON *found = item(walk, "replay");
    point->replay = NULL;
    if (found && cJSON_IsString(found))
        point->replay = strdup(found->valuestring);
    if (found && !cJSON_IsNull(found) && !point->replay)
        fail(walk, "replay", "a text or null");
}

static void walk_how(struct walk *walk, struct point *point)
{
    WALK_ENUM(walk, "phase", point->phase, POINT_PHASE_COUNT);
    walk_int(walk, "batch", &point->batch);
    WALK_ENUM(walk, "copies", point->copies, CNN_COPIES_COUNT);
    WALK_ENUM(walk, "launch", point->launch, CNN_LAUNCH_COUNT);
    WALK_ENUM(walk, "precision", point->precision, CNN_PRECISION_COUNT);
    walk_int(walk, "threads", &point->threads);
    walk_int(walk, "device", &point->device);
    walk_text(walk, "series", point->series, sizeof point->series);
    walk_text(walk, "label", point->label, sizeof point->label);
    walk_text(walk, "backend", point->backend, sizeof point->backend);
    walk_text(walk, "algorithm", point->algorithm, sizeof point->algorithm);
    walk_text(walk, "isa", point->isa, sizeof point->isa);
    walk_choices(walk, point);
    walk_replay(walk, point);
    walk_bool(walk, "pin", &point->pin);
    walk_bool(walk, "each_operation", &point->layers);
    walk_bool(walk, "required", &point->required);
}

static void walk_measuring(struct walk *walk, struct point *point)
{
    walk_double(walk, "min_time", &point->min_time);
    walk_double(walk, "warmup", &point->warmup);
    walk_double(walk, "max_time", &point->max_time);
    walk_int(walk, "min_samples", &point->min_samples);
    walk_int(walk, "max_samples", &point->max_samples);
    walk_double(walk, "planted", &point->planted);
    walk_double(walk, "interval", &point->interval);
    walk_double(walk, "timeout", &point->timeout);
    walk_text(walk, "answers", point->answers, sizeof point->answers);
}

static void walk_training(struct walk *walk, struct point *point)
{
    walk_text(walk, "data", point->data, sizeof point->data);
    walk_text(walk, "data_folder", point->data_folder, sizeof point->data_folder);
    WALK_ENUM(walk, "fit", point->fit, CNN_FIT_COUNT);
    WALK_ENUM(walk, "pixels", point->pixels, CNN_PIXELS_COUNT);
    walk_text(walk, "distort", point->distort, sizeof point->distort);
    walk_double(walk, "target", &point->target);
    walk_int(walk, "epochs", &point->epochs);
    walk_int(walk, "train_limit", &point->train_limit);
    walk_int(walk, "test_limit", &point->test_limit);
    walk_float(walk, "rate", &point->rates.rate);
    walk_float(walk, "momentum", &point->rates.momentum);
    walk_float(walk, "decay", &point->rates.decay);
    walk_float(walk, "rate_decay", &point->rate_decay);
}

static void walk_point(struct walk *walk, struct point *point)
{
    walk_spec(walk, &point->spec);
    walk_how(walk, point);
    walk_measuring(walk, point);
    walk_training(walk, point);
}

char *point_to_json(const struct point *point)
{
    struct point copy = *point;
    struct walk walk = { cJSON_CreateObject(), true, false, NULL };
    char *text = NULL;
    if (walk.object)
        walk_point(&walk, &copy);
    if (walk.object && !walk.failed)
        text = cJSON_PrintUnformatted(walk.object);
    cJSON_Delete(walk.object);
    return text;
}

int point_from_json(struct point *out, const char *json, struct cnn_error *error)
{
    struct cnn_error ignored;
    struct walk walk = { cJSON_Parse(json), false, false, error ? error : &ignored };
    *out = (struct point){ 0 };
    if (!walk.object)
        return cnn_error_set(error, CNN_INVALID, "point as JSON: not JSON: \"%.40s\"", json);
    walk_point(&walk, out);
    cJSON_Delete(walk.object);
    if (walk.failed) {
        free((char *)out->replay);
        out->replay = NULL;
    }
    return walk.failed ? walk.error->status : CNN_OK;
}
