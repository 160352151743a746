/* SPDX-License-Identifier: MIT */
/* --layers for a person: the operations of each point, then its layers, and how their sum compares with the step. */
#include "experiments/driver/charts_parts.h"
#include "experiments/driver/grid.h"
#include "experiments/driver/layers.h"

#include <string.h>

static void put_seconds(struct grid *grid, int column, double seconds)
{
    char text[CHART_WORD];
    chart_tick_text("s", seconds, text, sizeof text);
    grid_cell(grid, column, "%s", text);
}

static void put_line(struct grid *grid, int column, const char *word, double seconds, double step)
{
    grid_row(grid);
    grid_cell(grid, 0, "%s", word);
    put_seconds(grid, column, seconds);
    grid_cell(grid, column + 1, "%.1f %%", 100 * seconds / step);
}

/* The remainder is what the step takes beyond its operations; negative where waiting for each of them costs more. */
static void put_ends(struct grid *grid, int column, const struct result *result)
{
    double sum = result_operations_sum(result);
    put_line(grid, column, "sum", sum, sum);
    put_line(grid, column, "whole step", result->median, sum);
    put_line(grid, column, "remainder", result->median - sum, sum);
}

static bool print_operations(FILE *out, const struct result *result, int columns)
{
    static const char *const heads[] = { "operation", "layer", "algorithm", "time", "of the sum", "GFLOP/s", "kernel" };
    struct grid *grid = grid_create(7, 2);
    double sum = result_operations_sum(result);
    for (int i = 0; i < 7; i++)
        grid_head(grid, i, heads[i], i >= 3 && i <= 5);
    for (int i = 0; i < result->operations; i++) {
        const struct operation_result *of = &result->operation[i];
        grid_row(grid);
        grid_cell(grid, 0, "%s", of->operation);
        grid_cell(grid, 1, "%s", of->name);
        grid_cell(grid, 2, "%s", of->algorithm);
        put_seconds(grid, 3, of->seconds);
        grid_cell(grid, 4, "%.1f %%", 100 * of->seconds / sum);
        if (of->flops_useful > 0)
            grid_cell(grid, 5, "%.3g", of->flops_useful / of->seconds * 1e-9);
        grid_cell(grid, 6, "%s", of->file);
    }
    put_ends(grid, 3, result);
    bool fine = grid_print(grid, out, columns);
    grid_free(grid);
    return fine;
}

static bool print_layers(FILE *out, const struct result *result, int columns)
{
    struct grid *grid = grid_create(3, 1);
    double sum = result_operations_sum(result);
    grid_head(grid, 0, "layer", false);
    grid_head(grid, 1, "time", true);
    grid_head(grid, 2, "of the sum", true);
    for (int i = 0; i < result->operations; i++) {
        double seconds = 0;
        bool seen = false;
        for (int j = 0; j < result->operations; j++) {
            bool same = result->operation[j].layer == result->operation[i].layer;
            seen = seen || (same && j < i);
            seconds += same ? result->operation[j].seconds : 0;
        }
        if (!seen)
            put_line(grid, 1, result->operation[i].name, seconds, sum);
    }
    bool fine = grid_print(grid, out, columns);
    grid_free(grid);
    return fine;
}

bool layers_print(FILE *out, const struct point *points, const struct result *results, int count, int columns)
{
    bool fine = true, any = false;
    for (int i = 0; i < count && fine; i++) {
        char title[256];
        if (results[i].operations == 0)
            continue;
        point_title(&points[i], title, sizeof title);
        fputc('\n', out);
        text_wrap(out, title, columns, 0);
        fputc('\n', out);
        fine = print_operations(out, &results[i], columns);
        fputc('\n', out);
        fine = fine && print_layers(out, &results[i], columns);
        any = true;
    }
    if (any)
        fputc('\n', out);
    if (any)
        text_wrap(out,
                  "Every operation was waited for, in a pass of its own: the remainder is what the whole step takes "
                  "beyond their sum, negative where the waiting takes longer than what lies between operations.",
                  columns, 0);
    return fine && !ferror(out);
}
