/* SPDX-License-Identifier: MIT */
/* All charts of a run, written and drawn one after the other. */
#include "experiments/driver/charts.h"
#include "experiments/driver/charts_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_TEXT 4096

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

int charts_draw_run(struct chart_run *run, const struct chart_style *style, struct cnn_error *error)
{
    struct drawing drawing = { .run = run };
    int status;
    run->style = style ? *style : (struct chart_style){ 0 };
    if (!run->style.formats[0])
        strcpy(run->style.formats, "svg png");
    snprintf(drawing.folder, sizeof drawing.folder, "%s/charts", run->folder);
    drawing.drawable = chart_scripts_find(drawing.scripts, sizeof drawing.scripts, &drawing.unavailable) == CNN_OK;
    if (mkdir(drawing.folder, 0777) && errno != EEXIST)
        status = cnn_error_set(error, CNN_ERROR, "%s: this folder cannot be made: %s", drawing.folder, strerror(errno));
    else
        status = charts_visit(run, draw, &drawing, error);
    if (status == CNN_OK && !drawing.drawable)
        status = cnn_error_set(error, CNN_UNAVAILABLE, "no charts: %s; draw them later with --plot %s",
                               drawing.unavailable.text, run->folder);
    return status;
}

int charts_draw(const char *run_folder, const struct chart_style *style, FILE *log, struct cnn_error *error)
{
    struct chart_run run;
    int status = chart_run_open(&run, run_folder, log, error);
    if (status == CNN_OK && run.rows.count == 0)
        chart_say(&run, "no charts: %s/rows.csv has no rows", run_folder);
    else if (status == CNN_OK)
        status = charts_draw_run(&run, style, error);
    chart_run_close(&run);
    return status;
}
