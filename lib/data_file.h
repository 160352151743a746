/* SPDX-License-Identifier: MIT */
/* Inside the data rooms only: a file of a data set, plain or gzipped by content, never by name (zlib's gzread() reads
 * both), and the sentences that all formats share. */
#ifndef CNN_LIB_DATA_FILE_H
#define CNN_LIB_DATA_FILE_H

#include "lib/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#define CNN_DATA_BYTES_MAX ((int64_t)1 << 34) /* 16 GiB of content: beyond any data set meant here */

struct cnn_data_file {
    const char *path, *what; /* "an IDX file" */
    gzFile stream;
    int64_t size; /* on disk */
    bool zipped;
};

/* CNN_UNAVAILABLE where there is no such file. Close it in either case. */
int cnn_data_file_open(struct cnn_data_file *file, const char *path, const char *what, struct cnn_error *error);
void cnn_data_file_close(struct cnn_data_file *file);

/* Reads up to `want` bytes; *got is less only where the content ends. */
int cnn_data_file_fill(struct cnn_data_file *file, void *out, int64_t want, int64_t *got, struct cnn_error *error);

/* All of the content that is left, known to be `bytes` (of `what`) by a header of `header` bytes before it or by the
 * format; `shape` says why. *out is malloc'd when the file is known to be able to hold so much, NULL after a failure.
 */
int cnn_data_file_rest(struct cnn_data_file *file, int64_t header, int64_t bytes, const char *what, const char *shape,
                       uint8_t **out, struct cnn_error *error);

/* The first bytes are those of a web page or an archive, saved or compressed in place of data: CNN_INVALID with a
 * sentence; CNN_OK where nothing of that kind is seen. `expected` is what should be there: "bytes 00 00 08 03". */
int cnn_data_file_disguise(const struct cnn_data_file *file, const uint8_t *head, int64_t count, const char *expected,
                           struct cnn_error *error);

/* "47,040,000": numbers of this length are not readable without. */
struct cnn_grouped {
    char text[32];
};
struct cnn_grouped cnn_grouped(int64_t value);

/* "60,000 x 28 x 28" */
const char *cnn_dims_text(const int64_t *dims, int rank, char *out, size_t size);

#endif
