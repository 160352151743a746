/* SPDX-License-Identifier: MIT */
/* Small NORB (LeCun, Huang, Bottou, CVPR 2004): stereo pairs of toys, two maps of 96 x 96. Three files for each split,
 * matrices of one format: 32-bit little-endian magic, number of dimensions, then sizes, at least three of them always
 * stored, then the elements. "dat" are pixels, "cat" the labels 0..4, "info" instance, elevation, azimuth, lighting. */
#include "lib/checked.h"
#include "lib/data_file.h"
#include "lib/raw.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC_BYTES 0x1E3D4C55u
#define MAGIC_INTS 0x1E3D4C54u
#define SIZES_LEAST 3
#define RANK_MAX 4
#define CHANNELS 2
#define SIDE 96
#define CLASSES 5
#define INFOS 4

/* What a file must be. A dimension of 0 is any. */
struct matrix {
    const char *word; /* "dat" */
    uint32_t magic;
    int element; /* bytes */
    int rank;
    int64_t dims[RANK_MAX];
    const char *what;
};

static uint32_t word_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static int check_magic(const struct cnn_data_file *file, const struct matrix *matrix, const uint8_t *head, int64_t got,
                       struct cnn_error *error)
{
    char expected[48];
    snprintf(expected, sizeof expected, "magic %08x, little-endian", matrix->magic);
    if (got < 4)
        return cnn_error_set(error, CNN_INVALID, "%s: ends at offset %lld within the magic number, expected %s",
                             file->path, (long long)got, expected);
    if (word_at(head) == matrix->magic)
        return CNN_OK;
    if (cnn_data_file_disguise(file, head, got, expected, error))
        return error->status;
    return cnn_error_set(error, CNN_INVALID, "%s: offset 0: magic %08x, expected %08x (%s)%s", file->path,
                         word_at(head), matrix->magic, matrix->what,
                         word_at(head) == MAGIC_BYTES || word_at(head) == MAGIC_INTS ? ": another file's name?" : "");
}

/* Rank and sizes; those that are any are set. *header: bytes before the elements. */
static int read_sizes(struct cnn_data_file *file, struct matrix *matrix, int64_t *header, struct cnn_error *error)
{
    uint8_t head[8 + 4 * RANK_MAX];
    int64_t got;
    int stored = matrix->rank > SIZES_LEAST ? matrix->rank : SIZES_LEAST;
    *header = 8 + 4 * (int64_t)stored;
    if (cnn_data_file_fill(file, head, *header, &got, error) || check_magic(file, matrix, head, got, error))
        return error->status;
    if (got < *header)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: ends at offset %lld within its header, expected %lld bytes: truncated download?",
                             file->path, (long long)got, (long long)*header);
    if (word_at(head + 4) != (uint32_t)matrix->rank)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 4: %u dimensions, expected %d (%s)", file->path,
                             word_at(head + 4), matrix->rank, matrix->what);
    for (int i = 0; i < matrix->rank; i++) {
        int64_t size = word_at(head + 8 + 4 * i);
        if (matrix->dims[i] == 0 && size > 0)
            matrix->dims[i] = size;
        if (matrix->dims[i] != size || size == 0)
            return cnn_error_set(error, CNN_INVALID, "%s: offset %d: dimension %d is %lld, expected %s", file->path,
                                 8 + 4 * i, i + 1, (long long)size,
                                 matrix->dims[i] ? cnn_grouped(matrix->dims[i]).text : "at least 1");
    }
    return CNN_OK;
}

static int matrix_read(char path[PATH_MAX], const struct cnn_dataset_kind *kind, const char *folder,
                       enum cnn_split split, struct matrix *matrix, uint8_t **bytes, struct cnn_error *error)
{
    struct cnn_data_file file;
    char name[80], shape[128];
    int64_t header, size = matrix->element;
    snprintf(name, sizeof name, "smallnorb-5x%sx9x18x6x2x96x96-%s-%s.mat", split == CNN_SPLIT_TRAIN ? "46789" : "01235",
             split == CNN_SPLIT_TRAIN ? "training" : "testing", matrix->word);
    int status = cnn_raw_find(path, kind, folder, (const char *const[]){ name, NULL }, error);
    if (status)
        return status;
    status = cnn_data_file_open(&file, path, "a NORB file", error);
    if (!status)
        status = read_sizes(&file, matrix, &header, error);
    for (int i = 0; i < matrix->rank && !status; i++)
        if (!cnn_mul(size, matrix->dims[i], &size) || size > CNN_DATA_BYTES_MAX)
            status = cnn_error_set(error, CNN_INVALID, "%s: offset 8: absurd size %s, expected at most %s bytes in all",
                                   path, cnn_dims_text(matrix->dims, matrix->rank, shape, sizeof shape),
                                   cnn_grouped(CNN_DATA_BYTES_MAX).text);
    if (!status)
        status = cnn_data_file_rest(&file, header, size, matrix->what,
                                    cnn_dims_text(matrix->dims, matrix->rank, shape, sizeof shape), bytes, error);
    cnn_data_file_close(&file);
    return status;
}

static int labels_read(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                       enum cnn_split split, struct cnn_error *error)
{
    struct matrix matrix = { "cat", MAGIC_INTS, 4, 1, { raw->count }, "labels" };
    char path[PATH_MAX];
    uint8_t *words = NULL;
    int status = matrix_read(path, kind, folder, split, &matrix, &words, error);
    raw->labels = status ? NULL : malloc((size_t)raw->count);
    if (!status && !raw->labels)
        status = cnn_error_set(error, CNN_OOM, "%s: no memory for %lld labels", path, (long long)raw->count);
    for (int64_t i = 0; i < raw->count && !status; i++) {
        uint32_t label = word_at(words + 4 * i);
        raw->labels[i] = (uint8_t)label;
        if (label >= CLASSES)
            status = cnn_error_set(error, CNN_INVALID,
                                   "%s: offset %lld: label %lld (counted from 0) is %d, expected 0 to %d", path,
                                   20 + 4 * (long long)i, (long long)i, (int32_t)label, CLASSES - 1);
    }
    free(words);
    return status;
}

/* Nothing is trained on it; that it fits shows that the files belong together. */
static int info_check(const struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                      enum cnn_split split, struct cnn_error *error)
{
    static const struct {
        const char *name;
        uint32_t most;
    } columns[INFOS] = { { "instance", 9 }, { "elevation", 8 }, { "azimuth", 34 }, { "lighting", 5 } };
    struct matrix matrix = { "info", MAGIC_INTS, 4, 2, { raw->count, INFOS }, "infos" };
    char path[PATH_MAX];
    uint8_t *words = NULL;
    int status = matrix_read(path, kind, folder, split, &matrix, &words, error);
    for (int64_t i = 0; i < raw->count * INFOS && !status; i++)
        if (word_at(words + 4 * i) > columns[i % INFOS].most)
            status = cnn_error_set(error, CNN_INVALID, "%s: offset %lld: %s of image %lld is %d, expected 0 to %u",
                                   path, 20 + 4 * (long long)i, columns[i % INFOS].name, (long long)i / INFOS,
                                   (int32_t)word_at(words + 4 * i), columns[i % INFOS].most);
    free(words);
    return status;
}

static int norb_read(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder, enum cnn_split split,
                     struct cnn_error *error)
{
    struct matrix matrix = { "dat", MAGIC_BYTES, 1, 4, { 0, CHANNELS, SIDE, SIDE }, "pixels" };
    int status = matrix_read(raw->path, kind, folder, split, &matrix, &raw->pixels, error);
    if (status)
        return status;
    raw->count = matrix.dims[0];
    raw->channels = CHANNELS;
    raw->side = SIDE;
    raw->classes = CLASSES;
    status = labels_read(raw, kind, folder, split, error);
    return status ? status : info_check(raw, kind, folder, split, error);
}

static const char *const below[] = { "", "/norb", "/smallnorb", NULL };

const struct cnn_dataset_kind cnn_dataset_norb = {
    .name = "norb",
    .summary = "small NORB: 24,300 and 24,300 stereo pairs of five kinds of toys, 2 x 96 x 96",
    .files = &(const struct cnn_file_set){ "small NORB", below, NULL, false, CLASSES, norb_read },
};
