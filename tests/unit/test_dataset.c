/* SPDX-License-Identifier: MIT */
/* MNIST's files in every spelling, what is wrong with them in one sentence, how images reach a side, normalisation and
 * batches. The files are small ones in the exact formats, made here. */
#include "tests/unit/sets.h"

#include <math.h>
#include <stdbool.h>

#define SIDE 4
#define PIXELS (SIDE * SIDE)
#define TRAIN 6
#define TEST 3

/* Pixel `at` of image i of a split: something that tells all of them apart. */
static uint8_t pixel(bool train, int i, int at)
{
    return (uint8_t)(train ? 16 * i + at : 255 - 16 * i - at);
}

/* A data set as the site has it (dots: as unpacking its archive spells it), with a file left out or faulty. */
struct set {
    bool dots, zipped;
    int rows, cols;       /* of test images; 0: SIDE */
    int labels;           /* of the test split; 0: TEST */
    int wrong_label;      /* of test image 1; 0: a right one */
    bool flat;            /* all training pixels are 7 */
    const char *left_out; /* "train-images", ... */
};

static void write_part(const char *folder, const struct set *set, const char *what, const uint8_t *bytes, size_t count,
                       int rank)
{
    char name[64];
    if (set->left_out && !strcmp(set->left_out, what))
        return;
    snprintf(name, sizeof name, "%s%cidx%d-ubyte%s", what, set->dots ? '.' : '-', rank, set->zipped ? ".gz" : "");
    write_file(folder, name, set->zipped, bytes, count);
}

static void write_set(const char *folder, const struct set *set)
{
    uint8_t bytes[1024];
    for (int split = 0; split < 2; split++) {
        bool train = split == 0;
        uint32_t count = train ? TRAIN : TEST, labels = train || !set->labels ? count : (uint32_t)set->labels;
        uint32_t rows = train || !set->rows ? SIDE : (uint32_t)set->rows;
        uint32_t cols = train || !set->cols ? SIDE : (uint32_t)set->cols;
        size_t size = files_idx_header(bytes, 3, (uint32_t[]){ count, rows, cols });
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t at = 0; at < rows * cols; at++)
                bytes[size++] = train && set->flat ? 7 : pixel(train, (int)i, (int)at);
        write_part(folder, set, train ? "train-images" : "t10k-images", bytes, size, 3);
        size = files_idx_header(bytes, 1, &labels);
        for (uint32_t i = 0; i < labels; i++)
            bytes[size++] = (uint8_t)(!train && i == 1 && set->wrong_label ? set->wrong_label : 9 - (int)i);
        write_part(folder, set, train ? "train-labels" : "t10k-labels", bytes, size, 1);
    }
}

static void assert_train(const struct cnn_dataset *data)
{
    assert_string_equal(data->name, "mnist");
    assert_int_equal(data->channels, 1);
    assert_int_equal(data->side, SIDE);
    assert_int_equal(data->classes, 10);
    assert_int_equal(data->count, TRAIN);
    for (int i = 0; i < TRAIN; i++) {
        assert_int_equal(data->labels[i], 9 - i);
        for (int at = 0; at < PIXELS; at++)
            assert_int_equal(data->pixels[i * PIXELS + at], pixel(true, i, at));
    }
}

/* Dots or dashes, gzipped or not, in the folder or its mnist, by option or by environment. */
static void every_spelling_and_place_is_found(void **state)
{
    for (int way = 0; way < 16; way++) {
        char folder[FILES_PATH], below[FILES_PATH], name[16];
        struct set set = { .dots = way & 1, .zipped = way & 2 };
        struct cnn_dataset_options options = { .side = 0 };
        snprintf(name, sizeof name, "way%d", way);
        make_folder(folder, *state, name);
        if (way & 4)
            make_folder(below, folder, "mnist");
        write_set(way & 4 ? below : folder, &set);
        options.folder = way & 8 ? folder : NULL;
        if (way & 8)
            unsetenv("CONVSCALE_DATA");
        else
            setenv("CONVSCALE_DATA", folder, 1);
        struct cnn_dataset *data = open_set("mnist", CNN_SPLIT_TRAIN, &options);
        assert_train(data);
        cnn_dataset_close(data);
        data = open_set("mnist", CNN_SPLIT_TEST, &options);
        assert_int_equal(data->count, TEST);
        assert_int_equal(data->pixels[PIXELS + 3], pixel(false, 1, 3));
        assert_int_equal(data->labels[2], 7);
        cnn_dataset_close(data);
    }
    unsetenv("CONVSCALE_DATA");
}

static void what_is_not_there_is_unavailable(void **state)
{
    static const char *const left_out[] = { "train-images", "train-labels", "t10k-images", "t10k-labels" };
    char folder[FILES_PATH];
    unsetenv("CONVSCALE_DATA");
    assert_refused("mnist", CNN_SPLIT_TRAIN, NULL, CNN_UNAVAILABLE,
                   "mnist: no folder was given to look in: give that of the MNIST files with --data DIR or "
                   "CONVSCALE_DATA=DIR; to download them: ./run_sweep --fetch mnist");
    files_path(folder, *state, "nowhere");
    assert_refused("mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .folder = folder }, CNN_UNAVAILABLE,
                   "mnist: %s is no folder: give the folder of the MNIST files with --data DIR or CONVSCALE_DATA=DIR",
                   folder);
    for (int i = 0; i < 4; i++) {
        struct set set = { .left_out = left_out[i] };
        char name[32];
        snprintf(name, sizeof name, "without-%s", left_out[i]);
        make_folder(folder, *state, name);
        write_set(folder, &set);
        assert_refused("mnist", i < 2 ? CNN_SPLIT_TRAIN : CNN_SPLIT_TEST,
                       &(struct cnn_dataset_options){ .folder = folder }, CNN_UNAVAILABLE,
                       "mnist: no %s-idx%d-ubyte or %s.idx%d-ubyte, with or without .gz, in %s or %s/mnist: give the "
                       "folder of the MNIST files with --data DIR or CONVSCALE_DATA=DIR; to download them: ./run_sweep "
                       "--fetch mnist",
                       left_out[i], i % 2 ? 1 : 3, left_out[i], i % 2 ? 1 : 3, folder, folder);
    }
}

static void wrong_files_are_named(void **state)
{
    static const struct {
        struct set set;
        enum cnn_split split;
        const char *text; /* takes the folder, twice at most */
    } cases[] = {
        { { .labels = 2 },
          CNN_SPLIT_TEST,
          "%s/t10k-labels-idx1-ubyte: 2 labels, expected 3, one for each image of %s/t10k-images-idx3-ubyte" },
        { { .labels = 4 },
          CNN_SPLIT_TEST,
          "%s/t10k-labels-idx1-ubyte: 4 labels, expected 3, one for each image of %s/t10k-images-idx3-ubyte" },
        { { .wrong_label = 10 },
          CNN_SPLIT_TEST,
          "%s/t10k-labels-idx1-ubyte: offset 9: label 1 (counted from 0) is 10, expected 0 to 9" },
        { { .wrong_label = 255, .zipped = true },
          CNN_SPLIT_TEST,
          "%s/t10k-labels-idx1-ubyte.gz: offset 9: label 1 (counted from 0) is 255, expected 0 to 9" },
        { { .rows = 4, .cols = 5 },
          CNN_SPLIT_TEST,
          "%s/t10k-images-idx3-ubyte: offset 8: images of 4 x 5 pixels, expected square ones" },
        { { .rows = 5, .cols = 5 },
          CNN_SPLIT_TEST,
          "%s/train-images-idx3-ubyte: images of side 4, but side 5 in %s/t10k-images-idx3-ubyte: files of two sets?" },
        { { .flat = true }, CNN_SPLIT_TRAIN, "mnist: every pixel of the training split is 7: expected images" },
        { { .flat = true }, CNN_SPLIT_TEST, "mnist: every pixel of the training split is 7: expected images" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char folder[FILES_PATH], name[16];
        snprintf(name, sizeof name, "wrong%zu", i);
        make_folder(folder, *state, name);
        write_set(folder, &cases[i].set);
        assert_refused("mnist", cases[i].split, &(struct cnn_dataset_options){ .folder = folder }, CNN_INVALID,
                       cases[i].text, folder, folder);
    }
}

static void a_web_page_among_the_files(void **state)
{
    static const char page[] = "<!DOCTYPE html><title>404</title>";
    char folder[FILES_PATH];
    struct set set = { .zipped = true };
    make_folder(folder, *state, "page");
    write_set(folder, &set);
    write_file(folder, "train-labels-idx1-ubyte.gz", false, (const uint8_t *)page, sizeof page - 1);
    assert_refused("mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .folder = folder }, CNN_INVALID,
                   "%s/train-labels-idx1-ubyte.gz: looks like a web page, not an IDX file: '<' at its start, expected "
                   "bytes 00 00 08 01; download the file itself",
                   folder);
}

static void options_that_cannot_be_met(void **state)
{
    char folder[FILES_PATH];
    struct set set = { .dots = false };
    make_folder(folder, *state, "options");
    write_set(folder, &set);
    assert_refused("mist", CNN_SPLIT_TRAIN, NULL, CNN_INVALID,
                   "data set \"mist\": unknown, expected one of \"digits\", \"mnist\", \"fashion\", \"cifar10\", "
                   "\"norb\", \"idx\"");
    assert_refused("mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .folder = folder, .side = -1 }, CNN_INVALID,
                   "mnist: side -1, expected 1 to 65536, or 0 for the set's own");
    assert_refused("mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .folder = folder, .limit = -5 },
                   CNN_INVALID, "mnist: a limit of -5 images, expected 1 or more, or 0 for all");
    assert_refused("mnist", CNN_SPLIT_TRAIN,
                   &(struct cnn_dataset_options){ .folder = folder, .side = 3, .fit = CNN_FIT_PAD }, CNN_INVALID,
                   "%s/train-images-idx3-ubyte: images of side 4 cannot be padded to 3: scale them instead", folder);
    assert_refused("digits", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .side = 7 }, CNN_INVALID,
                   "digits: side 7, expected at least 8");
    struct cnn_dataset *train = open_set("mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .folder = folder });
    assert_refused("mnist", CNN_SPLIT_TEST,
                   &(struct cnn_dataset_options){ .folder = folder, .side = 5, .train = train }, CNN_INVALID,
                   "mnist: test images of side 5, but training images of side 4");
    assert_refused(
        "digits", CNN_SPLIT_TEST, &(struct cnn_dataset_options){ .train = train }, CNN_INVALID,
        "digits: the mean of a training split of mnist can be taken over by a test split of the same set only");
    cnn_dataset_close(train);
    cnn_dataset_close(NULL);
}

/* Both splits carry the statistics of the whole training split after fitting, whatever their limits. */
static void both_splits_are_normalised_by_the_training_split(void **state)
{
    char folder[FILES_PATH];
    struct set set = { .dots = true };
    make_folder(folder, *state, "statistics");
    write_set(folder, &set);
    for (int side = SIDE; side <= SIDE + 1; side++) {
        double sum = 0, squares = 0, count = TRAIN * side * side;
        for (int i = 0; i < TRAIN; i++)
            for (int at = 0; at < PIXELS; at++) {
                sum += pixel(true, i, at) / 255.0;
                squares += pixel(true, i, at) / 255.0 * pixel(true, i, at) / 255.0;
            }
        double mean = sum / count, deviation = sqrt(squares / count - mean * mean);
        struct cnn_dataset_options options = { .folder = folder, .side = side };
        struct cnn_dataset *train = open_set("mnist", CNN_SPLIT_TRAIN, &options);
        options.limit = 2;
        struct cnn_dataset *some = open_set("mnist", CNN_SPLIT_TRAIN, &options);
        struct cnn_dataset *test = open_set("mnist", CNN_SPLIT_TEST, &options);
        options.train = some;
        struct cnn_dataset *other = open_set("mnist", CNN_SPLIT_TEST, &options);
        assert_true(fabs(train->mean - mean) < 1e-6 && fabs(train->deviation - deviation) < 1e-6);
        assert_int_equal(some->count, 2);
        assert_int_equal(test->count, 2);
        assert_memory_equal(some->pixels, train->pixels, (size_t)(2 * side * side));
        assert_true(some->mean == train->mean && some->deviation == train->deviation);
        assert_true(test->mean == train->mean && test->deviation == train->deviation);
        assert_true(other->mean == train->mean && other->deviation == train->deviation);
        assert_memory_equal(other->pixels, test->pixels, (size_t)(2 * side * side));
        cnn_dataset_close(train);
        cnn_dataset_close(some);
        cnn_dataset_close(test);
        cnn_dataset_close(other);
    }
}

static void batches_follow_the_order_in_floats(void **state)
{
    static const int32_t order[] = { 5, 0, 0, 3 };
    char folder[FILES_PATH];
    struct set set = { .dots = true };
    float images[4 * PIXELS];
    int32_t labels[4];
    make_folder(folder, *state, "batches");
    write_set(folder, &set);
    struct cnn_dataset *data = open_set("mnist", CNN_SPLIT_TRAIN, &(struct cnn_dataset_options){ .folder = folder });
    for (int ordered = 0; ordered < 2; ordered++) {
        memset(images, 0xff, sizeof images);
        cnn_dataset_batch(data, ordered ? order : NULL, 2, 4, images, labels);
        for (int i = 0; i < 4; i++) {
            int image = ordered ? order[i] : 2 + i;
            assert_int_equal(labels[i], 9 - image);
            for (int at = 0; at < PIXELS; at++) {
                double value = (pixel(true, image, at) / 255.0 - data->mean) / data->deviation;
                assert_true(fabs(images[i * PIXELS + at] - value) <= 1e-6 * fabs(value));
            }
        }
    }
    cnn_dataset_batch(data, NULL, TRAIN - 1, 1, images, NULL);
    assert_true(images[0] < images[1]);
    cnn_dataset_close(data);
}

/* The same values for both splits, whether the training split is at hand or not. */
static void pixels_become_what_was_asked(void **state)
{
    char folder[FILES_PATH];
    struct cnn_dataset_options options = { .folder = folder, .pixels = CNN_PIXELS_UNIT };
    float image[PIXELS];
    make_folder(folder, *state, "pixels");
    write_set(folder, &(struct set){ .dots = false });
    for (enum cnn_split split = CNN_SPLIT_TRAIN; split <= CNN_SPLIT_TEST; split++) {
        options.pixels = CNN_PIXELS_UNIT;
        struct cnn_dataset *unit = open_set("mnist", split, &options);
        options.pixels = CNN_PIXELS_SIGNED;
        struct cnn_dataset *within = open_set("mnist", split, &options);
        cnn_dataset_batch(unit, NULL, 2, 1, image, NULL);
        assert_true(fabsf(image[3] - (float)pixel(split == CNN_SPLIT_TRAIN, 2, 3) / 255) < 1e-6f);
        cnn_dataset_batch(within, NULL, 2, 1, image, NULL);
        assert_true(fabsf(image[3] - ((float)pixel(split == CNN_SPLIT_TRAIN, 2, 3) / 127.5f - 1)) < 1e-6f);
        cnn_dataset_close(unit);
        cnn_dataset_close(within);
    }
    options.pixels = CNN_PIXELS_COUNT;
    assert_refused("mnist", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "mnist: pixels 3 is none of standard, unit, signed");
}

static void names_are_known(void **state)
{
    (void)state;
    const char *const *names = cnn_dataset_names();
    static const char *const expected[] = { "digits", "mnist", "fashion", "cifar10", "norb", "idx", NULL };
    for (int i = 0; expected[i]; i++) {
        assert_string_equal(names[i], expected[i]);
        assert_non_null(cnn_dataset_summary(names[i]));
    }
    assert_null(names[6]);
    assert_null(cnn_dataset_summary("mist"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_and_place_is_found),
        cmocka_unit_test(what_is_not_there_is_unavailable),
        cmocka_unit_test(wrong_files_are_named),
        cmocka_unit_test(a_web_page_among_the_files),
        cmocka_unit_test(options_that_cannot_be_met),
        cmocka_unit_test(both_splits_are_normalised_by_the_training_split),
        cmocka_unit_test(batches_follow_the_order_in_floats),
        cmocka_unit_test(pixels_become_what_was_asked),
        cmocka_unit_test(names_are_known),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
