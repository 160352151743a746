/* SPDX-License-Identifier: MIT */
#include "experiments/driver/outputs.h"
#include "experiments/driver/analysis.h"
#include "experiments/driver/charts.h"
#include "experiments/driver/claims.h"
#include "experiments/driver/page.h"
#include "experiments/driver/report.h"

static bool said(int status, const struct cnn_error *error)
{
    if (status)
        fprintf(stderr, "convscale: %s\n", error->text);
    return status == CNN_OK;
}

/* Verdicts over all lines of a pair for people; line by line in claims.csv. */
static int judge(const char *folder, FILE *text, struct cnn_error *error)
{
    struct claim_findings all = { 0 }, merged = { 0 };
    int status = claims_judge(&all, folder, error);
    if (!status)
        status = claims_write(&all, folder, error);
    if (!status && text)
        status = claims_merge(&merged, &all, error);
    if (!status && text && !claims_print(text, &merged, report_columns()))
        status = cnn_error_set(error, CNN_ERROR, "the verdicts cannot be written to stdout; they are in %s/claims.csv",
                               folder);
    claims_free(&all);
    claims_free(&merged);
    return status;
}

bool outputs_make(const char *run_folder, const struct chart_style *style, FILE *text, FILE *log, bool wanted)
{
    struct cnn_error error = { CNN_OK, "" };
    bool fine = said(analysis_write(run_folder, text, &error), &error);
    fine = said(judge(run_folder, text, &error), &error) && fine;
    int status = charts_draw(run_folder, style, log, &error);
    fine = (said(status, &error) || (status == CNN_UNAVAILABLE && !wanted)) && fine;
    status = page_write(run_folder, &error);
    if (status == CNN_OK && log)
        fprintf(log, "%s/index.html\n", run_folder);
    return (said(status, &error) || (status == CNN_UNAVAILABLE && !wanted)) && fine;
}
