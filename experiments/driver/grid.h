/* SPDX-License-Identifier: MIT */
/* A table of text that fits a terminal: heads break into lines, columns that do not fit go into a further block. */
#ifndef DRIVER_GRID_H
#define DRIVER_GRID_H

#include <stdbool.h>
#include <stdio.h>

struct grid; /* without memory it swallows what it is given, and grid_print() returns false */

/* `fixed` columns at the left stand in every block. */
struct grid *grid_create(int columns, int fixed);
void grid_free(struct grid *grid); /* NULL is fine */

/* The head of a column; `right`: its cells are numbers. */
void grid_head(struct grid *grid, int column, const char *text, bool right);

/* Starts a row of empty cells; fills one. */
void grid_row(struct grid *grid);
void grid_cell(struct grid *grid, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define GRID_UNBROKEN 10000 /* a width for one block, however wide */

/* Lines of at most `width` characters, unless a single column is wider. */
bool grid_print(const struct grid *grid, FILE *out, int width);

/* Text in lines of at most `width` characters, each behind `indent` blanks. */
void text_wrap(FILE *out, const char *text, int width, int indent);

/* Characters of UTF-8 text, as a terminal counts them (wide ones as one). */
int text_width(const char *text);

#endif
