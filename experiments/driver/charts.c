/* SPDX-License-Identifier: MIT */
/* All charts of a run, written and drawn. */
#include "experiments/driver/charts.h"
#include "experiments/driver/charts_parts.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WORKERS_MOST 8

/* Plots on their way to disk, several of them at once: nothing is timed any more. Without
 * gnuplot numbers are still written. */
struct drawing {
    const struct chart_run *run;
    char folder[CHART_PATH], scripts[CHART_PATH];
    struct chart_process worker[WORKERS_MOST]; /* a ring: those from `first` on are at work */
    int workers, first, busy;
    bool drawable, proven; /* gnuplot may be there; is there */
    struct cnn_error unavailable;
};

/* Waits for the one that has been at work for longest, and says what it drew. */
static int end_first(struct drawing *drawing, struct cnn_error *error)
{
    const struct chart_process *process = &drawing->worker[drawing->first];
    const char *formats = process->formats;
    char word[8], ending[16];
    drawing->first = (drawing->first + 1) % drawing->workers;
    drawing->busy--;
    int status = chart_process_end(process, error);
    if (status == CNN_UNAVAILABLE) {
        drawing->drawable = false;
        drawing->unavailable = *error;
        return CNN_OK;
    }
    drawing->proven = true;
    while (status == CNN_OK && chart_format_next(&formats, word, ending))
        chart_say(drawing->run, "%s%s", process->base, ending);
    return status;
}

/* A first failure is the one to tell. */
static int end_all(struct drawing *drawing, int status, struct cnn_error *error)
{
    struct cnn_error ignored;
    while (drawing->busy > 0) {
        int ended = end_first(drawing, status == CNN_OK ? error : &ignored);
        status = status == CNN_OK ? ended : status;
    }
    return status;
}

static int start_one(struct drawing *drawing, const struct chart_plot *plot, const char *formats,
                     struct cnn_error *error)
{
    char base[CHART_PATH];
    /* the first one runs alone: without gnuplot no more than one old picture is lost */
    if (drawing->busy == (drawing->proven ? drawing->workers : 1) && end_first(drawing, error))
        return error->status;
    if (!drawing->drawable || !*formats)
        return CNN_OK;
    if (snprintf(base, sizeof base, "%s/%s", drawing->folder, plot->name) >= (int)sizeof base)
        return cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long for charts", drawing->folder);
    int status =
        chart_process_start(&drawing->worker[(drawing->first + drawing->busy) % drawing->workers], drawing->scripts,
                            plot->script, base, formats, drawing->run->style.millimetres, error);
    if (status == CNN_OK)
        drawing->busy++;
    if (status != CNN_UNAVAILABLE)
        return status;
    drawing->drawable = false;
    drawing->unavailable = *error;
    return CNN_OK;
}

static int draw(void *context, const struct chart_plot *plot, struct cnn_error *error)
{
    struct drawing *drawing = context;
    const char *formats = drawing->run->style.formats;
    char pictures[32] = "", word[8], ending[16];
    bool latex = false;
    if (chart_write(plot, drawing->run, drawing->folder, error))
        return error->status;
    while (chart_format_next(&formats, word, ending)) {
        size_t used = strlen(pictures);
        if (strcmp(word, "tex") == 0)
            latex = true;
        else
            snprintf(pictures + used, sizeof pictures - used, "%s%s", used ? " " : "", word);
    }
    int status = start_one(drawing, plot, pictures, error);
    return status == CNN_OK && latex ? start_one(drawing, plot, "tex", error) : status;
}

/* Processors that this process may use. */
static int worker_count(void)
{
    cpu_set_t allowed;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return count < 1 ? 1 : count > WORKERS_MOST ? WORKERS_MOST : count;
}

static int draw_all(struct chart_run *run, struct drawing *drawing, struct cnn_error *error)
{
    drawing->workers = worker_count();
    drawing->drawable = chart_scripts_find(drawing->scripts, sizeof drawing->scripts, &drawing->unavailable) == CNN_OK;
    if (mkdir(drawing->folder, 0777) && errno != EEXIST)
        return cnn_error_set(error, CNN_ERROR, "%s: this folder cannot be made: %s", drawing->folder, strerror(errno));
    int status = end_all(drawing, charts_visit(run, draw, drawing, error), error);
    return status == CNN_OK && !drawing->drawable
               ? cnn_error_set(error, CNN_UNAVAILABLE, "no charts: %s; draw them later with --plot %s",
                               drawing->unavailable.text, run->folder)
               : status;
}

int charts_draw_run(struct chart_run *run, const struct chart_style *style, struct cnn_error *error)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    if (!drawing)
        return cnn_error_set(error, CNN_OOM, "no memory for charts");
    drawing->run = run;
    run->style = style ? *style : (struct chart_style){ 0 };
    if (!run->style.formats[0])
        strcpy(run->style.formats, "svg png");
    snprintf(drawing->folder, sizeof drawing->folder, "%s/charts", run->folder);
    int status = draw_all(run, drawing, error);
    free(drawing);
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
