/* SPDX-License-Identifier: MIT */
/* Why the figures are what they are, from a run's folder alone: where one series overtakes another, what a step costs,
 * how time falls with threads. */
#ifndef DRIVER_ANALYSIS_H
#define DRIVER_ANALYSIS_H

#include "lib/status.h"

#include <stdio.h>

/* Writes breakeven.csv, model.csv and scaling.csv into RUN_FOLDER/charts/, each only where the run has something to say
 * on it, and the same in words to `text`, which may be NULL. CNN_ERROR when a file cannot be read or written. */
int analysis_write(const char *run_folder, FILE *text, struct cnn_error *error);

#endif
