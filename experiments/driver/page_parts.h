/* SPDX-License-Identifier: MIT */
/* What a page is made of, as data for its template. Inside page*.c only. */
#ifndef DRIVER_PAGE_PARTS_H
#define DRIVER_PAGE_PARTS_H

#include "experiments/driver/charts_parts.h"
#include "experiments/driver/claims.h"
#include "experiments/driver/page.h"

#include <cjson/cJSON.h>

/* The record of a run, as far as it is there; NULL where it cannot be read. */
cJSON *page_record_read(const char *run_folder);

/* page_figures.c: an array with title, words, picture and table of every figure; `only` NULL, or the kind wanted,
 * "speedup". `number` counts figures over a page, so that the names inside their pictures differ. */
int page_figures(cJSON *list, const struct chart_run *run, const char *only, int *number, struct cnn_error *error);

/* page_setup.c: how it was measured, as a paragraph of plain text, malloc'd; NULL without memory. */
char *page_setup_text(const struct chart_run *run, const cJSON *record);

/* page_audit.c: the twelve rules of Hoefler and Belli (SC 2015), each with a word and why, decided from rows and
 * record. */
cJSON *page_audit(const struct chart_run *run, const cJSON *record);

/* page_verdicts.c: an array of claims, each with its pairs. */
cJSON *page_verdicts(const struct claim_findings *merged, bool machines);

/* The whole file, malloc'd; NULL where it cannot be read. */
char *page_file_read(const char *folder, const char *name);

#endif
