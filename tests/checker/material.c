/* SPDX-License-Identifier: MIT */
/* Parameters, images, labels and oracles of one case, and buffers that notice who writes past their end. */
#include "lib/parameters.h"
#include "lib/random.h"
#include "tests/checker/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANARY_FLOATS 64
#define CANARY 0x7fc0dead /* a NaN of our own */

/* Initial values with biases that are not zero and gains of both signs: a forgotten bias must show. */
static void draw_parameters(struct check_material *material)
{
    struct cnn_random random;
    const struct cnn_network *network = material->network;
    cnn_random_init(&random, network->spec.seed, CNN_STREAM_TEST, 1000000);
    cnn_parameters_init(network, material->parameters);
    for (int i = 0; i < network->layer_count; i++) {
        const struct cnn_layer *layer = &network->layers[i];
        for (int64_t k = 0; k < layer->biases; k++)
            material->parameters[layer->bias_at + k] = (float)(0.3 * cnn_random_normal(&random));
        if (layer->kind == CNN_SUBSAMPLE)
            for (int64_t k = 0; k < layer->weights; k++)
                material->parameters[layer->weight_at + k] *= (float)(1.0 + cnn_random_normal(&random));
    }
}

static void draw_batch(struct check_material *material, int b)
{
    struct cnn_random random;
    int64_t pixels = cnn_shape_size(material->network->input), count = material->c.counts[b];
    cnn_random_init(&random, material->network->spec.seed, CNN_STREAM_TEST, 1000001 + (uint32_t)b);
    for (int64_t i = 0; i < count * pixels; i++) {
        double value = cnn_random_normal(&random);
        material->images[b][i] = (float)(material->c.data == CHECK_STEPS ? rint(2 * value) / 2 : value);
    }
    for (int64_t i = 0; i < count; i++)
        material->labels[b][i] = (int32_t)cnn_random_below(&random, (uint32_t)material->network->label_count);
    if (material->c.data == CHECK_NAN)
        material->images[b][cnn_random_below(&random, (uint32_t)pixels)] = NAN;
}

static int create_batch(struct check_material *material, int b, struct cnn_error *error)
{
    size_t count = (size_t)material->c.counts[b], pixels = (size_t)cnn_shape_size(material->network->input);
    material->images[b] = calloc(count * pixels, sizeof(float));
    material->labels[b] = calloc(count, sizeof(int32_t));
    if (!material->images[b] || !material->labels[b])
        return cnn_error_set(error, CNN_OOM, "checker: no memory for a batch");
    draw_batch(material, b);
    return CNN_OK;
}

/* Sizes that inspection needs, and the first layer whose delta a training step cannot do without. */
static void look_at_layers(struct check_material *material)
{
    const struct cnn_network *network = material->network;
    int64_t largest = cnn_shape_size(network->input) * material->c.batch;
    material->first_with_delta = network->layer_count;
    for (int i = network->layer_count - 1; i >= 0; i--) {
        const struct cnn_layer *layer = &network->layers[i];
        int64_t size = cnn_shape_size(layer->out) * material->c.batch;
        largest = size > largest ? size : largest;
        largest = layer->weights + layer->biases > largest ? layer->weights + layer->biases : largest;
        if (layer->weights > 0 || network->spec.input_gradient)
            material->first_with_delta = i;
    }
    material->largest = network->parameters > largest ? network->parameters : largest;
}

int check_material_create(struct check_material **out, const struct check_case *c, struct cnn_error *error)
{
    struct check_material *material = calloc(1, sizeof *material);
    int status = CNN_OK;
    if (!material)
        return cnn_error_set(error, CNN_OOM, "checker: no memory for a case");
    material->c = *c;
    status = cnn_network_create(&material->network, &c->spec, error);
    if (!status)
        status = cnn_operations_create(&material->operations, material->network, error);
    if (!status && !(material->parameters = calloc((size_t)material->network->parameters, sizeof(float))))
        status = cnn_error_set(error, CNN_OOM, "checker: no memory for parameters");
    if (!status)
        draw_parameters(material);
    for (int b = 0; b < CHECK_BATCHES && !status; b++)
        status = create_batch(material, b, error);
    if (status) {
        check_material_destroy(material);
        return status;
    }
    look_at_layers(material);
    *out = material;
    return CNN_OK;
}

void check_material_destroy(struct check_material *material)
{
    if (!material)
        return;
    for (int i = 0; i < CHECK_ORACLES; i++) {
        cnn_reference_destroy(material->oracles[i].reference);
        free(material->oracles[i].parameters);
    }
    for (int b = 0; b < CHECK_BATCHES; b++) {
        free(material->labels[b]);
        free(material->images[b]);
    }
    free(material->parameters);
    cnn_operations_destroy(material->operations);
    cnn_network_destroy(material->network);
    free(material);
}

/* The one that ran on this batch at these very bits, or one to use anew. */
static struct check_oracle *find_oracle(struct check_material *material, int b, const float *parameters,
                                        enum cnn_precision precision)
{
    size_t bytes = (size_t)material->network->parameters * sizeof(float);
    for (int i = 0; i < CHECK_ORACLES; i++) {
        struct check_oracle *oracle = &material->oracles[i];
        if (oracle->parameters && oracle->b == b && oracle->precision == precision &&
            !memcmp(oracle->parameters, parameters, bytes))
            return oracle;
    }
    struct check_oracle *oracle = &material->oracles[material->next_oracle++ % CHECK_ORACLES];
    oracle->b = -1;
    if (!oracle->parameters && !(oracle->parameters = malloc(bytes)))
        return NULL;
    if (!oracle->reference &&
        cnn_reference_create(&oracle->reference, material->network, material->c.batch, NULL) != CNN_OK)
        return NULL;
    memcpy(oracle->parameters, parameters, bytes);
    oracle->precision = precision;
    cnn_reference_set_precision(oracle->reference, precision);
    return oracle;
}

const struct check_oracle *check_material_oracle(struct check_material *material, int b, const float *parameters,
                                                 enum cnn_precision precision, bool backward)
{
    struct check_oracle *oracle = find_oracle(material, b, parameters, precision);
    if (!oracle)
        return NULL;
    if (oracle->b < 0) {
        oracle->b = b;
        oracle->backward = false;
        cnn_reference_write_parameters(oracle->reference, parameters);
        oracle->loss = cnn_reference_forward(oracle->reference, material->images[b], material->labels[b], NULL,
                                             material->c.counts[b]);
    }
    if (backward && !oracle->backward)
        cnn_reference_backward(oracle->reference);
    oracle->backward |= backward;
    return oracle;
}

bool check_buffer_create(struct check_buffer *buffer, int64_t capacity)
{
    buffer->memory = malloc((size_t)(capacity + 2 * CANARY_FLOATS) * sizeof(float));
    buffer->data = buffer->memory ? buffer->memory + CANARY_FLOATS : NULL;
    buffer->count = 0;
    return buffer->memory != NULL;
}

void check_buffer_reset(struct check_buffer *buffer, int64_t count)
{
    const uint32_t canary = CANARY;
    buffer->count = count;
    for (int64_t i = 0; i < count + 2 * CANARY_FLOATS; i++)
        memcpy(&buffer->memory[i], &canary, sizeof canary);
}

bool check_buffer_intact(const struct check_buffer *buffer)
{
    const uint32_t canary = CANARY;
    for (int64_t i = 0; i < CANARY_FLOATS; i++)
        if (memcmp(&buffer->memory[i], &canary, sizeof canary) != 0 ||
            memcmp(&buffer->data[buffer->count + i], &canary, sizeof canary) != 0)
            return false;
    return true;
}

void check_buffer_destroy(struct check_buffer *buffer)
{
    free(buffer->memory);
    buffer->memory = buffer->data = NULL;
}
