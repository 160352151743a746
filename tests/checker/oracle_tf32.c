/* SPDX-License-Identifier: MIT */
/* What tensor cores would make of a batch: the oracle's loops once more, with both factors of every product of a
 * convolution or full layer rounded to tf32. */
#include "lib/reference_internal.h"
#include "tests/checker/oracle_backend.h"

#include <stdlib.h>
#include <string.h>

/* To 11 bits, ties away from zero, as cvt.rna.tf32.f32 does. */
static double to_tf32(double value)
{
    float single = (float)value;
    uint32_t bits;
    if (!isfinite(single))
        return value;
    memcpy(&bits, &single, sizeof bits);
    bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(&single, &bits, sizeof bits);
    return (double)single;
}

/* A copy of `count` values, rounded where `layer` has products. The caller frees it. */
static double *factors(const struct cnn_layer *layer, const double *values, int64_t count)
{
    double *copy = malloc((size_t)count * sizeof *copy);
    if (!copy)
        abort();
    for (int64_t i = 0; i < count; i++)
        copy[i] = layer->kind == CNN_CONV || layer->kind == CNN_FULL ? to_tf32(values[i]) : values[i];
    return copy;
}

/* The arena, the weights of `layer` rounded; its biases, which are added and not multiplied, as they are. */
static double *arena(const struct cnn_reference *reference, const struct cnn_layer *layer)
{
    double *copy = factors(layer, reference->parameters, reference->network->parameters);
    memcpy(copy + layer->bias_at, reference->parameters + layer->bias_at, (size_t)layer->biases * sizeof *copy);
    return copy;
}

static struct cnn_span source(const struct cnn_reference *reference, int index)
{
    return index ? reference->layers[index - 1].output : reference->input;
}

double check_tf32_forward(struct cnn_reference *reference)
{
    const struct cnn_network *network = reference->network;
    struct cnn_span answer = reference->layers[network->layer_count - 1].output;
    double loss = 0.0;
    for (int index = 0; index < network->layer_count; index++) {
        const struct cnn_layer *layer = &network->layers[index];
        int64_t in_size = cnn_shape_size(layer->in), out_size = cnn_shape_size(layer->out);
        struct cnn_span in = source(reference, index);
        double *parameters = arena(reference, layer);
        in.value = factors(layer, in.value, reference->count * in_size);
        for (int image = 0; image < reference->count; image++)
            cnn_reference_layer_forward(layer, parameters, 0.0, cnn_span_at(in, image * in_size),
                                        cnn_span_at(reference->layers[index].output, image * out_size), 0,
                                        layer->out.maps);
        free(in.value);
        free(parameters);
    }
    for (int image = 0; image < reference->count && reference->labelled; image++)
        loss += reference->weights[image] * cnn_reference_loss(network,
                                                               cnn_span_at(answer, (int64_t)image * network->classes),
                                                               reference->labels[image])
                                                .value;
    return loss;
}

/* From the gradient by a layer's output to its delta, its parameters' gradient and the gradient by its input. */
static void layer_backward(struct cnn_reference *reference, int index)
{
    const struct cnn_layer *layer = &reference->network->layers[index];
    int64_t in_size = cnn_shape_size(layer->in), out_size = cnn_shape_size(layer->out);
    struct cnn_span in = source(reference, index), delta = reference->layers[index].delta;
    struct cnn_span below = index ? reference->layers[index - 1].delta : reference->input_gradient;
    double *parameters = arena(reference, layer);
    cnn_reference_deactivate(layer->activation, reference->layers[index].output, delta, reference->count * out_size);
    in.value = factors(layer, in.value, reference->count * in_size);
    delta.value = factors(layer, delta.value, reference->count * out_size);
    for (int image = 0; image < reference->count; image++)
        cnn_reference_layer_backward(layer, parameters, 0.0, cnn_span_at(in, image * in_size),
                                     cnn_span_at(delta, image * out_size), reference->tallies,
                                     cnn_span_at(below, image * in_size), 0, layer->in.maps);
    cnn_reference_layer_gradient(layer, reference->weights, 0.0, reference->count, in, delta, reference->gradient, 0,
                                 layer->out.maps);
    free(delta.value);
    free(in.value);
    free(parameters);
}

void check_tf32_backward(struct cnn_reference *reference)
{
    const struct cnn_network *network = reference->network;
    int last = network->layer_count - 1;
    for (int image = 0; image < reference->count; image++) {
        int64_t at = (int64_t)image * network->classes;
        cnn_reference_loss_gradient(network, cnn_span_at(reference->layers[last].output, at), reference->labels[image],
                                    reference->weights[image] / reference->total_weight,
                                    cnn_span_at(reference->layers[last].delta, at));
    }
    for (int index = last; index >= 0; index--)
        layer_backward(reference, index);
}
