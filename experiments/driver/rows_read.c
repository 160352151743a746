/* SPDX-License-Identifier: MIT */
/* Reads rows back, columns by their names, so that older files keep their use. What a crash can do to the end of the
 * file (a line cut short, a block of zeros) is left out and said; anything else that is not this program's CSV is
 * refused. */
#include "experiments/driver/durable.h"
#include "experiments/driver/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((int64_t)1 << 30) /* a row has about 1 kB */
#define FILE_COLUMNS_MAX 256

/* A reader over the text; cells are cut out of it in place. */
struct cursor {
    char *at;
    int line;
};

enum cell_end { CELL_NEXT, CELL_LINE_END, CELL_TORN };

static enum cell_end quoted_cell(struct cursor *cursor, char **cell)
{
    char *to = ++cursor->at;
    *cell = to;
    for (char *from = to;; from++) {
        if (*from == '\0')
            return CELL_TORN;
        if (*from == '\n')
            cursor->line++;
        if (*from != '"') {
            *to++ = *from;
            continue;
        }
        if (from[1] == '"') {
            *to++ = *from++;
            continue;
        }
        cursor->at = from + 1;
        break;
    }
    char after = *cursor->at;
    if (after == '\r' && cursor->at[1] == '\n')
        after = *++cursor->at;
    *to = '\0';
    cursor->at += after != '\0';
    cursor->line += after == '\n';
    return after == ',' ? CELL_NEXT : after == '\n' ? CELL_LINE_END : CELL_TORN;
}

static enum cell_end plain_cell(struct cursor *cursor, char **cell)
{
    *cell = cursor->at;
    cursor->at += strcspn(cursor->at, ",\n");
    char end = *cursor->at;
    if (end == '\0')
        return CELL_TORN;
    if (end == '\n' && cursor->at > *cell && cursor->at[-1] == '\r')
        cursor->at[-1] = '\0';
    *cursor->at++ = '\0';
    cursor->line += end == '\n';
    return end == ',' ? CELL_NEXT : CELL_LINE_END;
}

/* Cuts out the cells of one line: how many, or -1 for a torn line. Those beyond FILE_COLUMNS_MAX are only counted. */
static int read_line(struct cursor *cursor, const char **cells)
{
    for (int count = 0;; count++) {
        char *cell;
        enum cell_end end = *cursor->at == '"' ? quoted_cell(cursor, &cell) : plain_cell(cursor, &cell);
        if (end == CELL_TORN)
            return -1;
        if (count < FILE_COLUMNS_MAX)
            cells[count] = cell;
        if (end == CELL_LINE_END)
            return count + 1;
    }
}

/* Where the columns of a file are ours. */
struct header {
    int count;
    enum row_column column[FILE_COLUMNS_MAX]; /* ROW_COLUMN_COUNT: none of ours */
    const char *unknown;                      /* the first such name, or NULL */
};

/* Without these a file is not one of ours. Others may be missing: an older program did not know them. */
static const enum row_column needed[] = {
    ROW_SERIES, ROW_NETWORK, ROW_STATUS, ROW_SECONDS_PER_STEP, ROW_KEY, ROW_SCHEMA
};

static int read_header(struct cursor *cursor, struct header *header, const char *path, struct cnn_error *error)
{
    const char *cells[FILE_COLUMNS_MAX];
    bool seen[ROW_COLUMN_COUNT + 1] = { false };
    *header = (struct header){ .count = read_line(cursor, cells) };
    if (header->count < 0)
        return cnn_error_set(error, CNN_INVALID, "%s: has no whole first line, so it is no rows.csv", path);
    if (header->count > FILE_COLUMNS_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s:1: has %d columns, expected at most %d: no rows.csv", path,
                             header->count, FILE_COLUMNS_MAX);
    for (int i = 0; i < header->count; i++) {
        enum row_column column = header->column[i] = row_column_find(cells[i]);
        if (column == ROW_COLUMN_COUNT && !header->unknown)
            header->unknown = cells[i];
        if (column != ROW_COLUMN_COUNT && seen[column])
            return cnn_error_set(error, CNN_INVALID, "%s:1: has the column \"%s\" twice", path, cells[i]);
        seen[column] = true;
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!seen[needed[i]])
            return cnn_error_set(error, CNN_INVALID, "%s:1: has no column \"%s\": not the rows of a study", path,
                                 row_column_name(needed[i]));
    return CNN_OK;
}

/* The cells of one line under the names of their columns. */
static int take_row(struct row *row, const struct header *header, const char *const *cells, int count, const char *path,
                    int line, struct cnn_error *error)
{
    if (count != header->count)
        return cnn_error_set(error, CNN_INVALID, "%s:%d: has %d cells, expected %d: was this file edited?", path, line,
                             count, header->count);
    for (int column = 0; column < ROW_COLUMN_COUNT; column++)
        row->cell[column] = "";
    for (int i = 0; i < count; i++)
        if (header->column[i] != ROW_COLUMN_COUNT)
            row->cell[header->column[i]] = cells[i];
    if (header->unknown && row_integer(row, ROW_SCHEMA) > ROWS_SCHEMA)
        return cnn_error_set(error, CNN_INVALID,
                             "%s:%d: schema %s with the column \"%.60s\", this program knows schema %d: written by a "
                             "later version; use that one",
                             path, line, row->cell[ROW_SCHEMA], header->unknown, ROWS_SCHEMA);
    if (cnn_status_parse(row->cell[ROW_STATUS]) == CNN_STATUS_COUNT)
        return cnn_error_set(error, CNN_INVALID, "%s:%d: \"%.40s\" is no status", path, line, row->cell[ROW_STATUS]);
    return CNN_OK;
}

static struct row *grow(struct rows *rows, int *capacity)
{
    if (rows->count == *capacity) {
        int larger = *capacity ? 2 * *capacity : 64;
        struct row *list = realloc(rows->list, (size_t)larger * sizeof *list);
        if (!list)
            return NULL;
        rows->list = list;
        *capacity = larger;
    }
    return &rows->list[rows->count];
}

int rows_read(struct rows *out, const char *path, struct cnn_error *error)
{
    size_t size = 0;
    *out = (struct rows){ .text = durable_read(path, FILE_BYTES_MAX, &size, error) };
    if (!out->text)
        return error->status;
    struct cursor cursor = { out->text, 1 };
    if (strncmp(cursor.at, "\xef\xbb\xbf", 3) == 0)
        cursor.at += 3;
    struct header header;
    const char *cells[FILE_COLUMNS_MAX];
    int capacity = 0, status = read_header(&cursor, &header, path, error);
    out->whole = cursor.at - out->text;
    while (status == CNN_OK && *cursor.at) {
        int line = cursor.line;
        struct row *row = grow(out, &capacity);
        int count = row ? read_line(&cursor, cells) : 0;
        if (!row)
            status = cnn_error_set(error, CNN_OOM, "%s: no memory for its rows", path);
        else if ((out->torn = count < 0))
            break;
        else
            status = take_row(row, &header, cells, count, path, line, error);
        if (status == CNN_OK) {
            out->count++;
            out->whole = cursor.at - out->text;
        }
    }
    out->torn |= cursor.at < out->text + size; /* zeros at the end */
    if (status != CNN_OK)
        rows_free(out);
    return status;
}

void rows_free(struct rows *rows)
{
    free(rows->list);
    free(rows->text);
    *rows = (struct rows){ 0 };
}

double row_number(const struct row *row, enum row_column column)
{
    char *end;
    double value = strtod(row->cell[column], &end);
    return *row->cell[column] && *end == '\0' && isfinite(value) ? value : NAN;
}

int64_t row_integer(const struct row *row, enum row_column column)
{
    char *end;
    errno = 0;
    int64_t value = strtoll(row->cell[column], &end, 10);
    return *row->cell[column] && *end == '\0' && errno == 0 ? value : -1;
}

enum cnn_status row_status(const struct row *row)
{
    return cnn_status_parse(row->cell[ROW_STATUS]);
}
