/* SPDX-License-Identifier: MIT */
/* IDX files: what is right is read alike plain and gzipped, whatever its name; what is wrong is one sentence that names
 * file, offset, found and expected. */
#include "tests/unit/files.h"

#include "lib/dataset.h"

#include <stdbool.h>

/* 3 images of 2 x 4 pixels, counting up from 1. */
#define IMAGES_BYTES (16 + 24)

static void images_content(uint8_t bytes[IMAGES_BYTES])
{
    size_t header = files_idx_header(bytes, 3, (uint32_t[]){ 3, 2, 4 });
    for (size_t i = 0; i < 24; i++)
        bytes[header + i] = (uint8_t)(i + 1);
}

/* Reading fails with this status; the sentence is the path and this text. */
static void assert_refused(const char *path, int rank, enum cnn_status status, const char *text)
{
    int64_t dims[4];
    uint8_t *bytes = (uint8_t *)&dims;
    struct cnn_error error = { CNN_OK, "" };
    char expected[sizeof error.text];
    int length = snprintf(expected, sizeof expected, "%s: %s", path, text);
    assert_in_range(length, 1, sizeof expected - 1);
    assert_int_equal(cnn_idx_read(path, rank, dims, &bytes, &error), status);
    assert_int_equal(error.status, status);
    assert_string_equal(error.text, expected);
    assert_null(bytes);
    assert_int_equal(cnn_idx_read(path, rank, dims, &bytes, NULL), status); /* and nobody has to listen */
}

static void assert_images(const char *path)
{
    uint8_t content[IMAGES_BYTES], *bytes;
    int64_t dims[4];
    struct cnn_error error = { CNN_OK, "" };
    images_content(content);
    if (cnn_idx_read(path, 3, dims, &bytes, &error))
        fail_msg("%s", error.text);
    assert_int_equal(dims[0], 3);
    assert_int_equal(dims[1], 2);
    assert_int_equal(dims[2], 4);
    assert_int_equal(dims[3], 1);
    assert_memory_equal(bytes, content + 16, 24);
    free(bytes);
}

static void content_not_name_tells_gzip(void **state)
{
    uint8_t content[IMAGES_BYTES];
    char path[FILES_PATH];
    images_content(content);
    files_path(path, *state, "plain");
    files_write(path, content, sizeof content);
    assert_images(path);
    files_path(path, *state, "plain-too.gz");
    files_write(path, content, sizeof content);
    assert_images(path);
    files_path(path, *state, "zipped.gz");
    files_write_zipped(path, content, sizeof content);
    assert_images(path);
    files_path(path, *state, "zipped-too");
    files_write_zipped(path, content, sizeof content);
    assert_images(path);
}

static void labels_have_one_dimension(void **state)
{
    uint8_t content[8 + 5], *bytes;
    int64_t dims[4];
    char path[FILES_PATH];
    size_t header = files_idx_header(content, 1, (uint32_t[]){ 5 });
    memcpy(content + header, "\7\2\1\0\4", 5);
    files_path(path, *state, "labels");
    files_write(path, content, sizeof content);
    assert_int_equal(cnn_idx_read(path, 1, dims, &bytes, NULL), CNN_OK);
    assert_int_equal(dims[0], 5);
    assert_int_equal(dims[1] * dims[2] * dims[3], 1);
    assert_memory_equal(bytes, "\7\2\1\0\4", 5);
    free(bytes);
    assert_refused(path, 3, CNN_INVALID,
                   "offset 3: 1 dimension, expected 3 (pixels): a label file under an image file's name?");
    assert_refused(path, 7, CNN_INVALID, "asked for 7 dimensions, expected 1 to 4");
}

static void a_path_that_is_no_file(void **state)
{
    char path[FILES_PATH], below[FILES_PATH + 8];
    files_path(path, *state, "missing");
    assert_refused(path, 3, CNN_UNAVAILABLE, "cannot be read: No such file or directory");
    assert_refused(*state, 3, CNN_INVALID, "is a folder, expected an IDX file");
    assert_refused("/dev/null", 3, CNN_INVALID, "is no regular file, expected an IDX file");
    files_path(path, *state, "loop"); /* unreadable, even for root */
    assert_int_equal(symlink(path, path), 0);
    assert_refused(path, 3, CNN_ERROR, "cannot be read: Too many levels of symbolic links");
    files_path(path, *state, "file");
    files_write(path, "", 0);
    assert_refused(path, 3, CNN_INVALID, "is empty, expected an IDX file: failed download?");
    snprintf(below, sizeof below, "%s/below", path);
    assert_refused(below, 3, CNN_ERROR, "cannot be read: Not a directory");
}

/* Root reads every file, so root becomes somebody else for a moment. */
static void permission_denied_is_said(void **state)
{
    char path[FILES_PATH];
    bool root = geteuid() == 0;
    files_path(path, *state, "forbidden");
    files_write(path, "x", 1);
    assert_int_equal(chmod(path, 0), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    assert_refused(path, 3, CNN_ERROR, "cannot be read: Permission denied");
    if (root)
        assert_int_equal(seteuid(0), 0);
}

static void content_that_is_no_idx(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *text;
    } cases[] = {
        { "<!DOCTYPE html><html></html>", 28,
          "looks like a web page, not an IDX file: '<' at its start, expected bytes 00 00 08 03; download the file "
          "itself" },
        { "\xef\xbb\xbf\r\n <a>", 9,
          "looks like a web page, not an IDX file: '<' at its start, expected bytes 00 00 08 03; download the file "
          "itself" },
        { "version https://git-lfs", 23,
          "looks like text (\"vers\" at its start), not an IDX file, expected bytes 00 00 08 03" },
        { "\3\10\0\0\0\0\0\1\0\0\0\1\0\0\0\1", 16,
          "offset 0: found bytes 03 08 00 00, expected 00 00 08 03: no IDX file (bytes in reverse order?)" },
        { "\x89PNG\r\n\x1a\n12345678", 16, "offset 0: found bytes 89 50 4e 47, expected 00 00 08 03: no IDX file" },
        { "\0\0\xd\3\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\0", 20, "offset 2: element type 0d, expected 08 (unsigned bytes)" },
        { "\0\0\10\2\0\0\0\1\0\0\0\1\0\0\0\1", 16, "offset 3: 2 dimensions, expected 3 (pixels)" },
        { "\0\0\10", 3, "ends at offset 3 within the magic number, expected bytes 00 00 08 03" },
        { "\0\0\10\3\0\0\0\1\0\0", 10, "ends at offset 10 within its header, expected 16 bytes: truncated download?" },
        { "\0\0\10\3\0\0\0\1\0\0\0\0\0\0\0\1", 16, "offset 8: dimension 2 is 0, expected at least 1" },
    };
    char path[FILES_PATH];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        files_path(path, *state, "wrong");
        files_write(path, cases[i].bytes, cases[i].count);
        assert_refused(path, 3, CNN_INVALID, cases[i].text);
        files_path(path, *state, "wrong.gz");
        files_write_zipped(path, cases[i].bytes, cases[i].count);
        assert_refused(path, 3, CNN_INVALID, cases[i].text);
    }
}

static void an_image_file_under_a_label_name(void **state)
{
    uint8_t content[IMAGES_BYTES];
    char path[FILES_PATH];
    images_content(content);
    files_path(path, *state, "labels");
    files_write(path, content, sizeof content);
    assert_refused(path, 1, CNN_INVALID,
                   "offset 3: 3 dimensions, expected 1 (labels): an image file under a label file's name?");
}

/* Files that are shorter or longer than their header says, by one byte and by many. */
static void lengths_must_agree(void **state)
{
    static const struct {
        size_t count;
        const char *plain, *zipped;
    } cases[] = {
        { IMAGES_BYTES - 1, "23 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): truncated download?",
          "23 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): truncated download?" },
        { 16, "0 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): truncated download?",
          "0 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): truncated download?" },
        { IMAGES_BYTES + 1,
          "25 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): not the file its header says",
          "at least 25 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): not the file its header says" },
        { IMAGES_BYTES + 1000,
          "1,024 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): not the file its header says",
          "at least 25 bytes of pixels from offset 16 on, expected 24 (3 x 2 x 4): not the file its header says" },
    };
    uint8_t content[IMAGES_BYTES + 1000] = { 0 };
    char path[FILES_PATH];
    images_content(content);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        files_path(path, *state, "length");
        files_write(path, content, cases[i].count);
        assert_refused(path, 3, CNN_INVALID, cases[i].plain);
        files_path(path, *state, "length.gz");
        files_write_zipped(path, content, cases[i].count);
        assert_refused(path, 3, CNN_INVALID, cases[i].zipped);
    }
}

/* Sizes that no memory should be asked for: beyond 63 bits, beyond any set, beyond what the file can hold. */
static void absurd_sizes_are_refused_before_memory_is_taken(void **state)
{
    uint8_t content[20] = { 0 }, zipped[64];
    char path[FILES_PATH], text[256];
    files_path(path, *state, "absurd");
    files_idx_header(content, 3, (uint32_t[]){ 0xffffffff, 0xffffffff, 0xffffffff });
    files_write(path, content, sizeof content);
    assert_refused(path, 3, CNN_INVALID,
                   "offset 4: absurd size 4,294,967,295 x 4,294,967,295 x 4,294,967,295, "
                   "expected at most 17,179,869,184 bytes in all");
    files_idx_header(content, 3, (uint32_t[]){ 0x10000, 0x10000, 8 });
    files_write_zipped(path, content, sizeof content);
    assert_refused(path, 3, CNN_INVALID,
                   "offset 4: absurd size 65,536 x 65,536 x 8, expected at most 17,179,869,184 bytes in all");
    files_idx_header(content, 3, (uint32_t[]){ 60000, 28, 28 });
    files_write(path, content, sizeof content);
    assert_refused(path, 3, CNN_INVALID,
                   "4 bytes of pixels from offset 16 on, expected 47,040,000 (60,000 x 28 x 28): truncated download?");
    int size = (int)files_zip(content, sizeof content, zipped, sizeof zipped);
    files_write(path, zipped, (size_t)size);
    snprintf(text, sizeof text,
             "offset 4: 60,000 x 28 x 28 is 47,040,000 bytes of pixels, expected at most %d,%03d, "
             "all that %d gzipped bytes can hold",
             size * 1032 / 1000, size * 1032 % 1000, size);
    assert_refused(path, 3, CNN_INVALID, text);
}

/* Cut anywhere, or with a bit of its data or checksum turned over, a gzip file is never read as if it were whole. One
 * bit alone means nothing: the one tried in the padding behind the data. */
static void damaged_gzip_is_never_read(void **state)
{
    uint8_t content[IMAGES_BYTES], zipped[256];
    char path[FILES_PATH];
    int64_t dims[4];
    uint8_t *bytes;
    struct cnn_error error;
    images_content(content);
    size_t size = files_zip(content, sizeof content, zipped, sizeof zipped);
    files_path(path, *state, "damaged.gz");
    for (size_t cut = 1; cut < size; cut++) {
        files_write(path, zipped, cut);
        assert_int_equal(cnn_idx_read(path, 3, dims, &bytes, &error), CNN_INVALID);
        assert_null(bytes);
        assert_memory_equal(error.text, path, strlen(path));
    }
    size_t refused = 0;
    for (size_t at = 10; at < size; at++) { /* behind the gzip header, whose flags and time mean nothing here */
        zipped[at] ^= 0x10;
        files_write(path, zipped, size);
        if (cnn_idx_read(path, 3, dims, &bytes, &error) == CNN_OK)
            assert_memory_equal(bytes, content + 16, sizeof content - 16);
        else
            refused++;
        free(bytes);
        zipped[at] ^= 0x10;
    }
    assert_true(refused + 1 >= size - 10);
}

static void truncated_and_damaged_gzip_say_so(void **state)
{
    uint8_t content[IMAGES_BYTES], zipped[256];
    char path[FILES_PATH], text[256];
    images_content(content);
    size_t size = files_zip(content, sizeof content, zipped, sizeof zipped);
    files_path(path, *state, "bad.gz");
    files_write(path, zipped, size - 4); /* within the trailer: every pixel is there, but not vouched for */
    snprintf(text, sizeof text, "gzip data ends early, after %d bytes: truncated download?", (int)size - 4);
    assert_refused(path, 3, CNN_INVALID, text);
    zipped[size - 8] ^= 1; /* the checksum */
    files_write(path, zipped, size);
    struct cnn_error error; /* where zlib notices and how it says so is zlib's own */
    int64_t dims[4];
    uint8_t *bytes;
    assert_int_equal(cnn_idx_read(path, 3, dims, &bytes, &error), CNN_INVALID);
    assert_memory_equal(error.text, path, strlen(path));
    assert_non_null(strstr(error.text, ".gz: damaged gzip data at or before offset 5"));
    assert_non_null(strstr(error.text, ": zlib says: incorrect data check"));
}

static void gzip_within_gzip(void **state)
{
    uint8_t content[IMAGES_BYTES], zipped[256];
    char path[FILES_PATH];
    images_content(content);
    size_t size = files_zip(content, sizeof content, zipped, sizeof zipped);
    files_path(path, *state, "twice.gz");
    files_write_zipped(path, zipped, size);
    assert_refused(path, 3, CNN_INVALID,
                   "offset 0: still gzip data after unzipping, expected bytes 00 00 08 03: compressed twice?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_not_name_tells_gzip),
        cmocka_unit_test(labels_have_one_dimension),
        cmocka_unit_test(a_path_that_is_no_file),
        cmocka_unit_test(permission_denied_is_said),
        cmocka_unit_test(content_that_is_no_idx),
        cmocka_unit_test(an_image_file_under_a_label_name),
        cmocka_unit_test(lengths_must_agree),
        cmocka_unit_test(absurd_sizes_are_refused_before_memory_is_taken),
        cmocka_unit_test(damaged_gzip_is_never_read),
        cmocka_unit_test(truncated_and_damaged_gzip_say_so),
        cmocka_unit_test(gzip_within_gzip),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
