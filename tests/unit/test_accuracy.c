/* SPDX-License-Identifier: MIT */
/* The whole chain learns: LeNet-5 reaches on the generated digits what a linear classifier, one full layer trained in
 * the same way on the same images, cannot. */
#include "tests/unit/accuracy.h"

#define TRAIN 10000
#define TEST 2000

static void lenet5_learns_digits_a_linear_classifier_does_not(void **state)
{
    (void)state;
    struct accuracy_task task = { .title = "lenet5 on digits",
                                  .data = "digits",
                                  .train = TRAIN,
                                  .test = TEST,
                                  .training = { .batch = 16,
                                                .epochs = 3,
                                                .rates = { .rate = 0.01f, .momentum = 0.9f },
                                                .rate_decay = 0.6f,
                                                .seed = 1 } };
    struct cnn_network_spec lenet5 = accuracy_lenet5();
    double convolutional = 100 * accuracy_train(&lenet5, &task).test_accuracy;

    struct cnn_network_spec linear = core_empty(32);
    linear.classes = 10;
    linear.loss = CNN_SOFTMAX;
    core_add(&linear, CNN_FULL, 0, 0, 0);
    task.title = "one full layer on digits";
    task.training.rates = (struct cnn_rates){ .rate = 0.003f };
    double flat = 100 * accuracy_train(&linear, &task).test_accuracy;

    assert_true(convolutional >= 95);
    assert_true(flat >= 50 && flat <= convolutional - 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lenet5_learns_digits_a_linear_classifier_does_not) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
