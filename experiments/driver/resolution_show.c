/* SPDX-License-Identifier: MIT */
/* --resolution as the command line asks for it: which point, what is said, what is kept. */
#include "experiments/driver/child.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/grid.h"
#include "experiments/driver/jobs.h"
#include "experiments/driver/machine.h"
#include "experiments/driver/report.h"
#include "experiments/driver/resolution.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double false_alarms(const struct resolution *resolution)
{
    return (double)(resolution->words[COMPARE_SLOWER] + resolution->words[COMPARE_FASTER]) / resolution->pairs;
}

static void print_levels(FILE *out, const struct resolution *resolution, int columns)
{
    static const char *const heads[] = { "planted", "measured", "pairs", "seen as slower" };
    struct grid *grid = grid_create(4, 1);
    for (int i = 0; i < 4; i++)
        grid_head(grid, i, heads[i], true);
    for (int level = 0; level < RESOLUTION_LEVELS; level++) {
        grid_row(grid);
        grid_cell(grid, 0, "%g %%", 100 * resolution->level[level].planted);
        grid_cell(grid, 1, "%.2f %%", 100 * resolution->level[level].measured);
        grid_cell(grid, 2, "%d", resolution->level[level].pairs);
        grid_cell(grid, 3, "%d", resolution->level[level].seen);
    }
    grid_print(grid, out, columns);
    grid_free(grid);
}

void resolution_print(FILE *out, const struct resolution *resolution, const struct point *point, int columns)
{
    char title[256], text[512];
    point_title(point, title, sizeof title);
    snprintf(
        text, sizeof text,
        "Timer: steps of %.0f ns; one reading takes %.0f ns. Point: %s, %d runs as it is, each in a process of its "
        "own.",
        1e9 * resolution->timer_step, 1e9 * resolution->timer_reading, title, resolution->runs);
    text_wrap(out, text, columns, 0);
    snprintf(text, sizeof text,
             "Null comparison, every two of these runs: %d pairs, %d same, %d unclear, %d slower, %d faster: %.0f %% "
             "false alarms. Largest difference of two medians: %.1f %%.",
             resolution->pairs, resolution->words[COMPARE_SAME], resolution->words[COMPARE_UNCLEAR],
             resolution->words[COMPARE_SLOWER], resolution->words[COMPARE_FASTER], 100 * false_alarms(resolution),
             100 * resolution->largest);
    text_wrap(out, text, columns, 0);
    fputc('\n', out);
    print_levels(out, resolution, columns);
    fputc('\n', out);
    if (isnan(resolution->smallest))
        snprintf(text, sizeof text, "No planted slowdown was seen in %.0f %% of its pairs.", 100 * RESOLUTION_SEEN);
    else
        snprintf(text, sizeof text, "Smallest slowdown seen, in %.0f %% of its pairs at least: %g %%.",
                 100 * RESOLUTION_SEEN, 100 * resolution->smallest);
    text_wrap(out, text, columns, 0);
}

static bool add_levels(cJSON *object, const struct resolution *resolution)
{
    cJSON *list = cJSON_AddArrayToObject(object, "planted");
    bool fine = list != NULL;
    for (int level = 0; level < RESOLUTION_LEVELS && fine; level++) {
        cJSON *item = cJSON_CreateObject();
        fine = item && cJSON_AddItemToArray(list, item) &&
               cJSON_AddNumberToObject(item, "planted", resolution->level[level].planted) &&
               cJSON_AddNumberToObject(item, "measured", resolution->level[level].measured) &&
               cJSON_AddNumberToObject(item, "pairs", resolution->level[level].pairs) &&
               cJSON_AddNumberToObject(item, "seen", resolution->level[level].seen);
    }
    return fine;
}

char *resolution_json(const struct resolution *resolution, const struct point *point)
{
    char title[256], started[32];
    cJSON *object = cJSON_CreateObject();
    point_title(point, title, sizeof title);
    machine_time(started, sizeof started);
    bool fine =
        object && cJSON_AddStringToObject(object, "point", title) &&
        cJSON_AddStringToObject(object, "build", machine_build()) &&
        cJSON_AddStringToObject(object, "ended", started) &&
        cJSON_AddNumberToObject(object, "timer_step_seconds", resolution->timer_step) &&
        cJSON_AddNumberToObject(object, "timer_reading_seconds", resolution->timer_reading) &&
        cJSON_AddNumberToObject(object, "runs", resolution->runs) &&
        cJSON_AddNumberToObject(object, "null_pairs", resolution->pairs) &&
        cJSON_AddNumberToObject(object, "false_alarms", false_alarms(resolution)) &&
        cJSON_AddNumberToObject(object, "largest_null_difference", resolution->largest) &&
        add_levels(object, resolution) &&
        (isnan(resolution->smallest) ? cJSON_AddNullToObject(object, "smallest_seen") != NULL
                                     : cJSON_AddNumberToObject(object, "smallest_seen", resolution->smallest) != NULL);
    char *text = fine ? cJSON_Print(object) : NULL;
    cJSON_Delete(object);
    return text;
}

/* A step of about a tenth of a millisecond, so that a sample of 10 ms has a hundred of them. */
static int small_point(struct point *out, struct cnn_error *error)
{
    *out = (struct point){
        .phase = POINT_TRAIN,
        .batch = 1,
        .launch = CNN_LAUNCH_STREAM,
        .series = "cpu",
        .label = "CPU, 1 thread",
        .backend = "cpu",
        .algorithm = "direct",
        .data = "normal",
        .rates = { .rate = 0.01f },
        .min_time = 0.01,
        .warmup = 0.1,
        .max_time = 0.5,
        .min_samples = 10,
        .max_samples = 1000,
        .interval = 0.003,
        .timeout = 60,
    };
    if (cnn_builtin_spec(&out->spec, "lenet5", 32, error))
        return error->status;
    out->spec.seed = 1;
    return CNN_OK;
}

static int keep(const struct resolution *resolution, const struct point *point, const char *results, bool json,
                int columns, struct cnn_error *error)
{
    char folder[4096], path[4200], machine[MACHINE_SLUG], *text = resolution_json(resolution, point);
    machine_slug(machine);
    snprintf(folder, sizeof folder, "%.3900s/%s", results, machine);
    snprintf(path, sizeof path, "%s/resolution.json", folder);
    int status = CNN_OK;
    if (!text)
        status = cnn_error_set(error, CNN_OOM, "no memory for %s", path);
    else if (json)
        printf("%s\n", text);
    else
        resolution_print(stdout, resolution, point, columns);
    if (!status && !(status = durable_folders(folder, error)))
        status = durable_replace(path, text, strlen(text), error);
    free(text);
    return status;
}

/* The study's only point, or the small one. */
static int choose_point(struct point *out, const struct options *options, struct jobs *jobs, struct cnn_error *error)
{
    if (options->arguments.count == 0)
        return small_point(out, error);
    int points = 0;
    if (jobs_read(jobs, options) != EXIT_FINE)
        return cnn_error_set(error, CNN_INVALID, "--resolution: no point to look at");
    for (int i = 0; i < jobs->count; i++)
        points += jobs->list[i].count;
    *out = jobs->list[0].points[0];
    if (points != 1)
        return cnn_error_set(error, CNN_INVALID,
                             "--resolution: %d points are meant, expected one: choose with --filter", points);
    return out->phase != POINT_ACCURACY
               ? CNN_OK
               : cnn_error_set(error, CNN_INVALID, "--resolution: choose train, classify or evaluate");
}

int resolution_asked(const struct options *options, const char *results, const char *argv0)
{
    struct resolution resolution;
    struct point point;
    struct jobs jobs = { .count = 0 };
    struct cnn_error error = { CNN_OK, "" };
    char program[4096];
    child_signals_catch();
    int status = choose_point(&point, options, &jobs, &error);
    if (!status)
        status = child_program(argv0, program, sizeof program, &error);
    if (!status)
        status = resolution_measure(&resolution, program, &point, options->quiet ? NULL : stderr, &error);
    if (!status)
        status = keep(&resolution, &point, results, options->format == FORMAT_JSON, report_columns(), &error);
    int signal = child_interrupted();
    child_signals_release();
    jobs_free(&jobs);
    if (status)
        fprintf(stderr, "convscale: %s\n", error.text);
    if (signal)
        return 128 + signal;
    return status == CNN_INVALID ? EXIT_USAGE : status ? EXIT_POINTS_FAILED : EXIT_FINE;
}
