/* SPDX-License-Identifier: MIT */
/* Runs against a base: which points became faster or slower, by the intervals of their medians, and which cannot be
 * told. Made from rows alone. */
#ifndef DRIVER_COMPARE_H
#define DRIVER_COMPARE_H

#include "experiments/driver/options.h"
#include "experiments/driver/rows.h"

#define COMPARE_THRESHOLD 0.05 /* the difference that matters, where the user names none */

/* A time with its interval, in seconds, or a ratio of two. NAN: not known. */
struct compare_time {
    double median, low, high;
};

enum compare_word {
    COMPARE_SLOWER,
    COMPARE_UNCLEAR,
    COMPARE_SAME,
    COMPARE_FASTER,
    COMPARE_MISSING,         /* one side has no number */
    COMPARE_ANOTHER_MACHINE, /* or another device: a ratio, but nothing about the program */
    COMPARE_WORD_COUNT
};

const char *compare_word_text(enum compare_word word); /* "slower", ..., "different machine" */

/* The rule. *ratio = now / base with the interval [now low / base high, now high / base low]. Slower or faster: 1 lies
 * outside the interval. Same: 1 lies inside, and the whole interval within 1 / (1 + threshold) to 1 + threshold.
 * Unclear: the rest, and times without an interval. */
enum compare_word compare_times(const struct compare_time *base, const struct compare_time *now, double threshold,
                                struct compare_time *ratio);

/* One point that either side has. */
struct compare_pair {
    const struct row *base, *now; /* NULL: it has no such row */
    struct compare_time base_time, now_time, ratio;
    enum compare_word word;
    bool beyond; /* slower, and its ratio over 1 + threshold */
};

/* Two runs, point by point: the largest ratio first, what has none last. */
struct comparison {
    struct compare_pair *pair;
    int count;
    int words[COMPARE_WORD_COUNT];
    int common;     /* keys on both sides, with numbers or without */
    int beyond;     /* pairs */
    int idle;       /* points without a number on either side; they are no pairs */
    int duplicates; /* rows that a later one of the same key replaced */
    double ratio;   /* median over the pairs that have one; NAN: none has */
    double worst;
};

/* Matches rows by their keys; of several with one key the last that has a number counts, else the last. The rows must
 * outlive the comparison. CNN_OOM is the only failure; free it in either case. */
int compare_rows(struct comparison *out, const struct rows *base, const struct rows *now, double threshold,
                 struct cnn_error *error);
void comparison_free(struct comparison *comparison);

/* Marks values that lie further from the median of all than 3.5 times their scaled median absolute deviation (1.4826
 * MAD, the usual robust rule: Iglewicz and Hoaglin 1993), on a logarithmic scale, and by more than the threshold. NAN
 * is never marked. False without memory. */
bool compare_outliers(const double *ratio, int count, double threshold, bool *outlier);

/* ---- runs ---- */

struct compare_options {
    const char *results; /* root of the results, for the names */
    double threshold;
    enum format format; /* FORMAT_TABLE or FORMAT_CSV */
    int columns;        /* of a table */
    FILE *log;          /* notes; NULL: none */
};

/* Compares runs with the first one. Names are folders, or `latest` and `previous`: of the machine and study of the
 * folders beside them, or where no folder is named of every machine and study below the root that has both. One run is
 * shown point by point, several in one line each. *slower: a point is slower beyond the threshold. CNN_INVALID where a
 * name is none, a folder has no rows, or two runs have no point in common. */
int compare_runs(FILE *out, const char *const *names, int count, const struct compare_options *options, bool *slower,
                 struct cnn_error *error);

/* The same as the command line asks for it, onto stdout; returns the exit code. */
int compare_folders(const struct options *options, const char *results);

#endif
