/* SPDX-License-Identifier: MIT */
/* What a terminal shows at the end of a run: a row for every network size, a column for every series, then speed-ups.
 */
#ifndef DRIVER_TABLE_H
#define DRIVER_TABLE_H

#include "experiments/driver/result.h"
#include "experiments/driver/study.h"

#include <stdio.h>

/* Prints the tables of one study. results[i] belongs to points[i]; a point that was not reached has CNN_SKIPPED. Lines
 * are at most `columns` wide: series that do not fit go into a further block below. Returns false where a write failed.
 */
bool table_print(FILE *out, const struct study *study, const struct point *points, const struct result *results,
                 int count, int columns);

#endif
