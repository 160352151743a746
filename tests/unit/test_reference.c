/* SPDX-License-Identifier: MIT */
/* The oracle's gradients equal central finite differences of its own loss, in double, for every kind of layer,
 * activation, connection, padding, stride and loss, on odd sides that are cropped, 1 x 1 maps, and batches of 1 and 3.
 */
#include "lib/reference.h"
#include "tests/unit/small_networks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define STEP 0x1p-17       /* of a parameter */
#define PIXEL_STEP 0x1p-20 /* of an input pixel, exact in fp32 beside small_values() */
#define TOLERANCE 2e-8     /* of a difference quotient of losses near 1: truncation 1e-10, cancellation 1e-16 / STEP */
#define SAMPLES 24         /* parameters per layer and pixels that are tried */

struct trial {
    struct cnn_network *network;
    struct cnn_reference *reference;
    float *images;
    int32_t labels[3];
    int batch;
};

static double mean_loss(const struct trial *trial)
{
    return cnn_reference_forward(trial->reference, trial->images, trial->labels, NULL, trial->batch) / trial->batch;
}

static void compare(const char *what, int64_t at, double found, double expected)
{
    if (!(fabs(found - expected) <= TOLERANCE * (1.0 + fabs(expected))))
        fail_msg("%s %lld: analytic %.12g, by differences %.12g", what, (long long)at, found, expected);
}

static void check_parameter(const struct trial *trial, const double *gradient, int64_t at)
{
    double *w = &cnn_reference_parameters(trial->reference)[at], kept = *w;
    *w = kept + STEP;
    double up = mean_loss(trial);
    *w = kept - STEP;
    double down = mean_loss(trial);
    *w = kept;
    compare("parameter", at, gradient[at], (up - down) / (2.0 * STEP));
}

static void check_pixel(const struct trial *trial, const double *gradient, int64_t at)
{
    float kept = trial->images[at];
    trial->images[at] = kept + (float)PIXEL_STEP;
    double up = mean_loss(trial);
    trial->images[at] = kept - (float)PIXEL_STEP;
    double down = mean_loss(trial);
    trial->images[at] = kept;
    compare("pixel", at, gradient[at], (up - down) / (2.0 * PIXEL_STEP));
}

static double *copy_of(const double *values, int64_t count)
{
    double *copy = malloc((size_t)(count + 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

/* Every parameter of a small layer, a spread of a large one's. */
static void check_all(const struct trial *trial)
{
    int64_t pixels = trial->batch * cnn_shape_size(trial->network->input);
    mean_loss(trial);
    cnn_reference_backward(trial->reference);
    double *gradient = copy_of(cnn_reference_gradient(trial->reference), trial->network->parameters);
    double *input_gradient = copy_of(cnn_reference_input_gradient(trial->reference), pixels);
    for (int i = 0; i < trial->network->layer_count; i++) {
        const struct cnn_layer *layer = &trial->network->layers[i];
        int64_t weight_step = layer->weights / SAMPLES + 1, bias_step = layer->biases / SAMPLES + 1;
        for (int64_t k = 0; k < layer->weights; k += weight_step)
            check_parameter(trial, gradient, layer->weight_at + k);
        for (int64_t k = 0; k < layer->biases; k += bias_step)
            check_parameter(trial, gradient, layer->bias_at + k);
    }
    for (int64_t k = 0; k < pixels; k += pixels / SAMPLES + 1)
        check_pixel(trial, input_gradient, k);
    free(input_gradient);
    free(gradient);
}

static void try_network(const struct cnn_network_spec *spec, int batch)
{
    struct trial trial = { .network = small_network(spec), .batch = batch };
    assert_non_null(trial.network);
    float *parameters = small_values(11, trial.network->parameters, 0.4);
    trial.images = small_values(12, batch * cnn_shape_size(trial.network->input), 1.0);
    for (int i = 0; i < batch; i++)
        trial.labels[i] = (i + 1) % trial.network->label_count;
    assert_int_equal(cnn_reference_create(&trial.reference, trial.network, batch, NULL), CNN_OK);
    cnn_reference_write_parameters(trial.reference, parameters);
    check_all(&trial);
    cnn_reference_destroy(trial.reference);
    free(trial.images);
    free(parameters);
    cnn_network_destroy(trial.network);
}

/* The layer under test between a convolution and the classes, and once more as the first layer. */
static void try_layer(struct cnn_layer_spec layer, int maps_before, int side, enum cnn_loss loss,
                      enum cnn_activation output)
{
    struct cnn_network_spec spec = small_spec(2, side + 2, 3, loss), first = small_spec(maps_before, side, 3, loss);
    small_layer(&spec, CNN_CONV, maps_before, 3, CNN_TANH);
    spec.layers[spec.layer_count++] = layer;
    small_layer(&spec, CNN_FULL, 0, 0, output);
    first.layers[first.layer_count++] = layer;
    small_layer(&first, CNN_FULL, 0, 0, output);
    try_network(&spec, 3);
    try_network(&first, 1);
}

static void test_every_kind_activation_and_loss(void **state)
{
    (void)state;
    for (int kind = 0; kind < CNN_LAYER_KIND_COUNT; kind++)
        for (int activation = 0; activation < CNN_ACTIVATION_COUNT; activation++)
            for (int loss = 0; loss < CNN_LOSS_COUNT; loss++) {
                struct cnn_layer_spec layer = { .kind = (enum cnn_layer_kind)kind, .maps = 4, .kernel = 2 };
                layer.stride = kind == CNN_CONV ? 1 : 0;
                layer.activation = (enum cnn_activation)activation;
                try_layer(layer, 3, 5, (enum cnn_loss)loss, (enum cnn_activation)activation);
            }
}

static void test_every_output_activation_with_each_loss(void **state)
{
    (void)state;
    for (int activation = 0; activation < CNN_ACTIVATION_COUNT; activation++)
        for (int classes = 1; classes <= 5; classes += 2) {
            struct cnn_network_spec spec = small_spec(1, 4, classes, CNN_MSE);
            small_layer(&spec, CNN_FULL, 6, 0, CNN_LECUN_TANH);
            small_layer(&spec, CNN_FULL, 0, 0, (enum cnn_activation)activation);
            try_network(&spec, 3);
            spec.loss = CNN_SOFTMAX;
            if (classes > 1)
                try_network(&spec, 3);
        }
}

static void test_every_connection(void **state)
{
    static const struct {
        enum cnn_connection_kind kind;
        int in, out, fan_in;
        double density;
    } tables[] = { { CNN_CONNECT_FULL, 5, 3, 0, 0.0 },       { CNN_CONNECT_LECUN, 6, 16, 0, 0.0 },
                   { CNN_CONNECT_ONE_TO_ONE, 5, 5, 0, 0.0 }, { CNN_CONNECT_GARCIA, 4, 14, 0, 0.0 },
                   { CNN_CONNECT_FAN_IN, 7, 5, 2, 0.0 },     { CNN_CONNECT_DENSITY, 5, 9, 0, 0.3 } };
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (int padding = 0; padding < CNN_PADDING_COUNT; padding++) {
            struct cnn_layer_spec layer = { .kind = CNN_CONV, .maps = tables[i].out, .kernel = 3, .stride = 1 };
            layer.activation = CNN_TANH;
            layer.padding = (enum cnn_padding)padding;
            layer.connections = (struct cnn_connection_spec){ tables[i].kind, tables[i].fan_in, tables[i].density };
            try_layer(layer, tables[i].in, 5, CNN_SOFTMAX, CNN_LINEAR);
        }
}

/* Kernel, stride, padding and side together decide what is padded, cropped, and what is a single pixel. */
static void test_every_geometry(void **state)
{
    (void)state;
    for (int kind = CNN_CONV; kind <= CNN_AVGPOOL; kind++)
        for (int padding = 0; padding < (kind == CNN_CONV ? 2 : 1); padding++)
            for (int kernel = 1; kernel <= 4; kernel++)
                for (int stride = 1; stride <= 3; stride++)
                    for (int side = padding ? 1 : kernel; side <= 6; side += padding ? 1 : 2) {
                        struct cnn_layer_spec layer = { .kind = (enum cnn_layer_kind)kind, .maps = 2 };
                        layer.kernel = kernel;
                        layer.stride = stride;
                        layer.padding = (enum cnn_padding)padding;
                        layer.activation = CNN_LOGISTIC;
                        try_layer(layer, 2, side, CNN_MSE, CNN_TANH);
                    }
}

static void test_maps_of_one_pixel(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec(3, 1, 2, CNN_MSE);
    small_layer(&spec, CNN_CONV, 4, 1, CNN_TANH);
    small_layer(&spec, CNN_SUBSAMPLE, 0, 1, CNN_TANH);
    small_layer(&spec, CNN_MAXPOOL, 0, 1, CNN_LINEAR);
    small_layer(&spec, CNN_AVGPOOL, 0, 1, CNN_LINEAR);
    small_layer(&spec, CNN_CONV, 5, 3, CNN_RELU)->padding = CNN_SAME;
    small_layer(&spec, CNN_CONV, 0, 1, CNN_TANH);
    try_network(&spec, 1);
    try_network(&spec, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_activation_and_loss),
        cmocka_unit_test(test_every_output_activation_with_each_loss),
        cmocka_unit_test(test_every_connection),
        cmocka_unit_test(test_every_geometry),
        cmocka_unit_test(test_maps_of_one_pixel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
