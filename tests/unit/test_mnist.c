/* SPDX-License-Identifier: MIT */
/* The real MNIST, where environment variable CONVSCALE_DATA leads to it: its counts, first labels, label frequencies,
 * mean and deviation, all published figures. Elsewhere a skip, said aloud. */
#include "tests/unit/core.h"

#include "lib/dataset.h"

#include <math.h>
#include <stdio.h>

static struct cnn_dataset *open_split(enum cnn_split split, const struct cnn_dataset_options *options)
{
    struct cnn_dataset *data = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_dataset_open(&data, "mnist", split, options, &error))
        fail_msg("%s", error.text);
    return data;
}

static void assert_split(const struct cnn_dataset *data, int64_t count, const int32_t *first, const int *frequencies)
{
    int found[10] = { 0 };
    assert_int_equal(data->count, count);
    assert_int_equal(data->side, 28);
    assert_memory_equal(data->labels, first, 10 * sizeof *first);
    for (int64_t i = 0; i < count; i++)
        found[data->labels[i]]++;
    assert_memory_equal(found, frequencies, sizeof found);
    assert_true(fabs(data->mean - 0.1307) < 5e-5);
    assert_true(fabs(data->deviation - 0.3081) < 5e-5);
}

static void published_figures_are_met(void **state)
{
    (void)state;
    static const int32_t train_first[10] = { 5, 0, 4, 1, 9, 2, 1, 3, 1, 4 };
    static const int32_t test_first[10] = { 7, 2, 1, 0, 4, 1, 4, 9, 5, 9 };
    static const int train_counts[10] = { 5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949 };
    static const int test_counts[10] = { 980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009 };
    struct cnn_dataset *train = open_split(CNN_SPLIT_TRAIN, NULL);
    struct cnn_dataset *test = open_split(CNN_SPLIT_TEST, NULL);
    assert_split(train, 60000, train_first, train_counts);
    assert_split(test, 10000, test_first, test_counts);
    cnn_dataset_close(train);
    cnn_dataset_close(test);
}

/* LeNet-5's way: 28 x 28 in the middle of 32 x 32, so the mean falls by the ratio of the areas. */
static void padded_to_32(void **state)
{
    (void)state;
    struct cnn_dataset *own = open_split(CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .limit = 20 });
    struct cnn_dataset *padded = open_split(CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .side = 32, .limit = 20 });
    assert_true(fabs(padded->mean - own->mean * 28 * 28 / (32 * 32)) < 1e-6);
    for (int i = 0; i < 20; i++)
        for (int row = 0; row < 32; row++)
            for (int col = 0; col < 32; col++) {
                int inside = row >= 2 && row < 30 && col >= 2 && col < 30;
                int pixel = inside ? own->pixels[i * 784 + (row - 2) * 28 + col - 2] : 0;
                assert_int_equal(padded->pixels[i * 1024 + row * 32 + col], pixel);
            }
    cnn_dataset_close(own);
    cnn_dataset_close(padded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_figures_are_met),
        cmocka_unit_test(padded_to_32),
    };
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
