/* SPDX-License-Identifier: MIT */
/* What the parts of the analysis share. */
#ifndef DRIVER_ANALYSIS_PARTS_H
#define DRIVER_ANALYSIS_PARTS_H

#include "experiments/driver/charts_parts.h"
#include "experiments/driver/model.h"

/* Where a part writes: its CSV, header first, and sentences; *lines is raised with every line of the CSV. */
struct analysis_out {
    FILE *csv, *text;
    int lines;
};

typedef int (*analysis_part)(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error);

int analysis_breakeven(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error);
int analysis_models(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error);
int analysis_scaling(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error);

extern const char *const analysis_phases[]; /* those with times; NULL-terminated */

/* Whether a row may enter a ratio or a fit: measured and stable. */
bool analysis_counts(const struct row *row);

/* Whether two rows are of one series and phase and agree in every axis but those whose bits are set. */
bool analysis_alike(const struct chart_run *run, int a, int b, unsigned but);

/* The bit of an axis of chart_axes[]. */
unsigned analysis_axis_bit(enum row_column column);

/* "lenet5, width 2, copies none": what the row has on the axes that vary in its phase but for those whose bits are
 * set. */
void analysis_place(const struct chart_run *run, int row, unsigned but, char *out, size_t size);

/* A quoted cell behind a comma, and a number or nothing. */
void analysis_print_text(FILE *out, const char *text);
void analysis_print_number(FILE *out, double value);

/* "1.5 ms" */
const char *analysis_seconds(double seconds, char out[CHART_WORD]);

/* What a series' step costs, over all rows of a group that analysis_alike() but in sizes. */
enum { TERM_FIXED, TERM_WORK, TERM_DEPTH, TERM_WIDTH };

struct analysis_model {
    struct model model;
    unsigned terms;             /* bits of the above, FIXED and WORK always */
    int place[MODEL_TERMS_MAX]; /* of each TERM_ among the model's costs, -1: not in it */
};

/* Fits the rows of the group of `row`; false where they are too few or too alike. Of the forms fixed + work / rate,
 * with and without a cost of depth and of width, it is the one that foretells held-out points best. */
bool analysis_model_fit(struct analysis_model *out, const struct chart_run *run, int row);
double analysis_model_seconds(const struct analysis_model *model, const struct row *row);

/* Amdahl's law through the strong points of a row's series: T(n) = cost[0] + cost[1] / n. False where they are too few.
 */
bool analysis_amdahl(struct model *out, const struct chart_run *run, int row);

/* Sets run->fit; false without memory. */
bool analysis_fit_rows(struct chart_run *run);

#endif
