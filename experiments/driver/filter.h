/* SPDX-License-Identifier: MIT */
/* --filter: which points of a study are meant. */
#ifndef DRIVER_FILTER_H
#define DRIVER_FILTER_H

#include "experiments/driver/points.h"

/* Terms with blanks or ';' between them, all of which must hold: AXIS=VALUE[,VALUE...] (values and ranges as in a
 * study; also series, backend and algorithm), or a piece of the point's title or key. */
struct filter;

/* CNN_INVALID with what is wrong and what was expected. The caller frees. */
int filter_create(struct filter **out, const char *expression, struct cnn_error *error);
bool filter_match(const struct filter *filter, const struct point *point);
void filter_free(struct filter *filter); /* NULL is fine */

/* Keeps the matching points of a list, in their order; returns their number. */
int filter_points(const struct filter *filter, struct point *points, int count);

#endif
