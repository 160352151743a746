/* SPDX-License-Identifier: MIT */
/* Sets in files beside MNIST, in their exact formats: pixels, labels and classes are what the files say; each fault is
 * one sentence with file, offset, found and expected. */
#include "tests/unit/sets.h"

#include <stdlib.h>

static void write_idx(const char *folder, const char *prefix, int count, int side, const uint8_t *labels, int step)
{
    uint8_t bytes[4096];
    char name[80];
    size_t size = files_idx_header(bytes, 3, (uint32_t[]){ (uint32_t)count, (uint32_t)side, (uint32_t)side });
    for (int i = 0; i < count * side * side; i++)
        bytes[size++] = (uint8_t)(i * step);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    write_file(folder, name, false, bytes, size);
    size = files_idx_header(bytes, 1, (uint32_t[]){ (uint32_t)count });
    memcpy(bytes + size, labels, (size_t)count);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    write_file(folder, name, false, bytes, size + (size_t)count);
}

/* ---- IDX ---- */

/* Its files have MNIST's names, so those beside MNIST's own are not taken for it. */
static void fashion_lies_in_a_folder_of_its_own(void **state)
{
    char folder[FILES_PATH], below[FILES_PATH];
    struct cnn_dataset_options options = { .folder = folder };
    make_folder(folder, *state, "all");
    write_idx(folder, "train", 2, 3, (const uint8_t *)"\1\2", 1);
    write_idx(folder, "t10k", 2, 3, (const uint8_t *)"\1\2", 1);
    assert_refused(
        "fashion", CNN_SPLIT_TEST, &options, CNN_UNAVAILABLE,
        "fashion: no t10k-images-idx3-ubyte or t10k-images.idx3-ubyte, with or without .gz, in %s/fashion or "
        "%s/fashion-mnist: give the folder of the Fashion-MNIST files with --data DIR or CONVSCALE_DATA=DIR; to "
        "download them: ./run_sweep --fetch fashion",
        folder, folder);
    make_folder(below, folder, "fashion");
    write_idx(below, "train", 3, 3, (const uint8_t *)"\3\4\11", 5);
    write_idx(below, "t10k", 2, 3, (const uint8_t *)"\5\6", 5);
    for (int way = 0; way < 2; way++) {
        options.folder = way ? below : folder;
        struct cnn_dataset *data = open_set("fashion", CNN_SPLIT_TRAIN, &options);
        assert_int_equal(data->count, 3);
        assert_int_equal(data->classes, 10);
        assert_int_equal(data->labels[2], 9);
        assert_int_equal(data->pixels[10], 50);
        cnn_dataset_close(data);
    }
}

/* A folder or what all names begin with; "t10k" or "test"; as many classes as the training labels have. */
static void any_idx_set(void **state)
{
    char folder[FILES_PATH], prefix[FILES_PATH];
    make_folder(folder, *state, "letters");
    write_idx(folder, "mine-train", 4, 3, (const uint8_t *)"\0\31\7\7", 3);
    write_idx(folder, "mine-test", 2, 3, (const uint8_t *)"\31\0", 3);
    write_idx(folder, "train", 2, 3, (const uint8_t *)"\0\1", 3);
    write_idx(folder, "t10k", 2, 3, (const uint8_t *)"\0\2", 3);
    files_path(prefix, folder, "mine-");
    struct cnn_dataset_options options = { .folder = prefix };
    struct cnn_dataset *train = open_set("idx", CNN_SPLIT_TRAIN, &options);
    struct cnn_dataset *test = open_set("idx", CNN_SPLIT_TEST, &options);
    assert_int_equal(train->classes, 26);
    assert_int_equal(test->classes, 26);
    assert_int_equal(train->count, 4);
    assert_int_equal(test->labels[0], 25);
    assert_true(train->mean == test->mean && train->deviation == test->deviation);
    cnn_dataset_close(train);
    cnn_dataset_close(test);
    options.folder = folder;
    train = open_set("idx", CNN_SPLIT_TRAIN, &options);
    assert_int_equal(train->classes, 2);
    cnn_dataset_close(train);
    assert_refused("idx", CNN_SPLIT_TEST, &options, CNN_INVALID,
                   "%s/t10k-labels-idx1-ubyte: offset 9: label 1 (counted from 0) is 2, expected 0 to 1", folder);
}

/* ---- CIFAR-10 ---- */

#define RECORD 3073

/* Pixel `at` of record i of file f. */
static uint8_t cifar_pixel(int file, int i, int at)
{
    return (uint8_t)(37 * file + 11 * i + at / 3);
}

/* Two records a file; file 0 is the test's. Returns the bytes. */
static size_t cifar_content(int file, uint8_t bytes[2 * RECORD])
{
    for (int i = 0; i < 2; i++) {
        bytes[i * RECORD] = (uint8_t)((2 * file + i) % 10);
        for (int at = 0; at < RECORD - 1; at++)
            bytes[i * RECORD + 1 + at] = cifar_pixel(file, i, at);
    }
    return 2 * RECORD;
}

static void cifar_name(int file, bool zipped, char name[32])
{
    snprintf(name, 32, file ? "data_batch_%d.bin%s" : "test_batch.bin%.0d%s", file, zipped ? ".gz" : "");
}

static void write_cifar(const char *folder, bool zipped)
{
    static uint8_t bytes[2 * RECORD];
    char name[32];
    for (int file = 0; file < 6; file++) {
        cifar_name(file, zipped, name);
        write_file(folder, name, zipped, bytes, cifar_content(file, bytes));
    }
}

static void cifar10_is_read_plane_by_plane(void **state)
{
    for (int way = 0; way < 4; way++) {
        char folder[FILES_PATH], below[FILES_PATH], name[16];
        snprintf(name, sizeof name, "cifar%d", way);
        make_folder(folder, *state, name);
        make_folder(below, folder, "cifar-10-batches-bin");
        write_cifar(way & 2 ? below : folder, way & 1);
        struct cnn_dataset_options options = { .folder = folder };
        struct cnn_dataset *train = open_set("cifar10", CNN_SPLIT_TRAIN, &options);
        struct cnn_dataset *test = open_set("cifar10", CNN_SPLIT_TEST, &options);
        assert_int_equal(train->count, 10);
        assert_int_equal(train->channels, 3);
        assert_int_equal(train->side, 32);
        assert_int_equal(train->classes, 10);
        assert_int_equal(test->count, 2);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(train->labels[i], (2 * (i / 2 + 1) + i % 2) % 10);
            for (int at = 0; at < 3072; at++)
                assert_int_equal(train->pixels[i * 3072 + at], cifar_pixel(i / 2 + 1, i % 2, at));
        }
        assert_int_equal(test->pixels[3072 + 2048], cifar_pixel(0, 1, 2048)); /* blue, second image */
        cnn_dataset_close(train);
        cnn_dataset_close(test);
    }
}

/* A down-scaled side: every channel by itself. */
static void channels_are_fitted_one_by_one(void **state)
{
    char folder[FILES_PATH];
    make_folder(folder, *state, "small");
    write_cifar(folder, false);
    struct cnn_dataset_options options = { .folder = folder, .side = 16 };
    struct cnn_dataset *data = open_set("cifar10", CNN_SPLIT_TRAIN, &options);
    options.side = 32;
    struct cnn_dataset *own = open_set("cifar10", CNN_SPLIT_TRAIN, &options);
    assert_int_equal(data->side, 16);
    for (int plane = 0; plane < 30; plane++) {
        int sum = 0, own_sum = 0;
        for (int at = 0; at < 256; at++)
            sum += data->pixels[plane * 256 + at];
        for (int at = 0; at < 1024; at++)
            own_sum += own->pixels[plane * 1024 + at];
        assert_in_range(4 * sum + 1024 - own_sum, 0, 2048); /* the mean stays, to one grey level */
    }
    cnn_dataset_close(data);
    cnn_dataset_close(own);
}

static void faults_of_cifar10_are_named(void **state)
{
    static uint8_t bytes[2 * RECORD];
    char folder[FILES_PATH], path[FILES_PATH];
    make_folder(folder, *state, "faulty");
    write_cifar(folder, false);
    struct cnn_dataset_options options = { .folder = folder };
    size_t size = cifar_content(3, bytes);
    files_path(path, folder, "data_batch_3.bin");
    files_write(path, bytes, size - 1);
    assert_refused("cifar10", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: 6,145 bytes, expected a multiple of 3,073, the bytes of a record: truncated download, or no "
                   "CIFAR-10 binary file?",
                   path);
    files_write_zipped(path, bytes, size - 1);
    assert_refused("cifar10", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: 6,145 bytes unpacked, expected a multiple of 3,073, the bytes of a record: truncated download, "
                   "or no CIFAR-10 binary file?",
                   path);
    bytes[RECORD] = 10;
    files_write(path, bytes, size);
    assert_refused("cifar10", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: offset 3073: label of record 1 (counted from 0) is 10, expected 0 to 9: no CIFAR-10 binary "
                   "file?",
                   path);
    assert_int_equal(unlink(path), 0);
    assert_refused(
        "cifar10", CNN_SPLIT_TRAIN, &options, CNN_UNAVAILABLE,
        "cifar10: no data_batch_3.bin, with or without .gz, in %s or %s/cifar-10-batches-bin or %s/cifar10 or "
        "%s/cifar10/cifar-10-batches-bin: give the folder of the CIFAR-10 files with --data DIR or "
        "CONVSCALE_DATA=DIR; to download them: ./run_sweep --fetch cifar10",
        folder, folder, folder, folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused("cifar10", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: is a folder, expected a CIFAR-10 binary file", path);
    cnn_dataset_close(open_set(
        "cifar10", CNN_SPLIT_TEST,
        &(struct cnn_dataset_options){
            .folder = folder, .train = &(struct cnn_dataset){ .name = "cifar10", .side = 32, .deviation = 1 } }));
}

/* What a gzip file says of its length at its end is not believed. */
static void a_false_length_in_gzip_is_seen(void **state)
{
    static uint8_t bytes[2 * RECORD], zipped[4 * RECORD];
    char folder[FILES_PATH], path[FILES_PATH];
    make_folder(folder, *state, "lying");
    write_cifar(folder, false);
    files_path(path, folder, "test_batch.bin");
    size_t size = files_zip(bytes, cifar_content(0, bytes), zipped, sizeof zipped);
    struct cnn_dataset_options options = { .folder = folder };
    uint32_t claims = 1000000 * (uint32_t)RECORD;
    for (int i = 0; i < 4; i++)
        zipped[size - 4 + (size_t)i] = (uint8_t)(claims >> 8 * i);
    files_write(path, zipped, size);
    struct cnn_dataset *data;
    struct cnn_error error;
    assert_int_equal(cnn_dataset_open(&data, "cifar10", CNN_SPLIT_TEST, &options, &error), CNN_INVALID);
    assert_non_null(
        strstr(error.text, "1,000,000 records of 3,073 is 3,073,000,000 bytes of records, expected at most "));
    claims = 3 * RECORD; /* possible, and wrong */
    for (int i = 0; i < 4; i++)
        zipped[size - 4 + (size_t)i] = (uint8_t)(claims >> 8 * i);
    files_write(path, zipped, size);
    assert_int_equal(cnn_dataset_open(&data, "cifar10", CNN_SPLIT_TEST, &options, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, path));
}

/* ---- small NORB ---- */

#define PAIR (2 * 96 * 96)
#define PAIRS 3

static size_t put_words(uint8_t *bytes, const int32_t *words, int count)
{
    for (int i = 0; i < count; i++)
        for (int byte = 0; byte < 4; byte++)
            bytes[4 * i + byte] = (uint8_t)((uint32_t)words[i] >> 8 * byte);
    return 4 * (size_t)count;
}

static uint8_t norb_pixel(int i, int at)
{
    return (uint8_t)(50 * i + at / 96 + 60 * (at >= 96 * 96));
}

/* A split with what is faulty in it. */
struct norb {
    int pairs, labels, infos; /* 0: PAIRS */
    int label, lighting;      /* of the second pair; 0: right ones */
    int32_t magic;            /* of the labels; 0: right */
    int cut;                  /* bytes that are missing from the pixels */
    bool zipped;
};

static void write_norb(const char *folder, bool train, const struct norb *norb)
{
    static uint8_t bytes[24 + PAIRS * PAIR];
    const char *instances = train ? "46789" : "01235", *word = train ? "training" : "testing";
    char name[80];
    int pairs = norb->pairs ? norb->pairs : PAIRS, labels = norb->labels ? norb->labels : PAIRS;
    size_t size = put_words(bytes, (int32_t[]){ 0x1E3D4C55, 4, pairs, 2, 96, 96 }, 6);
    for (int i = 0; i < PAIRS; i++)
        for (int at = 0; at < PAIR; at++)
            bytes[size++] = norb_pixel(i, at);
    snprintf(name, sizeof name, "smallnorb-5x%sx9x18x6x2x96x96-%s-dat.mat%s", instances, word,
             norb->zipped ? ".gz" : "");
    write_file(folder, name, norb->zipped, bytes, size - (size_t)norb->cut);
    size = put_words(bytes, (int32_t[]){ norb->magic ? norb->magic : 0x1E3D4C54, 1, labels, 1, 1 }, 5);
    size += put_words(bytes + size, (int32_t[]){ 4, norb->label ? norb->label : 0, 2 }, PAIRS);
    snprintf(name, sizeof name, "smallnorb-5x%sx9x18x6x2x96x96-%s-cat.mat%s", instances, word,
             norb->zipped ? ".gz" : "");
    write_file(folder, name, norb->zipped, bytes, size);
    size = put_words(bytes, (int32_t[]){ 0x1E3D4C54, 2, norb->infos ? norb->infos : PAIRS, 4, 1 }, 5);
    size += put_words(bytes + size, (int32_t[]){ 9, 8, 34, 5, 0, 0, 0, norb->lighting, 4, 4, 4, 4 }, 4 * PAIRS);
    snprintf(name, sizeof name, "smallnorb-5x%sx9x18x6x2x96x96-%s-info.mat%s", instances, word,
             norb->zipped ? ".gz" : "");
    write_file(folder, name, norb->zipped, bytes, size);
}

static void norb_is_a_pair_of_maps(void **state)
{
    for (int zipped = 0; zipped < 2; zipped++) {
        char folder[FILES_PATH], below[FILES_PATH], name[16];
        snprintf(name, sizeof name, "norb%d", zipped);
        make_folder(folder, *state, name);
        make_folder(below, folder, "norb");
        write_norb(zipped ? below : folder, true, &(struct norb){ .zipped = zipped });
        write_norb(zipped ? below : folder, false, &(struct norb){ .zipped = zipped });
        struct cnn_dataset_options options = { .folder = folder };
        struct cnn_dataset *train = open_set("norb", CNN_SPLIT_TRAIN, &options);
        assert_int_equal(train->count, PAIRS);
        assert_int_equal(train->channels, 2);
        assert_int_equal(train->side, 96);
        assert_int_equal(train->classes, 5);
        assert_int_equal(train->labels[0], 4);
        assert_int_equal(train->labels[2], 2);
        for (int i = 0; i < PAIRS; i++)
            for (int at = 0; at < PAIR; at++)
                assert_int_equal(train->pixels[i * PAIR + at], norb_pixel(i, at));
        options.side = 32;
        struct cnn_dataset *test = open_set("norb", CNN_SPLIT_TEST, &options);
        assert_int_equal(test->side, 32);
        assert_int_equal(test->pixels[1024], norb_pixel(0, 96 * 96 + 96)); /* the second eye's first three rows' mean */
        cnn_dataset_close(train);
        cnn_dataset_close(test);
    }
}

static void faults_of_norb_are_named(void **state)
{
    static const struct {
        struct norb norb;
        const char *file, *text;
    } faults[] = {
        { { .magic = 0x1E3D4C55 },
          "cat",
          "offset 0: magic 1e3d4c55, expected 1e3d4c54 (labels): another file's name?" },
        { { .magic = 0x544C3D1E }, "cat", "offset 0: magic 544c3d1e, expected 1e3d4c54 (labels)" },
        { { .magic = 0x0a216948 }, "cat", "offset 0: magic 0a216948, expected 1e3d4c54 (labels)" },
        { { .label = 5 }, "cat", "offset 24: label 1 (counted from 0) is 5, expected 0 to 4" },
        { { .label = -1 }, "cat", "offset 24: label 1 (counted from 0) is -1, expected 0 to 4" },
        { { .labels = 2 }, "cat", "offset 8: dimension 1 is 2, expected 3" },
        { { .infos = 4 }, "info", "offset 8: dimension 1 is 4, expected 3" },
        { { .lighting = 6 }, "info", "offset 48: lighting of image 1 is 6, expected 0 to 5" },
        { { .cut = 1 },
          "dat",
          "55,295 bytes of pixels from offset 24 on, expected 55,296 (3 x 2 x 96 x 96): truncated download?" },
        { { .pairs = 2000000000 },
          "dat",
          "offset 8: absurd size 2,000,000,000 x 2 x 96 x 96, expected at most "
          "17,179,869,184 bytes in all" },
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char folder[FILES_PATH], name[16];
        snprintf(name, sizeof name, "wrong%zu", i);
        make_folder(folder, *state, name);
        write_norb(folder, true, &faults[i].norb);
        struct cnn_dataset_options options = { .folder = folder };
        assert_refused("norb", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                       "%s/smallnorb-5x46789x9x18x6x2x96x96-training-%s.mat: %s", folder, faults[i].file,
                       faults[i].text);
    }
}

static void a_page_or_nothing_in_place_of_norb(void **state)
{
    char folder[FILES_PATH], path[FILES_PATH];
    make_folder(folder, *state, "page");
    write_norb(folder, true, &(struct norb){ .cut = 0 });
    struct cnn_dataset_options options = { .folder = folder };
    files_path(path, folder, "smallnorb-5x46789x9x18x6x2x96x96-training-dat.mat");
    files_write(path, "<!DOCTYPE html><title>Not here</title>", 38);
    assert_refused("norb", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: looks like a web page, not a NORB file: '<' at its start, expected magic 1e3d4c55, "
                   "little-endian; download the file itself",
                   path);
    files_write(path, "\x55\x4c\x3d\x1e\4\0\0\0", 8);
    assert_refused("norb", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: ends at offset 8 within its header, expected 24 bytes: truncated download?", path);
    files_write(path, "", 0);
    assert_refused("norb", CNN_SPLIT_TRAIN, &options, CNN_INVALID,
                   "%s: is empty, expected a NORB file: failed download?", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fashion_lies_in_a_folder_of_its_own),
        cmocka_unit_test(any_idx_set),
        cmocka_unit_test(cifar10_is_read_plane_by_plane),
        cmocka_unit_test(channels_are_fitted_one_by_one),
        cmocka_unit_test(faults_of_cifar10_are_named),
        cmocka_unit_test(a_false_length_in_gzip_is_seen),
        cmocka_unit_test(norb_is_a_pair_of_maps),
        cmocka_unit_test(faults_of_norb_are_named),
        cmocka_unit_test(a_page_or_nothing_in_place_of_norb),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
