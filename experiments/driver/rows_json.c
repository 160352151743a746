/* SPDX-License-Identifier: MIT */
/* --format json: the rows of finished runs as one array of objects. Numbers keep their digits; a cell without one is
 * null. */
#include "experiments/driver/report.h"
#include "experiments/driver/rows.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static bool add_cell(cJSON *object, enum row_column column, const char *cell)
{
    const char *name = row_column_name(column);
    if (row_column_is_text(column))
        return cJSON_AddStringToObject(object, name, cell) != NULL;
    if (!*cell)
        return cJSON_AddNullToObject(object, name) != NULL;
    if (!strcmp(cell, "true") || !strcmp(cell, "false"))
        return cJSON_AddBoolToObject(object, name, *cell == 't') != NULL;
    return cJSON_AddRawToObject(object, name, cell) != NULL;
}

static bool print_row(FILE *out, const struct row *row, bool first)
{
    cJSON *object = cJSON_CreateObject();
    bool fine = object != NULL;
    for (int column = 0; column < ROW_COLUMN_COUNT && fine; column++)
        fine = add_cell(object, column, row->cell[column]);
    char *text = fine ? cJSON_PrintUnformatted(object) : NULL;
    fine = text && fprintf(out, "%s%s", first ? "" : ",\n", text) > 0;
    free(text);
    cJSON_Delete(object);
    return fine;
}

int rows_print_json(FILE *out, const char *const *paths, int count, struct cnn_error *error)
{
    bool fine = fputs("[", out) >= 0, first = true;
    for (int i = 0; i < count; i++) {
        struct rows rows;
        int status = rows_read(&rows, paths[i], error);
        if (status)
            return status;
        for (int k = 0; k < rows.count && fine; k++, first = false)
            fine = print_row(out, &rows.list[k], first);
        rows_free(&rows);
    }
    fine = fine && fputs("]\n", out) >= 0 && fflush(out) == 0;
    return fine ? CNN_OK : cnn_error_set(error, CNN_ERROR, "stdout cannot be written");
}
