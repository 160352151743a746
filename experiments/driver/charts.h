/* SPDX-License-Identifier: MIT */
/* Charts of a run, drawn from its folder alone, now or years later. Nobody else knows gnuplot; numbers never depend on
 * it. */
#ifndef DRIVER_CHARTS_H
#define DRIVER_CHARTS_H

#include "lib/status.h"

#include <stdio.h>

/* Draws every figure of RUN_FOLDER/rows.csv into RUN_FOLDER/charts/ as SVG and PNG, beside the few numbers it shows
 * (.csv) and the words around them (.set), over what an earlier call drew there. Title, base, claims and order of the
 * series come from RUN_FOLDER/study.cfg, epochs from RUN_FOLDER/epochs.csv; where these are missing, the first series
 * is the base and nothing is claimed.
 *
 * One line on `log` (which may be NULL) for every picture's path, and one for everything that is not drawn and why: a
 * run of one point, say, has no lines. CNN_OK when all that can be drawn is drawn, be it nothing. CNN_UNAVAILABLE when
 * gnuplot or its scripts are not there (the sentence says how to draw later; the numbers are written). CNN_ERROR when a
 * file cannot be written, rows.csv cannot be read, or gnuplot failed. */
int charts_draw(const char *run_folder, FILE *log, struct cnn_error *error);

#endif
