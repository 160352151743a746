/* SPDX-License-Identifier: MIT */
/* A map of speed-up over two axes of sizes, width and batch where these vary. */
#include "experiments/driver/analysis_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAP_AXES 2
#define MAPS_MAX 8 /* of one series in one phase */

/* The axes of a map, and what of a point decides whether two series meet there. */
struct map {
    const struct chart_run *run;
    const char *phase;
    const struct chart_axis *axis[MAP_AXES];
};

static const char *cell(const struct chart_run *run, int row, const struct chart_axis *axis)
{
    return run->rows.list[row].cell[axis->column];
}

static bool in_phase(const struct map *map, int row)
{
    return strcmp(map->run->rows.list[row].cell[ROW_PHASE], map->phase) == 0;
}

static bool is_size(const struct chart_axis *axis)
{
    return axis->column == ROW_WIDTH || axis->column == ROW_DEPTH || axis->column == ROW_IMAGE ||
           axis->column == ROW_BATCH;
}

static bool varies(const struct map *map, const struct chart_axis *axis)
{
    int first = -1;
    for (int row = 0; row < map->run->rows.count; row++) {
        if (!in_phase(map, row))
            continue;
        if (first >= 0 && strcmp(cell(map->run, row, axis), cell(map->run, first, axis)))
            return true;
        first = first < 0 ? row : first;
    }
    return false;
}

/* Width and batch if both vary, else the first two sizes that do. */
static bool pick_axes(struct map *map)
{
    int count = 0;
    for (int pass = 0; pass < 2 && count < MAP_AXES; pass++) {
        count = 0;
        for (int axis = 0; axis < chart_axis_count && count < MAP_AXES; axis++) {
            bool meant = pass || chart_axes[axis].column == ROW_WIDTH || chart_axes[axis].column == ROW_BATCH;
            if (meant && is_size(&chart_axes[axis]) && varies(map, &chart_axes[axis]))
                map->axis[count++] = &chart_axes[axis];
        }
    }
    return count == MAP_AXES;
}

static unsigned axes_of(const struct map *map)
{
    return analysis_axis_bit(map->axis[0]->column) | analysis_axis_bit(map->axis[1]->column);
}

/* The base's row of the same network and sizes; -1: none that may enter a ratio. */
static int base_of(const struct map *map, int row)
{
    for (int base = 0; base < map->run->rows.count; base++) {
        bool same = map->run->series_of[base] == map->run->base && in_phase(map, base) &&
                    analysis_counts(&map->run->rows.list[base]);
        for (int axis = 0; axis < chart_axis_count && same; axis++)
            if (is_size(&chart_axes[axis]) || chart_axes[axis].column == ROW_NETWORK ||
                chart_axes[axis].column == ROW_CONNECTIONS)
                same = strcmp(cell(map->run, base, &chart_axes[axis]), cell(map->run, row, &chart_axes[axis])) == 0;
        if (same)
            return base;
    }
    return -1;
}

static void add(struct chart_plot *plot, const struct map *map, int row)
{
    int base = base_of(map, row);
    if (base < 0 || !analysis_counts(&map->run->rows.list[row]))
        return;
    struct chart_point *point = &plot->point[plot->point_count++];
    double y = row_number(&map->run->rows.list[row], map->axis[1]->column);
    *point = (struct chart_point){ .series = map->run->series_of[row], .y = y, .low = y, .high = y };
    point->x = row_number(&map->run->rows.list[row], map->axis[0]->column);
    point->fit = chart_ratio_of(&map->run->rows.list[base], &map->run->rows.list[row]).value;
    point->samples = (int)row_integer(&map->run->rows.list[row], ROW_SAMPLES);
    snprintf(point->text, sizeof point->text, "%s", cell(map->run, row, map->axis[0]));
    snprintf(point->status, sizeof point->status, "%s", map->run->rows.list[row].cell[ROW_STATUS]);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The distinct values of one coordinate in ascending order; returns how many. */
static int places(const struct chart_plot *plot, bool of_y, double *out)
{
    int count = 0;
    for (int i = 0; i < plot->point_count; i++)
        out[i] = of_y ? plot->point[i].y : plot->point[i].x;
    qsort(out, (size_t)plot->point_count, sizeof *out, compare_doubles);
    for (int i = 0; i < plot->point_count; i++)
        if (i == 0 || out[i] > out[count - 1])
            out[count++] = out[i];
    return count;
}

static double ratio_at(const struct chart_plot *plot, double x, double y)
{
    for (int i = 0; i < plot->point_count; i++)
        if (plot->point[i].x == x && plot->point[i].y == y)
            return plot->point[i].fit;
    return NAN;
}

/* Whether four neighbours are there, between which lines can run: two cuts that meet are no map. */
static bool has_area(const struct chart_plot *plot, const double *x, int columns, const double *y, int rows)
{
    for (int column = 1; column < columns; column++)
        for (int row = 1; row < rows; row++)
            if (!isnan(ratio_at(plot, x[column - 1], y[row - 1])) && !isnan(ratio_at(plot, x[column], y[row - 1])) &&
                !isnan(ratio_at(plot, x[column - 1], y[row])) && !isnan(ratio_at(plot, x[column], y[row])))
                return true;
    return false;
}

/* Logarithms of x, y and ratio on the whole grid, a block of lines for each x, as gnuplot wants them for contours; a
 * point that was not measured is NaN and lets no line through. false: no memory. */
static bool set_grid(struct chart_plot *plot, const double *x, int columns, const double *y, int rows)
{
    size_t size;
    FILE *out = open_memstream(&plot->extra, &size);
    if (!out)
        return false;
    fputs("$grid << EOD\n", out);
    for (int column = 0; column < columns; column++) {
        for (int row = 0; row < rows; row++) {
            double ratio = ratio_at(plot, x[column], y[row]);
            fprintf(out, "%.6f %.6f ", log10(x[column]), log10(y[row]));
            fprintf(out, isnan(ratio) ? "NaN\n" : "%.6f\n", log10(ratio));
        }
        fputc('\n', out);
    }
    fputs("EOD\n", out);
    return !(ferror(out) | fclose(out));
}

static int add_grid(struct chart_plot *plot, struct cnn_error *error)
{
    size_t count = (size_t)plot->point_count + 1;
    double *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    int status = CNN_OOM;
    if (x && y) {
        int columns = places(plot, false, x), rows = places(plot, true, y);
        if (!has_area(plot, x, columns, y, rows))
            status = cnn_error_set(error, CNN_SKIPPED, "no chart %s: too few points for a map", plot->name);
        else if (set_grid(plot, x, columns, y, rows))
            status = CNN_OK;
    }
    free(x);
    free(y);
    return status == CNN_OOM ? cnn_error_set(error, CNN_OOM, "charts: no memory for %s", plot->name) : status;
}

static int plot_group(struct chart_plot *out, const struct map *map, int leader, int number, struct cnn_error *error)
{
    const struct chart_run *run = map->run;
    const struct row *row = &run->rows.list[leader];
    char place[CHART_TEXT], suffix[16] = "";
    if (number > 0)
        snprintf(suffix, sizeof suffix, "-%d", number + 1);
    *out = (struct chart_plot){ .script = "map.gp", .unit = "", .log_x = true, .fit_name = "speedup" };
    out->xname = map->axis[0]->name;
    out->yname = map->axis[1]->name;
    snprintf(out->name, sizeof out->name, "map-%s-%s%s", map->phase, run->series[run->series_of[leader]].id, suffix);
    out->point = calloc((size_t)run->rows.count + 1, sizeof *out->point);
    if (!out->point)
        return cnn_error_set(error, CNN_OOM, "charts: no memory for the points of %s", out->name);
    for (int other = 0; other < run->rows.count; other++)
        if (analysis_alike(run, leader, other, axes_of(map)))
            add(out, map, other);
    if (add_grid(out, error))
        return error->status;
    analysis_place(run, leader, axes_of(map), place, sizeof place);
    snprintf(out->title, sizeof out->title, "%s: speed-up of %s, %s",
             run->has_study ? run->study.title : row->cell[ROW_STUDY], run->series[run->series_of[leader]].label,
             chart_phase_noun(map->phase));
    snprintf(out->about, sizeof out->about, "%s", place);
    snprintf(out->xlabel, sizeof out->xlabel, "%s", map->axis[0]->label);
    snprintf(out->ylabel, sizeof out->ylabel, "%s", map->axis[1]->label);
    chart_caption(out, "Machine %s, %.10s. Base: %s. Lines: 1, 2, 24 and 100 times.", row->cell[ROW_MACHINE],
                  row->cell[ROW_STARTED], run->series[run->base].label);
    return CNN_OK;
}

int chart_maps_visit(const struct chart_run *run, const char *phase, chart_visitor visit, void *context,
                     struct cnn_error *error)
{
    struct map map = { .run = run, .phase = phase };
    int status = CNN_OK;
    if (!pick_axes(&map))
        return CNN_OK;
    for (int series = 0; series < run->series_count; series++) {
        int number = 0;
        for (int row = 0; row < run->rows.count && status == CNN_OK && number < MAPS_MAX; row++) {
            struct chart_plot plot;
            bool leads = series != run->base && run->series_of[row] == series && in_phase(&map, row);
            for (int before = 0; before < row && leads; before++)
                leads = !analysis_alike(run, row, before, axes_of(&map));
            if (!leads)
                continue;
            status = plot_group(&plot, &map, row, number, error);
            number += status == CNN_OK;
            if (status == CNN_OK)
                status = visit(context, &plot, error);
            else if (status == CNN_SKIPPED) /* a study of single cuts has no maps, which is nothing to tell */
                status = CNN_OK;
            chart_plot_free(&plot);
        }
    }
    return status;
}
