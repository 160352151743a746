/* SPDX-License-Identifier: MIT */
/* Runs read, compared with the first, and shown. */
#include "experiments/driver/compare_parts.h"
#include "experiments/driver/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_run(struct compared *run, const char *folder, const struct compare_options *options,
                    struct cnn_error *error)
{
    char path[COMPARE_PATH + 16];
    snprintf(run->folder, sizeof run->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    if (rows_read(&run->rows, path, error))
        return error->status == CNN_OOM ? CNN_OOM : (int)(error->status = CNN_INVALID);
    if (run->rows.count == 0)
        return cnn_error_set(error, CNN_INVALID, "%s: has no rows", path);
    if (run->rows.torn && options->log)
        fprintf(options->log, "%s: its last line was cut short and is left out\n", path);
    return CNN_OK;
}

/* The first term in which two keys differ: "width=1" and "width=2". */
static void first_difference(const char *a, const char *b, char *out, size_t size)
{
    size_t at = 0, word = 0;
    for (; a[at] && a[at] == b[at]; at++)
        word = a[at] == ' ' ? at + 1 : word;
    snprintf(out, size, "%.*s there, %.*s here", (int)strcspn(a + word, " "), a + word, (int)strcspn(b + word, " "),
             b + word);
}

static int judge(struct compared *run, const struct compared *base, const struct compare_options *options,
                 struct cnn_error *error)
{
    const struct comparison *comparison = &run->comparison;
    if (compare_rows(&run->comparison, &base->rows, &run->rows, options->threshold, error))
        return error->status;
    if (comparison->common == 0) {
        char difference[256];
        first_difference(base->rows.list[0].cell[ROW_KEY], run->rows.list[0].cell[ROW_KEY], difference,
                         sizeof difference);
        return cnn_error_set(error, CNN_INVALID, "%.300s: no point of %.300s is in it: the first ones differ in %s",
                             run->folder, base->folder, difference);
    }
    if (comparison->duplicates > 0 && options->log)
        fprintf(options->log, "%s, %s: %d row%s again in a later one of the same key, which counts\n", base->folder,
                run->folder, comparison->duplicates, comparison->duplicates == 1 ? " is" : "s are");
    return CNN_OK;
}

static int mark_outliers(struct compared *runs, int count, double threshold, struct cnn_error *error)
{
    double *ratio = malloc((size_t)count * sizeof *ratio);
    bool *outlier = malloc((size_t)count * sizeof *outlier);
    for (int i = 1; ratio && outlier && i < count; i++)
        ratio[i - 1] = runs[i].comparison.ratio;
    bool fine = ratio && outlier && compare_outliers(ratio, count - 1, threshold, outlier);
    for (int i = 1; fine && i < count; i++)
        runs[i].outlier = outlier[i - 1];
    free(ratio);
    free(outlier);
    return fine ? CNN_OK : cnn_error_set(error, CNN_OOM, "no memory to compare %d runs", count);
}

/* Worst first. */
static int compare_compared(const void *a, const void *b)
{
    const struct compared *left = a, *right = b;
    double first = isnan(left->comparison.ratio) ? 0 : left->comparison.ratio;
    double second = isnan(right->comparison.ratio) ? 0 : right->comparison.ratio;
    return first != second ? (first > second ? -1 : 1) : strcmp(left->folder, right->folder);
}

static int compare_group(FILE *out, const char (*folders)[COMPARE_PATH], int count,
                         const struct compare_options *options, bool headed, bool *slower, struct cnn_error *error)
{
    struct compared *runs = calloc((size_t)count, sizeof *runs);
    int status = runs ? CNN_OK : cnn_error_set(error, CNN_OOM, "no memory to compare %d runs", count);
    for (int i = 0; i < count && !status; i++) {
        status = read_run(&runs[i], folders[i], options, error);
        if (!status && i > 0)
            status = judge(&runs[i], &runs[0], options, error);
        *slower = *slower || (!status && runs[i].comparison.beyond > 0);
    }
    if (!status)
        status = mark_outliers(runs, count, options->threshold, error);
    if (!status) {
        qsort(runs + 1, (size_t)count - 1, sizeof *runs, compare_compared);
        if (!compare_print(out, runs, count, options, headed))
            status = cnn_error_set(error, CNN_ERROR, "the comparison cannot be written to stdout");
    }
    for (int i = 0; runs && i < count; i++) {
        comparison_free(&runs[i].comparison);
        rows_free(&runs[i].rows);
    }
    free(runs);
    return status;
}

int compare_runs(FILE *out, const char *const *names, int count, const struct compare_options *options, bool *slower,
                 struct cnn_error *error)
{
    struct compare_groups groups;
    *slower = false;
    int status = compare_names(&groups, names, count, options, error), shown = 0;
    for (int i = 0; i < groups.count && status != CNN_ERROR; i++) {
        struct cnn_error why = { CNN_OK, "" };
        if (shown > 0 && options->format == FORMAT_TABLE)
            fputc('\n', out);
        if (!compare_group(out, (const char(*)[COMPARE_PATH])groups.folder + (size_t)i * (size_t)count, count, options,
                           shown > 0, slower, &why)) {
            shown++;
            continue;
        }
        if (status && options->log) /* one group does not stop the others, the first failure is the one returned */
            fprintf(options->log, "%s\n", why.text);
        if (!status)
            *error = why;
        status = status ? status : (int)why.status;
    }
    free(groups.folder);
    return status;
}

int compare_folders(const struct options *options, const char *results)
{
    struct cnn_error error = { CNN_OK, "" };
    bool slower = false;
    const struct compare_options how = {
        .results = results,
        .threshold = options->threshold,
        .format = options->format != FORMAT_AUTO ? options->format
                  : isatty(STDOUT_FILENO)        ? FORMAT_TABLE
                                                 : FORMAT_CSV,
        .columns = report_columns(),
        .log = options->quiet ? NULL : stderr,
    };
    int status = compare_runs(stdout, options->arguments.list, options->arguments.count, &how, &slower, &error);
    if (status)
        fprintf(stderr, "convscale: %s\n", error.text);
    if (status == CNN_INVALID)
        return EXIT_USAGE;
    return status || slower ? EXIT_POINTS_FAILED : EXIT_FINE;
}
