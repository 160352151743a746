/* SPDX-License-Identifier: MIT */
/* How images reach a side: which are padded and which scaled, and that neither loses or shifts anything. */
#include "tests/unit/core.h"

#include "lib/dataset_parts.h"

#include <stdlib.h>

static void fit(int own, int side, enum cnn_fit how, const uint8_t *in, uint8_t *out)
{
    struct cnn_fitter *fitter = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_fitter_create(&fitter, own, side, how, &error))
        fail_msg("%s", error.text);
    cnn_fitter_apply(fitter, in, out);
    cnn_fitter_destroy(fitter);
}

static void padding_is_centred(void **state)
{
    (void)state;
    static const uint8_t in[4] = { 1, 2, 3, 4 };
    static const uint8_t by_three[25] = { 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 4 };
    static const uint8_t by_two[16] = { 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0 };
    uint8_t out[25];
    memset(out, 9, sizeof out);
    fit(2, 5, CNN_FIT_PAD, in, out);
    assert_memory_equal(out, by_three, 25);
    memset(out, 9, sizeof out);
    fit(2, 4, CNN_FIT_PAD, in, out);
    assert_memory_equal(out, by_two, 16);
    fit(2, 2, CNN_FIT_PAD, in, out);
    assert_memory_equal(out, in, 4);
    fit(2, 2, CNN_FIT_SCALE, in, out);
    assert_memory_equal(out, in, 4);
}

/* 28 is padded to 29..41 and scaled to everything else: a white image then has a black border, or none. */
static void auto_pads_below_one_and_a_half(void **state)
{
    (void)state;
    uint8_t in[28 * 28], *out = malloc(128 * 128);
    memset(in, 255, sizeof in);
    for (int side = 1; side <= 128; side++) {
        fit(28, side, CNN_FIT_AUTO, in, out);
        int64_t sum = 0;
        for (int at = 0; at < side * side; at++)
            sum += out[at];
        assert_int_equal(sum, side > 28 && side < 42 ? 255 * 28 * 28 : 255 * side * side);
    }
    free(out);
}

static void flat_images_stay_flat(void **state)
{
    (void)state;
    static const int sides[] = { 1, 2, 3, 5, 7, 8, 28, 31, 64 };
    uint8_t in[64 * 64], out[64 * 64];
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        for (size_t j = 0; j < sizeof sides / sizeof sides[0]; j++)
            for (int level = 0; level < 256; level += 51) {
                memset(in, level, sizeof in);
                fit(sides[i], sides[j], CNN_FIT_SCALE, in, out);
                for (int at = 0; at < sides[j] * sides[j]; at++)
                    assert_int_equal(out[at], level);
            }
}

/* Twice the side: centres lie a quarter and three quarters between source pixels; at the border the last one counts. */
static void enlarging_is_bilinear(void **state)
{
    (void)state;
    static const uint8_t in[4] = { 0, 80, 160, 240 };
    static const uint8_t expected[16] = { 0, 20, 60, 80, 40, 60, 100, 120, 120, 140, 180, 200, 160, 180, 220, 240 };
    uint8_t out[16];
    fit(2, 4, CNN_FIT_SCALE, in, out);
    assert_memory_equal(out, expected, 16);
}

/* No source pixel is skipped. Half the side: a corner pixel has 3/4 of a triangle that adds up to 7/4 inside the image.
 */
static void shrinking_takes_every_pixel(void **state)
{
    (void)state;
    uint8_t in[16 * 16], out[16 * 16];
    for (int side = 1; side < 16; side++)
        for (int at = 0; at < 16 * 16; at++) {
            int64_t sum = 0;
            memset(in, 0, sizeof in);
            in[at] = 255;
            fit(16, side, CNN_FIT_SCALE, in, out);
            for (int i = 0; i < side * side; i++)
                sum += out[i];
            assert_true(side < 4 || sum > 0); /* below, one pixel of 256 rounds to no level */
        }
    static const uint8_t ramp[16] = { 70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    fit(4, 2, CNN_FIT_SCALE, ramp, out);
    static const uint8_t expected[4] = { 13, 0, 0, 0 }; /* 70 * (3/7)^2 = 12.86 */
    assert_memory_equal(out, expected, 4);
}

/* A mirrored image gives the mirrored result: nothing is shifted by a fraction of a pixel. */
static void scaling_is_symmetric(void **state)
{
    (void)state;
    uint8_t in[9 * 9], mirrored[9 * 9], out[40 * 40], other[40 * 40];
    for (int at = 0; at < 81; at++) {
        in[at] = (uint8_t)(at * 37 % 251);
        mirrored[80 - at] = in[at];
    }
    for (int side = 1; side <= 40; side++) {
        fit(9, side, CNN_FIT_SCALE, in, out);
        fit(9, side, CNN_FIT_SCALE, mirrored, other);
        for (int at = 0; at < side * side; at++)
            assert_in_range(out[at] - other[side * side - 1 - at] + 1, 0, 2); /* rounding of halves */
    }
}

static void impossible_sides_are_refused(void **state)
{
    (void)state;
    struct cnn_fitter *fitter = (struct cnn_fitter *)&fitter;
    struct cnn_error error;
    assert_int_equal(cnn_fitter_create(&fitter, 28, 20, CNN_FIT_PAD, &error), CNN_INVALID);
    assert_string_equal(error.text, "images of side 28 cannot be padded to 20: scale them instead");
    assert_null(fitter);
    assert_int_equal(cnn_fitter_create(&fitter, 28, 0, CNN_FIT_AUTO, &error), CNN_INVALID);
    assert_string_equal(error.text, "images of side 28 to side 0: expected sides 1 to 65536");
    assert_int_equal(cnn_fitter_create(&fitter, 70000, 28, CNN_FIT_AUTO, &error), CNN_INVALID);
    assert_string_equal(error.text, "images of side 70000 to side 28: expected sides 1 to 65536");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_centred),           cmocka_unit_test(auto_pads_below_one_and_a_half),
        cmocka_unit_test(flat_images_stay_flat),        cmocka_unit_test(enlarging_is_bilinear),
        cmocka_unit_test(shrinking_takes_every_pixel),  cmocka_unit_test(scaling_is_symmetric),
        cmocka_unit_test(impossible_sides_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
