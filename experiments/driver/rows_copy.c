/* SPDX-License-Identifier: MIT */
/* A new run that begins with rows of an old one. Rows get new numbers, and their samples, epochs and layers with them.
 */
#include "experiments/driver/choices.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_TEXT 4096
#define LINES_BYTES_MAX ((int64_t)4 << 30)

/* Prints the rows that stay behind the header. number[i] becomes row i's new number, 0 where it is left out. */
static void print_rows(FILE *out, const struct rows *rows, unsigned leave, int64_t *number)
{
    int64_t count = 0;
    char *header = rows_header_text();
    fputs(header ? header : "", out);
    free(header);
    for (int i = 0; i < rows->count; i++) {
        const struct row *row = &rows->list[i];
        number[i] = leave >> row_status(row) & 1 ? 0 : ++count;
        for (int column = 0; column < ROW_COLUMN_COUNT && number[i]; column++) {
            row_print_cell(out, row->cell[column]);
            fputc(column + 1 < ROW_COLUMN_COUNT ? ',' : '\n', out);
        }
    }
}

/* The lines of rows that stay, behind `header`. */
static void print_lines(FILE *out, const char *header, const char *text, const int64_t *number, int count)
{
    const char *at = strchr(text, '\n'), *end;
    fputs(header, out);
    for (at = at ? at + 1 : ""; (end = strchr(at, '\n')); at = end + 1) {
        char *behind;
        int64_t row = strtoll(at, &behind, 10);
        if (*behind == ',' && row >= 1 && row <= count && number[row - 1])
            fprintf(out, "%" PRId64 "%.*s", number[row - 1], (int)(end + 1 - behind), behind);
    }
}

/* Takes what the stream collected, which must be closed here, into a file. */
static int replace(FILE *out, char **text, size_t *size, const char *folder, const char *name, struct cnn_error *error)
{
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    bool whole = out && !(ferror(out) | fclose(out));
    int status = whole ? durable_replace(path, *text, *size, error)
                       : cnn_error_set(error, CNN_OOM, "%s: no memory for its lines", path);
    free(*text);
    return status;
}

static int copy_lines(const char *from, const char *to, const char *name, const char *header, const int64_t *number,
                      int count, struct cnn_error *error)
{
    char path[PATH_TEXT], *copy = NULL;
    size_t size = 0, copied = 0;
    snprintf(path, sizeof path, "%s/%s", from, name);
    char *text = durable_read(path, LINES_BYTES_MAX, &size, error);
    if (!text)
        return error->status;
    FILE *out = open_memstream(&copy, &copied);
    if (out)
        print_lines(out, header, text, number, count);
    free(text);
    return replace(out, &copy, &copied, to, name, error);
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Choices go by the keys of points, not by rows. */
static int copy_choices(const char *from, const char *to, struct cnn_error *error)
{
    char path[PATH_TEXT];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/" CHOICES_FILE, from);
    char *text = durable_read(path, LINES_BYTES_MAX, &size, error);
    if (!text)
        return error->status;
    snprintf(path, sizeof path, "%s/" CHOICES_FILE, to);
    int status = durable_replace(path, text, size, error);
    free(text);
    return status;
}

int rows_copy(const char *from, const char *to, unsigned leave, struct cnn_error *error)
{
    char path[PATH_TEXT], *copy = NULL;
    size_t copied = 0;
    struct rows rows;
    snprintf(path, sizeof path, "%s/rows.csv", from);
    if (rows_read(&rows, path, error))
        return error->status;
    int64_t *number = calloc((size_t)rows.count + 1, sizeof *number);
    FILE *out = number ? open_memstream(&copy, &copied) : NULL;
    if (out)
        print_rows(out, &rows, leave, number);
    int status = replace(out, &copy, &copied, to, "rows.csv", error);
    if (status == CNN_OK)
        status = copy_lines(from, to, "samples.csv", rows_samples_header, number, rows.count, error);
    if (status == CNN_OK)
        status = copy_lines(from, to, "epochs.csv", rows_epochs_header, number, rows.count, error);
    if (status == CNN_OK && is_there(from, "layers.csv"))
        status = copy_lines(from, to, "layers.csv", rows_layers_header, number, rows.count, error);
    if (status == CNN_OK && is_there(from, CHOICES_FILE))
        status = copy_choices(from, to, error);
    free(number);
    rows_free(&rows);
    return status;
}
