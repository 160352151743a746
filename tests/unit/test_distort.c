/* SPDX-License-Identifier: MIT */
/* Distortions are a pure function of seed, epoch and image; each kind does what its name says, within its limit; the
 * elastic field is as rough as the Gaussian makes it. */
#include "tests/unit/core.h"

#include "lib/distort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 64
#define PIXELS (SIDE * SIDE)

static struct cnn_distorter *distorter_of(const char *text, int channels, uint64_t seed)
{
    struct cnn_distortion distortion;
    struct cnn_distorter *distorter = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_distortion_parse(&distortion, text, &error) ||
        cnn_distorter_create(&distorter, &distortion, channels, SIDE, seed, &error))
        fail_msg("%s", error.text);
    return distorter;
}

static void apply(const char *text, uint64_t seed, int epoch, int64_t image, const uint8_t *in, uint8_t *out)
{
    struct cnn_distorter *distorter = distorter_of(text, 1, seed);
    cnn_distorter_apply(distorter, epoch, image, in, out);
    cnn_distorter_destroy(distorter);
}

/* A round blob off the middle. */
static void draw_blob(uint8_t *pixels, double row, double col)
{
    for (int i = 0; i < PIXELS; i++) {
        double down = i / SIDE - row, right = i % SIDE - col;
        pixels[i] = (uint8_t)lrint(250 * exp(-(down * down + right * right) / 32));
    }
}

/* The middle of what is bright, and how much there is. */
static void middle_of(const uint8_t *pixels, double *row, double *col, double *sum)
{
    *row = *col = *sum = 0;
    for (int i = 0; i < PIXELS; i++) {
        *row += pixels[i] * (double)(i / SIDE);
        *col += pixels[i] * (double)(i % SIDE);
        *sum += pixels[i];
    }
    *row /= *sum;
    *col /= *sum;
}

static void seed_epoch_and_image_alone_decide(void **state)
{
    (void)state;
    static const char text[] = "rotate 15 zoom 0.1 shear 0.1 shift 2 elastic 34 sigma 4";
    uint8_t in[PIXELS], first[PIXELS], again[PIXELS], scratch[PIXELS];
    draw_blob(in, 20, 30);
    struct cnn_distorter *distorter = distorter_of(text, 1, 7);
    cnn_distorter_apply(distorter, 2, 5, in, first);
    cnn_distorter_apply(distorter, 1, 60000, in, scratch); /* whatever was distorted before */
    cnn_distorter_apply(distorter, 2, 5, in, again);
    cnn_distorter_destroy(distorter);
    assert_memory_equal(first, again, PIXELS);
    assert_memory_not_equal(first, in, PIXELS);
    apply(text, 7, 3, 5, in, again);
    assert_memory_not_equal(first, again, PIXELS);
    apply(text, 7, 2, 6, in, again);
    assert_memory_not_equal(first, again, PIXELS);
    apply(text, 8, 2, 5, in, again);
    assert_memory_not_equal(first, again, PIXELS);
}

static void nothing_asked_changes_nothing(void **state)
{
    (void)state;
    uint8_t in[PIXELS], out[PIXELS];
    struct cnn_distortion none, some;
    for (int i = 0; i < PIXELS; i++)
        in[i] = (uint8_t)(i * 7);
    apply("none", 1, 1, 1, in, out);
    assert_memory_equal(in, out, PIXELS);
    assert_int_equal(cnn_distortion_parse(&none, "none", NULL), CNN_OK);
    assert_int_equal(cnn_distortion_parse(&some, "shift 1", NULL), CNN_OK);
    assert_false(cnn_distortion_any(&none));
    assert_true(cnn_distortion_any(&some));
}

/* Over 200 images the middle moves by up to 3 pixels and no more, to all sides. */
static void a_shift_moves_the_image(void **state)
{
    (void)state;
    uint8_t in[PIXELS], out[PIXELS];
    double row, col, sum, was_row, was_col, was_sum, low = 9, high = -9, mean = 0;
    draw_blob(in, 30, 33);
    middle_of(in, &was_row, &was_col, &was_sum);
    for (int image = 0; image < 200; image++) {
        apply("shift 3", 1, 1, image, in, out);
        middle_of(out, &row, &col, &sum);
        assert_true(fabs(sum / was_sum - 1) < 0.01);
        assert_true(fabs(row - was_row) < 3.05 && fabs(col - was_col) < 3.05);
        low = fmin(low, col - was_col);
        high = fmax(high, col - was_col);
        mean += (row - was_row) / 200;
    }
    assert_true(low < -2.5 && high > 2.5 && fabs(mean) < 0.5); /* deviation of the mean: 3 / sqrt(3 * 200) = 0.12 */
}

/* A blob keeps its distance from the image's middle and turns by at most the angle; what zoom does to the sum is the
 * product of both sides' factors. */
static void turning_and_zooming(void **state)
{
    (void)state;
    uint8_t in[PIXELS], out[PIXELS];
    double row, col, sum, was_sum, turned = 0, least = 9, most = 0, centre = (SIDE - 1) / 2.0;
    draw_blob(in, centre, centre + 15);
    middle_of(in, &row, &col, &was_sum);
    for (int image = 0; image < 200; image++) {
        apply("rotate 30", 1, 1, image, in, out);
        middle_of(out, &row, &col, &sum);
        double angle = atan2(row - centre, col - centre) * 180 / acos(-1);
        assert_true(fabs(hypot(row - centre, col - centre) - 15) < 0.1 && fabs(angle) < 30.5);
        turned = fmax(turned, fabs(angle));
        apply("zoom 0.2", 1, 1, image, in, out);
        middle_of(out, &row, &col, &sum);
        assert_true(fabs(row - centre) < 0.1 && col - centre > 0.79 * 15 && col - centre < 1.21 * 15);
        least = fmin(least, sum / was_sum);
        most = fmax(most, sum / was_sum);
    }
    assert_true(turned > 25);
    assert_true(least > 0.63 && least < 0.8 && most > 1.2 && most < 1.45);
}

/* On a ramp of 3 per column a displacement of a pixel is a difference of 3. Even noise in +-1 has deviation 1/sqrt(3);
 * a Gaussian of deviation s in two dimensions leaves 1 / (2 s sqrt(pi)) of it. */
static void the_elastic_field_is_smooth_noise(void **state)
{
    (void)state;
    const double alpha = 20, sigma = 3, expected = alpha / sqrt(3) / (2 * sigma * sqrt(acos(-1)));
    uint8_t in[PIXELS], out[PIXELS];
    double squares = 0, steps = 0;
    int64_t count = 0;
    for (int i = 0; i < PIXELS; i++)
        in[i] = (uint8_t)(20 + 3 * (i % SIDE));
    for (int image = 0; image < 100; image++) {
        apply("elastic 20 sigma 3", 1, 1, image, in, out);
        for (int row = 12; row < SIDE - 12; row++)
            for (int col = 12; col < SIDE - 12; col++, count++) {
                int at = row * SIDE + col;
                double here = (out[at] - in[at]) / 3.0, next = (out[at + SIDE] - in[at + SIDE]) / 3.0;
                squares += here * here;
                steps += (next - here) * (next - here);
            }
    }
    double deviation = sqrt(squares / (double)count), step = sqrt(steps / (double)count);
    assert_true(fabs(deviation / expected - 1) < 0.05);
    assert_true(step < 0.35 * deviation); /* neighbours go together: 1 / (sqrt(2) sigma) = 0.24, and rounding */
}

/* Both channels of an image move alike. */
static void channels_stay_together(void **state)
{
    (void)state;
    uint8_t in[2 * PIXELS], out[2 * PIXELS], alone[PIXELS];
    draw_blob(in, 20, 20);
    draw_blob(in + PIXELS, 40, 25);
    struct cnn_distorter *distorter = distorter_of("rotate 20 elastic 30 sigma 4", 2, 3);
    cnn_distorter_apply(distorter, 1, 9, in, out);
    cnn_distorter_destroy(distorter);
    for (int channel = 0; channel < 2; channel++) {
        apply("rotate 20 elastic 30 sigma 4", 3, 1, 9, in + channel * PIXELS, alone);
        assert_memory_equal(alone, out + channel * PIXELS, PIXELS);
    }
}

static void assert_refused(const char *text, const char *words)
{
    struct cnn_distortion distortion;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_equal(cnn_distortion_parse(&distortion, text, &error), CNN_INVALID);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
}

static void words_that_are_none_are_refused(void **state)
{
    (void)state;
    struct cnn_distortion d;
    assert_int_equal(cnn_distortion_parse(&d, "sigma 4, elastic 34.5 shear 0.25", NULL), CNN_OK);
    assert_true(d.sigma == 4 && d.elastic == 34.5 && d.shear == 0.25 && d.rotate == 0 && d.zoom == 0 && d.shift == 0);
    assert_refused("spin 3", "\"spin 3\": expected \"none\", or rotate");
    assert_refused("rotate", "expected a number from 0 to 180 behind rotate");
    assert_refused("rotate x", "behind rotate");
    assert_refused("rotate -1", "behind rotate");
    assert_refused("rotate 3 zoom 1", "from 0 to 0.9 behind zoom");
    assert_refused("rotate nan", "behind rotate");
    assert_refused("shift 1 shift 2", "\"shift\" is there twice");
    assert_refused("elastic 34", "elastic 34, sigma 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_epoch_and_image_alone_decide), cmocka_unit_test(nothing_asked_changes_nothing),
        cmocka_unit_test(a_shift_moves_the_image),           cmocka_unit_test(turning_and_zooming),
        cmocka_unit_test(the_elastic_field_is_smooth_noise), cmocka_unit_test(channels_stay_together),
        cmocka_unit_test(words_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
