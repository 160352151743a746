/* SPDX-License-Identifier: MIT */
/* A case as one line of text and back: words in pairs (key, value), layers after ":" and apart by ";". */
#include "tests/checker/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const data_names[CHECK_DATA_COUNT] = { "normal", "steps", "nan" };

struct writer {
    char *text;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(writer->text + writer->used, CHECK_TEXT - writer->used, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < CHECK_TEXT - writer->used)
        writer->used += (size_t)length;
}

static void put_layer(struct writer *writer, const struct cnn_layer_spec *layer)
{
    put(writer, "layer %s activation %s", cnn_layer_kind_name(layer->kind), cnn_activation_name(layer->activation));
    if (layer->kind == CNN_CONV || layer->kind == CNN_FULL)
        put(writer, " maps %d", layer->maps);
    if (layer->kind != CNN_FULL)
        put(writer, " kernel %d stride %d", layer->kernel, layer->stride);
    if (layer->kind == CNN_CONV)
        put(writer, " padding %s connections %s", cnn_padding_name(layer->padding),
            cnn_connection_kind_name(layer->connections.kind));
    if (layer->connections.kind == CNN_CONNECT_FAN_IN)
        put(writer, " fan-in %d", layer->connections.fan_in);
    if (layer->connections.kind == CNN_CONNECT_DENSITY)
        put(writer, " density %.9g", layer->connections.density);
}

void check_case_format(const struct check_case *c, char text[CHECK_TEXT])
{
    struct writer writer = { text, 0 };
    put(&writer, "seed %llu channels %d image %d classes %d loss %s input-gradient %d",
        (unsigned long long)c->spec.seed, c->spec.channels, c->spec.image, c->spec.classes, cnn_loss_name(c->spec.loss),
        c->spec.input_gradient);
    put(&writer, " batch %d first %d second %d data %s copies %s mix %d rate %.9g momentum %.9g decay %.9g :", c->batch,
        c->counts[0], c->counts[1], data_names[c->data], cnn_copies_name(c->copies), c->mix, (double)c->rates.rate,
        (double)c->rates.momentum, (double)c->rates.decay);
    for (int i = 0; i < c->spec.layer_count; i++) {
        put(&writer, i ? " ; " : " ");
        put_layer(&writer, &c->spec.layers[i]);
    }
}

static bool parse_data(const char *word, enum check_data *out)
{
    for (int i = 0; i < CHECK_DATA_COUNT; i++)
        if (!strcmp(word, data_names[i])) {
            *out = (enum check_data)i;
            return true;
        }
    return false;
}

static bool parse_int(const char *word, int *out)
{
    char *end;
    long value = strtol(word, &end, 10);
    *out = (int)value;
    return end != word && !*end && value >= 0 && value <= 1000000;
}

static bool parse_float(const char *word, float *out)
{
    char *end;
    *out = strtof(word, &end);
    return end != word && !*end;
}

static bool parse_head(const char *key, const char *value, struct check_case *c)
{
    struct cnn_network_spec *spec = &c->spec;
    int flag = 0;
    if (!strcmp(key, "seed")) {
        char *end;
        spec->seed = strtoull(value, &end, 10);
        return end != value && !*end;
    }
    if (!strcmp(key, "input-gradient")) {
        bool right = parse_int(value, &flag) && flag <= 1;
        spec->input_gradient = flag;
        return right;
    }
    return (!strcmp(key, "channels") && parse_int(value, &spec->channels)) ||
           (!strcmp(key, "image") && parse_int(value, &spec->image)) ||
           (!strcmp(key, "classes") && parse_int(value, &spec->classes)) ||
           (!strcmp(key, "loss") && cnn_loss_parse(value, &spec->loss)) ||
           (!strcmp(key, "batch") && parse_int(value, &c->batch)) ||
           (!strcmp(key, "first") && parse_int(value, &c->counts[0])) ||
           (!strcmp(key, "second") && parse_int(value, &c->counts[1])) ||
           (!strcmp(key, "data") && parse_data(value, &c->data)) ||
           (!strcmp(key, "copies") && cnn_copies_parse(value, &c->copies)) ||
           (!strcmp(key, "mix") && parse_int(value, &c->mix)) ||
           (!strcmp(key, "rate") && parse_float(value, &c->rates.rate)) ||
           (!strcmp(key, "momentum") && parse_float(value, &c->rates.momentum)) ||
           (!strcmp(key, "decay") && parse_float(value, &c->rates.decay));
}

static bool parse_density(const char *value, double *out)
{
    char *end;
    *out = strtod(value, &end);
    return end != value && !*end;
}

static bool parse_layer(const char *key, const char *value, struct cnn_layer_spec *layer)
{
    return (!strcmp(key, "layer") && cnn_layer_kind_parse(value, &layer->kind)) ||
           (!strcmp(key, "activation") && cnn_activation_parse(value, &layer->activation)) ||
           (!strcmp(key, "maps") && parse_int(value, &layer->maps)) ||
           (!strcmp(key, "kernel") && parse_int(value, &layer->kernel)) ||
           (!strcmp(key, "stride") && parse_int(value, &layer->stride)) ||
           (!strcmp(key, "padding") && cnn_padding_parse(value, &layer->padding)) ||
           (!strcmp(key, "connections") && cnn_connection_kind_parse(value, &layer->connections.kind)) ||
           (!strcmp(key, "fan-in") && parse_int(value, &layer->connections.fan_in)) ||
           (!strcmp(key, "density") && parse_density(value, &layer->connections.density));
}

static bool counts_are_right(const struct check_case *c)
{
    for (int b = 0; b < CHECK_BATCHES; b++)
        if (c->counts[b] < 1 || c->counts[b] > c->batch)
            return false;
    return true;
}

bool check_case_parse(const char *text, struct check_case *out)
{
    char copy[CHECK_TEXT], *rest = copy, *key;
    struct cnn_layer_spec *layer = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    *out = (struct check_case){ .spec = { .name = "case", .width = 1, .depth = 1, .connections.paper = true } };
    while ((key = strtok_r(rest, " ", &rest))) {
        if (!strcmp(key, ":") || !strcmp(key, ";")) {
            if (out->spec.layer_count == CNN_SPEC_LAYERS_MAX)
                break;
            layer = &out->spec.layers[out->spec.layer_count++];
            continue;
        }
        const char *value = strtok_r(rest, " ", &rest);
        if (!value || !(layer ? parse_layer(key, value, layer) : parse_head(key, value, out))) {
            fprintf(stderr, "case: \"%s %s\" is not understood: expected a case as the checker prints it\n", key,
                    value ? value : "");
            return false;
        }
    }
    if (!counts_are_right(out)) {
        fprintf(stderr, "case: batches of %d and %d images, expected 1 to batch (%d)\n", out->counts[0], out->counts[1],
                out->batch);
        return false;
    }
    return true;
}
