/* SPDX-License-Identifier: MIT */
/* Names of layer kinds, activations, losses, paddings and connections, and the geometry of one window. */
#include "lib/layout.h"

#include "lib/checked.h"
#include "lib/names.h"

static const char *const layer_kinds[CNN_LAYER_KIND_COUNT] = { "conv", "subsample", "maxpool", "avgpool", "full" };
static const char *const activations[CNN_ACTIVATION_COUNT] = { "none", "tanh", "lecun-tanh", "logistic", "relu" };
static const char *const losses[CNN_LOSS_COUNT] = { "mse", "softmax" };
static const char *const paddings[CNN_PADDING_COUNT] = { "valid", "same" };
static const char *const connection_kinds[CNN_CONNECTION_KIND_COUNT] = { "full",   "lecun",  "one-to-one",
                                                                         "garcia", "fan-in", "density" };

const char *cnn_layer_kind_name(enum cnn_layer_kind kind)
{
    return cnn_name_of(layer_kinds, CNN_LAYER_KIND_COUNT, (int)kind);
}

const char *cnn_activation_name(enum cnn_activation activation)
{
    return cnn_name_of(activations, CNN_ACTIVATION_COUNT, (int)activation);
}

const char *cnn_loss_name(enum cnn_loss loss)
{
    return cnn_name_of(losses, CNN_LOSS_COUNT, (int)loss);
}

const char *cnn_padding_name(enum cnn_padding padding)
{
    return cnn_name_of(paddings, CNN_PADDING_COUNT, (int)padding);
}

const char *cnn_connection_kind_name(enum cnn_connection_kind kind)
{
    return cnn_name_of(connection_kinds, CNN_CONNECTION_KIND_COUNT, (int)kind);
}

bool cnn_layer_kind_parse(const char *word, enum cnn_layer_kind *out)
{
    int found = cnn_name_find(layer_kinds, CNN_LAYER_KIND_COUNT, word);
    if (found == CNN_LAYER_KIND_COUNT)
        return false;
    *out = (enum cnn_layer_kind)found;
    return true;
}

bool cnn_activation_parse(const char *word, enum cnn_activation *out)
{
    int found =
        word && strcmp(word, "linear") == 0 ? CNN_LINEAR : cnn_name_find(activations, CNN_ACTIVATION_COUNT, word);
    if (found == CNN_ACTIVATION_COUNT)
        return false;
    *out = (enum cnn_activation)found;
    return true;
}

bool cnn_loss_parse(const char *word, enum cnn_loss *out)
{
    int found = cnn_name_find(losses, CNN_LOSS_COUNT, word);
    if (found == CNN_LOSS_COUNT)
        return false;
    *out = (enum cnn_loss)found;
    return true;
}

bool cnn_padding_parse(const char *word, enum cnn_padding *out)
{
    int found = cnn_name_find(paddings, CNN_PADDING_COUNT, word);
    if (found == CNN_PADDING_COUNT)
        return false;
    *out = (enum cnn_padding)found;
    return true;
}

bool cnn_connection_kind_parse(const char *word, enum cnn_connection_kind *out)
{
    int found = cnn_name_find(connection_kinds, CNN_CONNECTION_KIND_COUNT, word);
    if (found == CNN_CONNECTION_KIND_COUNT)
        return false;
    *out = (enum cnn_connection_kind)found;
    return true;
}

int64_t cnn_shape_size(struct cnn_shape shape)
{
    int64_t size;
    return cnn_mul3(shape.maps, shape.rows, shape.cols, &size) ? size : -1;
}

int cnn_output_side(int side, int kernel, int stride, enum cnn_padding padding, int *pad_before)
{
    *pad_before = 0;
    if (side < 1 || kernel < 1 || stride < 1)
        return 0;
    int64_t padded = side;
    if (padding == CNN_SAME) {
        *pad_before = (kernel - 1) / 2;
        padded += kernel - 1;
    }
    return kernel > padded ? 0 : (int)((padded - kernel) / stride + 1);
}
