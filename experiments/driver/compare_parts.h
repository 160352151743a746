/* SPDX-License-Identifier: MIT */
/* What compare*.c share. */
#ifndef DRIVER_COMPARE_PARTS_H
#define DRIVER_COMPARE_PARTS_H

#include "experiments/driver/compare.h"

#define COMPARE_PATH 4096

/* One run on its way: its folder, rows and what the base says of it. The base itself has no comparison. */
struct compared {
    char folder[COMPARE_PATH];
    struct rows rows;
    struct comparison comparison;
    bool outlier;
};

/* compare_names.c: the folders that the names mean, in groups of one machine and study; each group's folders stand in
 * the order of the names. */
struct compare_groups {
    int count, names; /* names: folders of a group */
    char (*folder)[COMPARE_PATH];
};

int compare_names(struct compare_groups *out, const char *const *names, int count,
                  const struct compare_options *options, struct cnn_error *error);

/* compare_print.c. `runs`: base first. False where a write failed. `headed`: CSV has its header already. */
bool compare_print(FILE *out, const struct compared *runs, int count, const struct compare_options *options,
                   bool headed);

#endif
