/* SPDX-License-Identifier: MIT */
/* What the program does beside running studies. Each says on stderr what fails and returns an exit code. */
#ifndef DRIVER_FOLDERS_H
#define DRIVER_FOLDERS_H

#include "experiments/driver/options.h"

/* Everything that is made of the rows in these folders, anew; and of those of one study charts of them all, below
 * `results`/together/<study>/. */
int folders_plot(const struct options *options, const char *results);

/* The same, then one page over all of them in `results`. */
int folders_report(const struct options *options, const char *results);

/* In words, on stdout. */
int folders_analyse(const struct options *options);

/* Measures what this machine can do, keeps it below `results` and prints it. */
int folders_ceilings(const struct options *options, const char *results);

#endif
