/* SPDX-License-Identifier: MIT */
/* One line on a terminal: which point runs and how long the rest may take. Nothing where stderr is no terminal. */
#ifndef DRIVER_PROGRESS_H
#define DRIVER_PROGRESS_H

#include "experiments/driver/points.h"
#include "experiments/driver/schedule.h"

struct progress {
    bool shown; /* a line stands on the terminal */
    bool live;  /* there is a terminal, and it is wanted */
    int count, done;
    const double *cost; /* expected seconds of each point */
    double cost_done;   /* of those that have run */
    double cost_left;   /* of those that may yet */
    double start;       /* clock_seconds() */
};

/* The schedule must outlive the progress. */
void progress_open(struct progress *progress, const struct schedule *schedule, bool quiet);
void progress_show(struct progress *progress, const struct point *point); /* it begins */
void progress_done(struct progress *progress, int index, bool ran);       /* it ended, or will not run */
void progress_clear(struct progress *progress);                           /* before other text, and at the end */

/* What `cost` will really take, as the points so far have shown. */
double progress_expected(const struct progress *progress, double cost);

/* Seconds that a point will take, roughly: gate, warm-up, samples or epochs, at a few GFLOP/s. `network` NULL, one that
 * cannot exist: none. */
double progress_cost(const struct point *point, const struct cnn_network *network);

/* Seconds left: the expected costs scaled by how the first ones came true. */
double progress_left(double elapsed, double cost_done, double cost_left);

/* "45 s", "3 min", "2 h 10 min". */
void progress_duration(double seconds, char *out, size_t size);

/* "[3/40] TITLE, about 2 min left" cut to `columns`, never inside a character. */
void progress_line(char *out, size_t size, int number, int count, const char *title, double left, int columns);

#endif
