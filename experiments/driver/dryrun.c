/* SPDX-License-Identifier: MIT */
/* --dry-run: the points of a study with what is known of them, as a table for a person or as data. */
#include "experiments/driver/forecast.h"
#include "experiments/driver/grid.h"
#include "experiments/driver/progress.h"
#include "experiments/driver/report.h"
#include "experiments/driver/rows.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 2048

/* ---- as data ---- */

static void put_csv(FILE *out, const char *text, const char *end)
{
    row_print_cell(out, text);
    fputs(end, out);
}

static void put_count(FILE *out, int64_t count)
{
    if (count >= 0)
        fprintf(out, "%" PRId64, count);
    fputc(',', out);
}

static void print_csv_header(FILE *out)
{
    fputs("study,series", out);
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        fprintf(out, ",%s", study_axis_name(axis));
    fputs(",parameters,macs_per_image,planned_bytes,estimated_seconds,cropped,status,reason,key\n", out);
}

static void print_csv(FILE *out, const struct study *study, const struct point *point, const struct forecast *forecast)
{
    char word[STUDY_WORD], key[KEY_BYTES];
    put_csv(out, study->name, ",");
    put_csv(out, point->series, ",");
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        study_axis_of_point(axis, point, word);
        put_csv(out, word, ",");
    }
    put_count(out, forecast->parameters);
    put_count(out, forecast->macs);
    put_count(out, forecast->bytes);
    if (forecast->status == CNN_OK)
        fprintf(out, "%.1f", forecast->seconds);
    fputc(',', out);
    put_csv(out, forecast->cropped, ",");
    put_csv(out, cnn_status_word(forecast->status), ",");
    put_csv(out, forecast->reason, ",");
    point_key(point, key, sizeof key);
    put_csv(out, key, "\n");
}

static bool add_count(cJSON *object, const char *name, int64_t count)
{
    return count >= 0 ? cJSON_AddNumberToObject(object, name, (double)count) != NULL
                      : cJSON_AddNullToObject(object, name) != NULL;
}

/* One object on one line: a stream of lines is JSON for every tool that reads them. */
static bool print_json(FILE *out, const struct study *study, const struct point *point, const struct forecast *forecast)
{
    char word[STUDY_WORD], key[KEY_BYTES];
    cJSON *object = cJSON_CreateObject();
    bool fine = cJSON_AddStringToObject(object, "study", study->name) &&
                cJSON_AddStringToObject(object, "series", point->series);
    for (int axis = 0; axis < STUDY_AXIS_COUNT && fine; axis++) {
        study_axis_of_point(axis, point, word);
        bool number = axis >= AXIS_WIDTH && strcmp(word, "auto");
        fine = number ? cJSON_AddNumberToObject(object, study_axis_name(axis), atoi(word)) != NULL
                      : cJSON_AddStringToObject(object, study_axis_name(axis), word) != NULL;
    }
    point_key(point, key, sizeof key);
    fine = fine && add_count(object, "parameters", forecast->parameters) &&
           add_count(object, "macs_per_image", forecast->macs) && add_count(object, "planned_bytes", forecast->bytes) &&
           cJSON_AddNumberToObject(object, "estimated_seconds", forecast->seconds) &&
           cJSON_AddStringToObject(object, "cropped", forecast->cropped) &&
           cJSON_AddStringToObject(object, "status", cnn_status_word(forecast->status)) &&
           cJSON_AddStringToObject(object, "reason", forecast->reason) && cJSON_AddStringToObject(object, "key", key);
    char *text = fine ? cJSON_PrintUnformatted(object) : NULL;
    fine = text && fprintf(out, "%s\n", text) > 0;
    free(text);
    cJSON_Delete(object);
    return fine;
}

/* ---- as a table ---- */

/* The axes that differ between points, and sentences that many points share. */
struct view {
    bool varies[STUDY_AXIS_COUNT];
    int axes;
    char **note;
    int note_count;
    double seconds;
    int runs;
};

static void find_axes(struct view *view, const struct study *study, const struct point *points, int count)
{
    char first[STUDY_WORD], word[STUDY_WORD];
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        view->varies[axis] = axis == AXIS_NETWORK;
        first[0] = '\0';
        for (int i = 0; i < count && !view->varies[axis]; i++) {
            if (study_axis_is_any(study, &points[i], axis))
                continue;
            study_axis_of_point(axis, &points[i], word);
            if (!first[0])
                memcpy(first, word, sizeof first);
            view->varies[axis] = strcmp(first, word) != 0;
        }
        view->axes += view->varies[axis];
    }
}

/* Once each. Without memory a note is left out. */
static void add_note(struct view *view, const char *text)
{
    for (int i = 0; i < view->note_count; i++)
        if (!strcmp(view->note[i], text))
            return;
    char **list = realloc(view->note, ((size_t)view->note_count + 1) * sizeof *list);
    if (!list)
        return;
    view->note = list;
    if ((list[view->note_count] = strdup(text)))
        view->note_count++;
}

static void put_bytes(struct grid *grid, int column, int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    if (bytes >= 0)
        grid_cell(grid, column, "%.*f %s", unit && value < 100 ? 1 : 0, value, units[unit]);
}

static void add_notes(struct view *view, const struct point *point, const struct forecast *forecast)
{
    char note[1024];
    const struct cnn_network_spec *spec = &point->spec;
    if (forecast->cropped[0]) {
        snprintf(note, sizeof note, "%s, image %d: %s", spec->name, spec->image, forecast->cropped);
        add_note(view, note);
    }
    if (forecast->status == CNN_UNAVAILABLE)
        snprintf(note, sizeof note, "%s: %s", cnn_status_word(forecast->status), forecast->reason);
    else
        snprintf(note, sizeof note, "%s: %s, width %d, depth %d, image %d: %s", cnn_status_word(forecast->status),
                 spec->name, spec->width, spec->depth, spec->image, forecast->reason);
    if (forecast->status != CNN_OK)
        add_note(view, note);
}

static void put_point(struct view *view, struct grid *grid, const struct point *point, const struct forecast *forecast)
{
    char word[STUDY_WORD];
    int column = 0;
    grid_row(grid);
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        if (!view->varies[axis])
            continue;
        study_axis_of_point(axis, point, word);
        grid_cell(grid, column++, "%s", word);
    }
    grid_cell(grid, column++, "%s", point->series);
    if (forecast->parameters >= 0)
        grid_cell(grid, column, "%" PRId64, forecast->parameters);
    if (forecast->macs >= 0)
        grid_cell(grid, column + 1, "%" PRId64, forecast->macs);
    put_bytes(grid, column + 2, forecast->bytes);
    if (forecast->status == CNN_OK)
        grid_cell(grid, column + 3, "%.1f", forecast->seconds);
    else
        grid_cell(grid, column + 3, "%s", cnn_status_word(forecast->status));
    view->seconds += forecast->seconds;
    view->runs += forecast->status == CNN_OK;
    add_notes(view, point, forecast);
}

static struct grid *start_grid(const struct view *view)
{
    struct grid *grid = grid_create(view->axes + 5, view->axes + 1);
    int column = 0;
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        if (view->varies[axis])
            grid_head(grid, column++, study_axis_name(axis), axis >= AXIS_WIDTH);
    grid_head(grid, column++, "series", false);
    grid_head(grid, column++, "parameters", true);
    grid_head(grid, column++, "MACs per image", true);
    grid_head(grid, column++, "memory", true);
    grid_head(grid, column++, "seconds (estimate)", true);
    return grid;
}

static void print_end(FILE *out, const struct view *view, int count, int columns)
{
    char text[400], duration[32];
    fputc('\n', out);
    for (int i = 0; i < view->note_count; i++)
        text_wrap(out, view->note[i], columns, 0);
    progress_duration(fmax(view->seconds, 1), duration, sizeof duration);
    snprintf(text, sizeof text,
             "%d point%s, of which %d would run, in about %s. The time is an estimate: FLOPs at an assumed rate, the "
             "oracle's "
             "part, and the time limits of the study; nothing was measured.",
             count, count == 1 ? "" : "s", view->runs, duration);
    text_wrap(out, text, columns, 0);
}

static bool print_table(FILE *out, const struct study *study, const struct point *points, int count,
                        struct forecaster *forecaster, int columns)
{
    struct view view = { .axes = 0 };
    struct forecast forecast;
    find_axes(&view, study, points, count);
    struct grid *grid = start_grid(&view);
    for (int i = 0; i < count; i++) {
        forecast_point(forecaster, &points[i], &forecast);
        put_point(&view, grid, &points[i], &forecast);
    }
    text_wrap(out, study->title, columns, 0);
    fputc('\n', out);
    bool fine = grid_print(grid, out, columns);
    print_end(out, &view, count, columns);
    for (int i = 0; i < view.note_count; i++)
        free(view.note[i]);
    free(view.note);
    grid_free(grid);
    return fine;
}

int dryrun_print(FILE *out, const struct study *study, const struct point *points, int count, enum format format,
                 bool headed, int columns, struct cnn_error *error)
{
    struct forecaster *forecaster = forecaster_create();
    struct forecast forecast;
    bool fine = forecaster != NULL;
    if (fine && format == FORMAT_TABLE)
        fine = print_table(out, study, points, count, forecaster, columns);
    if (fine && format == FORMAT_CSV && !headed)
        print_csv_header(out);
    for (int i = 0; i < count && fine && format != FORMAT_TABLE; i++) {
        forecast_point(forecaster, &points[i], &forecast);
        if (format == FORMAT_JSON)
            fine = print_json(out, study, &points[i], &forecast);
        else
            print_csv(out, study, &points[i], &forecast);
    }
    forecaster_free(forecaster);
    return fine && fflush(out) == 0 && !ferror(out)
               ? CNN_OK
               : cnn_error_set(error, CNN_ERROR, "--dry-run: stdout cannot be written");
}
