/* SPDX-License-Identifier: MIT */
/* A point's names: the key that tells it from every other, and the words for a person. */
#include "experiments/driver/points.h"
#include "experiments/driver/study.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const phase_names[POINT_PHASE_COUNT] = { "train", "classify", "evaluate", "accuracy" };

const char *point_phase_name(enum point_phase phase)
{
    return phase < POINT_PHASE_COUNT ? phase_names[phase] : "";
}

bool point_phase_parse(const char *word, enum point_phase *out)
{
    for (int i = 0; i < POINT_PHASE_COUNT; i++) {
        if (strcmp(word, phase_names[i]))
            continue;
        *out = i;
        return true;
    }
    return false;
}

/* Text that grows until its buffer is full. */
struct text {
    char *out;
    size_t size, at;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    if (text->at >= text->size)
        return;
    va_start(arguments, format);
    text->at += (size_t)vsnprintf(text->out + text->at, text->size - text->at, format, arguments);
    va_end(arguments);
}

/* 64-bit FNV-1a over the layers as text: two networks of one name that differ anywhere get different keys. */
static uint64_t layers_hash(const struct cnn_network_spec *spec)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < spec->layer_count; i++) {
        const struct cnn_layer_spec *layer = &spec->layers[i];
        char line[256];
        snprintf(line, sizeof line, "%d %s %d %d %d %d %d %d %d %.17g %d;", layer->kind, layer->name, layer->maps,
                 layer->kernel, layer->stride, layer->padding, layer->activation, layer->connections.kind,
                 layer->connections.fan_in, layer->connections.density, layer->repeat);
        for (const char *at = line; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    }
    return hash;
}

static void put_choices(struct text *text, const struct point *point)
{
    const char *between = " choices=";
    for (int kind = 0; kind < CNN_OPERATION_KIND_COUNT; kind++) {
        for (int i = 0; i < point->choice_count; i++) {
            const struct point_choice *choice = &point->choices[i];
            if ((int)choice->kind != kind)
                continue;
            put(text, "%s%s", between, cnn_operation_kind_name(choice->kind));
            if (choice->layer >= 0)
                put(text, "@%d", choice->layer);
            put(text, ":%s", choice->algorithm);
            between = ",";
        }
    }
}

/* The fewest digits that read as the same float. */
static void put_float(struct text *text, const char *name, float value)
{
    char digits[32];
    for (int count = 6; count <= 9; count++) {
        snprintf(digits, sizeof digits, "%.*g", count, (double)value);
        if (strtof(digits, NULL) == value)
            break;
    }
    put(text, " %s=%s", name, digits);
}

static void put_training(struct text *text, const struct point *point)
{
    put(text, " fit=%d train_limit=%d", point->fit, point->train_limit);
    if (point->pixels != CNN_PIXELS_STANDARD)
        put(text, " pixels=%d", point->pixels);
    if (point->phase != POINT_ACCURACY)
        return;
    if (*point->distort && strcmp(point->distort, "none"))
        put(text, " distort=%s", point->distort);
    put(text, " test_limit=%d epochs=%d", point->test_limit, point->epochs);
    put_float(text, "rate_decay", point->rate_decay);
}

static void put_network(struct text *text, const struct cnn_network_spec *spec)
{
    char connections[STUDY_WORD];
    study_connections_text(&spec->connections, connections);
    for (char *at = connections; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    put(text, " channels=%d classes=%d connections=%s loss=%s input_gradient=%d layers=%016" PRIx64, spec->channels,
        spec->classes, connections, cnn_loss_name(spec->loss), spec->input_gradient, layers_hash(spec));
}

void point_network_key(const struct cnn_network_spec *spec, char *out, size_t size)
{
    struct text text = { out, size, 0 };
    put(&text, "network=%s width=%d depth=%d image=%d", spec->name, spec->width, spec->depth, spec->image);
    put_network(&text, spec);
    put(&text, " seed=%" PRIu64, spec->seed);
}

void point_key(const struct point *point, char *out, size_t size)
{
    const struct cnn_network_spec *spec = &point->spec;
    struct text text = { out, size, 0 };
    put(&text, "series=%s network=%s phase=%s width=%d depth=%d image=%d batch=%d", point->series, spec->name,
        point_phase_name(point->phase), spec->width, spec->depth, spec->image, point->batch);
    put_network(&text, spec);
    put(&text, " backend=%s algorithm=%s", point->backend, point->algorithm);
    put_choices(&text, point);
    put(&text, " isa=%s precision=%s copies=%s launch=%s threads=%d device=%d", point->isa[0] ? point->isa : "best",
        cnn_precision_name(point->precision), cnn_copies_name(point->copies), cnn_launch_name(point->launch),
        point->threads, point->device);
    if (!point->pin && !strcmp(point->backend, "omp"))
        put(&text, " pin=0");
    put(&text, " data=%s", point->data);
    if (strcmp(point->data, "normal"))
        put_training(&text, point);
    if (point->phase == POINT_TRAIN || point->phase == POINT_ACCURACY) {
        put_float(&text, "rate", point->rates.rate);
        put_float(&text, "momentum", point->rates.momentum);
        put_float(&text, "decay", point->rates.decay);
    }
    put(&text, " seed=%" PRIu64, spec->seed);
}

/* Only what is not the plainest is said. */
void point_title(const struct point *point, char *out, size_t size)
{
    const struct cnn_network_spec *spec = &point->spec;
    struct text text = { out, size, 0 };
    put(&text, "%s", spec->name);
    if (spec->width != 1)
        put(&text, " width %d", spec->width);
    if (spec->depth != 1)
        put(&text, " depth %d", spec->depth);
    if (spec->image > 0)
        put(&text, " image %d", spec->image);
    put(&text, " batch %d %s", point->batch, point_phase_name(point->phase));
    if (strcmp(point->data, "normal"))
        put(&text, " on %s", point->data);
    if (point->copies != CNN_COPIES_NONE)
        put(&text, " copies %s", cnn_copies_name(point->copies));
    if (point->precision != CNN_FP32)
        put(&text, " %s", cnn_precision_name(point->precision));
    if (point->isa[0])
        put(&text, " %s", point->isa);
    if (point->threads > 0)
        put(&text, " threads %d", point->threads);
    put(&text, ", %s", point->label);
}
