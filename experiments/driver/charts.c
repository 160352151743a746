/* SPDX-License-Identifier: MIT */
/* All charts of a run: what its folder holds, which figures its study wants, one plot after the other. */
#include "experiments/driver/charts.h"
#include "experiments/driver/charts_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 4096

static void say(const struct chart_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct chart_run *run, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (run->log) {
        vfprintf(run->log, format, list);
        fputc('\n', run->log);
    }
    va_end(list);
}

/* ---- the run ---- */

static int series_place(struct chart_run *run, const struct row *row)
{
    for (int i = 0; i < run->series_count; i++)
        if (strcmp(run->series[i].id, row->cell[ROW_SERIES]) == 0)
            return i;
    run->series[run->series_count] = (struct chart_series){ row->cell[ROW_SERIES], row->cell[ROW_LABEL] };
    return run->series_count++;
}

/* Series in the study's order, then those that only rows name. */
static int run_series(struct chart_run *run, struct cnn_error *error)
{
    size_t rows = (size_t)run->rows.count, of_study = (size_t)run->study.series_count;
    run->series = malloc((rows + of_study + 1) * sizeof *run->series);
    run->series_of = malloc((rows + 1) * sizeof *run->series_of);
    if (!run->series || !run->series_of)
        return cnn_error_set(error, CNN_OOM, "charts: no memory for %d rows", run->rows.count);
    for (int i = 0; i < run->study.series_count; i++)
        run->series[run->series_count++] = (struct chart_series){ run->study.series[i].id, run->study.series[i].label };
    for (int row = 0; row < run->rows.count; row++)
        run->series_of[row] = series_place(run, &run->rows.list[row]);
    run->base = run->has_study ? run->study.base : 0;
    return CNN_OK;
}

static int run_open(struct chart_run *run, const char *folder, FILE *log, struct cnn_error *error)
{
    char path[PATH_TEXT];
    struct cnn_error why;
    *run = (struct chart_run){ .folder = folder, .log = log };
    if (snprintf(path, sizeof path, "%s/rows.csv", folder) >= (int)sizeof path)
        return cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long", folder);
    if (rows_read(&run->rows, path, error))
        return error->status;
    if (run->rows.torn)
        say(run, "%s: its last line was cut short and is left out", path);
    snprintf(path, sizeof path, "%s/study.cfg", folder);
    run->has_study = study_read(&run->study, path, &why) == CNN_OK;
    if (!run->has_study) {
        say(run, "charts: drawn without the study's words: %s", why.text);
        run->study = (struct study){ 0 };
    }
    return run_series(run, error);
}

static void run_close(struct chart_run *run)
{
    free(run->series);
    free(run->series_of);
    study_free(&run->study);
    rows_free(&run->rows);
}

/* ---- its plots ---- */

/* A plot on its way to disk. *drawable turns false when gnuplot is not there: numbers are still written. */
struct drawing {
    const struct chart_run *run;
    char folder[PATH_TEXT], scripts[PATH_TEXT];
    bool drawable;
    struct cnn_error unavailable;
};

static int draw(struct drawing *drawing, const struct chart_plot *plot, struct cnn_error *error)
{
    if (chart_write(plot, drawing->run, drawing->folder, error))
        return error->status;
    if (!drawing->drawable)
        return CNN_OK;
    int status = chart_gnuplot(drawing->scripts, plot->script, drawing->folder, plot->name, error);
    if (status == CNN_UNAVAILABLE) {
        drawing->drawable = false;
        drawing->unavailable = *error;
        return CNN_OK;
    }
    if (status == CNN_OK) {
        say(drawing->run, "%s/%s.svg", drawing->folder, plot->name);
        say(drawing->run, "%s/%s.png", drawing->folder, plot->name);
    }
    return status;
}

static int draw_figure(struct drawing *drawing, const struct chart_figure *figure, const char *kind, bool over_seconds,
                       struct cnn_error *error)
{
    struct chart_plot plot;
    bool epochs = strcmp(figure->phase, "accuracy") == 0;
    int status = epochs ? chart_plot_epochs(&plot, drawing->run, figure, kind, over_seconds, error)
                        : chart_plot_rows(&plot, drawing->run, figure, kind, error);
    if (status == CNN_OK)
        status = draw(drawing, &plot, error);
    else if (status == CNN_SKIPPED)
        say(drawing->run, "%s", error->text);
    chart_plot_free(&plot);
    return status == CNN_SKIPPED ? CNN_OK : status;
}

/* True if the study asks for this figure, or asks for none in particular. */
static bool is_wanted(const struct study *study, const char *kind)
{
    for (int i = 0; i < study->figure_count; i++)
        if (strcmp(study->figures[i], kind) == 0)
            return true;
    return study->figure_count == 0 && strcmp(kind, "loss") != 0;
}

static int draw_phase(struct drawing *drawing, const char *phase, const char *const *kinds, struct cnn_error *error)
{
    struct chart_figures figures;
    bool epochs = strcmp(phase, "accuracy") == 0;
    if (chart_figures_choose(&figures, drawing->run, phase, error))
        return error->status;
    int status = CNN_OK;
    for (int i = 0; i < figures.count; i++)
        for (const char *const *kind = kinds; *kind && status == CNN_OK; kind++) {
            if (!is_wanted(&drawing->run->study, *kind))
                continue;
            status = draw_figure(drawing, &figures.list[i], *kind, false, error);
            if (status == CNN_OK && epochs)
                status = draw_figure(drawing, &figures.list[i], *kind, true, error);
        }
    if (figures.more)
        say(drawing->run,
            "charts: %s has more than %d figures; the first ones are drawn, all numbers are in %s/rows.csv", phase,
            CHART_FIGURES_MAX, drawing->run->folder);
    chart_figures_free(&figures);
    return status;
}

static int draw_all(struct drawing *drawing, struct cnn_error *error)
{
    static const char *const timed[] = { "time", "throughput", "speedup", NULL };
    static const char *const trained[] = { "accuracy", "loss", NULL };
    static const char *const phases[] = { "train", "classify", "evaluate" };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (draw_phase(drawing, phases[i], timed, error))
            return error->status;
    return draw_phase(drawing, "accuracy", trained, error);
}

int charts_draw(const char *run_folder, FILE *log, struct cnn_error *error)
{
    struct chart_run run;
    struct drawing drawing = { .run = &run };
    int status = run_open(&run, run_folder, log, error);
    if (status == CNN_OK && run.rows.count == 0)
        say(&run, "no charts: %s/rows.csv has no rows", run_folder);
    if (status == CNN_OK && run.rows.count > 0) {
        snprintf(drawing.folder, sizeof drawing.folder, "%s/charts", run_folder);
        drawing.drawable = chart_scripts_find(drawing.scripts, sizeof drawing.scripts, &drawing.unavailable) == CNN_OK;
        if (mkdir(drawing.folder, 0777) && errno != EEXIST)
            status =
                cnn_error_set(error, CNN_ERROR, "%s: this folder cannot be made: %s", drawing.folder, strerror(errno));
        else
            status = draw_all(&drawing, error);
        if (status == CNN_OK && !drawing.drawable)
            status = cnn_error_set(error, CNN_UNAVAILABLE, "no charts: %s; draw them later with --plot %s",
                                   drawing.unavailable.text, run_folder);
    }
    run_close(&run);
    return status;
}
