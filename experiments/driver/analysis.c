/* SPDX-License-Identifier: MIT */
#include "experiments/driver/analysis.h"
#include "experiments/driver/analysis_parts.h"
#include "experiments/driver/durable.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 4096

const char *const analysis_phases[] = { "train", "classify", "evaluate", NULL };

bool analysis_counts(const struct row *row)
{
    return row_status(row) == CNN_OK && row_number(row, ROW_SECONDS_PER_STEP) > 0;
}

unsigned analysis_axis_bit(enum row_column column)
{
    for (int axis = 0; axis < chart_axis_count; axis++)
        if (chart_axes[axis].column == column)
            return 1u << axis;
    return 0;
}

bool analysis_alike(const struct chart_run *run, int a, int b, unsigned but)
{
    const struct row *left = &run->rows.list[a], *right = &run->rows.list[b];
    if (run->series_of[a] != run->series_of[b] || strcmp(left->cell[ROW_PHASE], right->cell[ROW_PHASE]))
        return false;
    for (int axis = 0; axis < chart_axis_count; axis++) {
        enum row_column column = chart_axes[axis].column;
        if (!(but >> axis & 1) && strcmp(left->cell[column], right->cell[column]))
            return false;
    }
    return true;
}

static bool varies(const struct chart_run *run, int row, enum row_column column)
{
    for (int other = 0; other < run->rows.count; other++)
        if (run->series_of[other] == run->series_of[row] &&
            strcmp(run->rows.list[other].cell[column], run->rows.list[row].cell[column]))
            return true;
    return false;
}

void analysis_place(const struct chart_run *run, int row, unsigned but, char *out, size_t size)
{
    const char *const *cell = run->rows.list[row].cell;
    size_t used = (size_t)snprintf(out, size, "%s", cell[ROW_NETWORK]);
    for (int axis = 0; axis < chart_axis_count && used < size; axis++) {
        enum row_column column = chart_axes[axis].column;
        if (!(but >> axis & 1) && column != ROW_NETWORK && varies(run, row, column))
            used += (size_t)snprintf(out + used, size - used, ", %s %s", chart_axes[axis].name, cell[column]);
    }
}

void analysis_print_text(FILE *out, const char *text)
{
    fputs(",\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void analysis_print_number(FILE *out, double value)
{
    fputc(',', out);
    if (isfinite(value))
        fprintf(out, "%.6g", value);
}

const char *analysis_seconds(double seconds, char out[CHART_WORD])
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" } };
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && seconds < 0.9995 * units[i].scale)
        i++;
    snprintf(out, CHART_WORD, "%.3g %s", seconds / units[i].scale, units[i].unit);
    return out;
}

/* One CSV, written at once or not at all; none where the part has nothing to say. */
static int write_part(const struct chart_run *run, const char *folder, const char *name, analysis_part part, FILE *text,
                      struct cnn_error *error)
{
    char path[PATH_TEXT], *csv = NULL;
    size_t size = 0;
    struct analysis_out out = { open_memstream(&csv, &size), text, 0 };
    int status = out.csv ? part(run, &out, error) : CNN_OOM;
    if (!out.csv || ferror(out.csv) | fclose(out.csv))
        status = cnn_error_set(error, CNN_OOM, "analysis: no memory for %s", name);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        status = cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long", folder);
    if (status == CNN_OK && out.lines > 0)
        status = durable_replace(path, csv, size, error);
    free(csv);
    return status;
}

int analysis_write(const char *run_folder, FILE *text, struct cnn_error *error)
{
    static const struct {
        const char *name;
        analysis_part part;
    } parts[] = { { "breakeven.csv", analysis_breakeven },
                  { "model.csv", analysis_models },
                  { "scaling.csv", analysis_scaling } };
    struct chart_run run;
    char folder[PATH_TEXT];
    int status = chart_run_open(&run, run_folder, NULL, error);
    snprintf(folder, sizeof folder, "%s/charts", run_folder);
    if (status == CNN_OK && mkdir(folder, 0777) && errno != EEXIST)
        status = cnn_error_set(error, CNN_ERROR, "%s: this folder cannot be made: %s", folder, strerror(errno));
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == CNN_OK; i++)
        status = write_part(&run, folder, parts[i].name, parts[i].part, text, error);
    chart_run_close(&run);
    return status;
}
