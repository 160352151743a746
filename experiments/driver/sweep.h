/* SPDX-License-Identifier: MIT */
/* Runs the points of one study, each in a process of its own, and writes a row for every one of them as it ends. Points
 * run in the order that schedule.h describes. */
#ifndef DRIVER_SWEEP_H
#define DRIVER_SWEEP_H

#include "experiments/driver/ceilings.h"
#include "experiments/driver/conduct.h"
#include "experiments/driver/result.h"
#include "experiments/driver/study.h"
#include "lib/status.h"

#include <stdbool.h>
#include <stdint.h>

struct sweep_options {
    const char *results; /* root folder of results; NULL: "results". Rows go to ROOT/<machine>/<study>/<time>/ */
    const char *program; /* this program, to be re-executed for every point; NULL: found by child_program() */
    int argc;            /* the command line, for the record */
    char **argv;
    double budget;  /* seconds: cheap points first, what does not fit is skipped; 0: no such limit */
    bool fresh;     /* a new run, even where an unfinished one of the same study and program could go on */
    unsigned retry; /* bits 1 << status: a new run with the last one's rows but these; 0: not so */
    const struct ceilings *ceilings; /* of this machine; NULL: no row gets its share of the limit */
    bool quiet;      /* nothing on stderr: no progress line, no notes of points that failed or were left out */
    bool csv_stdout; /* rows go to stdout as well, header first */
    bool csv_headed; /* the header is already there (a second study into the same pipe) */
};

struct sweep_summary {
    int counts[CNN_STATUS_COUNT]; /* rows by status */
    int points;                   /* rows in all, those of a run that goes on included */
    int left;                     /* points not run, because of a signal */
    struct conduct_time time;
    bool required_missing;  /* a point that the study or the user required was `unavailable` */
    int signal;             /* SIGINT, SIGTERM, or SIGPIPE for a closed stdout, ended it: exit with 128 + signal */
    char folder[1024];      /* of this run; empty when none could be made */
    char rows[1100];        /* folder/rows.csv */
    struct result *results; /* results[i] belongs to points[i]; CNN_SKIPPED where it was not reached */
    int result_count;
};

void sweep_summary_free(struct sweep_summary *summary); /* a zeroed one is fine */

/* Fails only when rows cannot be kept (no folder, disk full): what was measured until then is on disk and the sentence
 * names the file. Points that fail are rows, not failures of the sweep. The first SIGINT or SIGTERM drops the current
 * point, keeps all rows and returns CNN_OK with summary->signal; a second one ends the process at once. */
int sweep_run(const struct study *study, const struct point *points, int count, const struct sweep_options *options,
              struct sweep_summary *summary, struct cnn_error *error);

#endif
