/* SPDX-License-Identifier: MIT */
/* Column widths come from the cells; a head only widens its column where breaking it at blanks cannot help. */
#include "experiments/driver/grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2        /* blanks between columns */
#define HEAD_WIDE 16 /* a head is tried at this width first, then narrower */
#define HEAD_LINES 8

struct grid {
    int columns, fixed, rows;
    bool failed;
    char **head;  /* [columns] */
    bool *right;  /* [columns] */
    char **cells; /* [rows][columns], NULL: empty */
};

/* Where a head breaks: start and length of its lines. */
struct lines {
    int count, width;
    const char *start[HEAD_LINES];
    int length[HEAD_LINES];
};

int text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static int width_of(const char *text, int bytes)
{
    int width = 0;
    for (int i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Bytes of the longest run of words that fits; at least one word. */
static int line_length(const char *text, int width)
{
    int length = (int)strcspn(text, " ");
    while (text[length]) {
        int longer = length + 1 + (int)strcspn(text + length + 1, " ");
        if (width_of(text, longer) > width)
            break;
        length = longer;
    }
    return length;
}

static void break_lines(struct lines *lines, const char *text, int width)
{
    *lines = (struct lines){ 0 };
    while (*text && lines->count < HEAD_LINES) {
        bool last = lines->count + 1 == HEAD_LINES;
        int length = last ? (int)strlen(text) : line_length(text, width);
        lines->start[lines->count] = text;
        lines->length[lines->count++] = length;
        if (width_of(text, length) > lines->width)
            lines->width = width_of(text, length);
        text += length;
        text += strspn(text, " ");
    }
}

void text_wrap(FILE *out, const char *text, int width, int indent)
{
    while (*text) {
        int length = line_length(text, width - indent);
        fprintf(out, "%*s%.*s\n", indent, "", length, text);
        text += length;
        text += strspn(text, " ");
    }
}

struct grid *grid_create(int columns, int fixed)
{
    struct grid *grid = calloc(1, sizeof *grid);
    if (!grid)
        return NULL;
    *grid = (struct grid){ .columns = columns, .fixed = fixed };
    grid->head = calloc((size_t)columns, sizeof *grid->head);
    grid->right = calloc((size_t)columns, sizeof *grid->right);
    grid->failed = !grid->head || !grid->right;
    return grid;
}

void grid_free(struct grid *grid)
{
    if (!grid)
        return;
    for (int i = 0; grid->cells && i < grid->rows * grid->columns; i++)
        free(grid->cells[i]);
    for (int i = 0; grid->head && i < grid->columns; i++)
        free(grid->head[i]);
    free(grid->cells);
    free(grid->head);
    free(grid->right);
    free(grid);
}

void grid_head(struct grid *grid, int column, const char *text, bool right)
{
    if (!grid || grid->failed)
        return;
    free(grid->head[column]);
    grid->head[column] = strdup(text);
    grid->right[column] = right;
    grid->failed = !grid->head[column];
}

void grid_row(struct grid *grid)
{
    if (!grid || grid->failed)
        return;
    size_t row = (size_t)grid->columns * sizeof *grid->cells;
    char **cells = realloc(grid->cells, (size_t)(grid->rows + 1) * row);
    if (!cells) {
        grid->failed = true;
        return;
    }
    grid->cells = cells;
    memset(cells + (size_t)grid->rows * (size_t)grid->columns, 0, row);
    grid->rows++;
}

void grid_cell(struct grid *grid, int column, const char *format, ...)
{
    va_list arguments;
    if (!grid || grid->failed || grid->rows == 0)
        return;
    char **cell = &grid->cells[(size_t)(grid->rows - 1) * (size_t)grid->columns + (size_t)column];
    free(*cell);
    va_start(arguments, format);
    if (vasprintf(cell, format, arguments) < 0) {
        *cell = NULL;
        grid->failed = true;
    }
    va_end(arguments);
}

static const char *cell_at(const struct grid *grid, int row, int column)
{
    const char *cell = grid->cells[(size_t)row * (size_t)grid->columns + (size_t)column];
    return cell ? cell : "";
}

/* Of a column whose head is broken at `head` characters. */
static int column_width(const struct grid *grid, int column, int head)
{
    struct lines lines;
    int width = 0;
    for (int row = 0; row < grid->rows; row++) {
        int wide = text_width(cell_at(grid, row, column));
        width = wide > width ? wide : width;
    }
    break_lines(&lines, grid->head[column] ? grid->head[column] : "", head > width ? head : width);
    return lines.width > width ? lines.width : width;
}

static int total_width(const struct grid *grid, int head)
{
    int width = 0;
    for (int column = 0; column < grid->columns; column++)
        width += column_width(grid, column, head) + (column ? GAP : 0);
    return width;
}

static void put_padded(FILE *out, const char *text, int bytes, int width, bool right, bool last)
{
    int blanks = width - width_of(text, bytes);
    if (right)
        fprintf(out, "%*s%.*s", blanks, "", bytes, text);
    else
        fprintf(out, "%.*s%*s", bytes, text, last ? 0 : blanks, "");
}

/* The columns of one block: the fixed ones, then first..end-1. */
struct block {
    const struct grid *grid;
    FILE *out;
    int first, end;
    const int *width;
};

/* Goes through the columns of the block in order; -1 behind the last. */
static int next_column(const struct block *block, int column)
{
    if (column + 1 < block->grid->fixed)
        return column + 1;
    int next = column + 1 > block->first ? column + 1 : block->first;
    return next < block->end ? next : -1;
}

static void print_rule(const struct block *block)
{
    for (int column = next_column(block, -1); column >= 0; column = next_column(block, column)) {
        for (int i = 0; i < block->width[column]; i++)
            fputc('-', block->out);
        fprintf(block->out, "%*s", next_column(block, column) >= 0 ? GAP : 0, "");
    }
    fputc('\n', block->out);
}

/* Heads stand on the rule: a short one is blank above. */
static void print_heads(const struct block *block)
{
    const struct grid *grid = block->grid;
    struct lines lines;
    int most = 0;
    for (int column = next_column(block, -1); column >= 0; column = next_column(block, column)) {
        break_lines(&lines, grid->head[column] ? grid->head[column] : "", block->width[column]);
        most = lines.count > most ? lines.count : most;
    }
    for (int line = 0; line < most; line++) {
        int blanks = 0; /* kept back, so that no line ends with them */
        for (int column = next_column(block, -1); column >= 0; column = next_column(block, column)) {
            break_lines(&lines, grid->head[column] ? grid->head[column] : "", block->width[column]);
            int at = line - (most - lines.count);
            int length = at >= 0 ? lines.length[at] : 0, wide = at >= 0 ? width_of(lines.start[at], length) : 0;
            int before = grid->right[column] ? block->width[column] - wide : 0;
            if (length > 0)
                fprintf(block->out, "%*s%.*s", blanks + before, "", length, lines.start[at]);
            blanks = length > 0 ? block->width[column] - wide - before + GAP : blanks + block->width[column] + GAP;
        }
        fputc('\n', block->out);
    }
    print_rule(block);
}

static void print_rows(const struct block *block)
{
    const struct grid *grid = block->grid;
    for (int row = 0; row < grid->rows; row++) {
        for (int column = next_column(block, -1); column >= 0; column = next_column(block, column)) {
            bool last = next_column(block, column) < 0;
            const char *cell = cell_at(grid, row, column);
            put_padded(block->out, cell, (int)strlen(cell), block->width[column], grid->right[column], last);
            if (!last)
                fprintf(block->out, "%*s", GAP, "");
        }
        fputc('\n', block->out);
    }
}

bool grid_print(const struct grid *grid, FILE *out, int width)
{
    if (!grid || grid->failed)
        return false;
    int *widths = calloc((size_t)grid->columns, sizeof *widths), head = HEAD_WIDE;
    if (!widths)
        return false;
    while (head > 1 && total_width(grid, head) > width)
        head--;
    int fixed = 0;
    for (int column = 0; column < grid->columns; column++) {
        widths[column] = column_width(grid, column, head);
        if (column < grid->fixed)
            fixed += widths[column] + GAP;
    }
    int first = grid->fixed;
    do {
        int end = first, used = fixed;
        while (end < grid->columns && (end == first || used + widths[end] <= width))
            used += widths[end++] + GAP;
        struct block block = { grid, out, first, end, widths };
        if (first > grid->fixed)
            fputc('\n', out);
        print_heads(&block);
        print_rows(&block);
        first = end;
    } while (first < grid->columns);
    free(widths);
    return !ferror(out);
}
