/* SPDX-License-Identifier: MIT */
/* All charts of a run: which figures its study wants, one plot after the other, and how they get drawn. */
#include "experiments/driver/charts.h"
#include "experiments/driver/charts_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 4096

/* ---- every plot of a run ---- */

struct walk {
    const struct chart_run *run;
    chart_visitor visit;
    void *context;
};

static int visit_figure(const struct walk *walk, const struct chart_figure *figure, const char *kind, bool over_seconds,
                        struct cnn_error *error)
{
    struct chart_plot plot;
    bool epochs = strcmp(figure->phase, "accuracy") == 0;
    int status = epochs ? chart_plot_epochs(&plot, walk->run, figure, kind, over_seconds, error)
                        : chart_plot_rows(&plot, walk->run, figure, kind, error);
    if (status == CNN_OK)
        status = walk->visit(walk->context, &plot, error);
    else if (status == CNN_SKIPPED)
        chart_say(walk->run, "%s", error->text);
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

static int visit_phase(const struct walk *walk, const char *phase, const char *const *kinds, struct cnn_error *error)
{
    struct chart_figures figures;
    bool epochs = strcmp(phase, "accuracy") == 0;
    if (chart_figures_choose(&figures, walk->run, phase, error))
        return error->status;
    int status = CNN_OK;
    for (int i = 0; i < figures.count && i < CHART_FIGURES_MAX; i++)
        for (const char *const *kind = kinds; *kind && status == CNN_OK; kind++) {
            if (!is_wanted(&walk->run->study, *kind))
                continue;
            status = visit_figure(walk, &figures.list[i], *kind, false, error);
            if (status == CNN_OK && epochs)
                status = visit_figure(walk, &figures.list[i], *kind, true, error);
        }
    if (figures.count > CHART_FIGURES_MAX)
        chart_say(walk->run,
                  "charts: %s has more than %d figures; the first ones are drawn, all numbers are in %s/rows.csv",
                  phase, CHART_FIGURES_MAX, walk->run->folder);
    chart_figures_free(&figures);
    return status;
}

int charts_visit(const struct chart_run *run, chart_visitor visit, void *context, struct cnn_error *error)
{
    static const char *const timed[] = { "time", "throughput", "speedup", NULL };
    static const char *const trained[] = { "accuracy", "loss", NULL };
    static const char *const phases[] = { "train", "classify", "evaluate" };
    const struct walk walk = { run, visit, context };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (visit_phase(&walk, phases[i], timed, error))
            return error->status;
    return visit_phase(&walk, "accuracy", trained, error);
}

/* ---- drawing them ---- */

/* A plot on its way to disk. *drawable turns false when gnuplot is not there: numbers are still written. */
struct drawing {
    const struct chart_run *run;
    char folder[PATH_TEXT], scripts[PATH_TEXT];
    bool drawable;
    struct cnn_error unavailable;
};

static int draw(void *context, const struct chart_plot *plot, struct cnn_error *error)
{
    struct drawing *drawing = context;
    if (chart_write(plot, drawing->run, drawing->folder, error))
        return error->status;
    if (!drawing->drawable)
        return CNN_OK;
    int status =
        chart_gnuplot(drawing->scripts, plot->script, drawing->folder, plot->name, &drawing->run->style, error);
    if (status == CNN_UNAVAILABLE) {
        drawing->drawable = false;
        drawing->unavailable = *error;
        return CNN_OK;
    }
    const char *formats = drawing->run->style.formats;
    char word[8], ending[16];
    while (status == CNN_OK && chart_format_next(&formats, word, ending))
        chart_say(drawing->run, "%s/%s%s", drawing->folder, plot->name, ending);
    return status;
}

int charts_draw(const char *run_folder, const struct chart_style *style, FILE *log, struct cnn_error *error)
{
    struct chart_run run;
    struct drawing drawing = { .run = &run };
    int status = chart_run_open(&run, run_folder, log, error);
    run.style = style ? *style : (struct chart_style){ 0 };
    if (!run.style.formats[0])
        strcpy(run.style.formats, "svg png");
    if (status == CNN_OK && run.rows.count == 0)
        chart_say(&run, "no charts: %s/rows.csv has no rows", run_folder);
    if (status == CNN_OK && run.rows.count > 0) {
        snprintf(drawing.folder, sizeof drawing.folder, "%s/charts", run_folder);
        drawing.drawable = chart_scripts_find(drawing.scripts, sizeof drawing.scripts, &drawing.unavailable) == CNN_OK;
        if (mkdir(drawing.folder, 0777) && errno != EEXIST)
            status =
                cnn_error_set(error, CNN_ERROR, "%s: this folder cannot be made: %s", drawing.folder, strerror(errno));
        else
            status = charts_visit(&run, draw, &drawing, error);
        if (status == CNN_OK && !drawing.drawable)
            status = cnn_error_set(error, CNN_UNAVAILABLE, "no charts: %s; draw them later with --plot %s",
                                   drawing.unavailable.text, run_folder);
    }
    chart_run_close(&run);
    return status;
}
