/* SPDX-License-Identifier: MIT */
/* The digits generator: a pure function of seed and index, the same everywhere, balanced, inside its frame at every
 * side, and neither too easy nor too hard for a linear classifier. */
#include "tests/unit/core.h"

#include "lib/dataset.h"
#include "lib/digits_shapes.h"
#include "lib/random.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define SIDES                   \
    {                           \
        8, 13, 28, 32, 104, 256 \
    }
#define SIDE_COUNT 6
#define GRAIN 27 /* of 255: more than the generator's noise reaches */

static uint8_t *drawn(uint64_t seed, uint64_t index, int side, int32_t *label)
{
    size_t size = (size_t)side * side;
    uint8_t *pixels = malloc(size);
    assert_non_null(pixels);
    memset(pixels, 0xa5, size);
    *label = -1;
    cnn_digit_draw(seed, index, side, pixels, label);
    return pixels;
}

static uint64_t fnv(uint64_t hash, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void the_same_call_gives_the_same_digit(void **state)
{
    (void)state;
    for (uint64_t index = 0; index < 40; index++) {
        int32_t label, again, other;
        uint8_t *one = drawn(3, index, 32, &label), *two = drawn(3, index, 32, &again);
        uint8_t *seeded = drawn(4, index, 32, &other);
        uint8_t *next = drawn(3, index + 1, 32, &other), *far = drawn(3, index + ((uint64_t)1 << 32), 32, &other);
        assert_int_equal(label, again);
        assert_memory_equal(one, two, 32 * 32);
        assert_memory_not_equal(one, seeded, 32 * 32);
        assert_memory_not_equal(one, next, 32 * 32);
        assert_memory_not_equal(one, far, 32 * 32);
        free(one), free(two), free(seeded), free(next), free(far);
    }
}

/* The generator uses IEEE operations alone, none contracted, so its bytes are the same with every compiler and machine.
 * A change here changes every accuracy measured on digits: say so in the change log. */
static void the_bytes_are_the_same_everywhere(void **state)
{
    (void)state;
    static const int sides[SIDE_COUNT] = SIDES;
    static const uint64_t expected[SIDE_COUNT] = { 0x806d39617920604f, 0x540a82e4a256be96, 0x40589a2a2a815db7,
                                                   0x594c0a55af85b4fd, 0x297b3b8ace24f351, 0xa9c0036aa47300ad };
    for (int i = 0; i < SIDE_COUNT; i++) {
        uint64_t hash = 0xcbf29ce484222325u;
        for (uint64_t index = 0; index < 20; index++) {
            int32_t label;
            uint8_t *pixels = drawn(2010, index, sides[i], &label);
            hash = fnv(hash, pixels, (size_t)sides[i] * sides[i]);
            hash = fnv(hash, (uint8_t[]){ (uint8_t)label }, 1);
            free(pixels);
        }
        if (hash != expected[i])
            fail_msg("side %d: found 0x%016llx, expected 0x%016llx", sides[i], (unsigned long long)hash,
                     (unsigned long long)expected[i]);
    }
}

static void each_ten_has_each_label_in_seeded_order(void **state)
{
    (void)state;
    int at_place[10][10] = { { 0 } }, same = 0;
    for (uint64_t ten = 0; ten < 1000; ten++) {
        int seen[10] = { 0 };
        for (int place = 0; place < 10; place++) {
            uint8_t pixels[64];
            int32_t label, other;
            cnn_digit_draw(11, 10 * ten + (uint64_t)place, 8, pixels, &label);
            cnn_digit_draw(12, 10 * ten + (uint64_t)place, 8, pixels, &other);
            assert_in_range(label, 0, 9);
            seen[label]++;
            at_place[place][label]++;
            same += label == other;
        }
        for (int label = 0; label < 10; label++)
            assert_int_equal(seen[label], 1);
    }
    for (int place = 0; place < 10; place++) /* 100 expected, deviation 9.5 */
        for (int label = 0; label < 10; label++)
            assert_in_range(at_place[place][label], 50, 150);
    assert_in_range(same, 800, 1200); /* 1,000 expected, deviation 32 */
}

/* Fixed arrays on the stack hold every path. */
static void every_shape_fits_the_arrays(void **state)
{
    (void)state;
    for (int label = 0; label < 10; label++) {
        int count = 0;
        const struct cnn_digit_shape *shapes = cnn_digit_shapes(label, &count);
        assert_in_range(count, 3, 8);
        for (int i = 0; i < count; i++) {
            assert_in_range(shapes[i].stroke_count, 1, CNN_DIGIT_STROKES_MAX);
            for (int j = 0; j < shapes[i].stroke_count; j++)
                assert_in_range(shapes[i].strokes[j].count, 2, CNN_DIGIT_POINTS_MAX);
        }
    }
}

/* Ink stays off the outermost pixels, however thick and far out a digit is; a digit fills a fair part of the frame and
 * is never a blot. */
static void ink_lies_within_the_frame(void **state)
{
    (void)state;
    static const int sides[SIDE_COUNT] = SIDES;
    for (int i = 0; i < SIDE_COUNT; i++) {
        int side = sides[i], digits = side > 100 ? 60 : 600;
        for (uint64_t index = 0; index < (uint64_t)digits; index++) {
            int32_t label;
            uint8_t *pixels = drawn(5, index, side, &label);
            int64_t inked = 0;
            int top = side, bottom = -1, darkest = 0;
            for (int row = 0; row < side; row++)
                for (int col = 0; col < side; col++) {
                    int level = pixels[row * side + col], edge = !row || !col || row == side - 1 || col == side - 1;
                    if (edge && side >= 28 && level > GRAIN)
                        fail_msg("side %d, index %d: %d at row %d, col %d", side, (int)index, level, row, col);
                    if (level <= GRAIN)
                        continue;
                    inked++;
                    darkest = level > darkest ? level : darkest;
                    top = row < top ? row : top;
                    bottom = row;
                }
            double share = (double)inked / side / side, height = (bottom - top + 1.0) / side;
            if (!(share > 0.02 && share < 0.65 && height >= 0.25 && height <= 1 && darkest > 100))
                fail_msg("side %d, index %d (a %d): %.1f %% ink, height %.2f, darkest %d", side, (int)index, (int)label,
                         100 * share, height, darkest);
            free(pixels);
        }
    }
}

/* The same digit at another side is the same drawing: shrunk to a quarter, it differs by blur and grain only. */
static void every_side_shows_the_same_drawing(void **state)
{
    (void)state;
    for (uint64_t index = 0; index < 50; index++) {
        int32_t label, same;
        uint8_t *small = drawn(9, index, 32, &label), *large = drawn(9, index, 128, &same);
        double difference = 0, ink = 0;
        assert_int_equal(label, same);
        for (int row = 0; row < 32; row++)
            for (int col = 0; col < 32; col++) {
                double mean = 0;
                for (int k = 0; k < 16; k++)
                    mean += large[(4 * row + k / 4) * 128 + 4 * col + k % 4] / 16.0;
                difference += fabs(mean - small[row * 32 + col]);
                ink += small[row * 32 + col];
            }
        assert_true(difference < 0.35 * ink);
        free(small), free(large);
    }
}

static void the_data_set_keeps_its_splits_apart(void **state)
{
    (void)state;
    struct cnn_dataset *train, *test, *again;
    struct cnn_error error = { CNN_OK, "" };
    struct cnn_dataset_options options = { .side = 8, .seed = 6 };
    assert_int_equal(cnn_dataset_open(&train, "digits", CNN_SPLIT_TRAIN, &options, &error), CNN_OK);
    assert_int_equal(cnn_dataset_open(&test, "digits", CNN_SPLIT_TEST, &options, &error), CNN_OK);
    assert_int_equal(train->count, 10000);
    assert_int_equal(test->count, 2000);
    assert_int_equal(train->classes, 10);
    assert_int_equal(train->channels, 1);
    int counts[2][10] = { { 0 } };
    for (int i = 0; i < 10000; i++)
        counts[0][train->labels[i]]++;
    for (int i = 0; i < 2000; i++)
        counts[1][test->labels[i]]++;
    for (int label = 0; label < 10; label++) {
        assert_int_equal(counts[0][label], 1000);
        assert_int_equal(counts[1][label], 200);
    }
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 10000; j++)
            assert_true(memcmp(test->pixels + i * 64, train->pixels + j * 64, 64) != 0);
    assert_true(test->mean == train->mean && test->deviation == train->deviation);
    options.limit = 30;
    options.train = train;
    assert_int_equal(cnn_dataset_open(&again, "digits", CNN_SPLIT_TEST, &options, &error), CNN_OK);
    assert_int_equal(again->count, 30);
    assert_memory_equal(again->pixels, test->pixels, 30 * 64);
    assert_true(again->mean == train->mean && again->deviation == train->deviation);
    cnn_dataset_close(again);
    cnn_dataset_close(train);
    cnn_dataset_close(test);
    options = (struct cnn_dataset_options){ .limit = 5 };
    assert_int_equal(cnn_dataset_open(&train, "digits", CNN_SPLIT_TRAIN, &options, &error), CNN_OK);
    assert_int_equal(train->side, 28);
    cnn_dataset_close(train);
}

#define LEARN_SIDE 16
#define LEARN_PIXELS (LEARN_SIDE * LEARN_SIDE)
#define LEARN_TRAIN 4000
#define LEARN_TEST 1000
#define LEARN_EPOCHS 15

struct learner {
    float images[LEARN_TRAIN][LEARN_PIXELS], weights[10][LEARN_PIXELS], biases[10];
    int32_t labels[LEARN_TRAIN];
};

static struct cnn_dataset *learner_load(struct learner *learner, enum cnn_split split, int count)
{
    struct cnn_dataset *data;
    struct cnn_dataset_options options = { .side = LEARN_SIDE, .seed = 1, .limit = count };
    assert_int_equal(cnn_dataset_open(&data, "digits", split, &options, NULL), CNN_OK);
    cnn_dataset_batch(data, NULL, 0, count, learner->images[0], learner->labels);
    return data;
}

static int scores(const struct learner *learner, const float *image, float score[10])
{
    int best = 0;
    for (int label = 0; label < 10; label++) {
        score[label] = learner->biases[label];
        for (int at = 0; at < LEARN_PIXELS; at++)
            score[label] += learner->weights[label][at] * image[at];
        best = score[label] > score[best] ? label : best;
    }
    return best;
}

/* Softmax regression by stochastic gradient descent, the rate falling each epoch. */
static void learner_train(struct learner *learner)
{
    struct cnn_random random;
    float rate = 0.002f;
    cnn_random_init(&random, 1, CNN_STREAM_TEST, 0);
    for (int epoch = 0; epoch < LEARN_EPOCHS; epoch++, rate *= 0.85f)
        for (int step = 0; step < LEARN_TRAIN; step++) {
            uint32_t i = cnn_random_below(&random, LEARN_TRAIN);
            float score[10], sum = 0;
            float largest = (scores(learner, learner->images[i], score), score[0]);
            for (int label = 1; label < 10; label++)
                largest = fmaxf(largest, score[label]);
            for (int label = 0; label < 10; label++)
                sum += score[label] = expf(score[label] - largest);
            for (int label = 0; label < 10; label++) {
                float delta = rate * (score[label] / sum - (label == learner->labels[i]));
                for (int at = 0; at < LEARN_PIXELS; at++)
                    learner->weights[label][at] -= delta * learner->images[i][at];
                learner->biases[label] -= delta;
            }
        }
}

/* As a linear score: -|x - m|^2 / 2 = m.x - |m|^2 / 2 - |x|^2 / 2, the last the same for all. */
static void learner_take_means(struct learner *learner)
{
    int counts[10] = { 0 };
    memset(learner->weights, 0, sizeof learner->weights);
    memset(learner->biases, 0, sizeof learner->biases);
    for (int i = 0; i < LEARN_TRAIN; i++) {
        counts[learner->labels[i]]++;
        for (int at = 0; at < LEARN_PIXELS; at++)
            learner->weights[learner->labels[i]][at] += learner->images[i][at];
    }
    for (int label = 0; label < 10; label++)
        for (int at = 0; at < LEARN_PIXELS; at++) {
            float mean = learner->weights[label][at] /= (float)counts[label];
            learner->biases[label] -= mean * mean / 2;
        }
}

static double learner_accuracy(const struct learner *learner, const struct learner *test)
{
    int correct = 0;
    float score[10];
    for (int i = 0; i < LEARN_TEST; i++)
        correct += scores(learner, test->images[i], score) == test->labels[i];
    return 100.0 * correct / LEARN_TEST;
}

/* Learnable, but not by a linear classifier to the level of a convolutional network (97 % and more); the mean image of
 * a class says still less. */
static void a_linear_classifier_learns_some_of_it(void **state)
{
    (void)state;
    struct learner *train = calloc(1, sizeof *train), *test = calloc(1, sizeof *test);
    assert_true(train && test);
    cnn_dataset_close(learner_load(train, CNN_SPLIT_TRAIN, LEARN_TRAIN));
    cnn_dataset_close(learner_load(test, CNN_SPLIT_TEST, LEARN_TEST));
    learner_train(train);
    double linear = learner_accuracy(train, test);
    learner_take_means(train);
    double means = learner_accuracy(train, test);
    print_message("seed 1, side %d: linear %.1f %%, nearest mean %.1f %% of %d test digits\n", LEARN_SIDE, linear,
                  means, LEARN_TEST);
    assert_true(linear > 50 && linear < 93);
    assert_true(means > 30 && means < linear - 5);
    free(train), free(test);
}

static void the_time_of_a_digit_is_told(void **state)
{
    (void)state;
    static const int sides[SIDE_COUNT] = SIDES;
    for (int i = 0; i < SIDE_COUNT; i++) {
        struct timespec start, stop;
        int count = sides[i] > 100 ? 50 : 500;
        uint8_t *pixels = malloc((size_t)sides[i] * sides[i]);
        int32_t label;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int index = 0; index < count; index++)
            cnn_digit_draw(1, (uint64_t)index, sides[i], pixels, &label);
        clock_gettime(CLOCK_MONOTONIC, &stop);
        print_message("side %d: %.1f us per digit\n", sides[i],
                      ((double)(stop.tv_sec - start.tv_sec) * 1e6 + (double)(stop.tv_nsec - start.tv_nsec) / 1e3) /
                          count);
        free(pixels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_call_gives_the_same_digit),
        cmocka_unit_test(the_bytes_are_the_same_everywhere),
        cmocka_unit_test(each_ten_has_each_label_in_seeded_order),
        cmocka_unit_test(every_shape_fits_the_arrays),
        cmocka_unit_test(ink_lies_within_the_frame),
        cmocka_unit_test(every_side_shows_the_same_drawing),
        cmocka_unit_test(the_data_set_keeps_its_splits_apart),
        cmocka_unit_test(a_linear_classifier_learns_some_of_it),
        cmocka_unit_test(the_time_of_a_digit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
