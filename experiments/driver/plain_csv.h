/* SPDX-License-Identifier: MIT */
/* Reads the CSV files beside rows.csv, whose cells hold no line ends: line by line, columns by their names. */
#ifndef DRIVER_PLAIN_CSV_H
#define DRIVER_PLAIN_CSV_H

#include <stdbool.h>
#include <stdio.h>

#define PLAIN_CSV_CELLS 64
#define PLAIN_CSV_LINE 4096

struct plain_csv {
    FILE *file;
    char header[PLAIN_CSV_LINE], line[PLAIN_CSV_LINE];
    const char *name[PLAIN_CSV_CELLS], *cell[PLAIN_CSV_CELLS];
    int columns;
};

/* Opens the file and reads its header. False where there is none; close it in either case. */
bool plain_csv_open(struct plain_csv *csv, const char *path);
void plain_csv_close(struct plain_csv *csv);

/* The place of a column, -1: there is none. */
int plain_csv_find(const struct plain_csv *csv, const char *name);

/* The next line into `cell`. False at the end, or at a line cut short. */
bool plain_csv_next(struct plain_csv *csv);

double plain_csv_number(const struct plain_csv *csv, int column); /* NAN: an empty cell, or a column of -1 */

#endif
