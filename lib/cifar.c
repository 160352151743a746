/* SPDX-License-Identifier: MIT */
/* CIFAR-10, binary version (Krizhevsky 2009): five training files and one test file of records without a header: a
 * label byte 0..9, then 1,024 red, 1,024 green, 1,024 blue pixels, 32 x 32 row by row. */
#include "lib/checked.h"
#include "lib/data_file.h"
#include "lib/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 32
#define CHANNELS 3
#define CLASSES 10
#define PIXELS (CHANNELS * SIDE * SIDE)
#define RECORD (1 + PIXELS)
#define FILES 5

/* Content of one file. */
struct part {
    char path[PATH_MAX];
    int64_t count;
    uint8_t *records;
};

/* The length of what a gzip file unpacks to, modulo 2^32, stands in its last four bytes (RFC 1952). */
static int unzipped_size(const char *path, int64_t *size, struct cnn_error *error)
{
    uint8_t tail[4];
    FILE *file = fopen(path, "rb");
    bool fine = file && !fseek(file, -4, SEEK_END) && fread(tail, 1, 4, file) == 4;
    if (file)
        fclose(file);
    if (!fine)
        return cnn_error_set(error, CNN_ERROR, "%s: its last four bytes cannot be read", path);
    *size = (int64_t)tail[3] << 24 | (int64_t)tail[2] << 16 | (int64_t)tail[1] << 8 | tail[0];
    return CNN_OK;
}

static int check_labels(const struct part *part, struct cnn_error *error)
{
    for (int64_t i = 0; i < part->count; i++)
        if (part->records[i * RECORD] >= CLASSES)
            return cnn_error_set(error, CNN_INVALID,
                                 "%s: offset %lld: label of record %lld (counted from 0) is %d, expected 0 to %d: no "
                                 "CIFAR-10 binary file?",
                                 part->path, (long long)i * RECORD, (long long)i, part->records[i * RECORD],
                                 CLASSES - 1);
    return CNN_OK;
}

static int records_read(struct part *part, struct cnn_data_file *file, struct cnn_error *error)
{
    int64_t size = file->size;
    char shape[96];
    if (file->zipped && unzipped_size(part->path, &size, error))
        return error->status;
    if (size == 0 || size % RECORD)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: %s bytes%s, expected a multiple of %s, the bytes of a record: truncated download, or "
                             "no CIFAR-10 binary file?",
                             part->path, cnn_grouped(size).text, file->zipped ? " unpacked" : "",
                             cnn_grouped(RECORD).text);
    part->count = size / RECORD;
    snprintf(shape, sizeof shape, "%s records of %s", cnn_grouped(part->count).text, cnn_grouped(RECORD).text);
    int status = cnn_data_file_rest(file, 0, size, "records", shape, &part->records, error);
    return status ? status : check_labels(part, error);
}

static int part_read(struct part *part, const struct cnn_dataset_kind *kind, const char *folder, const char *name,
                     struct cnn_error *error)
{
    struct cnn_data_file file;
    int status = cnn_raw_find(part->path, kind, folder, (const char *const[]){ name, NULL }, error);
    if (status)
        return status;
    status = cnn_data_file_open(&file, part->path, "a CIFAR-10 binary file", error);
    if (!status)
        status = records_read(part, &file, error);
    cnn_data_file_close(&file);
    return status;
}

/* Labels and pixels of all parts, one after another. */
static int join(struct cnn_raw *raw, const struct part *parts, int count, struct cnn_error *error)
{
    size_t bytes;
    raw->channels = CHANNELS;
    raw->side = SIDE;
    raw->classes = CLASSES;
    for (int i = 0; i < count; i++)
        raw->count += parts[i].count;
    if (cnn_bytes(raw->count, PIXELS, &bytes)) {
        raw->pixels = malloc(bytes);
        raw->labels = malloc((size_t)raw->count);
    }
    if (!raw->pixels || !raw->labels)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for %lld images", parts[0].path, (long long)raw->count);
    uint8_t *pixels = raw->pixels, *labels = raw->labels;
    for (int i = 0; i < count; i++)
        for (int64_t at = 0; at < parts[i].count; at++, pixels += PIXELS) {
            const uint8_t *record = parts[i].records + at * RECORD;
            *labels++ = record[0];
            memcpy(pixels, record + 1, PIXELS);
        }
    return CNN_OK;
}

static int cifar_read(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                      enum cnn_split split, struct cnn_error *error)
{
    int count = split == CNN_SPLIT_TRAIN ? FILES : 1, status = CNN_OK;
    struct part *parts = calloc(FILES, sizeof *parts);
    if (!parts)
        return cnn_error_set(error, CNN_OOM, "%s: no memory for its paths", kind->name);
    for (int i = 0; i < count && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, count == 1 ? "test_batch.bin" : "data_batch_%d.bin", i + 1);
        status = part_read(&parts[i], kind, folder, name, error);
    }
    if (!status)
        status = join(raw, parts, count, error);
    memcpy(raw->path, parts[0].path, sizeof raw->path);
    for (int i = 0; i < count; i++)
        free(parts[i].records);
    free(parts);
    return status;
}

static const char *const below[] = { "", "/cifar-10-batches-bin", "/cifar10", "/cifar10/cifar-10-batches-bin", NULL };

const struct cnn_dataset_kind cnn_dataset_cifar10 = {
    .name = "cifar10",
    .summary = "CIFAR-10, binary version: 50,000 and 10,000 colour pictures of ten kinds of things, 3 x 32 x 32",
    .files = &(const struct cnn_file_set){ "CIFAR-10", below, NULL, false, CLASSES, cifar_read },
};
