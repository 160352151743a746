/* SPDX-License-Identifier: MIT */
/* What a run says of the claims of its study, from its rows alone. A claim is judged over a pair of series: the base's
 * time over the other's, at every point where both rows are `ok`.
 *
 * Ratio "2..24": the low end holds if the smallest ratio's lower bound is at least 2, the high end if the largest ratio
 * is within a quarter of 24 (above: exceeded). Both: holds; one of them, or some points inside: in part. Ratio "100..":
 * holds if every lower bound is at least 100, in part if any is at least 30. Growth: over width, depth or image,
 * Kendall's tau of the ratio is positive with p < 0.05, and the other side's time grows slower with the work than the
 * base's, its slope (log against log) lying below by more than both intervals; one of the two: in part. Fewer than five
 * points show no growth either way. */
#ifndef DRIVER_CLAIMS_H
#define DRIVER_CLAIMS_H

#include "lib/status.h"

#include <stdbool.h>
#include <stdio.h>

enum claim_word { CLAIM_HOLDS, CLAIM_IN_PART, CLAIM_NOT_HERE, CLAIM_NOT_MEASURED, CLAIM_WORD_COUNT };

const char *claim_word_text(enum claim_word word); /* "holds here", "in part", "not here", "not measured" */

struct claim_ratio {
    double value, low, high;
    char at[160]; /* "image 104, batch 1" */
};

/* A claim over one pair and one phase, along one line of points or over several of them. */
struct claim_finding {
    char claim[160], pair[72], base[96], series[96]; /* the pair as ids, and both labels */
    char phase[16], axis[16], cut[160];              /* the line: along "image" at "batch 1" */
    char machine[64], study[64];
    double low, high; /* as claimed; low 0: of growth alone */
    bool growth;
    char where[160];    /* these latter: "image 40..72, 96 at batch 1" */
    int points, inside; /* both sides ok; of these, whole interval within what is claimed */
    struct claim_ratio least, most;
    bool ordered, sloped; /* enough points for the two below */
    double tau, p;
    double base_slope[3], slope[3]; /* value, low, high */
    int lines, growing, partly;     /* lines that growth could be judged along; where it holds; where in part */
    enum claim_word word;
    char why[320];
};

struct claim_findings {
    int count;
    struct claim_finding *list;
};

/* Judges every claim of the run along every line of its points. Without claims: none. */
int claims_judge(struct claim_findings *out, const char *run_folder, struct cnn_error *error);

/* Adds copies of `more`. */
int claims_append(struct claim_findings *to, const struct claim_findings *more, struct cnn_error *error);

/* Findings of the same claim, machine, labels and phase become one, over all their points. */
int claims_merge(struct claim_findings *out, const struct claim_findings *all, struct cnn_error *error);
void claims_free(struct claim_findings *findings); /* zeroed is fine */

/* Line for line as RUN_FOLDER/claims.csv; nothing is written where there are none. */
int claims_write(const struct claim_findings *findings, const char *run_folder, struct cnn_error *error);

/* A table of lines at most `columns` wide. */
bool claims_print(FILE *out, const struct claim_findings *findings, int columns);

#endif
