/* SPDX-License-Identifier: MIT */
/* The report: a page in HTML that needs nothing but itself, made from a run's folder alone with plots/report.html. */
#ifndef DRIVER_PAGE_H
#define DRIVER_PAGE_H

#include "lib/status.h"

/* Writes RUN_FOLDER/index.html: verdicts, figures with their tables, the set-up, an audit, links to the raw files; and
 * setup.md and setup.tex, the set-up to paste. Figures are those that lie in charts/. CNN_UNAVAILABLE where the
 * template is not beside this program. */
int page_write(const char *run_folder, struct cnn_error *error);

/* Writes OUT_FOLDER/index.html over several runs: verdicts over all of them, then each run's speed-ups or accuracies,
 * with links to its own page. */
int page_write_all(const char *const *run_folders, int count, const char *out_folder, struct cnn_error *error);

#endif
