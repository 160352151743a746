/* SPDX-License-Identifier: MIT */
/* The tables of a run as a terminal shows them: for every phase the times, then the speed-ups. */
#include "experiments/driver/table.h"
#include "experiments/driver/grid.h"
#include "experiments/driver/table_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* What a block of a table shows. */
enum table_show { SHOW_SECONDS, SHOW_SPEEDUP, SHOW_ACCURACY, SHOW_TARGET };

static bool has_time(const struct result *result)
{
    return result && (result->status == CNN_OK || result->status == CNN_UNSTABLE) && isfinite(result->median) &&
           result->median > 0;
}

/* Four digits that mean something. */
static void put_number(struct grid *grid, int column, double value, const char *mark)
{
    int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 4;
    grid_cell(grid, column, "%.*f%s", digits, value, mark);
}

static void put_seconds(struct grid *grid, int column, const struct result *result, double scale)
{
    if (has_time(result))
        put_number(grid, column, result->median * scale, result->status == CNN_UNSTABLE ? "~" : "");
    else if (result)
        grid_cell(grid, column, "%s", cnn_status_word(result->status));
    else
        grid_cell(grid, column, "-");
}

static void put_accuracy(struct grid *grid, int column, const struct result *result)
{
    bool has = result && result->status == CNN_OK && result->epochs > 0 && result->epoch &&
               isfinite(result->epoch[result->epochs - 1].test_accuracy);
    if (has)
        grid_cell(grid, column, "%.2f", 100 * result->epoch[result->epochs - 1].test_accuracy);
    else
        grid_cell(grid, column, "%s", result ? cnn_status_word(result->status) : "-");
}

/* Seconds until the target was reached, loading included. */
static void put_target(const struct table *table, struct grid *grid, int column, const struct result *result)
{
    double train, loading;
    const struct point *point = result ? &table->points[result - table->results] : NULL;
    if (!point || result->status != CNN_OK)
        grid_cell(grid, column, "%s", result ? cnn_status_word(result->status) : "-");
    else if (!result_target(result, point->target, point->copies != CNN_COPIES_NONE, &train, &loading))
        grid_cell(grid, column, "not reached");
    else if (isfinite(train + loading))
        put_number(grid, column, train + loading, "");
    else
        grid_cell(grid, column, "-");
}

/* Only ok rows enter a ratio. */
static void put_speedup(struct grid *grid, int column, const struct result *base, const struct result *result)
{
    if (result && result->status != CNN_OK)
        grid_cell(grid, column, "%s", cnn_status_word(result->status));
    else if (base && base->status != CNN_OK && result)
        grid_cell(grid, column, "base %s", cnn_status_word(base->status));
    else if (!has_time(base) || !has_time(result))
        grid_cell(grid, column, "-");
    else
        grid_cell(grid, column, "%.*f", base->median / result->median < 10 ? 2 : 1, base->median / result->median);
}

/* One unit for the whole block, so that columns compare: that of the smallest time. */
static const char *choose_unit(const struct table *table, double *scale)
{
    double least = INFINITY;
    for (int i = 0; i < table->count; i++)
        if (table->points[i].phase == table->phase && has_time(&table->results[i]))
            least = fmin(least, table->results[i].median);
    *scale = least < 1e-3 ? 1e6 : least < 1 ? 1e3 : 1;
    if (!isfinite(least))
        *scale = 1e3;
    return *scale == 1e6 ? "us" : *scale == 1e3 ? "ms" : "s";
}

/* ---- words ---- */

/* What all rows share: "lenet5, image 32, batch 1". */
static void common_words(const struct table *table, char *out, size_t size)
{
    static const char *const plain[STUDY_AXIS_COUNT] = {
        [AXIS_CONNECTIONS] = "paper", [AXIS_PRECISION] = "fp32", [AXIS_ISA] = "best",     [AXIS_COPIES] = "none",
        [AXIS_WIDTH] = "1",           [AXIS_DEPTH] = "1",        [AXIS_THREADS] = "auto",
    };
    const struct point *first = table->points;
    size_t at = 0;
    out[0] = '\0';
    while (first->phase != table->phase)
        first++;
    for (int axis = 0; axis < STUDY_AXIS_COUNT && at < size; axis++) {
        char word[STUDY_WORD];
        study_axis_of_point(axis, first, word);
        bool told = table->varies[axis] || axis == AXIS_PHASE || axis == AXIS_LAUNCH || axis == AXIS_SEED ||
                    study_axis_is_any(table->study, first, axis) || (plain[axis] && !strcmp(plain[axis], word));
        if (!told)
            at += (size_t)snprintf(out + at, size - at, "%s%s%s%s", at ? ", " : "",
                                   axis == AXIS_NETWORK ? "" : study_axis_name(axis), axis == AXIS_NETWORK ? "" : " ",
                                   word);
    }
}

static void print_heading(FILE *out, const struct table *table, enum table_show show, const char *unit, int columns)
{
    char common[256], line[640];
    const char *phase = point_phase_name(table->phase);
    const char *per = table->phase == POINT_ACCURACY ? "epoch" : "step";
    common_words(table, common, sizeof common);
    if (show == SHOW_SPEEDUP)
        snprintf(line, sizeof line, "%s: speed-up over %s (its time / this time)", phase,
                 table->study->series[table->study->base].label);
    else if (show == SHOW_TARGET)
        snprintf(line, sizeof line, "%s: s until %g %% of the test images were right, loading included", phase,
                 100 * table->study->target);
    else if (show == SHOW_ACCURACY)
        snprintf(line, sizeof line, "%s: %% of the test images right after the last epoch%s%s", phase,
                 common[0] ? "; " : "", common);
    else
        snprintf(line, sizeof line, "%s: %s per %s, median%s%s", phase, unit, per, common[0] ? "; " : "", common);
    fputc('\n', out);
    text_wrap(out, line, columns, 0);
}

/* ---- blocks ---- */

static int varying_axes(const struct table *table)
{
    int count = 0;
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        count += table->varies[axis];
    return count;
}

/* The words of the axes; where none varies, the network's name stands at the left. */
static void put_row_words(const struct table *table, struct grid *grid, int row)
{
    int column = 0;
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        if (table->varies[axis])
            grid_cell(grid, column++, "%s", table->rows[row].word[axis][0] ? table->rows[row].word[axis] : "any");
    if (column == 0) {
        const struct point *point = table->points;
        while (point->phase != table->phase)
            point++;
        grid_cell(grid, 0, "%s", point->spec.name);
    }
}

static void put_heads(const struct table *table, struct grid *grid, int fixed, int skipped)
{
    int column = 0;
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        if (table->varies[axis])
            grid_head(grid, column++, study_axis_name(axis), axis >= AXIS_WIDTH);
    if (column == 0)
        grid_head(grid, 0, "network", false);
    column = fixed;
    for (int i = 0; i < table->series_count; i++)
        if (table->series[i] != skipped)
            grid_head(grid, column++, table->study->series[table->series[i]].label, true);
}

static bool print_block(FILE *out, const struct table *table, enum table_show show, int columns)
{
    int base = table->study->base, skipped = show == SHOW_SPEEDUP ? base : -1;
    int shown = 0, fixed = varying_axes(table) > 0 ? varying_axes(table) : 1;
    double scale = 1;
    const char *unit = choose_unit(table, &scale);
    for (int i = 0; i < table->series_count; i++)
        shown += table->series[i] != skipped;
    if (shown == 0 || (show == SHOW_SPEEDUP && shown == table->series_count))
        return true; /* nothing to compare with, or nothing beside the base */
    struct grid *grid = grid_create(fixed + shown, fixed);
    put_heads(table, grid, fixed, skipped);
    for (int row = 0; row < table->row_count; row++) {
        int column = fixed;
        grid_row(grid);
        put_row_words(table, grid, row);
        for (int i = 0; i < table->series_count; i++) {
            const struct result *result = table_result(table, row, table->series[i]);
            if (table->series[i] == skipped)
                continue;
            if (show == SHOW_SPEEDUP)
                put_speedup(grid, column++, table_result(table, row, base), result);
            else if (show == SHOW_ACCURACY)
                put_accuracy(grid, column++, result);
            else if (show == SHOW_TARGET)
                put_target(table, grid, column++, result);
            else
                put_seconds(grid, column++, result, scale);
        }
    }
    print_heading(out, table, show, unit, columns);
    bool fine = grid_print(grid, out, columns);
    grid_free(grid);
    return fine;
}

static bool any_unstable(const struct result *results, int count)
{
    for (int i = 0; i < count; i++)
        if (results[i].status == CNN_UNSTABLE)
            return true;
    return false;
}

static bool print_phase(FILE *out, struct table *table, int columns)
{
    bool fine = table_open(table);
    if (fine && table->row_count > 0) {
        if (table->phase == POINT_ACCURACY)
            fine = print_block(out, table, SHOW_ACCURACY, columns);
        if (fine && table->phase == POINT_ACCURACY && table->study->target > 0)
            fine = print_block(out, table, SHOW_TARGET, columns);
        fine = fine && print_block(out, table, SHOW_SECONDS, columns);
        fine = fine && print_block(out, table, SHOW_SPEEDUP, columns);
    }
    table_close(table);
    return fine;
}

bool table_print(FILE *out, const struct study *study, const struct point *points, const struct result *results,
                 int count, int columns)
{
    bool fine = true;
    text_wrap(out, study->title, columns, 0);
    for (int phase = 0; phase < POINT_PHASE_COUNT && fine; phase++) {
        struct table table = { .study = study, .points = points, .results = results, .count = count, .phase = phase };
        fine = print_phase(out, &table, columns);
    }
    if (any_unstable(results, count))
        text_wrap(out, "~ the interval stayed wider than the study asks for", columns, 0);
    return fine && !ferror(out);
}
