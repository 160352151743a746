/* SPDX-License-Identifier: MIT */
/* Checks a description of a network without working out sizes, and unrolls depth. */
#include "lib/spec.h"

#include <stdio.h>
#include <string.h>

#define FAIL(...) return cnn_error_set(error, CNN_INVALID, __VA_ARGS__)

static bool is_text(const char text[CNN_NAME_MAX])
{
    return memchr(text, '\0', CNN_NAME_MAX) != NULL;
}

static int check_head(const struct cnn_network_spec *spec, struct cnn_error *error)
{
    if (!is_text(spec->name))
        FAIL("network: its name is longer than %d characters", CNN_NAME_MAX - 1);
    const char *name = spec->name;
    if (spec->image < 1 || spec->image > CNN_SIDE_MAX)
        FAIL("%s: image side %d: expected 1 to %d", name, spec->image, CNN_SIDE_MAX);
    if (spec->channels < 1)
        FAIL("%s: %d input channels: expected 1 or more", name, spec->channels);
    if (spec->classes < 1)
        FAIL("%s: %d classes: expected 1 or more", name, spec->classes);
    if (spec->width < 1)
        FAIL("%s: width %d: expected 1 or more", name, spec->width);
    if (spec->depth < 1 || spec->depth > CNN_DEPTH_MAX)
        FAIL("%s: depth %d: expected 1 to %d", name, spec->depth, CNN_DEPTH_MAX);
    if ((unsigned)spec->loss >= CNN_LOSS_COUNT)
        FAIL("%s: loss number %d does not exist", name, (int)spec->loss);
    if (spec->loss == CNN_SOFTMAX && spec->classes == 1)
        FAIL("%s: softmax over a single output is always 1: use loss mse, or 2 classes or more", name);
    if (spec->layer_count < 1 || spec->layer_count > CNN_SPEC_LAYERS_MAX)
        FAIL("%s: %d layers: expected 1 to %d", name, spec->layer_count, CNN_SPEC_LAYERS_MAX);
    return CNN_OK;
}

static int check_connections(const char *where, const struct cnn_connection_spec *connections, struct cnn_error *error)
{
    if ((unsigned)connections->kind >= CNN_CONNECTION_KIND_COUNT)
        FAIL("%s: connection number %d does not exist", where, (int)connections->kind);
    if (connections->kind == CNN_CONNECT_FAN_IN && connections->fan_in < 1)
        FAIL("%s: fan-in %d: expected 1 source map or more", where, connections->fan_in);
    if (connections->kind == CNN_CONNECT_DENSITY && !(connections->density > 0 && connections->density <= 1))
        FAIL("%s: density %g: expected more than 0 and at most 1", where, connections->density);
    return CNN_OK;
}

static int check_window(const char *where, const struct cnn_layer_spec *layer, struct cnn_error *error)
{
    bool pooling = cnn_kind_is_pooling(layer->kind);
    if (layer->kernel < 1 || layer->kernel > CNN_SIDE_MAX)
        FAIL("%s: %s side %d: expected 1 to %d", where, pooling ? "window" : "kernel", layer->kernel, CNN_SIDE_MAX);
    if (layer->stride < (pooling ? 0 : 1) || layer->stride > CNN_SIDE_MAX)
        FAIL("%s: stride %d: expected %s to %d", where, layer->stride, pooling ? "0 (as the window) or 1" : "1",
             CNN_SIDE_MAX);
    if ((unsigned)layer->padding >= CNN_PADDING_COUNT)
        FAIL("%s: padding number %d does not exist", where, (int)layer->padding);
    if (pooling && layer->padding != CNN_VALID)
        FAIL("%s: padding \"%s\" of a pooling layer: only convolutions are padded", where,
             cnn_padding_name(layer->padding));
    return CNN_OK;
}

static int check_maps(const char *where, const struct cnn_network_spec *spec, const struct cnn_layer_spec *layer,
                      bool last, struct cnn_error *error)
{
    const char *what = layer->kind == CNN_FULL ? "units" : "maps";
    if (last && layer->maps != 0 && layer->maps != spec->classes)
        FAIL("%s: %d %s in the last layer: expected the %d classes (or 0, which means them)", where, layer->maps, what,
             spec->classes);
    if (!last && layer->maps < 1)
        FAIL("%s: %d %s: expected 1 or more", where, layer->maps, what);
    return CNN_OK;
}

static int check_layer(const struct cnn_network_spec *spec, int index, struct cnn_error *error)
{
    const struct cnn_layer_spec *layer = &spec->layers[index];
    bool last = index == spec->layer_count - 1;
    char where[3 * CNN_NAME_MAX];
    if (is_text(layer->name) && layer->name[0])
        snprintf(where, sizeof where, "%s, layer %s", spec->name, layer->name);
    else
        snprintf(where, sizeof where, "%s, layer number %d", spec->name, index + 1);

    if (!is_text(layer->name))
        FAIL("%s: its name is longer than %d characters", where, CNN_NAME_MAX - 1);
    if ((unsigned)layer->kind >= CNN_LAYER_KIND_COUNT)
        FAIL("%s: layer kind number %d does not exist", where, (int)layer->kind);
    if ((unsigned)layer->activation >= CNN_ACTIVATION_COUNT)
        FAIL("%s: activation number %d does not exist", where, (int)layer->activation);
    if (layer->kind != CNN_FULL && check_window(where, layer, error))
        return CNN_INVALID;
    if (!cnn_kind_is_pooling(layer->kind) && check_maps(where, spec, layer, last, error))
        return CNN_INVALID;
    if (layer->kind != CNN_CONV && layer->connections.kind != CNN_CONNECT_FULL)
        FAIL("%s: connections \"%s\": only convolutions have a connection table", where,
             cnn_connection_kind_name(layer->connections.kind));
    if ((unsigned)layer->repeat > CNN_DEPTH_LESS_ONE_TIMES)
        FAIL("%s: repetition number %d does not exist", where, (int)layer->repeat);
    if (last && layer->repeat != CNN_ONCE)
        FAIL("%s: the last layer gives the classes and cannot be repeated with depth", where);
    return check_connections(where, &layer->connections, error);
}

/* Finds the block, which must be in one piece. */
static int unroll(const struct cnn_network_spec *spec, struct cnn_unrolled *out, struct cnn_error *error)
{
    int begin = 0, end, count = spec->layer_count;
    while (begin < count && spec->layers[begin].repeat == CNN_ONCE)
        begin++;
    enum cnn_repeat repeat = begin < count ? spec->layers[begin].repeat : CNN_ONCE;
    for (end = begin; end < count && spec->layers[end].repeat == repeat;)
        end++;
    for (int i = end; i < count; i++) {
        if (spec->layers[i].repeat != CNN_ONCE)
            FAIL("%s: layer number %d is repeated apart from layer number %d: the layers that depth repeats form one "
                 "block",
                 spec->name, i + 1, begin + 1);
    }
    if (begin == end && spec->depth != 1)
        FAIL("%s: depth %d: this network has no block that depth could repeat; expected 1", spec->name, spec->depth);
    bool less_one = repeat == CNN_DEPTH_LESS_ONE_TIMES;
    *out = (struct cnn_unrolled){ begin, end, spec->depth - (less_one ? 1 : 0), less_one ? 2 : 1, 0 };
    out->total = count + (out->times - 1) * (end - begin);
    if (out->total > CNN_LAYERS_MAX)
        FAIL("%s: depth %d makes %d layers: expected at most %d", spec->name, spec->depth, out->total, CNN_LAYERS_MAX);
    return CNN_OK;
}

int cnn_spec_check(const struct cnn_network_spec *spec, struct cnn_unrolled *unrolled, struct cnn_error *error)
{
    if (check_head(spec, error))
        return CNN_INVALID;
    if (!spec->connections.paper && check_connections(spec->name, &spec->connections.all, error))
        return CNN_INVALID;
    for (int i = 0; i < spec->layer_count; i++)
        if (check_layer(spec, i, error))
            return CNN_INVALID;
    return unroll(spec, unrolled, error);
}

int cnn_unrolled_layer(const struct cnn_unrolled *unrolled, int index, int *copy)
{
    int length = unrolled->end - unrolled->begin;
    int behind = unrolled->begin + unrolled->times * length; /* first built layer after the block */
    *copy = 0;
    if (index < unrolled->begin)
        return index;
    if (index >= behind)
        return unrolled->end + (index - behind);
    *copy = (index - unrolled->begin) / length;
    return unrolled->begin + (index - unrolled->begin) % length;
}

void cnn_unrolled_name(const struct cnn_network_spec *spec, const struct cnn_unrolled *unrolled, int index,
                       char out[CNN_NAME_MAX])
{
    static const char letters[CNN_LAYER_KIND_COUNT] = { 'C', 'S', 'P', 'A', 'F' };
    int copy, at = cnn_unrolled_layer(unrolled, index, &copy);
    const struct cnn_layer_spec *layer = &spec->layers[at];
    char base[CNN_NAME_MAX], number[16] = "";
    if (layer->name[0])
        memcpy(base, layer->name, sizeof base);
    else
        snprintf(base, sizeof base, "%c%d", letters[layer->kind], at + 1);
    if (layer->repeat == CNN_DEPTH_LESS_ONE_TIMES || (layer->repeat == CNN_DEPTH_TIMES && spec->depth > 1))
        snprintf(number, sizeof number, ".%d", copy + unrolled->first_number);
    /* A long name gives way to its number. */
    snprintf(out, CNN_NAME_MAX, "%.*s%s", (int)(CNN_NAME_MAX - 1 - strlen(number)), base, number);
}

/* Backwards through the windows: n output pixels need (n - 1) stride + kernel input pixels, of which `same` padding
 * gives kernel - 1. */
int cnn_spec_smallest_image(const struct cnn_network_spec *spec, const struct cnn_unrolled *unrolled)
{
    int64_t side = 1;
    for (int i = unrolled->total - 1; i >= 0; i--) {
        int copy;
        const struct cnn_layer_spec *layer = &spec->layers[cnn_unrolled_layer(unrolled, i, &copy)];
        if (layer->kind == CNN_FULL)
            side = 1;
        else
            side = (side - 1) * cnn_spec_stride(layer) + (layer->padding == CNN_SAME ? 1 : layer->kernel);
        if (side > CNN_SIDE_MAX)
            return 0;
    }
    return (int)side;
}
