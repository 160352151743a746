/* SPDX-License-Identifier: MIT */
#include "experiments/driver/plain_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Takes a cell off the line in place, without its quotes: "" is one of them, commas between them are text. NULL: a
 * quote stays open. `*at` becomes NULL behind the last cell. */
static const char *take_cell(char **at)
{
    char *cell = *at, *from = cell + 1, *to = cell;
    if (*cell != '"')
        return strsep(at, ",");
    for (; *from && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    if (*from != '"' || (from[1] && from[1] != ','))
        return NULL;
    *at = from[1] ? from + 2 : NULL;
    *to = '\0';
    return cell;
}

/* Cuts a line into cells in place; how many there are, -1 where its end is missing or a quote is out of place. */
static int split(char *line, const char *cell[PLAIN_CSV_CELLS])
{
    char *end = strchr(line, '\n'), *at = line;
    int count = 0;
    if (!end)
        return -1;
    *end = '\0';
    while (at && count < PLAIN_CSV_CELLS)
        if (!(cell[count++] = take_cell(&at)))
            return -1;
    return count;
}

bool plain_csv_open(struct plain_csv *csv, const char *path)
{
    *csv = (struct plain_csv){ .file = fopen(path, "r") };
    if (csv->file && fgets(csv->header, sizeof csv->header, csv->file))
        csv->columns = split(csv->header, csv->name);
    return csv->columns > 0;
}

void plain_csv_close(struct plain_csv *csv)
{
    if (csv->file)
        fclose(csv->file);
    csv->file = NULL;
}

int plain_csv_find(const struct plain_csv *csv, const char *name)
{
    for (int column = 0; column < csv->columns; column++)
        if (strcmp(csv->name[column], name) == 0)
            return column;
    return -1;
}

bool plain_csv_next(struct plain_csv *csv)
{
    return fgets(csv->line, sizeof csv->line, csv->file) && split(csv->line, csv->cell) == csv->columns;
}

double plain_csv_number(const struct plain_csv *csv, int column)
{
    return column >= 0 && *csv->cell[column] ? strtod(csv->cell[column], NULL) : NAN;
}
