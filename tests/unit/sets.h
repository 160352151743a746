/* SPDX-License-Identifier: MIT */
/* What the tests of data sets in files share: folders, files in them, sets that open or are refused. */
#ifndef TESTS_UNIT_SETS_H
#define TESTS_UNIT_SETS_H

#include "tests/unit/files.h"

#include "lib/dataset.h"

#include <stdbool.h>

static inline void write_file(const char *folder, const char *name, bool zipped, const uint8_t *bytes, size_t count)
{
    char path[FILES_PATH];
    files_path(path, folder, name);
    (zipped ? files_write_zipped : files_write)(path, bytes, count);
}

/* A new folder below the test's own. */
static inline void make_folder(char path[FILES_PATH], const char *folder, const char *name)
{
    files_path(path, folder, name);
    if (mkdir(path, 0700))
        fail_msg("%s cannot be made", path);
}

static inline struct cnn_dataset *open_set(const char *name, enum cnn_split split,
                                           const struct cnn_dataset_options *options)
{
    struct cnn_dataset *data = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_dataset_open(&data, name, split, options, &error))
        fail_msg("%s", error.text);
    return data;
}

static inline void assert_refused(const char *name, enum cnn_split split, const struct cnn_dataset_options *options,
                                  enum cnn_status status, const char *format, ...)
{
    struct cnn_dataset *data = (struct cnn_dataset *)&status;
    struct cnn_error error = { CNN_OK, "" };
    char expected[2 * sizeof error.text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    assert_int_equal(cnn_dataset_open(&data, name, split, options, &error), status);
    assert_int_equal(error.status, status);
    assert_string_equal(error.text, expected);
    assert_null(data);
}

#endif
