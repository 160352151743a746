/* SPDX-License-Identifier: MIT */
/* The oracle: memory, and the way of a batch through the layers. What a layer does is in reference_layers.c,
 * reference_pooling.c and reference_curves.c. */
#include "lib/checked.h"
#include "lib/reference_internal.h"

#include <stdlib.h>
#include <string.h>

/* First pass with base NULL: counts. Second pass: hands out. */
struct carving {
    double *base;
    int64_t used;
    bool fits;
};

static double *carve(struct carving *carving, int64_t per_image, int64_t images)
{
    double *place = carving->base ? carving->base + carving->used : NULL;
    carving->fits = carving->fits && cnn_accumulate(per_image, images, &carving->used);
    return place;
}

static struct cnn_span carve_span(struct carving *carving, int64_t per_image, int64_t images)
{
    struct cnn_span span;
    span.value = carve(carving, per_image, images);
    span.bound = carve(carving, per_image, images);
    span.scale = carve(carving, per_image, images);
    return span;
}

static void carve_all(struct cnn_reference *reference, struct carving *carving)
{
    const struct cnn_network *network = reference->network;
    int64_t batch = reference->batch, input = cnn_shape_size(network->input);
    reference->parameters = carve(carving, network->parameters, 1);
    reference->velocities = carve(carving, network->parameters, 1);
    reference->gradient = carve_span(carving, network->parameters, 1);
    reference->input = carve_span(carving, input, batch);
    reference->input_gradient = carve_span(carving, input, batch);
    reference->weights = carve(carving, 1, batch);
    for (int i = 0; i < network->layer_count; i++) {
        int64_t size = cnn_shape_size(network->layers[i].out);
        reference->layers[i].output = carve_span(carving, size, batch);
        reference->layers[i].delta = carve_span(carving, size, batch);
    }
}

static int64_t largest_input(const struct cnn_network *network)
{
    int64_t largest = 0;
    for (int i = 0; i < network->layer_count; i++) {
        int64_t size = cnn_shape_size(network->layers[i].in);
        largest = size > largest ? size : largest;
    }
    return largest;
}

int cnn_reference_create(struct cnn_reference **out, const struct cnn_network *network, int batch,
                         struct cnn_error *error)
{
    if (batch < 1)
        return cnn_error_set(error, CNN_INVALID, "oracle: a batch of %d images, expected at least 1", batch);
    struct carving carving = { .fits = true };
    struct cnn_reference *reference = calloc(1, sizeof *reference);
    if (!reference)
        return cnn_error_set(error, CNN_OOM, "oracle: no memory for its head");
    reference->network = network;
    reference->batch = batch;
    reference->layers = calloc((size_t)network->layer_count, sizeof *reference->layers);
    reference->labels = calloc((size_t)batch, sizeof *reference->labels);
    reference->tallies = calloc((size_t)largest_input(network), sizeof *reference->tallies);
    if (!reference->layers || !reference->labels || !reference->tallies)
        goto fail;
    carve_all(reference, &carving);
    /* calloc: velocities that no update touches stay unmapped. */
    if (!carving.fits || !(carving.base = reference->doubles = calloc((size_t)carving.used, sizeof(double))))
        goto fail;
    carving.used = 0;
    carve_all(reference, &carving);
    *out = reference;
    return CNN_OK;
fail:
    cnn_reference_destroy(reference);
    return cnn_error_set(error, CNN_OOM,
                         "oracle: no memory for %lld doubles (%d images of a network with %lld parameters)",
                         (long long)carving.used, batch, (long long)network->parameters);
}

void cnn_reference_destroy(struct cnn_reference *reference)
{
    if (!reference)
        return;
    free(reference->doubles);
    free(reference->tallies);
    free(reference->labels);
    free(reference->layers);
    free(reference);
}

void cnn_reference_set_precision(struct cnn_reference *reference, enum cnn_precision precision)
{
    reference->rounding = precision == CNN_TF32 ? CNN_TF32_ROUNDING : 0.0;
}

void cnn_reference_write_parameters(struct cnn_reference *reference, const float *parameters)
{
    int64_t count = reference->network->parameters;
    for (int64_t i = 0; i < count; i++)
        reference->parameters[i] = parameters[i];
    if (reference->moving)
        memset(reference->velocities, 0, (size_t)count * sizeof(double));
    reference->moving = false;
}

/* Image `image` of what enters layer `index`. */
static struct cnn_span input_of(const struct cnn_reference *reference, int index, int image)
{
    const struct cnn_layer *layer = &reference->network->layers[index];
    struct cnn_span all = index ? reference->layers[index - 1].output : reference->input;
    return cnn_span_at(all, image * cnn_shape_size(layer->in));
}

static void take_batch(struct cnn_reference *reference, const float *images, const int32_t *labels,
                       const double *weights, int count)
{
    int64_t pixels = count * cnn_shape_size(reference->network->input);
    for (int64_t i = 0; i < pixels; i++)
        reference->input.value[i] = images[i];
    reference->count = count;
    reference->labelled = labels != NULL;
    reference->total_weight = 0.0;
    for (int i = 0; i < count; i++) {
        reference->weights[i] = weights ? weights[i] : 1.0;
        reference->total_weight += reference->weights[i];
        reference->labels[i] = labels ? labels[i] : 0;
    }
}

/* Image `image` of the network's output. */
static struct cnn_span answer_of(const struct cnn_reference *reference, int image)
{
    const struct cnn_network *network = reference->network;
    return cnn_span_at(reference->layers[network->layer_count - 1].output, (int64_t)image * network->classes);
}

static double loss_sum(struct cnn_reference *reference)
{
    struct cnn_tally sum = { 0 };
    for (int i = 0; i < reference->count; i++)
        cnn_tally_add(&sum, reference->weights[i],
                      cnn_reference_loss(reference->network, answer_of(reference, i), reference->labels[i]),
                      reference->weights[i]);
    reference->loss_bound = cnn_tally_number(&sum).bound;
    return sum.value;
}

double cnn_reference_forward(struct cnn_reference *reference, const float *images, const int32_t *labels,
                             const double *weights, int count)
{
    const struct cnn_network *network = reference->network;
    take_batch(reference, images, labels, weights, count);
    for (int index = 0; index < network->layer_count; index++) {
        const struct cnn_layer *layer = &network->layers[index];
        for (int image = 0; image < count; image++)
            cnn_reference_layer_forward(
                layer, reference->parameters, reference->rounding, input_of(reference, index, image),
                cnn_span_at(reference->layers[index].output, image * cnn_shape_size(layer->out)));
    }
    reference->loss_bound = 0.0;
    return labels ? loss_sum(reference) : 0.0;
}

/* One layer of one image: the gradient by its output, which is in `delta`, becomes its delta, and the gradient by its
 * input goes to the layer below. */
static void backward_image(struct cnn_reference *reference, int index, int image)
{
    const struct cnn_layer *layer = &reference->network->layers[index];
    int64_t size = cnn_shape_size(layer->out);
    struct cnn_span output = cnn_span_at(reference->layers[index].output, image * size);
    struct cnn_span delta = cnn_span_at(reference->layers[index].delta, image * size);
    struct cnn_span below = index ? reference->layers[index - 1].delta : reference->input_gradient;
    cnn_reference_deactivate(layer->activation, output, delta, size);
    cnn_reference_layer_backward(layer, reference->parameters, reference->rounding, input_of(reference, index, image),
                                 delta, reference->tallies, cnn_span_at(below, image * cnn_shape_size(layer->in)));
}

void cnn_reference_backward(struct cnn_reference *reference)
{
    const struct cnn_network *network = reference->network;
    int last = network->layer_count - 1;
    if (!reference->labelled || reference->total_weight <= 0.0)
        return;
    for (int image = 0; image < reference->count; image++)
        cnn_reference_loss_gradient(network, answer_of(reference, image), reference->labels[image],
                                    reference->weights[image] / reference->total_weight,
                                    cnn_span_at(reference->layers[last].delta, (int64_t)image * network->classes));
    for (int index = last; index >= 0; index--) {
        for (int image = 0; image < reference->count; image++)
            backward_image(reference, index, image);
        cnn_reference_layer_gradient(&network->layers[index], reference->weights, reference->rounding, reference->count,
                                     input_of(reference, index, 0), reference->layers[index].delta,
                                     reference->gradient);
    }
}

void cnn_reference_update(struct cnn_reference *reference, double rate, double momentum, double decay)
{
    for (int index = 0; index < reference->network->layer_count; index++) {
        const struct cnn_layer *layer = &reference->network->layers[index];
        bool decays = layer->kind == CNN_CONV || layer->kind == CNN_FULL;
        for (int64_t i = 0; i < layer->weights + layer->biases; i++) {
            int64_t at = i < layer->weights ? layer->weight_at + i : layer->bias_at + i - layer->weights;
            double v = reference->gradient.value[at];
            if (decays && i < layer->weights)
                v += decay * reference->parameters[at];
            if (reference->moving)
                v += momentum * reference->velocities[at];
            reference->velocities[at] = v;
            reference->parameters[at] -= rate * v;
        }
    }
    reference->moving = true;
}
