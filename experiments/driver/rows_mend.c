/* SPDX-License-Identifier: MIT */
/* A run that broke off, made whole: every file of its folder ends with the last point that has a row. Samples and
 * epochs are on disk before their row, so that only they can be without one. */
#include "experiments/driver/durable.h"
#include "experiments/driver/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 4096
#define LINES_BYTES_MAX ((int64_t)4 << 30) /* a sample has about 60 bytes */

/* Whether a file ended within its header, or before; then nothing of it is worth keeping. */
static bool only_torn_header(const char *text, size_t size, const char *header)
{
    return size < strlen(header) && strncmp(text, header, size) == 0;
}

/* How many bytes of samples or epochs belong to the first `count` rows; every line starts with its row's number. */
static size_t whole_lines(const char *text, const char *header, int64_t count)
{
    const char *at = text + strlen(header);
    for (const char *end; (end = strchr(at, '\n')); at = end + 1) {
        char *behind;
        int64_t row = strtoll(at, &behind, 10);
        if (*behind != ',' || row < 1 || row > count)
            break;
    }
    return (size_t)(at - text);
}

static int cut(const char *path, size_t from, size_t to, struct cnn_error *error)
{
    return from == to ? CNN_OK : durable_cut(path, (int64_t)to, error);
}

/* One of the files beside the rows; one that is missing will be made. */
static int mend_lines(const char *folder, const char *name, const char *header, int64_t count, struct cnn_error *error)
{
    char path[PATH_TEXT];
    size_t size = 0;
    struct stat there;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (stat(path, &there) && errno == ENOENT)
        return CNN_OK;
    char *text = durable_read(path, LINES_BYTES_MAX, &size, error);
    if (!text)
        return error->status;
    int status;
    if (only_torn_header(text, size, header))
        status = cut(path, size, 0, error);
    else if (strncmp(text, header, strlen(header)) != 0)
        status = cnn_error_set(error, CNN_INVALID, "%s:1: has other columns than this version writes", path);
    else
        status = cut(path, size, whole_lines(text, header, count), error);
    free(text);
    return status;
}

/* Cuts the rows and counts them. They must have the very columns that would be added. */
static int mend_rows(const char *path, const char *header, int64_t *count, struct cnn_error *error)
{
    struct rows rows;
    size_t size = 0;
    char *text = durable_read(path, LINES_BYTES_MAX, &size, error);
    if (!text)
        return error->status;
    int status = CNN_OK;
    *count = 0;
    if (only_torn_header(text, size, header)) {
        status = cut(path, size, 0, error);
    } else if (strncmp(text, header, strlen(header)) != 0) {
        status = cnn_error_set(error, CNN_INVALID, "%s:1: has other columns than schema %d: start a new run", path,
                               ROWS_SCHEMA);
    } else if (!(status = rows_read(&rows, path, error))) {
        *count = rows.count;
        status = cut(path, size, (size_t)rows.whole, error);
        rows_free(&rows);
    }
    free(text);
    return status;
}

int rows_mend(const char *folder, int64_t *count, struct cnn_error *error)
{
    char path[PATH_TEXT], *header = rows_header_text();
    if (!header)
        return cnn_error_set(error, CNN_OOM, "rows: no memory for the header");
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    int status = mend_rows(path, header, count, error);
    free(header);
    if (status == CNN_OK)
        status = mend_lines(folder, "samples.csv", rows_samples_header, *count, error);
    if (status == CNN_OK)
        status = mend_lines(folder, "epochs.csv", rows_epochs_header, *count, error);
    if (status == CNN_OK)
        status = mend_lines(folder, "layers.csv", rows_layers_header, *count, error);
    return status;
}
