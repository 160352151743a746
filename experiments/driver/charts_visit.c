/* SPDX-License-Identifier: MIT */
/* Every plot of a run: which figures its study wants, and what its rows have. */
#include "experiments/driver/charts_parts.h"

#include <string.h>

#define PATH_TEXT 4096

struct walk {
    const struct chart_run *run;
    chart_visitor visit;
    void *context;
};

/* Passes on what was made, or says why there is nothing to show. */
static int visit_made(const struct walk *walk, struct chart_plot *plot, int status, struct cnn_error *error)
{
    if (status == CNN_OK)
        status = walk->visit(walk->context, plot, error);
    else if (status == CNN_SKIPPED)
        chart_say(walk->run, "%s", error->text);
    chart_plot_free(plot);
    return status == CNN_SKIPPED ? CNN_OK : status;
}

static int visit_figure(const struct walk *walk, const struct chart_figure *figure, const char *kind, bool over_seconds,
                        struct cnn_error *error)
{
    struct chart_plot plot;
    bool epochs = strcmp(figure->phase, "accuracy") == 0;
    int status = epochs ? chart_plot_epochs(&plot, walk->run, figure, kind, over_seconds, error)
                        : chart_plot_rows(&plot, walk->run, figure, kind, error);
    return visit_made(walk, &plot, status, error);
}

/* True if the study asks for this figure, or asks for none in particular. */
static bool is_wanted(const struct study *study, const char *kind)
{
    for (int i = 0; i < study->figure_count; i++)
        if (strcmp(study->figures[i], kind) == 0)
            return true;
    return study->figure_count == 0 && strcmp(kind, "loss") != 0 && strcmp(kind, "parts") != 0;
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

/* Over threads, be they the longest axis or not. */
static int visit_scaling(const struct walk *walk, const char *phase, struct cnn_error *error)
{
    struct chart_figures cuts;
    struct chart_plot plot;
    const struct chart_axis *axis = chart_axes;
    while (axis->column != ROW_THREADS_ASKED)
        axis++;
    int status = chart_figures_along(&cuts, walk->run, phase, axis, error);
    for (int i = 0; status == CNN_OK && i < cuts.count && i < CHART_FIGURES_MAX; i++)
        status = visit_made(walk, &plot, chart_plot_scaling(&plot, walk->run, &cuts.list[i], error), error);
    chart_figures_free(&cuts);
    return status;
}

/* One for each device and number of threads that rows ran on. */
static int visit_rooflines(const struct walk *walk, struct cnn_error *error)
{
    struct ceilings ceilings;
    struct cnn_error why;
    struct chart_plot plot;
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "%.4000s/" CEILINGS_FILE, walk->run->folder);
    int status = CNN_OK;
    if (ceilings_read(&ceilings, path, NULL, &why)) /* runs of older programs, and runs without */
        return CNN_OK;
    for (int i = 0; status == CNN_OK && i < 2 * ceilings.count; i++) { /* by row, then by layer */
        status = chart_plot_roofline(&plot, walk->run, &ceilings, i / 2, i % 2, error);
        if (status == CNN_SKIPPED) { /* no row ran there, which is nothing to tell */
            chart_plot_free(&plot);
            status = CNN_OK;
        } else {
            status = visit_made(walk, &plot, status, error);
        }
    }
    ceilings_free(&ceilings);
    return status;
}

static bool has_energy(const struct chart_run *run)
{
    for (int row = 0; row < run->rows.count; row++)
        if (row_number(&run->rows.list[row], ROW_ENERGY_JOULE_PER_IMAGE) > 0)
            return true;
    return false;
}

static bool has_phase(const struct chart_run *run, const char *phase)
{
    for (int row = 0; row < run->rows.count; row++)
        if (strcmp(run->rows.list[row].cell[ROW_PHASE], phase) == 0)
            return true;
    return false;
}

/* The figures that say why. */
static int visit_why(const struct walk *walk, const char *phase, struct cnn_error *error)
{
    static const char *const energy[] = { "energy", NULL };
    struct chart_plot plot;
    if (is_wanted(&walk->run->study, "scaling") && visit_scaling(walk, phase, error))
        return error->status;
    if (has_energy(walk->run) && visit_phase(walk, phase, energy, error))
        return error->status;
    if (is_wanted(&walk->run->study, "map") && chart_maps_visit(walk->run, phase, walk->visit, walk->context, error))
        return error->status;
    if (is_wanted(&walk->run->study, "parts") && has_phase(walk->run, phase))
        return visit_made(walk, &plot, chart_plot_parts(&plot, walk->run, phase, error), error);
    return CNN_OK;
}

int charts_visit(const struct chart_run *run, chart_visitor visit, void *context, struct cnn_error *error)
{
    static const char *const timed[] = { "time", "throughput", "speedup", NULL };
    static const char *const trained[] = { "accuracy", "loss", NULL };
    static const char *const phases[] = { "train", "classify", "evaluate" };
    const struct walk walk = { run, visit, context };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (visit_phase(&walk, phases[i], timed, error) || (!run->several && visit_why(&walk, phases[i], error)))
            return error->status;
    if (!run->several && is_wanted(&run->study, "roofline") && visit_rooflines(&walk, error)) /* of one machine each */
        return error->status;
    return visit_phase(&walk, "accuracy", trained, error);
}
