/* SPDX-License-Identifier: MIT */
/* Which points stand beside each other. Rows are the combinations of the axes that vary; a series that an axis makes no
 * difference to, or that fixes it for itself (one thread beside many), stands in every row. */
#include "experiments/driver/table_parts.h"

#include <stdlib.h>
#include <string.h>

static int series_of(const struct study *study, const struct point *point)
{
    int place = 0;
    while (place < study->series_count && strcmp(study->series[place].id, point->series))
        place++;
    return place < study->series_count ? place : -1;
}

static void find_axes(struct table *table)
{
    char first[STUDY_WORD], word[STUDY_WORD];
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        first[0] = '\0';
        for (int i = 0; i < table->count && axis != AXIS_PHASE && !table->varies[axis]; i++) {
            const struct point *point = &table->points[i];
            if (point->phase != table->phase || study_axis_is_any(table->study, point, axis))
                continue;
            study_axis_of_point(axis, point, word);
            if (!first[0])
                memcpy(first, word, sizeof first);
            table->varies[axis] = strcmp(first, word) != 0;
        }
    }
}

/* An empty word stands for any. */
static void row_of(const struct table *table, const struct point *point, struct table_row *row)
{
    memset(row, 0, sizeof *row);
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        if (table->varies[axis] && !study_axis_is_any(table->study, point, axis))
            study_axis_of_point(axis, point, row->word[axis]);
}

static bool row_fits(const struct table_row *row, const struct table_row *other)
{
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        if (row->word[axis][0] && other->word[axis][0] && strcmp(row->word[axis], other->word[axis]))
            return false;
    return true;
}

static bool row_is_whole(const struct table *table, const struct table_row *row)
{
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        if (table->varies[axis] && !row->word[axis][0])
            return false;
    return true;
}

/* Rows of points that stand in one row alone come first; the others need a row only where none fits. Points come in the
 * order of rows, so the last row is tried first. */
static void find_rows(struct table *table, bool whole)
{
    for (int i = 0; i < table->count; i++) {
        struct table_row row;
        int known = table->row_count - 1;
        if (table->points[i].phase != table->phase)
            continue;
        row_of(table, &table->points[i], &row);
        if (row_is_whole(table, &row) != whole)
            continue;
        while (known >= 0 && !row_fits(&table->rows[known], &row))
            known--;
        if (known < 0)
            table->rows[table->row_count++] = row;
    }
}

/* Puts a point into every row that it stands in, starting with the row that took the point before it. */
static void place_point(struct table *table, int point, int *hint)
{
    struct table_row own;
    int series = series_of(table->study, &table->points[point]);
    if (series < 0)
        return;
    row_of(table, &table->points[point], &own);
    bool whole = row_is_whole(table, &own);
    for (int k = 0; k < table->row_count; k++) {
        int row = (*hint + k) % table->row_count;
        int *cell = &table->cell[row * table->study->series_count + series];
        if (*cell >= 0 || !row_fits(&table->rows[row], &own))
            continue;
        *cell = point;
        if (whole) {
            *hint = row;
            return;
        }
    }
}

static bool place_points(struct table *table)
{
    size_t cells = (size_t)table->row_count * (size_t)table->study->series_count;
    int hint = 0;
    if (!(table->cell = malloc((cells + 1) * sizeof *table->cell)))
        return false;
    for (size_t i = 0; i < cells; i++)
        table->cell[i] = -1;
    for (int i = 0; i < table->count && table->row_count > 0; i++)
        if (table->points[i].phase == table->phase)
            place_point(table, i, &hint);
    return true;
}

static void find_series(struct table *table)
{
    for (int place = 0; place < table->study->series_count; place++) {
        bool found = false;
        for (int i = 0; i < table->count && !found; i++)
            found = table->points[i].phase == table->phase && series_of(table->study, &table->points[i]) == place;
        if (found)
            table->series[table->series_count++] = place;
    }
}

bool table_open(struct table *table)
{
    table->rows = calloc((size_t)table->count + 1, sizeof *table->rows);
    table->series = calloc((size_t)table->study->series_count + 1, sizeof *table->series);
    if (!table->rows || !table->series)
        return false;
    find_axes(table);
    find_rows(table, true);
    find_rows(table, false);
    find_series(table);
    return place_points(table);
}

const struct result *table_result(const struct table *table, int row, int series)
{
    int point = table->cell[row * table->study->series_count + series];
    return point >= 0 ? &table->results[point] : NULL;
}

void table_close(struct table *table)
{
    free(table->rows);
    free(table->series);
    free(table->cell);
}
