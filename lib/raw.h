/* SPDX-License-Identifier: MIT */
/* Inside the data rooms only: sets that lie in files. A format's reader brings a split as it lies there; what follows
 * (sides, statistics, limits) is the same for all. */
#ifndef CNN_LIB_RAW_H
#define CNN_LIB_RAW_H

#include "lib/dataset_parts.h"

#include <limits.h>

/* One split of a set as its files have it. */
struct cnn_raw {
    char path[PATH_MAX]; /* of the images, for messages */
    int64_t count;
    int channels, side, classes;
    uint8_t *pixels; /* [count][channels][side][side], malloc'd */
    uint8_t *labels; /* [count], 0..classes-1, malloc'd */
};

/* What there is to know of a set in files. */
struct cnn_file_set {
    const char *title;        /* "MNIST" */
    const char *const *below; /* folders below the given one to look in, "" first for itself; NULL-terminated */
    const char *own;          /* files lie in the given folder itself only if its name has this word; NULL: always */
    bool prefix;              /* the given folder may also be what all names begin with */
    int classes;              /* 0: one more than the highest training label */
    int (*read)(struct cnn_raw *raw, const struct cnn_dataset_kind *kind, const char *folder, enum cnn_split split,
                struct cnn_error *error);
};

/* cnn_dataset_kind.open for kinds with `files`. */
int cnn_raw_open(struct cnn_dataset *data, const struct cnn_dataset_kind *kind, enum cnn_split split,
                 const struct cnn_dataset_options *options, struct cnn_error *error);

/* The first of these names (NULL-terminated) that is there, as it is or with ".gz" behind it. CNN_UNAVAILABLE with
 * where it was looked for. */
int cnn_raw_find(char path[PATH_MAX], const struct cnn_dataset_kind *kind, const char *folder, const char *const *names,
                 struct cnn_error *error);

#endif
