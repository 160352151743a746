/* SPDX-License-Identifier: MIT */
/* Losses against values worked out by hand and against finite differences; labels on ties, NaN and a single output. */
#include "tests/unit/core.h"

#include "lib/loss.h"

#include <math.h>

/* One full layer of `classes` outputs. */
static struct cnn_network *network_of(int classes, enum cnn_loss loss, enum cnn_activation output)
{
    struct cnn_network_spec spec = core_empty(2);
    spec.classes = classes;
    spec.loss = loss;
    core_add(&spec, CNN_FULL, 0, 0, 0)->activation = output;
    return core_create(&spec);
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("found %.9g, expected %.9g", found, expected);
}

static void targets_follow_the_output(void **state)
{
    (void)state;
    for (int a = 0; a < CNN_ACTIVATION_COUNT; a++) {
        struct cnn_network *network = network_of(3, CNN_MSE, (enum cnn_activation)a);
        float on, off;
        cnn_loss_targets(network, &on, &off);
        assert_true(on == 1);
        assert_true(off == (a == CNN_LOGISTIC ? 0 : -1));
        cnn_network_destroy(network);
    }
}

static void mse_is_half_the_squares(void **state)
{
    (void)state;
    struct cnn_network *network = network_of(3, CNN_MSE, CNN_TANH);
    const float outputs[] = { 0.5f, -0.25f, 0.75f, -1, 1, -1 };
    const int32_t labels[] = { 2, 1 };
    float gradient[6];
    /* (1.5^2 + 0.75^2 + 0.25^2) / 2, and a perfect image */
    assert_near(cnn_loss_host(network, outputs, labels, 2, gradient), 1.4375);
    const double expected[] = { 0.75, 0.375, -0.125, 0, 0, 0 }; /* (y - t) / 2 images */
    for (int i = 0; i < 6; i++)
        assert_near(gradient[i], expected[i]);
    assert_near(cnn_loss_host(network, outputs, labels, 1, NULL), 1.4375);
    cnn_network_destroy(network);

    network = network_of(2, CNN_MSE, CNN_LOGISTIC);
    assert_near(cnn_loss_host(network, outputs, (const int32_t[]){ 0 }, 1, NULL), (0.25 + 0.0625) / 2);
    cnn_network_destroy(network);
}

static void softmax_by_hand(void **state)
{
    (void)state;
    struct cnn_network *network = network_of(3, CNN_SOFTMAX, CNN_LINEAR);
    const float outputs[] = { 1, 2, 3 };
    const double sum = exp(1) + exp(2) + exp(3);
    float gradient[3];
    assert_near(cnn_loss_host(network, outputs, (const int32_t[]){ 0 }, 1, gradient), log(sum) - 1);
    assert_near(gradient[0], exp(1) / sum - 1);
    assert_near(gradient[1], exp(2) / sum);
    assert_near(gradient[2], exp(3) / sum);

    const float huge[] = { 3e38f, -3e38f, 0, 1000, 1000, -1000 };
    assert_near(cnn_loss_host(network, huge, (const int32_t[]){ 0, 1 }, 2, NULL), log(2));
    assert_near(cnn_loss_host(network, huge + 3, (const int32_t[]){ 2 }, 1, NULL), 2000 + log(2));
    cnn_network_destroy(network);
}

static void gradients_are_differences(void **state)
{
    (void)state;
    for (int loss = 0; loss < CNN_LOSS_COUNT; loss++) {
        struct cnn_network *network = network_of(4, (enum cnn_loss)loss, CNN_LINEAR);
        float outputs[8] = { 0.25f, -1.5f, 0.75f, 2, -0.5f, 1, 1.25f, -2 }, gradient[8];
        const int32_t labels[] = { 3, 0 };
        cnn_loss_host(network, outputs, labels, 2, gradient);
        for (int i = 0; i < 8; i++) {
            const float step = 0x1p-8f; /* exact in fp32 beside these outputs */
            float kept = outputs[i];
            outputs[i] = kept + step;
            double up = cnn_loss_host(network, outputs, labels, 2, NULL);
            outputs[i] = kept - step;
            double down = cnn_loss_host(network, outputs, labels, 2, NULL);
            outputs[i] = kept;
            assert_true(fabs((up - down) / (2 * step) / 2 - gradient[i]) < 1e-5); /* of the mean over 2 images */
        }
        cnn_network_destroy(network);
    }
}

static void what_is_not_a_number_stays_visible(void **state)
{
    (void)state;
    for (int loss = 0; loss < CNN_LOSS_COUNT; loss++)
        for (int place = 0; place < 3; place++)
            for (int infinite = 0; infinite < 2; infinite++) {
                struct cnn_network *network = network_of(3, (enum cnn_loss)loss, CNN_LINEAR);
                float outputs[3] = { 1, 2, 3 }, gradient[3];
                outputs[place] = infinite ? INFINITY : NAN;
                double value = cnn_loss_host(network, outputs, (const int32_t[]){ 1 }, 1, gradient);
                assert_false(isfinite(value));
                assert_false(isfinite(gradient[place]));
                assert_int_equal(cnn_answer_label(network, outputs), infinite ? place : -1);
                cnn_network_destroy(network);
            }
}

static void ties_go_to_the_lowest_index(void **state)
{
    (void)state;
    struct cnn_network *network = network_of(4, CNN_MSE, CNN_TANH);
    assert_int_equal(cnn_answer_label(network, (const float[]){ 0, 0, 0, 0 }), 0);
    assert_int_equal(cnn_answer_label(network, (const float[]){ -3, 1, 1, 0 }), 1);
    assert_int_equal(cnn_answer_label(network, (const float[]){ -INFINITY, -INFINITY, -INFINITY, -3 }), 3);
    assert_int_equal(cnn_answer_label(network, (const float[]){ -0.0f, 0.0f, -1, -1 }), 0);
    cnn_network_destroy(network);
}

static void a_single_output_tells_two_labels_apart(void **state)
{
    (void)state;
    struct cnn_network *network = network_of(1, CNN_MSE, CNN_TANH);
    assert_int_equal(cnn_answer_label(network, (const float[]){ 0 }), 0);
    assert_int_equal(cnn_answer_label(network, (const float[]){ -1e-30f }), 1);
    assert_int_equal(cnn_answer_label(network, (const float[]){ NAN }), -1);
    float gradient;
    assert_near(cnn_loss_host(network, (const float[]){ 0.5f }, (const int32_t[]){ 0 }, 1, &gradient), 0.125);
    assert_near(gradient, -0.5);
    assert_near(cnn_loss_host(network, (const float[]){ 0.5f }, (const int32_t[]){ 1 }, 1, &gradient), 1.125);
    assert_near(gradient, 1.5);
    cnn_network_destroy(network);

    network = network_of(1, CNN_MSE, CNN_LOGISTIC);
    assert_int_equal(cnn_answer_label(network, (const float[]){ 0.5f }), 0);
    assert_int_equal(cnn_answer_label(network, (const float[]){ 0.49f }), 1);
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_follow_the_output),
        cmocka_unit_test(mse_is_half_the_squares),
        cmocka_unit_test(softmax_by_hand),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(what_is_not_a_number_stays_visible),
        cmocka_unit_test(ties_go_to_the_lowest_index),
        cmocka_unit_test(a_single_output_tells_two_labels_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
