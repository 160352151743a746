/* SPDX-License-Identifier: MIT */
/* The points of one phase, arranged in rows and columns. Inside table*.c only. */
#ifndef DRIVER_TABLE_PARTS_H
#define DRIVER_TABLE_PARTS_H

#include "experiments/driver/table.h"

/* A row: one word for each axis that varies. */
struct table_row {
    char word[STUDY_AXIS_COUNT][STUDY_WORD];
};

/* The points of one phase, arranged. */
struct table {
    const struct study *study;
    const struct point *points;
    const struct result *results;
    int count;
    enum point_phase phase;
    bool varies[STUDY_AXIS_COUNT];
    struct table_row *rows;
    int row_count;
    int *series; /* places of series that have points */
    int series_count;
    int *cell; /* [row_count][series of the study]: place of the point, -1: none */
};

/* Arranges; study, points, results, count and phase are set. False without memory. table_close() after either. */
bool table_open(struct table *table);
void table_close(struct table *table);

/* What is in a row for a series of the study; NULL: no such point. */
const struct result *table_result(const struct table *table, int row, int series);

#endif
