/* SPDX-License-Identifier: MIT */
/* The oracle against values worked out by hand: every layer, loss, label rule and the update. */
#include "lib/reference.h"
#include "tests/unit/small_networks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const float nine[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

struct oracle {
    struct cnn_network *network;
    struct cnn_reference *reference;
};

static struct oracle oracle_of(const struct cnn_network_spec *spec, int batch, const float *parameters)
{
    struct oracle oracle = { .network = small_network(spec) };
    assert_non_null(oracle.network);
    assert_int_equal(cnn_reference_create(&oracle.reference, oracle.network, batch, NULL), CNN_OK);
    cnn_reference_write_parameters(oracle.reference, parameters);
    return oracle;
}

static void oracle_end(struct oracle *oracle)
{
    cnn_reference_destroy(oracle->reference);
    cnn_network_destroy(oracle->network);
}

static void near(const double *found, const double *expected, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(found[i] - expected[i]) <= 1e-12 * (1.0 + fabs(expected[i]))))
            fail_msg("value %d is %.17g, expected %.17g", i, found[i], expected[i]);
}

static void test_convolution_by_hand(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec(1, 3, 2, CNN_MSE);
    small_layer(&spec, CNN_CONV, 1, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    /* kernel, bias; two units of four weights, two biases */
    const float parameters[] = { 1, 0, -1, 2, 0.5f, 0.125f, 0, 0, 0, 0, 0, 0, 0.25f, 0.0625f, -0.875f };
    const int32_t label = 0;
    struct oracle o = oracle_of(&spec, 1, parameters);
    double loss = cnn_reference_forward(o.reference, nine, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    near(cnn_reference_output(o.reference, 0), (double[]){ 7.5, 9.5, 13.5, 15.5 }, 4);
    near(cnn_reference_output(o.reference, 1), (double[]){ 1, 3 }, 2);
    near(&loss, (double[]){ 8 }, 1); /* half of (1 - 1)^2 + (3 + 1)^2 */
    near(cnn_reference_delta(o.reference, 1), (double[]){ 0, 4 }, 2);
    near(cnn_reference_delta(o.reference, 0), (double[]){ 0, 0, 0, 1 }, 4);
    near(cnn_reference_gradient(o.reference), (double[]){ 5, 6, 8, 9, 1, 0, 0, 0, 0, 30, 38, 54, 62, 0, 4 }, 15);
    near(cnn_reference_input_gradient(o.reference), (double[]){ 0, 0, 0, 0, 1, 0, 0, -1, 2 }, 9);
    oracle_end(&o);
}

/* `same`, kernel 2: no zeros before, one behind. Stride 2 over three pixels: two outputs a side, the second ones half
 * over the edge. */
static void test_padding_by_hand(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec(1, 3, 1, CNN_MSE);
    struct cnn_layer_spec *conv = small_layer(&spec, CNN_CONV, 1, 2, CNN_LINEAR);
    conv->padding = CNN_SAME;
    conv->stride = 2;
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    const float parameters[] = { 1, 10, 100, 1000, 0, 1, 1, 1, 1, 0 };
    struct oracle o = oracle_of(&spec, 1, parameters);
    cnn_reference_forward(o.reference, nine, NULL, NULL, 1);
    near(cnn_reference_output(o.reference, 0), (double[]){ 5421, 603, 87, 9 }, 4);
    oracle_end(&o);
    /* kernel 3: one zero on every side */
    conv->kernel = 3;
    conv->stride = 1;
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    spec.layers[1].maps = 1;
    const float cross[] = { 0, 1, 0, 1, 0, 1, 0, 1, 0, 0.5f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    o = oracle_of(&spec, 1, cross);
    cnn_reference_forward(o.reference, nine, NULL, NULL, 1);
    near(cnn_reference_output(o.reference, 0), (double[]){ 6.5, 9.5, 8.5, 13.5, 20.5, 17.5, 12.5, 21.5, 14.5 }, 9);
    oracle_end(&o);
}

static void test_subsampling_by_hand(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec(1, 3, 1, CNN_MSE);
    small_layer(&spec, CNN_SUBSAMPLE, 0, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    const float parameters[] = { 0.25f, -1, 1.5f, 0 }; /* gain, bias, weight, bias */
    const int32_t label = 1;                           /* of a single output: the lower target, -1 */
    struct oracle o = oracle_of(&spec, 1, parameters);
    double loss = cnn_reference_forward(o.reference, nine, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    near(cnn_reference_output(o.reference, 0), (double[]){ 2 }, 1);
    near(&loss, (double[]){ 8 }, 1);
    near(cnn_reference_gradient(o.reference), (double[]){ 72, 6, 8, 4 }, 4);
    /* the last row and column are never read */
    near(cnn_reference_input_gradient(o.reference), (double[]){ 1.5, 1.5, 0, 1.5, 1.5, 0, 0, 0, 0 }, 9);
    oracle_end(&o);
}

static void test_pooling_by_hand(void **state)
{
    (void)state;
    const float image[9] = { 7, 7, 1, 2, 7, 3, 0, 0, 5 }, parameters[] = { 2, 0 };
    const int32_t label = 0;
    struct cnn_network_spec spec = small_spec(1, 3, 1, CNN_MSE);
    small_layer(&spec, CNN_MAXPOOL, 0, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct oracle o = oracle_of(&spec, 1, parameters);
    cnn_reference_forward(o.reference, image, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    near(cnn_reference_output(o.reference, 0), (double[]){ 7 }, 1);
    /* of three equal maxima the first has it all: 2 * (14 - 1) */
    near(cnn_reference_input_gradient(o.reference), (double[]){ 26, 0, 0, 0, 0, 0, 0, 0, 0 }, 9);
    oracle_end(&o);
    spec.layers[0].kind = CNN_AVGPOOL;
    o = oracle_of(&spec, 1, parameters);
    cnn_reference_forward(o.reference, image, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    near(cnn_reference_output(o.reference, 0), (double[]){ 5.75 }, 1);
    near(cnn_reference_input_gradient(o.reference), (double[]){ 5.25, 5.25, 0, 5.25, 5.25, 0, 0, 0, 0 }, 9);
    oracle_end(&o);
}

static void test_a_nan_wins_the_maximum_and_has_no_label(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec(1, 2, 2, CNN_MSE);
    const float image[4] = { 1, NAN, 9, 2 }, parameters[] = { 1, 0, 0, 0.5f };
    small_layer(&spec, CNN_MAXPOOL, 0, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_RELU);
    struct oracle o = oracle_of(&spec, 1, parameters);
    cnn_reference_forward(o.reference, image, NULL, NULL, 1);
    assert_true(isnan(cnn_reference_output(o.reference, 0)[0]));
    assert_true(isnan(cnn_reference_output(o.reference, 1)[0])); /* a rectifier lets it pass */
    assert_int_equal(cnn_reference_label(o.reference, 0), -1);
    oracle_end(&o);
}

/* Label, or -2 - label where the oracle says something else. */
static int32_t label_of(enum cnn_activation activation, const float *biases, int classes)
{
    struct cnn_network_spec spec = small_spec(1, 1, classes, CNN_MSE);
    float parameters[8] = { 0 };
    const float pixel = 1;
    memcpy(parameters + classes, biases, (size_t)classes * sizeof *biases);
    small_layer(&spec, CNN_FULL, 0, 0, activation);
    struct oracle o = oracle_of(&spec, 1, parameters);
    cnn_reference_forward(o.reference, &pixel, NULL, NULL, 1);
    int32_t label = cnn_reference_label(o.reference, 0);
    oracle_end(&o);
    return label;
}

static void test_labels(void **state)
{
    (void)state;
    assert_int_equal(label_of(CNN_LINEAR, (float[]){ 1, 3, 2 }, 3), 1);
    assert_int_equal(label_of(CNN_LINEAR, (float[]){ 3, 1, 3 }, 3), 0); /* lowest of equals */
    assert_int_equal(label_of(CNN_LINEAR, (float[]){ 3, 1, NAN }, 3), -1);
    assert_int_equal(label_of(CNN_TANH, (float[]){ 0.1f }, 1), 0);
    assert_int_equal(label_of(CNN_TANH, (float[]){ 0 }, 1), 0);
    assert_int_equal(label_of(CNN_TANH, (float[]){ -0.1f }, 1), 1);
    assert_int_equal(label_of(CNN_LOGISTIC, (float[]){ 0.1f }, 1), 0);
    assert_int_equal(label_of(CNN_LOGISTIC, (float[]){ -0.1f }, 1), 1);
    assert_int_equal(label_of(CNN_LINEAR, (float[]){ NAN }, 1), -1);
}

static void test_activations_by_formula(void **state)
{
    (void)state;
    const float parameters[] = { 1, 0.5f }, pixel = 0.25f; /* sum 0.75 */
    const double expected[CNN_ACTIVATION_COUNT] = { [CNN_LINEAR] = 0.75,
                                                    [CNN_TANH] = 0.63514895238728731,
                                                    [CNN_LECUN_TANH] = 1.7159 * 0.46211715726000976,
                                                    [CNN_LOGISTIC] = 0.67917869917539297,
                                                    [CNN_RELU] = 0.75 };
    for (int activation = 0; activation < CNN_ACTIVATION_COUNT; activation++) {
        struct cnn_network_spec spec = small_spec(1, 1, 1, CNN_MSE);
        small_layer(&spec, CNN_FULL, 0, 0, (enum cnn_activation)activation);
        struct oracle o = oracle_of(&spec, 1, parameters);
        cnn_reference_forward(o.reference, &pixel, NULL, NULL, 1);
        near(cnn_reference_output(o.reference, 0), &expected[activation], 1);
        oracle_end(&o);
    }
}

/* Targets are +1 and -1, but 1 and 0 where the outputs are logistic. */
static void test_targets_follow_the_output(void **state)
{
    (void)state;
    const float parameters[] = { 0, 0, 0, 0 }, pixel = 1;
    const int32_t label = 1;
    struct cnn_network_spec spec = small_spec(1, 1, 2, CNN_MSE);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_TANH);
    struct oracle o = oracle_of(&spec, 1, parameters);
    double loss = cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
    near(&loss, (double[]){ 1 }, 1); /* half of 1 + 1 */
    oracle_end(&o);
    spec.layers[0].activation = CNN_LOGISTIC;
    o = oracle_of(&spec, 1, parameters);
    loss = cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
    near(&loss, (double[]){ 0.25 }, 1); /* half of 0.5^2 + 0.5^2 */
    oracle_end(&o);
}

static void test_softmax_by_hand_and_far_out(void **state)
{
    (void)state;
    const float pixel = 1;
    const int32_t label = 0;
    struct cnn_network_spec spec = small_spec(1, 1, 2, CNN_SOFTMAX);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct oracle o = oracle_of(&spec, 1, (float[]){ 0, 1, 0, 0 });
    double e = exp(1.0), loss = cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    near(&loss, (double[]){ log(1 + e) }, 1);
    near(cnn_reference_delta(o.reference, 0), (double[]){ -e / (1 + e), e / (1 + e) }, 2);
    cnn_reference_write_parameters(o.reference, (float[]){ 0, 5000, 0, 0 });
    loss = cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    near(&loss, (double[]){ 5000 }, 1);
    near(cnn_reference_delta(o.reference, 0), (double[]){ -1, 1 }, 2);
    oracle_end(&o);
}

/* One weight, one bias, y = w + b, target 1: every number is a few products. */
static void test_update_by_hand(void **state)
{
    (void)state;
    const float pixel = 1;
    const int32_t label = 0;
    const double expected[3][2] = { { 0.6125, 0.125 }, { 0.7190625, 0.253125 }, { 0.7613203125, 0.324140625 } };
    struct cnn_network_spec spec = small_spec(1, 1, 1, CNN_MSE);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct oracle o = oracle_of(&spec, 1, (float[]){ 0.5f, 0 });
    for (int step = 0; step < 3; step++) {
        cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
        cnn_reference_backward(o.reference);
        cnn_reference_update(o.reference, 0.25, 0.5, 0.1);
        near(cnn_reference_parameters(o.reference), expected[step], 2);
    }
    cnn_reference_write_parameters(o.reference, (float[]){ 0.5f, 0 }); /* and the velocities are gone */
    cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    cnn_reference_update(o.reference, 0.25, 0.5, 0.1);
    near(cnn_reference_parameters(o.reference), expected[0], 2);
    oracle_end(&o);
}

/* With targets met every gradient is 0, so that decay alone moves anything: weights, never gains or biases. */
static void test_decay_is_for_weights_alone(void **state)
{
    (void)state;
    const float pixel = 1,
                parameters[] = { 2, -1, 0.5f, 0.5f }; /* gain, bias; weight, bias: 2 - 1 = 1, 0.5 + 0.5 = 1 */
    const int32_t label = 0;
    struct cnn_network_spec spec = small_spec(1, 1, 1, CNN_MSE);
    small_layer(&spec, CNN_SUBSAMPLE, 0, 1, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct oracle o = oracle_of(&spec, 1, parameters);
    cnn_reference_forward(o.reference, &pixel, &label, NULL, 1);
    cnn_reference_backward(o.reference);
    cnn_reference_update(o.reference, 0.5, 0.0, 0.25);
    near(cnn_reference_parameters(o.reference), (double[]){ 2, -1, 0.4375, 0.5 }, 4);
    oracle_end(&o);
}

static void test_weighted_images_equal_repeated_ones(void **state)
{
    (void)state;
    enum { DISTINCT = 3, ALL = 6 };
    static const int which[ALL] = { 2, 0, 2, 1, 2, 0 };
    const double weights[DISTINCT] = { 2, 1, 3 };
    const int32_t labels[DISTINCT] = { 1, 0, 2 };
    struct cnn_network_spec spec = small_spec(2, 7, 3, CNN_SOFTMAX);
    small_layer(&spec, CNN_CONV, 3, 2, CNN_TANH);
    small_layer(&spec, CNN_SUBSAMPLE, 0, 2, CNN_TANH);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    float *parameters = small_values(1, 200, 0.5), *images = small_values(2, DISTINCT * 98, 1.0), repeated[ALL * 98];
    int32_t all_labels[ALL];
    for (int i = 0; i < ALL; i++) {
        memcpy(repeated + i * 98, images + which[i] * 98, 98 * sizeof(float));
        all_labels[i] = labels[which[i]];
    }
    struct oracle few = oracle_of(&spec, DISTINCT, parameters), many = oracle_of(&spec, ALL, parameters);
    double loss = cnn_reference_forward(few.reference, images, labels, weights, DISTINCT);
    double all_loss = cnn_reference_forward(many.reference, repeated, all_labels, NULL, ALL);
    near(&loss, &all_loss, 1);
    cnn_reference_backward(few.reference);
    cnn_reference_backward(many.reference);
    near(cnn_reference_gradient(few.reference), cnn_reference_gradient(many.reference), (int)few.network->parameters);
    const double *once = cnn_reference_delta(many.reference, 0), *twice = cnn_reference_delta(few.reference, 0);
    near(&twice[0], (double[]){ 2 * once[1 * 3 * 36] }, 1); /* image 0 stands for copies 1 and 5 */
    oracle_end(&few);
    oracle_end(&many);
    free(images);
    free(parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution_by_hand),
        cmocka_unit_test(test_padding_by_hand),
        cmocka_unit_test(test_subsampling_by_hand),
        cmocka_unit_test(test_pooling_by_hand),
        cmocka_unit_test(test_a_nan_wins_the_maximum_and_has_no_label),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_activations_by_formula),
        cmocka_unit_test(test_targets_follow_the_output),
        cmocka_unit_test(test_softmax_by_hand_and_far_out),
        cmocka_unit_test(test_update_by_hand),
        cmocka_unit_test(test_decay_is_for_weights_alone),
        cmocka_unit_test(test_weighted_images_equal_repeated_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
