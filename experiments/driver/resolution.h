/* SPDX-License-Identifier: MIT */
/* What this harness can tell apart on this machine: the timer, how often a build differs from itself, and how small a
 * slowdown is seen that was really made. Judged by the very rule of --compare. */
#ifndef DRIVER_RESOLUTION_H
#define DRIVER_RESOLUTION_H

#include "experiments/driver/compare.h"
#include "experiments/driver/points.h"

#define RESOLUTION_LEVELS 3 /* planted: 1, 2 and 5 % */
#define RESOLUTION_ROUNDS 6 /* each: the point twice, and once with every planted slowdown, in random order */
#define RESOLUTION_SEEN 0.9 /* of the pairs with a planted slowdown must say slower */

struct resolution {
    double timer_step, timer_reading; /* seconds: smallest step seen; one reading of the clock */
    int runs;                         /* of the point as it is, each in a process of its own */
    /* the null comparison: every two of these runs */
    int pairs;
    int words[COMPARE_WORD_COUNT]; /* slower and faster are false alarms */
    double largest;                /* difference of two medians, relative */
    struct {
        double planted, measured; /* extra work, relative; median of what was measured */
        int pairs, seen;
    } level[RESOLUTION_LEVELS];
    double smallest; /* planted slowdown that was seen, as were all larger ones; NAN: none */
};

/* Runs the point RESOLUTION_ROUNDS times over with `program` as the child. CNN_SKIPPED when a signal came; a run that
 * fails is CNN_ERROR. */
int resolution_measure(struct resolution *out, const char *program, const struct point *point, FILE *log,
                       struct cnn_error *error);

/* In words, and as JSON (malloc'd, NULL without memory). */
void resolution_print(FILE *out, const struct resolution *resolution, const struct point *point, int columns);
char *resolution_json(const struct resolution *resolution, const struct point *point);

/* --resolution: of the one point that studies and filters leave, or of a small training step. Prints it and keeps it as
 * RESULTS/<machine>/resolution.json. Returns the exit code. */
int resolution_asked(const struct options *options, const char *results, const char *argv0);

#endif
