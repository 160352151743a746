/* SPDX-License-Identifier: MIT */
/* A point in a process of its own: this program executed again (never a bare fork of a process that has touched OpenMP
 * or CUDA), told what to do in JSON on stdin, answering in JSON on file descriptor 3. Whatever becomes of that process
 * - crash, hang, no memory, silence - becomes a result with a status and a sentence. */
#ifndef DRIVER_CHILD_H
#define DRIVER_CHILD_H

#include "experiments/driver/points.h"
#include "experiments/driver/result.h"

#define CHILD_ARGUMENT "--child"

/* What main() does when its only argument is --child: reads a point from stdin, measures it, writes its result on file
 * descriptor 3 where that is open, else on stdout. 0 when a result was written, whatever its status; 1 otherwise. */
int child_main(void);

/* The path of this program, fit to be executed again from any folder. CNN_ERROR where it cannot be found. */
int child_program(const char *argv0, char *out, size_t size, struct cnn_error *error);

/* Runs `program --child` for one point in a new process group and always fills *result. CNN_TIMEOUT after
 * point->timeout seconds (the whole group is killed); CNN_ERROR with signal and last words for a crash; CNN_OOM where
 * the system ended it for memory. Returns false, with *result CNN_SKIPPED, when child_interrupted() turned true while
 * it ran. */
bool child_run(const char *program, const struct point *point, struct result *result);

/* Catches SIGINT and SIGTERM from here on: the first one ends the running child and makes child_interrupted() the
 * signal's number, a second one ends this process at once with 128 + signal. SIGPIPE becomes EPIPE. */
void child_signals_catch(void);
void child_signals_release(void); /* as they were before */
int child_interrupted(void);      /* 0: no signal came */

/* The variables that every child's environment gets unless the user set them; NULL-terminated NAME=VALUE, for the
 * record. */
const char *const *child_environment(void);

#endif
