/* SPDX-License-Identifier: MIT */
/* From a description to a network: sizes of every layer with checked arithmetic first, then connection tables in one
 * allocation. */
#include "lib/network.h"

#include "lib/checked.h"
#include "lib/connections.h"
#include "lib/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is built, and where it stands. */
struct builder {
    struct cnn_network *network;
    struct cnn_unrolled unrolled;
    struct cnn_error *error;
    int64_t table_entries; /* int32, of all tables */
    bool seen_conv, seen_weights;
};

#define FAIL(...) return cnn_error_set(builder->error, CNN_INVALID, __VA_ARGS__)

/* "lenet5, layer C3" */
static const char *where(const struct builder *builder, int index, char text[3 * CNN_NAME_MAX])
{
    snprintf(text, (size_t)3 * CNN_NAME_MAX, "%s, layer %s", builder->network->spec.name,
             builder->network->layers[index].name);
    return text;
}

static int too_large(struct builder *builder, int index)
{
    const struct cnn_network *network = builder->network;
    char text[3 * CNN_NAME_MAX];
    FAIL("%s: its sizes do not fit in 63 bits at width %d, image %d: make one of them smaller",
         where(builder, index, text), network->spec.width, network->spec.image);
}

static const struct cnn_layer_spec *spec_of(const struct builder *builder, int index)
{
    int copy;
    return &builder->network->spec.layers[cnn_unrolled_layer(&builder->unrolled, index, &copy)];
}

/* The connections that hold for a layer: its own, or the network's override for every convolution but the first. */
static struct cnn_connection_spec connections_of(const struct cnn_network *network, const struct cnn_layer_spec *spec,
                                                 bool first_conv)
{
    if (spec->kind != CNN_CONV || network->spec.connections.paper)
        return spec->connections;
    if (first_conv)
        return (struct cnn_connection_spec){ .kind = CNN_CONNECT_FULL };
    return network->spec.connections.all;
}

static int kernel_does_not_fit(struct builder *builder, int index, int kernel)
{
    const struct cnn_network *network = builder->network;
    const struct cnn_layer *layer = &network->layers[index];
    int smallest = cnn_spec_smallest_image(&network->spec, &builder->unrolled);
    char text[3 * CNN_NAME_MAX], advice[48] = "no image is large enough";
    if (smallest > 0)
        snprintf(advice, sizeof advice, "try %d or more", smallest);
    FAIL("%s: a %d x %d %s does not fit its %d x %d input (image %d: %s)", where(builder, index, text), kernel, kernel,
         cnn_kind_is_pooling(layer->kind) ? "window" : "kernel", layer->in.rows, layer->in.cols, network->spec.image,
         advice);
}

/* Rows behind the last one that a window reads. */
static int cropped(int side, int out, int kernel, int stride, int pad_before)
{
    int64_t read = (int64_t)(out - 1) * stride + kernel - pad_before;
    return read < side ? (int)(side - read) : 0;
}

static int size_windows(struct builder *builder, int index, const struct cnn_layer_spec *spec)
{
    struct cnn_layer *layer = &builder->network->layers[index];
    layer->stride = cnn_spec_stride(spec);
    layer->kernel_rows = layer->kernel_cols = spec->kernel;
    layer->out.rows = cnn_output_side(layer->in.rows, spec->kernel, layer->stride, spec->padding, &layer->pad_before);
    layer->out.cols = cnn_output_side(layer->in.cols, spec->kernel, layer->stride, spec->padding, &layer->pad_before);
    if (layer->out.rows == 0 || layer->out.cols == 0)
        return kernel_does_not_fit(builder, index, spec->kernel);
    layer->cropped_rows = cropped(layer->in.rows, layer->out.rows, spec->kernel, layer->stride, layer->pad_before);
    layer->cropped_cols = cropped(layer->in.cols, layer->out.cols, spec->kernel, layer->stride, layer->pad_before);
    return CNN_OK;
}

static int size_maps(struct builder *builder, int index, const struct cnn_layer_spec *spec)
{
    const struct cnn_network *network = builder->network;
    struct cnn_layer *layer = &builder->network->layers[index];
    int64_t maps = layer->in.maps;
    if (!cnn_kind_is_pooling(spec->kind)) {
        bool last = index == network->layer_count - 1;
        maps = last ? network->spec.classes : (int64_t)spec->maps * (spec->fixed ? 1 : network->spec.width);
    }
    if (maps > INT32_MAX) {
        char text[3 * CNN_NAME_MAX];
        FAIL("%s: %d %s at width %d are more than 2^31: make width smaller", where(builder, index, text), spec->maps,
             spec->kind == CNN_FULL ? "units" : "maps", network->spec.width);
    }
    layer->out.maps = (int)maps;
    return CNN_OK;
}

/* Pairs and table entries; needs maps on both sides. */
static int size_connections(struct builder *builder, int index, const struct cnn_layer_spec *spec)
{
    struct cnn_layer *layer = &builder->network->layers[index];
    struct cnn_connection_spec connections =
        connections_of(builder->network, spec, spec->kind == CNN_CONV && !builder->seen_conv);
    bool table;
    char text[3 * CNN_NAME_MAX];
    if (cnn_connections_count(&connections, layer->in.maps, layer->out.maps, where(builder, index, text), &layer->pairs,
                              &table, builder->error))
        return CNN_INVALID;
    if (table) {
        builder->table_entries += layer->pairs + layer->out.maps + 1; /* each below 2^62, the sum so far below 2^26 */
        if (builder->table_entries > CNN_TABLE_ENTRIES_MAX)
            FAIL("%s: its connection table of %lld pairs is too large: expected at most 2^26 in all tables; make width "
                 "smaller or connect in full",
                 where(builder, index, text), (long long)layer->pairs);
    }
    builder->seen_conv |= spec->kind == CNN_CONV;
    return CNN_OK;
}

/* Weights, biases and multiply-accumulates; false where they do not fit. */
static bool size_work(struct cnn_layer *layer)
{
    int64_t window = (int64_t)layer->kernel_rows * layer->kernel_cols; /* sides are at most 65,536 */
    int64_t positions = (int64_t)layer->out.rows * layer->out.cols;
    if (layer->kind == CNN_SUBSAMPLE)
        layer->weights = layer->biases = layer->out.maps;
    if (cnn_kind_is_pooling(layer->kind))
        return true;
    layer->biases = layer->out.maps;
    return cnn_mul(layer->pairs, window, &layer->weights) && cnn_mul(layer->weights, positions, &layer->macs) &&
           cnn_mul3((int64_t)layer->in.maps * layer->out.maps, window, positions, &layer->macs_dense);
}

/* Adds the layer to the network's sums. Nothing that is later derived from these (bytes of doubles, FLOPs of training,
 * work beside the multiply-accumulates) is more than 64 times one of them, so that much room is kept. */
static bool add_up(struct builder *builder, struct cnn_layer *layer)
{
    struct cnn_network *network = builder->network;
    int64_t room, in = cnn_shape_size(layer->in), out = cnn_shape_size(layer->out);
    int64_t window = (int64_t)layer->kernel_rows * layer->kernel_cols;
    layer->weight_at = network->parameters;
    if (in < 0 || out < 0 || !cnn_mul(in, 64 * CNN_LAYERS_MAX, &room) ||
        !cnn_mul3(out, window + 1, 64 * CNN_LAYERS_MAX, &room) ||
        !cnn_add(network->parameters, layer->weights, &layer->bias_at) ||
        !cnn_add(layer->bias_at, layer->biases, &network->parameters) || !cnn_mul(network->parameters, 64, &room) ||
        !cnn_add(network->macs, layer->macs, &network->macs) ||
        !cnn_add(network->macs_dense, layer->macs_dense, &network->macs_dense) ||
        !cnn_mul(network->macs_dense, 64, &room))
        return false;
    if (layer->weights > 0 && !builder->seen_weights) {
        builder->seen_weights = true;
        network->macs_first = layer->macs;
        network->macs_first_dense = layer->macs_dense;
    }
    return true;
}

static int size_layer(struct builder *builder, int index)
{
    struct cnn_network *network = builder->network;
    struct cnn_layer *layer = &network->layers[index];
    const struct cnn_layer_spec *spec = spec_of(builder, index);
    cnn_unrolled_name(&network->spec, &builder->unrolled, index, layer->name);
    layer->kind = spec->kind;
    layer->activation = spec->activation;
    layer->in = index > 0 ? network->layers[index - 1].out : network->input;
    if (spec->kind == CNN_FULL) {
        layer->kernel_rows = layer->in.rows;
        layer->kernel_cols = layer->in.cols;
        layer->stride = 1;
        layer->out = (struct cnn_shape){ 0, 1, 1 };
    } else if (size_windows(builder, index, spec)) {
        return CNN_INVALID;
    }
    if (size_maps(builder, index, spec))
        return CNN_INVALID;
    if (!cnn_kind_is_pooling(spec->kind) && size_connections(builder, index, spec))
        return CNN_INVALID;
    return size_work(layer) && add_up(builder, layer) ? CNN_OK : too_large(builder, index);
}

static int size_network(struct builder *builder)
{
    struct cnn_network *network = builder->network;
    network->input = (struct cnn_shape){ network->spec.channels, network->spec.image, network->spec.image };
    for (int i = 0; i < network->layer_count; i++)
        if (size_layer(builder, i))
            return CNN_INVALID;

    const struct cnn_layer *last = &network->layers[network->layer_count - 1];
    char text[3 * CNN_NAME_MAX];
    if (last->out.rows != 1 || last->out.cols != 1 || last->out.maps != network->spec.classes)
        FAIL("%s: the last layer gives %d x %d x %d outputs: expected %d x 1 x 1, one for each class; end with a full "
             "layer",
             where(builder, network->layer_count - 1, text), last->out.maps, last->out.rows, last->out.cols,
             network->spec.classes);
    if (!builder->seen_weights)
        FAIL("%s: no layer has weights: there is nothing to train", network->spec.name);
    return CNN_OK;
}

/* One allocation, carved layer by layer: offsets, then sources. */
static int draw_tables(struct builder *builder)
{
    struct cnn_network *network = builder->network;
    if (builder->table_entries == 0)
        return CNN_OK;
    int32_t *place = network->tables = malloc(sizeof *place * (size_t)builder->table_entries);
    if (!place)
        return cnn_error_set(builder->error, CNN_OOM, "%s: no memory for %lld entries of connection tables",
                             network->spec.name, (long long)builder->table_entries);
    bool first_conv = true;
    for (int i = 0; i < network->layer_count; i++) {
        struct cnn_layer *layer = &network->layers[i];
        if (layer->kind != CNN_CONV)
            continue;
        struct cnn_connection_spec connections = connections_of(network, spec_of(builder, i), first_conv);
        first_conv = false;
        if (layer->pairs == (int64_t)layer->in.maps * layer->out.maps)
            continue;
        int32_t *first = place, *source = place + layer->out.maps + 1;
        if (cnn_connections_write(&connections, layer->in.maps, layer->out.maps, network->spec.seed, (uint32_t)i, first,
                                  source, builder->error))
            return (int)CNN_OOM;
        layer->first = first;
        layer->source = source;
        place = source + layer->pairs;
    }
    return CNN_OK;
}

int cnn_network_create(struct cnn_network **out, const struct cnn_network_spec *spec, struct cnn_error *error)
{
    struct builder builder = { .error = error };
    int status = cnn_spec_check(spec, &builder.unrolled, error);
    if (status)
        return status;
    struct cnn_network *network = builder.network = calloc(1, sizeof *network);
    if (network)
        network->layers = calloc((size_t)builder.unrolled.total, sizeof *network->layers);
    if (!network || !network->layers) {
        status = cnn_error_set(error, CNN_OOM, "%s: no memory for a network of %d layers", spec->name,
                               builder.unrolled.total);
        goto fail;
    }
    network->spec = *spec;
    network->layer_count = builder.unrolled.total;
    network->classes = spec->classes;
    network->label_count = spec->classes == 1 ? 2 : spec->classes;
    network->loss = spec->loss;
    status = size_network(&builder);
    if (!status)
        status = draw_tables(&builder);
    if (status)
        goto fail;
    *out = network;
    return CNN_OK;
fail:
    cnn_network_destroy(network);
    return status;
}

void cnn_network_destroy(struct cnn_network *network)
{
    if (!network)
        return;
    free(network->layers);
    free(network->tables);
    free(network);
}

int64_t cnn_network_flops_forward(const struct cnn_network *network, int batch, bool dense)
{
    int64_t flops;
    return cnn_mul3(dense ? network->macs_dense : network->macs, 2, batch, &flops) ? flops : -1;
}

int64_t cnn_network_flops_train(const struct cnn_network *network, int batch, bool dense)
{
    int64_t macs = 3 * (dense ? network->macs_dense : network->macs); /* room for it was kept */
    if (!network->spec.input_gradient)
        macs -= dense ? network->macs_first_dense : network->macs_first;
    int64_t flops;
    return cnn_mul3(macs, 2, batch, &flops) ? flops : -1;
}
