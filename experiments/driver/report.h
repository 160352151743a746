/* SPDX-License-Identifier: MIT */
/* What the program tells without running a point. */
#ifndef DRIVER_REPORT_H
#define DRIVER_REPORT_H

#include "experiments/driver/options.h"
#include "experiments/driver/study.h"

/* Characters of a line on stdout: the terminal's, 40 to 120; 100 where there is none. */
int report_columns(void);

/* list.c: backends with what they are here, networks, layers, algorithms, axes, data sets. False: a write failed. */
bool list_print(FILE *out, int columns);

/* dryrun.c: what would run. CNN_ERROR where a write failed. `headed`: CSV has its header already. */
int dryrun_print(FILE *out, const struct study *study, const struct point *points, int count, enum format format,
                 bool headed, int columns, struct cnn_error *error);

/* rows_json.c: one array with an object for every row of these CSV files. */
int rows_print_json(FILE *out, const char *const *paths, int count, struct cnn_error *error);

#endif
