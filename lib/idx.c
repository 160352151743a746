/* SPDX-License-Identifier: MIT */
/* IDX files, the format of MNIST: two zero bytes, element type, rank, one big-endian 32-bit size per dimension, then
 * the elements (http://yann.lecun.com/exdb/mnist). */
#include "lib/checked.h"
#include "lib/data_file.h"
#include "lib/dataset.h"

#include <stdio.h>

#define IDX_UNSIGNED_BYTE 0x08
#define IDX_RANK_MAX 4
#define IDX_HEADER_MAX (4 + 4 * IDX_RANK_MAX)

static const char *element_name(int rank)
{
    return rank == 1 ? "labels" : "pixels";
}

/* The four magic bytes, each with its likely mistake. */
static int idx_check_magic(const struct cnn_data_file *file, int rank, const uint8_t *head, int64_t got,
                           struct cnn_error *error)
{
    const char *path = file->path;
    char expected[32];
    snprintf(expected, sizeof expected, "bytes 00 00 08 %02x", rank);
    if (cnn_data_file_disguise(file, head, got, expected, error))
        return error->status;
    if (got < 4)
        return cnn_error_set(error, CNN_INVALID, "%s: ends at offset %d within the magic number, expected %s", path,
                             (int)got, expected);
    if (head[0] || head[1])
        return cnn_error_set(error, CNN_INVALID,
                             "%s: offset 0: found bytes %02x %02x %02x %02x, expected 00 00 08 "
                             "%02x: no IDX file%s",
                             path, head[0], head[1], head[2], head[3], rank,
                             head[1] == IDX_UNSIGNED_BYTE && !head[2] && !head[3] ? " (bytes in reverse order?)" : "");
    if (head[2] != IDX_UNSIGNED_BYTE)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 2: element type %02x, expected 08 (unsigned bytes)", path,
                             head[2]);
    if (head[3] != rank)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 3: %d dimension%s, expected %d (%s)%s", path, head[3],
                             head[3] == 1 ? "" : "s", rank, element_name(rank),
                             head[3] == 1 && rank == 3   ? ": a label file under an image file's name?"
                             : head[3] == 3 && rank == 1 ? ": an image file under a label file's name?"
                                                         : "");
    return CNN_OK;
}

/* Reads the header; *elements is what the dimensions promise, checked against what the file can hold at all. */
static int idx_header(struct cnn_data_file *file, int rank, int64_t dims[4], int64_t *elements, struct cnn_error *error)
{
    uint8_t head[IDX_HEADER_MAX];
    char text[128];
    int64_t got, bytes = 4 + 4 * (int64_t)rank;
    if (cnn_data_file_fill(file, head, bytes, &got, error) || idx_check_magic(file, rank, head, got, error))
        return error->status;
    if (got < bytes)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: ends at offset %d within its header, expected %d bytes: "
                             "truncated download?",
                             file->path, (int)got, (int)bytes);
    bool fits = true;
    *elements = 1;
    for (int i = 0; i < 4; i++) {
        const uint8_t *b = head + 4 + 4 * i;
        dims[i] = i < rank ? (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3] : 1;
        if (dims[i] == 0)
            return cnn_error_set(error, CNN_INVALID, "%s: offset %d: dimension %d is 0, expected at least 1",
                                 file->path, 4 + 4 * i, i + 1);
        fits = fits && cnn_mul(*elements, dims[i], elements);
    }
    cnn_dims_text(dims, rank, text, sizeof text);
    if (!fits || *elements > CNN_DATA_BYTES_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 4: absurd size %s, expected at most %s bytes in all",
                             file->path, text, cnn_grouped(CNN_DATA_BYTES_MAX).text);
    return CNN_OK;
}

int cnn_idx_read(const char *path, int rank, int64_t dims[4], uint8_t **bytes, struct cnn_error *error)
{
    struct cnn_data_file file;
    struct cnn_error own;
    char shape[128];
    int64_t elements = 0;
    error = error ? error : &own;
    *bytes = NULL;
    if (rank < 1 || rank > IDX_RANK_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: asked for %d dimensions, expected 1 to %d", path, rank,
                             IDX_RANK_MAX);
    int status = cnn_data_file_open(&file, path, "an IDX file", error);
    if (!status)
        status = idx_header(&file, rank, dims, &elements, error);
    if (!status)
        status = cnn_data_file_rest(&file, 4 + 4 * rank, elements, element_name(rank),
                                    cnn_dims_text(dims, rank, shape, sizeof shape), bytes, error);
    cnn_data_file_close(&file);
    return status;
}
