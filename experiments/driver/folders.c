/* SPDX-License-Identifier: MIT */
#include "experiments/driver/folders.h"
#include "experiments/driver/analysis.h"
#include "experiments/driver/ceilings.h"
#include "experiments/driver/charts.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/outputs.h"
#include "experiments/driver/page.h"
#include "experiments/driver/rows.h"

#include <stdlib.h>
#include <string.h>

static int failed(const struct cnn_error *error)
{
    fprintf(stderr, "convscale: %s\n", error->text);
    return EXIT_POINTS_FAILED;
}

/* The name of the study of a run, from its rows. */
static int study_of(const char *folder, char *out, size_t size, struct cnn_error *error)
{
    char path[4096];
    struct rows rows;
    snprintf(path, sizeof path, "%.4000s/rows.csv", folder);
    if (rows_read(&rows, path, error))
        return error->status;
    snprintf(out, size, "%s", rows.count > 0 ? rows.list[0].cell[ROW_STUDY] : "");
    rows_free(&rows);
    return CNN_OK;
}

/* The runs of one study together: those from `first` on that are of its study, where no earlier one is. */
static int plot_together(const struct options *options, const char *results, int first)
{
    const struct words_given *folders = &options->arguments;
    char study[256] = "", other[256], out[4096];
    struct cnn_error error;
    int count = 0, status = study_of(folders->list[first], study, sizeof study, &error);
    const char **same = calloc((size_t)folders->count, sizeof *same);
    for (int i = 0; same && !status && i < folders->count; i++) {
        if (study_of(folders->list[i], other, sizeof other, &error) || strcmp(study, other) || !*study)
            continue; /* what cannot be read has been told */
        if (i < first)
            break;
        same[count++] = folders->list[i];
    }
    snprintf(out, sizeof out, "%.3700s/together/%.255s", results, study);
    if (count > 1 && (durable_folders(out, &error) ||
                      charts_draw_together(same, count, out, &options->style, options->quiet ? NULL : stderr, &error)))
        status = failed(&error);
    else
        status = EXIT_FINE;
    free(same);
    return status;
}

/* Asked for by name, so that missing charts are a failure. */
int folders_plot(const struct options *options, const char *results)
{
    struct cnn_error error;
    char study[256];
    int code = EXIT_FINE;
    for (int i = 0; i < options->arguments.count; i++)
        if (study_of(options->arguments.list[i], study, sizeof study, &error))
            code = failed(&error); /* told once; what is made of the others goes on */
        else if (!outputs_make(options->arguments.list[i], &options->style, NULL, options->quiet ? NULL : stderr, true))
            code = EXIT_POINTS_FAILED;
    for (int i = 0; i < options->arguments.count; i++)
        if (plot_together(options, results, i))
            code = EXIT_POINTS_FAILED;
    return code;
}

int folders_report(const struct options *options, const char *results)
{
    struct cnn_error error;
    char study[256];
    int code = folders_plot(options, results), count = 0, status = CNN_OK;
    const char **there = calloc((size_t)options->arguments.count + 1, sizeof *there);
    for (int i = 0; there && i < options->arguments.count; i++)
        if (!study_of(options->arguments.list[i], study, sizeof study, &error))
            there[count++] = options->arguments.list[i];
    if (!there)
        status = cnn_error_set(&error, CNN_OOM, "report: no memory for a list of folders");
    else if (count > 0)
        status = page_write_all(there, count, results, &error);
    free(there);
    if (status)
        return failed(&error);
    if (count > 0 && !options->quiet)
        fprintf(stderr, "%s/index.html\n", results);
    return code;
}

int folders_analyse(const struct options *options)
{
    struct cnn_error error;
    int code = EXIT_FINE;
    for (int i = 0; i < options->arguments.count; i++) {
        printf("%s%s\n", i ? "\n" : "", options->arguments.list[i]);
        if (analysis_write(options->arguments.list[i], stdout, &error))
            code = failed(&error);
    }
    return code;
}

int folders_ceilings(const struct options *options, const char *results)
{
    struct ceilings ceilings = { 0 };
    struct cnn_error error;
    int code = EXIT_FINE;
    if (ceilings_measure(&ceilings, options->quiet ? NULL : stderr, &error) ||
        ceilings_keep(&ceilings, results, &error))
        code = failed(&error);
    else
        ceilings_print(stdout, &ceilings, options->format == FORMAT_JSON);
    ceilings_free(&ceilings);
    return code;
}
