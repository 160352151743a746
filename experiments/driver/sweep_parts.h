/* SPDX-License-Identifier: MIT */
/* What the files of the sweep share, and nobody else. */
#ifndef DRIVER_SWEEP_PARTS_H
#define DRIVER_SWEEP_PARTS_H

#include "experiments/driver/choices.h"
#include "experiments/driver/machine.h"
#include "experiments/driver/progress.h"
#include "experiments/driver/resume.h"
#include "experiments/driver/rows.h"
#include "experiments/driver/schedule.h"
#include "experiments/driver/sweep.h"

#define SWEEP_TOLD_MAX 16
#define SWEEP_DEVICES_MAX 8

struct sweep {
    const struct study *study;
    const struct point *points;
    const struct sweep_options *options;
    struct sweep_summary *summary;
    struct schedule schedule;
    struct rows_writer *rows;
    struct progress progress;
    struct machine_run run;
    char program[4096], machine[MACHINE_SLUG], started[32];
    char identity[RESUME_IDENTITY];
    struct resume earlier;          /* a run of the same identity */
    double start;                   /* by clock_seconds() */
    char answers[512];              /* folder of the oracle's answers while the run lasts; empty: none */
    int slow, late;                 /* points skipped: they take too long; --budget has no room for them */
    char told[SWEEP_TOLD_MAX][512]; /* why points were `unavailable`, as said so far */
    int told_count;
    struct choices_book *choices; /* NULL while no point has chosen */
    double choices_written;       /* when, by clock_seconds(); 0: never */
    bool choices_new;             /* since then */
    char pinned[256];             /* of the point with most threads */
    struct machine_device devices[SWEEP_DEVICES_MAX];
    char *before, *after;      /* machine_moment() */
    bool linked;               /* `latest` points here */
    struct cnn_error out_lost; /* stdout failed; rows go on to disk */
    struct cnn_error *error;
};

/* sweep.c */
void sweep_reach_nothing(struct sweep *sweep); /* no point has a result */

/* sweep_folder.c */
int sweep_open_folder(struct sweep *sweep); /* and takes over what an earlier run has done */
int sweep_write_record(struct sweep *sweep);
void sweep_open_answers(struct sweep *sweep);
void sweep_close_answers(struct sweep *sweep);

/* sweep_tell.c: what goes to stdout and stderr */
void sweep_print(struct sweep *sweep, const char *text); /* to stdout where rows are wanted there; NULL is fine */
void sweep_print_header(struct sweep *sweep);
void sweep_say(struct sweep *sweep, const char *format, ...) __attribute__((format(printf, 2, 3))); /* unless quiet */
void sweep_note(struct sweep *sweep, const struct point *point, const struct result *result);
void sweep_tell_skipped(struct sweep *sweep);

#endif
