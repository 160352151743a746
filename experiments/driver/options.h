/* SPDX-License-Identifier: MIT */
/* The command line: what the user wants done, checked, nothing done yet. */
#ifndef DRIVER_OPTIONS_H
#define DRIVER_OPTIONS_H

#include "experiments/driver/charts.h"
#include "lib/status.h"

#include <stdbool.h>
#include <stdio.h>

enum action {
    ACTION_RUN,
    ACTION_DRY_RUN,
    ACTION_LIST,
    ACTION_PLOT,
    ACTION_ANALYSE,
    ACTION_COMPARE,
    ACTION_CEILINGS,
    ACTION_REPORT,
    ACTION_RESOLUTION,
    ACTION_EXPLAIN,
    ACTION_PROFILE,
    ACTION_HELP,
    ACTION_VERSION
};

/* AUTO: a table on a terminal, CSV into a pipe or file. */
enum format { FORMAT_AUTO, FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

/* Exit codes of the program. A signal ends it with 128 + its number: 130 for Ctrl-C. */
enum { EXIT_FINE = 0, EXIT_POINTS_FAILED = 1, EXIT_USAGE = 2 };

struct words_given {
    int count;
    const char **list; /* into argv */
};

#define OPTIONS_MADE 3

struct options {
    enum action action;
    enum format format;
    bool quiet, layers;
    struct words_given arguments; /* studies, or folders of runs */
    struct words_given sets;      /* --set, and options that are keys of a study */
    struct words_given filters, backends;
    char *made[OPTIONS_MADE]; /* of sets: "threads=4" of --threads 4; malloc'd, or NULL */
    double budget;            /* seconds; 0: not given */
    bool fresh;               /* start a new run even where one could go on */
    unsigned retry;           /* bits 1 << status: repeat points of these; 0: not given */
    const char *data, *out;   /* NULL: not given */
    double threshold;         /* of --compare: a difference that matters, 0.05 is 5 % */
    const char *choices;      /* choices.json of another run; NULL: not given */
    struct chart_style style; /* of charts */
};

/* Fills *out. CNN_INVALID with one sentence for a command line that is none. Free it in either case. */
int options_parse(struct options *out, int argc, char **argv, struct cnn_error *error);
void options_free(struct options *options);

/* help.c */
void help_print(FILE *out);
void version_print(FILE *out);

#endif
