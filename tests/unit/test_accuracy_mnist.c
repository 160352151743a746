/* SPDX-License-Identifier: MIT */
/* LeNet-5 learns the first 10,000 digits of the real MNIST, where environment variable CONVSCALE_DATA leads to it, in
 * two epochs to 95 % of the 10,000 test digits. Elsewhere a skip, said aloud. */
#include "tests/unit/accuracy.h"

static void lenet5_learns_mnist(void **state)
{
    (void)state;
    const struct accuracy_task task = { .title = "lenet5 on mnist",
                                        .data = "mnist",
                                        .train = 10000,
                                        .test = 10000,
                                        .training = { .batch = 16,
                                                      .epochs = 2,
                                                      .rates = { .rate = 0.01f, .momentum = 0.9f },
                                                      .rate_decay = 0.5f,
                                                      .seed = 1 } };
    struct cnn_network_spec lenet5 = accuracy_lenet5();
    assert_true(accuracy_train(&lenet5, &task).test_accuracy >= 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lenet5_learns_mnist) };
    struct cnn_dataset *data;
    struct cnn_error error;
    if (cnn_dataset_open(&data, "mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .limit = 1 }, &error) ==
        CNN_UNAVAILABLE) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    cnn_dataset_close(data);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
