/* SPDX-License-Identifier: MIT */
/* What is made of a run's rows once they are on disk, now or years later: analysis, verdicts, charts, its page. */
#ifndef DRIVER_OUTPUTS_H
#define DRIVER_OUTPUTS_H

#include "experiments/driver/charts.h"

#include <stdbool.h>
#include <stdio.h>

/* Makes all of it in RUN_FOLDER. `text` gets the words of the analysis and the verdicts, `log` the paths of pictures;
 * either may be NULL. What fails is said on stderr and the rest is still made: false then. That charts cannot be drawn
 * here is a failure only where they are `wanted`. */
bool outputs_make(const char *run_folder, const struct chart_style *style, FILE *text, FILE *log, bool wanted);

#endif
