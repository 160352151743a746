/* SPDX-License-Identifier: MIT */
/* Sizes as text: "8", "32..104 step 8", "1..32 x2". */
#ifndef DRIVER_STUDY_RANGE_H
#define DRIVER_STUDY_RANGE_H

#include "lib/status.h"

/* first, first + step, ... or first, first * factor, ... up to last; step and factor are never both > 0. */
struct size_range {
    int first, last, step, factor;
    int count;
};

/* CNN_INVALID with `"32..104 by 8": expected ...`. Sizes are at least `low`. */
int size_range_parse(struct size_range *out, const char *text, int low, struct cnn_error *error);
int size_range_at(const struct size_range *range, int i);

#endif
