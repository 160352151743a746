/* SPDX-License-Identifier: MIT */
/* What is known of a point without running it. */
#ifndef DRIVER_FORECAST_H
#define DRIVER_FORECAST_H

#include "experiments/driver/points.h"

struct forecast {
    enum cnn_status status; /* CNN_OK: it would run */
    char reason[512];
    int64_t parameters, macs; /* forward, one image; -1: the network cannot be built */
    int64_t bytes;            /* planned by the backend; -1 */
    double seconds;           /* an estimate, see progress_cost(); 0 where it would not run */
    char cropped[400];        /* "S4 leaves out the last row and column": what is never read; may be empty */
};

/* Keeps the devices that it has opened. */
struct forecaster;

struct forecaster *forecaster_create(void); /* NULL without memory */
void forecaster_free(struct forecaster *forecaster);
void forecast_point(struct forecaster *forecaster, const struct point *point, struct forecast *out);

#endif
