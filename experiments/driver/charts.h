/* SPDX-License-Identifier: MIT */
/* Charts of a run, drawn from its folder alone, now or years later. Nobody else knows gnuplot; numbers never depend on
 * it. */
#ifndef DRIVER_CHARTS_H
#define DRIVER_CHARTS_H

#include "lib/status.h"

#include <stdio.h>

/* How figures are drawn. */
struct chart_style {
    char formats[32];   /* of "svg", "png", "pdf" and "tex" with blanks between; empty: "svg png" */
    double millimetres; /* width in print; 0: for a screen */
};

/* Reads "svg,pdf,tex", or "88mm", "8.8cm", "3.5in", a bare number being millimetres. CNN_INVALID with what is expected.
 */
int chart_formats_parse(char out[32], const char *text, struct cnn_error *error);
int chart_width_parse(double *millimetres, const char *text, struct cnn_error *error);

/* Draws every figure of RUN_FOLDER/rows.csv into RUN_FOLDER/charts/ in the formats of `style` (NULL: SVG and PNG for a
 * screen), beside the few numbers it shows
 * (.csv) and the words around them (.set), over what an earlier call drew there. Title, base, claims and order of the
 * series come from RUN_FOLDER/study.cfg, epochs from RUN_FOLDER/epochs.csv; where these are missing, the first series
 * is the base and nothing is claimed.
 *
 * One line on `log` (which may be NULL) for every picture's path, and one for everything that is not drawn and why: a
 * run of one point, say, has no lines. CNN_OK when all that can be drawn is drawn, be it nothing. CNN_UNAVAILABLE when
 * gnuplot or its scripts are not there (the sentence says how to draw later; the numbers are written). CNN_ERROR when a
 * file cannot be written, rows.csv cannot be read, or gnuplot failed. */
int charts_draw(const char *run_folder, const struct chart_style *style, FILE *log, struct cnn_error *error);

/* Draws the times, rates and speed-ups of several runs of one study together into OUT_FOLDER/charts/: every series of
 * every run is a line of its own, its label names the machine, its speed-ups are over the base of its own run. Words
 * are the first run's study's. Otherwise as charts_draw(). */
int charts_draw_together(const char *const *run_folders, int count, const char *out_folder,
                         const struct chart_style *style, FILE *log, struct cnn_error *error);

#endif
