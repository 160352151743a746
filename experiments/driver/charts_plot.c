/* SPDX-License-Identifier: MIT */
/* The rows of a figure as the points of a plot: places on the x axis; times, rates or ratios with their intervals. */
#include "experiments/driver/charts_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct row *row_of(const struct chart_run *run, const struct chart_figure *figure, int i)
{
    return &run->rows.list[figure->row[i]];
}

/* ---- places on the x axis ---- */

static int compare_numbers(const void *a, const void *b)
{
    const struct chart_place *left = a, *right = b;
    return (left->x > right->x) - (left->x < right->x);
}

static int compare_words(const void *a, const void *b)
{
    const struct chart_place *left = a, *right = b;
    return strcmp(left->text, right->text);
}

int chart_places(const struct chart_run *run, const struct chart_figure *figure, struct chart_place *places)
{
    const struct chart_axis *axis = figure->axis;
    int count = 0, distinct = 0;
    for (int i = 0; i < figure->row_count; i++) {
        const struct row *row = row_of(run, figure, i);
        if (!chart_cell_any(axis, row))
            places[count++] =
                (struct chart_place){ axis->number ? row_number(row, axis->column) : 0, row->cell[axis->column] };
    }
    if (count == 0)
        places[count++] = (struct chart_place){ 1, "" };
    qsort(places, (size_t)count, sizeof *places, axis->number ? compare_numbers : compare_words);
    for (int i = 0; i < count; i++)
        if (i == 0 || strcmp(places[i].text, places[distinct - 1].text))
            places[distinct++] = places[i];
    for (int i = 0; i < distinct && !axis->number; i++)
        places[i].x = i + 1;
    return distinct;
}

static bool at_place(const struct chart_axis *axis, const struct row *row, const struct chart_place *place)
{
    return chart_cell_any(axis, row) || strcmp(row->cell[axis->column], place->text) == 0;
}

/* ---- y ---- */

bool chart_has_number(const struct row *row)
{
    enum cnn_status status = row_status(row);
    return (status == CNN_OK || status == CNN_UNSTABLE) && row_number(row, ROW_SECONDS_PER_STEP) > 0;
}

const struct row *chart_row_at(const struct chart_run *run, const struct chart_figure *figure, int series,
                               const struct chart_place *place)
{
    for (int i = 0; i < figure->row_count; i++) {
        const struct row *row = row_of(run, figure, i);
        if (run->series_of[figure->row[i]] == series && at_place(figure->axis, row, place))
            return row;
    }
    return NULL;
}

static void set_times(struct chart_point *point, const struct row *row)
{
    point->y = row_number(row, ROW_SECONDS_PER_STEP);
    point->low = row_number(row, ROW_INTERVAL_LOW_SECONDS);
    point->high = row_number(row, ROW_INTERVAL_HIGH_SECONDS);
    if (!(point->low > 0 && point->low <= point->y))
        point->low = point->y;
    if (!(point->high >= point->y))
        point->high = point->y;
}

static void set_rates(struct chart_point *point, const struct row *row)
{
    double batch = row_number(row, ROW_BATCH);
    set_times(point, row);
    double low = batch / point->high;
    point->high = batch / point->low;
    point->low = low;
    point->y = batch / point->y;
}

struct chart_ratio chart_ratio_of(const struct row *base, const struct row *row)
{
    struct chart_point over = { 0 }, under = { 0 };
    set_times(&over, base);
    set_times(&under, row);
    return (struct chart_ratio){ over.y / under.y, over.low / under.high, over.high / under.low };
}

/* Only stable rows enter a ratio. */
static void set_ratio(struct chart_point *point, const struct row *row, const struct row *base)
{
    struct chart_ratio ratio = chart_ratio_of(base, row);
    point->y = ratio.value;
    point->low = ratio.low;
    point->high = ratio.high;
}

static void set_plain(const struct chart_plot *plot, struct chart_point *point, const struct row *row)
{
    if (strcmp(plot->script, "time.gp") == 0)
        set_times(point, row);
    else if (strcmp(plot->script, "energy.gp") == 0)
        point->y = point->low = point->high = row_number(row, ROW_ENERGY_JOULE_PER_IMAGE);
    else
        set_rates(point, row);
}

static bool is_base(const struct chart_run *run, int row)
{
    return run->series_of[row] == run->series[run->series_of[row]].base;
}

static void add_point(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure, int i,
                      const struct chart_place *place)
{
    const struct row *row = row_of(run, figure, i);
    struct chart_point *point = &plot->point[plot->point_count++];
    *point = (struct chart_point){ .series = run->series_of[figure->row[i]],
                                   .x = place->x,
                                   .y = NAN,
                                   .low = NAN,
                                   .high = NAN,
                                   .samples = (int)row_integer(row, ROW_SAMPLES),
                                   .flat = chart_cell_any(figure->axis, row) };
    snprintf(point->text, sizeof point->text, "%s", place->text);
    snprintf(point->status, sizeof point->status, "%s", row->cell[ROW_STATUS]);
    if (!chart_has_number(row))
        return;
    if (!plot->ratio) {
        set_plain(plot, point, row);
        if (run->fit && strcmp(plot->script, "time.gp") == 0)
            point->fit = run->fit[figure->row[i]];
        return;
    }
    const struct row *base = chart_row_at(run, figure, run->series[point->series].base, place);
    if (!base)
        snprintf(point->status, sizeof point->status, "no base");
    else if (row_status(base) != CNN_OK || !chart_has_number(base))
        snprintf(point->status, sizeof point->status, "base %s", base->cell[ROW_STATUS]);
    else if (row_status(row) == CNN_OK)
        set_ratio(point, row, base);
}

static int add_points(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure)
{
    struct chart_place *places = malloc(((size_t)figure->row_count + 1) * sizeof *places);
    if (!places)
        return CNN_OOM;
    int count = chart_places(run, figure, places);
    plot->point = calloc((size_t)figure->row_count * (size_t)count, sizeof *plot->point);
    for (int i = 0; plot->point && i < figure->row_count; i++) {
        if (plot->ratio && is_base(run, figure->row[i]))
            continue;
        for (int p = 0; p < count; p++)
            if (at_place(figure->axis, row_of(run, figure, i), &places[p]))
                add_point(plot, run, figure, i, &places[p]);
    }
    free(places);
    return plot->point ? CNN_OK : CNN_OOM;
}

/* ---- words ---- */

/* "amd-epyc-9b14-2cpu, 2026-11-30." */
static void caption_machine(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure)
{
    int least = INT32_MAX, most = 0;
    for (int i = 0; i < plot->point_count; i++) {
        if (isnan(plot->point[i].y))
            continue;
        least = plot->point[i].samples < least ? plot->point[i].samples : least;
        most = plot->point[i].samples > most ? plot->point[i].samples : most;
    }
    const struct row *row = row_of(run, figure, 0);
    char samples[CHART_WORD];
    snprintf(samples, sizeof samples, least < most ? "%d to %d" : "%d", least, most);
    if (run->several) {
        chart_caption(plot,
                      "Runs of several machines or times, as named. Medians of %s samples; bars: 95 %% interval "
                      "of the %s.",
                      samples, plot->ratio ? "ratio" : "median");
        return;
    }
    chart_caption(plot, "Machine %s, %.10s. Medians of %s samples; bars: 95 %% interval of the %s.",
                  row->cell[ROW_MACHINE], row->cell[ROW_STARTED], samples, plot->ratio ? "ratio" : "median");
}

/* A speed-up states its base and the base's absolute time. */
static void caption_base(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure)
{
    const char *label = run->series[run->base].label;
    double least = INFINITY, most = 0;
    for (int i = 0; i < figure->row_count; i++) {
        const struct row *row = row_of(run, figure, i);
        if (!is_base(run, figure->row[i]) || !chart_has_number(row))
            continue;
        least = fmin(least, row_number(row, ROW_SECONDS_PER_STEP));
        most = fmax(most, row_number(row, ROW_SECONDS_PER_STEP));
        label = run->several ? row->cell[ROW_LABEL] : label; /* without a machine */
    }
    chart_caption(plot, "Base: %s%s, %.3g to %.3g ms per step. Dotted: 1 (as fast as the base).", label,
                  run->several ? " of each run" : "", least * 1e3, most * 1e3);
}

static void set_kind(struct chart_plot *plot, const char *kind, const char *phase)
{
    if (strcmp(kind, "time") == 0) {
        plot->script = "time.gp";
        plot->yname = "seconds_per_step";
        plot->unit = "s";
        snprintf(plot->ylabel, sizeof plot->ylabel, "time of one %s step", chart_phase_noun(phase));
    } else if (strcmp(kind, "throughput") == 0) {
        plot->script = "throughput.gp";
        plot->yname = "images_per_second";
        plot->unit = "";
        snprintf(plot->ylabel, sizeof plot->ylabel, "images per second, %s", chart_phase_noun(phase));
    } else if (strcmp(kind, "energy") == 0) {
        plot->script = "energy.gp";
        plot->yname = "energy_joule_per_image";
        plot->unit = "J";
        snprintf(plot->ylabel, sizeof plot->ylabel, "energy of an image, %s", chart_phase_noun(phase));
    } else {
        plot->script = "speedup.gp";
        plot->yname = "speedup";
        plot->unit = "x";
        plot->ratio = true;
        snprintf(plot->ylabel, sizeof plot->ylabel, "speed-up over the base");
    }
}

int chart_plot_rows(struct chart_plot *out, const struct chart_run *run, const struct chart_figure *figure,
                    const char *kind, struct cnn_error *error)
{
    *out = (struct chart_plot){ .xname = figure->axis->name, .categories = !figure->axis->number };
    set_kind(out, kind, figure->phase);
    chart_titles(out, run, figure, kind);
    snprintf(out->xlabel, sizeof out->xlabel, "%s", figure->axis->label);
    if (add_points(out, run, figure))
        return cnn_error_set(error, CNN_OOM, "charts: no memory for the points of %s", out->name);
    caption_machine(out, run, figure);
    if (out->ratio)
        caption_base(out, run, figure);
    if (chart_has_fit(out))
        chart_caption(out, "Dotted: fixed time + work / rate, fitted over all sizes of a series (model.csv).");
    return chart_plot_finish(out, run, error);
}
