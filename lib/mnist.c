/* SPDX-License-Identifier: MIT */
/* MNIST (LeCun, Cortes, Burges): four IDX files, under the site's spelling or the one that unpacking the archive gives,
 * gzipped or not. The test split is normalised by the training images, so it reads those too unless the training split
 * is at hand. */
#include "lib/dataset_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MNIST_CLASSES 10

/* Images or labels of one split: content of a file. */
struct mnist_file {
    char path[PATH_MAX];
    int64_t count;
    int side; /* images */
    uint8_t *bytes;
};

static bool is_there(const char *path)
{
    struct stat info;
    return !stat(path, &info) || (errno != ENOENT && errno != ENOTDIR); /* a fault of its own is told when it is read */
}

/* Says where nothing was found. */
static int not_found(const char *folder, const char *split, const char *what, int rank, struct cnn_error *error)
{
    struct stat info;
    if (stat(folder, &info) || !S_ISDIR(info.st_mode))
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "mnist: %s is no folder: give the folder of the MNIST files with "
                             "--data DIR or CONVSCALE_DATA=DIR",
                             folder);
    return cnn_error_set(error, CNN_UNAVAILABLE,
                         "mnist: no %s-%s-idx%d-ubyte or %s-%s.idx%d-ubyte, with or without "
                         ".gz, in %s or %s/mnist: give the folder of the MNIST files with --data DIR or "
                         "CONVSCALE_DATA=DIR",
                         split, what, rank, split, what, rank, folder, folder);
}

/* The first spelling that is there. split: "train" or "t10k"; what: "images" or "labels". */
static int find(struct mnist_file *file, const char *folder, const char *split, const char *what, int rank,
                struct cnn_error *error)
{
    static const char *const below[] = { "", "/mnist" };
    static const char *const spellings[] = { "%s%s/%s-%s-idx%d-ubyte", "%s%s/%s-%s.idx%d-ubyte",
                                             "%s%s/%s-%s-idx%d-ubyte.gz", "%s%s/%s-%s.idx%d-ubyte.gz" };
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
        for (size_t j = 0; j < sizeof spellings / sizeof spellings[0]; j++) {
            int length = snprintf(file->path, sizeof file->path, spellings[j], folder, below[i], split, what, rank);
            if (length > 0 && length < (int)sizeof file->path && is_there(file->path))
                return CNN_OK;
        }
    return not_found(folder, split, what, rank, error);
}

static int images_read(struct mnist_file *file, const char *folder, const char *split, struct cnn_error *error)
{
    int64_t dims[4];
    int status = find(file, folder, split, "images", 3, error);
    if (!status)
        status = cnn_idx_read(file->path, 3, dims, &file->bytes, error);
    if (status)
        return status;
    if (dims[1] != dims[2])
        return cnn_error_set(error, CNN_INVALID, "%s: offset 8: images of %lld x %lld pixels, expected square ones",
                             file->path, (long long)dims[1], (long long)dims[2]);
    file->count = dims[0];
    file->side = (int)dims[1]; /* its square fits in the file, so it fits in int */
    return CNN_OK;
}

static int labels_read(struct mnist_file *file, const char *folder, const char *split, struct cnn_error *error)
{
    int64_t dims[4];
    int status = find(file, folder, split, "labels", 1, error);
    if (!status)
        status = cnn_idx_read(file->path, 1, dims, &file->bytes, error);
    if (status)
        return status;
    file->count = dims[0];
    for (int64_t i = 0; i < file->count; i++)
        if (file->bytes[i] >= MNIST_CLASSES)
            return cnn_error_set(error, CNN_INVALID,
                                 "%s: offset %lld: label %lld (counted from 0) is %d, expected 0 "
                                 "to %d",
                                 file->path, (long long)i + 8, (long long)i, file->bytes[i], MNIST_CLASSES - 1);
    return CNN_OK;
}

/* Fits all images: into the set those it has room for, into the sums (NULL: none wanted) every one. */
static int images_fit(struct cnn_dataset *data, const struct mnist_file *images, int64_t keep, int side,
                      enum cnn_fit fit, struct cnn_pixel_sums *sums, struct cnn_error *error)
{
    struct cnn_fitter *fitter = NULL;
    int64_t size = (int64_t)side * side, own = (int64_t)images->side * images->side;
    uint8_t *scratch = NULL;
    int status = cnn_fitter_create(&fitter, images->side, side, fit, error);
    if (status)
        return cnn_error_prefix(error, "%s", images->path);
    scratch = malloc((size_t)size);
    if (!scratch)
        status = cnn_error_set(error, CNN_OOM, "%s: no memory for one image of side %d", images->path, side);
    for (int64_t i = 0; !status && i < (sums ? images->count : keep); i++) {
        uint8_t *to = i < keep ? data->pixels + i * size : scratch;
        cnn_fitter_apply(fitter, images->bytes + i * own, to);
        if (sums)
            cnn_pixel_sums_add(sums, to, size);
    }
    free(scratch);
    cnn_fitter_destroy(fitter);
    return status;
}

/* Mean and deviation for a test split, from the training images. */
static int statistics_read(struct cnn_dataset *data, const char *folder, const struct mnist_file *test,
                           enum cnn_fit fit, struct cnn_error *error)
{
    struct mnist_file images = { .count = 0 };
    struct cnn_pixel_sums sums = { 0, 0, 0 };
    int status = images_read(&images, folder, "train", error);
    if (!status && images.side != test->side)
        status = cnn_error_set(error, CNN_INVALID, "%s: images of side %d, but side %d in %s: files of two sets?",
                               images.path, images.side, test->side, test->path);
    if (!status)
        status = images_fit(data, &images, 0, data->side, fit, &sums, error);
    if (!status)
        status = cnn_dataset_normalise(data, &sums, error);
    free(images.bytes);
    return status;
}

static int fill(struct cnn_dataset *data, const char *folder, enum cnn_split split, const struct mnist_file *images,
                const struct mnist_file *labels, const struct cnn_dataset_options *options, struct cnn_error *error)
{
    bool train = split == CNN_SPLIT_TRAIN;
    struct cnn_pixel_sums sums = { 0, 0, 0 };
    int64_t keep = options->limit && options->limit < images->count ? options->limit : images->count;
    int side = options->side ? options->side : images->side;
    int status;
    if (images->count != labels->count)
        return cnn_error_set(error, CNN_INVALID, "%s: %lld labels, expected %lld, one for each image of %s",
                             labels->path, (long long)labels->count, (long long)images->count, images->path);
    if (images->count > INT32_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: offset 4: %lld images, expected at most %d", images->path,
                             (long long)images->count, INT32_MAX);
    status = cnn_dataset_allocate(data, keep, 1, side, MNIST_CLASSES, error);
    if (!status)
        status = images_fit(data, images, keep, side, options->fit, train ? &sums : NULL, error);
    if (status)
        return status;
    for (int64_t i = 0; i < keep; i++)
        data->labels[i] = labels->bytes[i];
    if (train)
        return cnn_dataset_normalise(data, &sums, error);
    if (!options->train)
        return statistics_read(data, folder, images, options->fit, error);
    data->mean = options->train->mean;
    data->deviation = options->train->deviation;
    return CNN_OK;
}

static int mnist_open(struct cnn_dataset *data, enum cnn_split split, const struct cnn_dataset_options *options,
                      struct cnn_error *error)
{
    const char *folder = options->folder && options->folder[0] ? options->folder : getenv("CONVSCALE_DATA");
    const char *word = split == CNN_SPLIT_TRAIN ? "train" : "t10k";
    struct mnist_file images = { .count = 0 }, labels = { .count = 0 };
    if (!folder || !folder[0])
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "mnist: no folder was given to look in: give that of the MNIST "
                             "files with --data DIR or CONVSCALE_DATA=DIR");
    int status = images_read(&images, folder, word, error);
    if (!status)
        status = labels_read(&labels, folder, word, error);
    if (!status)
        status = fill(data, folder, split, &images, &labels, options, error);
    free(images.bytes);
    free(labels.bytes);
    return status;
}

const struct cnn_dataset_kind cnn_dataset_mnist = {
    .name = "mnist",
    .summary = "60,000 and 10,000 handwritten digits, 28 x 28, read from IDX files in --data DIR or CONVSCALE_DATA",
    .open = mnist_open,
};
