/* SPDX-License-Identifier: MIT */
/* What a point could do at most on this device, and how much of that it does. */
#ifndef DRIVER_BOUNDS_H
#define DRIVER_BOUNDS_H

#include "experiments/driver/ceilings.h"
#include "experiments/driver/points.h"
#include "experiments/driver/result.h"

/* The least seconds that each limit alone leaves a step; NAN where it was not measured. */
struct bounds {
    double compute; /* executed FLOPs over the rate of multiply-adds in the row's instruction set */
    double memory;  /* bytes of each operation over the bandwidth of the level that holds them */
    double latency; /* operations that wait for one another, times the time of an empty one */
    double copies;  /* of each step to and from the device, where the clock runs over them */
    int64_t bytes;  /* that `memory` counts */
    int steps;      /* that `latency` counts */
};

/* Operations that may run in one kernel with the one before count neither bytes nor a step: a backend may leave them
 * out. */
int bounds_of(struct bounds *out, const struct ceiling_set *set, const struct point *point,
              const struct cnn_network *network, const struct result *result, struct cnn_error *error);

/* Sets the result's bytes_per_step where it is a measured step, and share_of_limit and bound where the device's
 * ceilings are known, too; `ceilings` may be NULL. *exceeded says whether it is faster than multiply-adds can be: then
 * a count of work or a ceiling is wrong, and the result gets a remark. */
int bounds_judge(struct result *result, const struct ceilings *ceilings, const struct point *point,
                 const struct cnn_network *network, bool *exceeded, struct cnn_error *error);

#endif
