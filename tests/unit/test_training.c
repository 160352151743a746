/* SPDX-License-Identifier: MIT */
/* What a study says of training reaches it: distortions, pixels, and what its clock includes. Runs on the oracle as a
 * backend. */
#include "tests/unit/core.h"

#include "experiments/driver/measure.h"
#include "tests/checker/oracle_backend.h"

#include <math.h>

static struct point digits_point(void)
{
    struct point point = { .phase = POINT_ACCURACY,
                           .batch = 16,
                           .series = "x",
                           .backend = "oracle",
                           .algorithm = "oracle",
                           .data = "digits",
                           .train_limit = 50, /* no multiple of the batch */
                           .test_limit = 20,
                           .rates = { 0.05f, 0, 0 },
                           .rate_decay = 1,
                           .epochs = 2 };
    point.spec = core_empty(12);
    core_add(&point.spec, CNN_CONV, 3, 3, 1)->activation = CNN_TANH;
    core_add(&point.spec, CNN_MAXPOOL, 0, 2, 2);
    core_add(&point.spec, CNN_FULL, 0, 0, 0);
    point.spec.classes = 10;
    point.spec.loss = CNN_SOFTMAX;
    return point;
}

static void epochs_are_told_one_by_one(void **state)
{
    (void)state;
    struct point point = digits_point();
    struct result result;
    measure_point(&point, &check_oracle_backend, &result);
    if (result.status != CNN_OK)
        fail_msg("%s", result.reason);
    assert_int_equal(result.epochs, 2);
    assert_int_equal(result.train_images, 50);
    assert_int_equal(result.test_images, 20);
    double sum = 0;
    for (int e = 0; e < 2; e++) {
        assert_int_equal(result.epoch[e].epoch, e + 1);
        assert_true(isfinite(result.epoch[e].train_loss) && result.epoch[e].train_loss > 0);
        assert_true(result.epoch[e].test_accuracy >= 0 && result.epoch[e].test_accuracy <= 1);
        assert_true(result.epoch[e].train_seconds > 0 && result.epoch[e].test_seconds > 0);
        assert_true(result.epoch[e].load_seconds > 0);
        sum += result.epoch[e].train_seconds;
    }
    assert_true(result.data_seconds > 0 && result.pixel_mean > 0 && result.pixel_deviation > 0);
    assert_true(result.epoch[1].train_loss < result.epoch[0].train_loss);
    assert_true(fabs(result.median - sum / 2) < 1e-9);
    assert_true(isnan(result.low)); /* two epochs have no interval */
    result_free(&result);
}

/* Where every step copies, an epoch's clock of training includes its loading; the epochs learn the same. */
static void loading_is_timed_where_steps_copy(void **state)
{
    (void)state;
    struct point point = digits_point();
    struct result resident, copying;
    measure_point(&point, &check_oracle_backend, &resident);
    point.copies = CNN_COPIES_ANSWER;
    measure_point(&point, &check_oracle_backend, &copying);
    assert_int_equal(resident.status, CNN_OK);
    assert_int_equal(copying.status, CNN_OK);
    for (int e = 0; e < 2; e++) {
        assert_true(resident.epoch[e].test_loss == copying.epoch[e].test_loss);
        assert_true(copying.epoch[e].train_seconds > copying.epoch[e].load_seconds);
    }
    result_free(&resident);
    result_free(&copying);
}

static void images_are_distorted_and_scaled_as_the_point_says(void **state)
{
    (void)state;
    struct point point = digits_point();
    struct result plain, other;
    measure_point(&point, &check_oracle_backend, &plain);
    snprintf(point.distort, sizeof point.distort, "rotate 20 shift 1");
    measure_point(&point, &check_oracle_backend, &other);
    assert_int_equal(other.status, CNN_OK);
    assert_true(other.epoch[0].train_loss != plain.epoch[0].train_loss);
    result_free(&other);
    point.distort[0] = '\0';
    point.pixels = CNN_PIXELS_SIGNED;
    measure_point(&point, &check_oracle_backend, &other);
    assert_true(other.pixel_mean == 0.5 && other.pixel_deviation == 0.5);
    assert_true(other.epoch[0].train_loss != plain.epoch[0].train_loss);
    result_free(&other);
    snprintf(point.distort, sizeof point.distort, "spin 1");
    measure_point(&point, &check_oracle_backend, &other);
    assert_int_equal(other.status, CNN_INVALID);
    result_free(&other);
    result_free(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_are_told_one_by_one),
        cmocka_unit_test(loading_is_timed_where_steps_copy),
        cmocka_unit_test(images_are_distorted_and_scaled_as_the_point_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
