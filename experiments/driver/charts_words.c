/* SPDX-License-Identifier: MIT */
/* The words around a plot, and what of its points can be drawn: series without a number are named below instead. */
#include "experiments/driver/charts_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void chart_caption(struct chart_plot *plot, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (plot->captions < CHART_CAPTIONS_MAX)
        vsnprintf(plot->caption[plot->captions++], sizeof *plot->caption, format, list);
    va_end(list);
}

const char *chart_phase_noun(const char *phase)
{
    if (strcmp(phase, "train") == 0)
        return "training";
    if (strcmp(phase, "classify") == 0)
        return "classification";
    return strcmp(phase, "evaluate") == 0 ? "evaluation" : "training run";
}

void chart_titles(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure,
                  const char *kind)
{
    const char *title = run->has_study ? run->study.title : run->rows.list[figure->row[0]].cell[ROW_STUDY];
    snprintf(plot->name, sizeof plot->name, "%s%s%s", kind, *figure->suffix ? "-" : "", figure->suffix);
    snprintf(plot->title, sizeof plot->title, "%s: %s", title, chart_phase_noun(figure->phase));
    plot->phase = figure->phase;
    snprintf(plot->about, sizeof plot->about, "%s", figure->common);
}

static int compare_points(const void *a, const void *b)
{
    const struct chart_point *left = a, *right = b;
    if (left->series != right->series)
        return left->series < right->series ? -1 : 1;
    return (left->x > right->x) - (left->x < right->x);
}

/* "GPU, tuned (12 unavailable)" for a series of which nothing can be drawn: points `from` to before `to`. */
static void note_absent(const struct chart_plot *plot, const struct chart_run *run, int from, int to, char *text,
                        size_t size)
{
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, "%s%s (", used ? "; " : "",
                             run->series[plot->point[from].series].label);
    bool first = true;
    for (int i = from; i < to && used < size; i++) {
        int same = 0;
        bool seen = false;
        for (int j = from; j < to; j++) {
            bool equal = strcmp(plot->point[i].status, plot->point[j].status) == 0;
            same += equal;
            seen = seen || (equal && j < i);
        }
        if (seen)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%d %s", first ? "" : ", ", same, plot->point[i].status);
        first = false;
    }
    if (used < size)
        snprintf(text + used, size - used, ")");
}

/* Numbers of a paper that lie over this plot. They enter no number of ours. */
static int choose_published(struct chart_plot *plot, const struct chart_run *run, struct cnn_error *error)
{
    const struct study *study = &run->study;
    if (study->published_count == 0)
        return CNN_OK;
    plot->typed = malloc((size_t)study->published_count * sizeof *plot->typed);
    if (!plot->typed)
        return cnn_error_set(error, CNN_OOM, "charts: no memory for %s", plot->name);
    for (int i = 0; i < study->published_count; i++) {
        const struct study_published *one = &study->published[i];
        if (!strcmp(one->axis, plot->xname) && !strcmp(one->quantity, plot->yname) && !strcmp(one->phase, plot->phase))
            plot->typed[plot->typed_count++] = one;
    }
    if (plot->typed_count > 0)
        chart_caption(plot, "Open markers: as published, from %s; they enter no ratio.", study->published_file);
    return CNN_OK;
}

int chart_plot_finish(struct chart_plot *plot, const struct chart_run *run, struct cnn_error *error)
{
    char absent[CHART_TEXT] = "";
    bool unstable = false;
    int kept = 0;
    qsort(plot->point, (size_t)plot->point_count, sizeof *plot->point, compare_points);
    for (int from = 0, to; from < plot->point_count; from = to) {
        int numbers = 0;
        for (to = from; to < plot->point_count && plot->point[to].series == plot->point[from].series; to++) {
            numbers += !isnan(plot->point[to].y);
            unstable = unstable || (!isnan(plot->point[to].y) && strcmp(plot->point[to].status, "unstable") == 0);
        }
        if (numbers == 0)
            note_absent(plot, run, from, to, absent, sizeof absent);
        for (int i = from; numbers && i < to; i++)
            plot->point[kept++] = plot->point[i];
    }
    plot->point_count = kept;
    if (kept == 0 && *absent)
        return cnn_error_set(error, CNN_SKIPPED, "no chart %s: no point has a number: %s", plot->name, absent);
    if (kept == 0)
        return cnn_error_set(error, CNN_SKIPPED, "no chart %s: there is no series beside the base", plot->name);
    if (unstable)
        chart_caption(plot, "Hollow: unstable, the interval stayed wide.");
    if (*absent)
        chart_caption(plot, "Not drawn: %s.", absent);
    return choose_published(plot, run, error);
}

void chart_plot_free(struct chart_plot *plot)
{
    free(plot->typed);
    plot->typed = NULL;
    free(plot->extra);
    plot->extra = NULL;
    free(plot->point);
    plot->point = NULL;
}
