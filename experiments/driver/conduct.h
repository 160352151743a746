/* SPDX-License-Identifier: MIT */
/* How a run went beside what it measured: its order, what it took over, where its time was spent, whether the machine
 * kept its speed. */
#ifndef DRIVER_CONDUCT_H
#define DRIVER_CONDUCT_H

#include "experiments/driver/drift.h"
#include "experiments/driver/result.h"

#include <stddef.h>

struct cJSON;

/* Wall time in seconds. What is neither measured nor named here is the sweep's own. */
struct conduct_time {
    double total;    /* from the sweep's start */
    double measured; /* warm-up and samples, or epochs */
    double verify;   /* the gate before them, oracle included */
    double prepare;  /* of networks and programs: set-up and compilation */
    double process;  /* the rest of the points' processes: start, end, what lies between samples */
    double charts;   /* what was made of the rows after the sweep */
};

struct conduct {
    const char *identity;  /* resume_identity() */
    const char *order;     /* "random", "as-written", "cheap first" */
    const char *continued; /* when this process went on with an earlier one's run, UTC; NULL: it did not */
    int taken;             /* rows of that one */
    struct conduct_time time;
    struct drift_probe start, end; /* zeros: not yet probed */
};

/* Adds the time of one point. */
void conduct_count(struct conduct_time *time, const struct result *result);

/* The share of the time outside warm-up and samples, 0 to 1. */
double conduct_overhead(const struct conduct_time *time);

/* "41.0 s, of these 35.2 s warm-up and samples; 14 % outside them: 2.3 s verification, ..." */
void conduct_time_text(const struct conduct_time *time, char *out, size_t size);

/* Into the record's "run". */
void conduct_record(const struct conduct *conduct, struct cJSON *run);

#endif
