/* SPDX-License-Identifier: MIT */
/* Sets of four IDX files: MNIST (LeCun, Cortes, Burges), Fashion-MNIST (Xiao, Rasul, Vollgraf), or any other. Names are
 * spelled as the site spells them or as unpacking the archive gives them. */
#include "lib/raw.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 64
#define LABELS_HEADER 8
#define CLASSES_MAX 256

/* Finds and reads the images (rank 3) or labels (rank 1) of a split. */
static int part_read(char path[PATH_MAX], const struct cnn_dataset_kind *kind, const char *folder, enum cnn_split split,
                     int rank, int64_t dims[4], uint8_t **bytes, struct cnn_error *error)
{
    static const char *const train[] = { "train", NULL }, *const test[] = { "t10k", NULL };
    static const char *const any_test[] = { "t10k", "test", NULL };
    const char *const *word = split == CNN_SPLIT_TRAIN ? train : kind->files->classes ? test : any_test;
    const char *what = rank == 1 ? "labels" : "images";
    char spelled[4][NAME_BYTES];
    const char *names[5] = { NULL };
    for (int i = 0; word[i]; i++)
        for (int dot = 0; dot < 2; dot++) {
            snprintf(spelled[2 * i + dot], NAME_BYTES, "%s-%s%cidx%d-ubyte", word[i], what, dot ? '.' : '-', rank);
            names[2 * i + dot] = spelled[2 * i + dot];
        }
    int status = cnn_raw_find(path, kind, folder, names, error);
    return status ? status : cnn_idx_read(path, rank, dims, bytes, error);
}

static int images_read(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                       enum cnn_split split, struct cnn_error *error)
{
    int64_t dims[4];
    int status = part_read(raw->path, kind, folder, split, 3, dims, &raw->pixels, error);
    if (status)
        return status;
    if (dims[1] != dims[2])
        return cnn_error_set(error, CNN_INVALID, "%s: offset 8: images of %lld x %lld pixels, expected square ones",
                             raw->path, (long long)dims[1], (long long)dims[2]);
    raw->count = dims[0];
    raw->channels = 1;
    raw->side = (int)dims[1]; /* its square fits in the file, so it fits in int */
    return CNN_OK;
}

/* One more than the highest label of the training split. */
static int classes_count(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                         struct cnn_error *error)
{
    char path[PATH_MAX];
    int64_t dims[4];
    uint8_t *labels = NULL;
    int status = part_read(path, kind, folder, CNN_SPLIT_TRAIN, 1, dims, &labels, error);
    for (int64_t i = 0; !status && i < dims[0]; i++)
        raw->classes = labels[i] >= raw->classes ? labels[i] + 1 : raw->classes;
    free(labels);
    return status;
}

static int labels_read(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                       enum cnn_split split, struct cnn_error *error)
{
    char path[PATH_MAX];
    int64_t dims[4];
    raw->classes = kind->files->classes;
    int status = raw->classes ? CNN_OK : classes_count(raw, kind, folder, error);
    if (!status)
        status = part_read(path, kind, folder, split, 1, dims, &raw->labels, error);
    if (status)
        return status;
    for (int64_t i = 0; i < dims[0]; i++)
        if (raw->labels[i] >= raw->classes)
            return cnn_error_set(error, CNN_INVALID,
                                 "%s: offset %lld: label %lld (counted from 0) is %d, expected 0 to %d", path,
                                 (long long)i + LABELS_HEADER, (long long)i, raw->labels[i], raw->classes - 1);
    if (dims[0] != raw->count)
        return cnn_error_set(error, CNN_INVALID, "%s: %lld labels, expected %lld, one for each image of %s", path,
                             (long long)dims[0], (long long)raw->count, raw->path);
    return CNN_OK;
}

static int idx_set_read(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder,
                        enum cnn_split split, struct cnn_error *error)
{
    int status = images_read(raw, kind, folder, split, error);
    return status ? status : labels_read(raw, kind, folder, split, error);
}

static const char *const mnist_below[] = { "", "/mnist", NULL };
static const char *const fashion_below[] = { "", "/fashion", "/fashion-mnist", NULL };
static const char *const idx_below[] = { "", NULL };

const struct cnn_dataset_kind cnn_dataset_mnist = {
    .name = "mnist",
    .summary = "60,000 and 10,000 handwritten digits, 28 x 28, read from IDX files in --data DIR or CONVSCALE_DATA",
    .files = &(const struct cnn_file_set){ "MNIST", mnist_below, NULL, false, 10, idx_set_read },
};

/* Its files have MNIST's names. */
const struct cnn_dataset_kind cnn_dataset_fashion = {
    .name = "fashion",
    .summary = "Fashion-MNIST: as many pictures of clothes, 28 x 28, in a folder of that name",
    .files = &(const struct cnn_file_set){ "Fashion-MNIST", fashion_below, "fashion", false, 10, idx_set_read },
};

const struct cnn_dataset_kind cnn_dataset_idx = {
    .name = "idx",
    .summary =
        "any set of IDX files train-images-idx3-ubyte, train-labels-idx1-ubyte, test-... in data_folder, or with "
        "that before their names",
    .files = &(const struct cnn_file_set){ "IDX", idx_below, NULL, true, 0, idx_set_read },
};
