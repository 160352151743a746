/* SPDX-License-Identifier: MIT */
/* A closer look at one point, in this process: what its step consists of, and one step for a profiler. Nothing is
 * measured, nothing becomes a row. */
#ifndef DRIVER_INSPECT_H
#define DRIVER_INSPECT_H

#include "experiments/driver/options.h"
#include "experiments/driver/points.h"

/* inspect.c: looks at the only one of `count` points as the command line asks for; returns the exit code. */
int inspect_point(const struct options *options, enum format format, const struct point *points, int count);

/* explain.c: the operations of a step as they are lowered: shapes, useful and executed FLOPs and bytes of the whole
 * batch, algorithm and kernel's file of each, or with which kernel it is fused. A table or CSV. */
int explain_point(FILE *out, const struct point *point, enum format format, int columns, struct cnn_error *error);

/* profile.c: one warm step of the point, kernel by kernel, between a profiler's start and stop. CONVSCALE_PERF=CONTROL,
 * ACK names the FIFOs of perf's option --control. One line on `log`, which may be NULL. */
int profile_point(const struct point *point, FILE *log, struct cnn_error *error);

#endif
