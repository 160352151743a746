/* SPDX-License-Identifier: MIT */
/* A run as charts and analysis see it: what its folder holds, nothing else. */
#include "experiments/driver/analysis_parts.h"
#include "experiments/driver/charts_parts.h"
#include "experiments/driver/durable.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PATH_TEXT 4096
#define RECORD_BYTES_MAX ((int64_t)1 << 24)

void chart_say(const struct chart_run *run, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (run->log) {
        vfprintf(run->log, format, list);
        fputc('\n', run->log);
    }
    va_end(list);
}

static int series_place(struct chart_run *run, const struct row *row)
{
    for (int i = 0; i < run->series_count; i++)
        if (strcmp(run->series[i].id, row->cell[ROW_SERIES]) == 0)
            return i;
    run->series[run->series_count] = (struct chart_series){ row->cell[ROW_SERIES], row->cell[ROW_LABEL], 0 };
    return run->series_count++;
}

/* Series in the study's order, then those that only rows name. */
static int run_series(struct chart_run *run, struct cnn_error *error)
{
    size_t rows = (size_t)run->rows.count, of_study = (size_t)run->study.series_count;
    run->series = malloc((rows + of_study + 1) * sizeof *run->series);
    run->series_of = malloc((rows + 1) * sizeof *run->series_of);
    if (!run->series || !run->series_of)
        return cnn_error_set(error, CNN_OOM, "charts: no memory for %d rows", run->rows.count);
    for (int i = 0; i < run->study.series_count; i++)
        run->series[run->series_count++] =
            (struct chart_series){ run->study.series[i].id, run->study.series[i].label, 0 };
    for (int row = 0; row < run->rows.count; row++)
        run->series_of[row] = series_place(run, &run->rows.list[row]);
    run->base = run->has_study ? run->study.base : 0;
    for (int i = 0; i < run->series_count; i++)
        run->series[i].base = run->base;
    return CNN_OK;
}

int chart_run_open(struct chart_run *run, const char *folder, FILE *log, struct cnn_error *error)
{
    char path[PATH_TEXT];
    struct cnn_error why;
    *run = (struct chart_run){ .folder = folder, .log = log };
    if (snprintf(path, sizeof path, "%s/rows.csv", folder) >= (int)sizeof path)
        return cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long", folder);
    if (rows_read(&run->rows, path, error))
        return error->status;
    if (run->rows.torn)
        chart_say(run, "%s: its last line was cut short and is left out", path);
    snprintf(path, sizeof path, "%s/study.cfg", folder);
    run->has_study = study_read(&run->study, path, &why) == CNN_OK;
    if (!run->has_study) {
        chart_say(run, "charts: drawn without the study's words: %s", why.text);
        run->study = (struct study){ 0 };
    }
    if (run_series(run, error))
        return error->status;
    return analysis_fit_rows(run) ? CNN_OK
                                  : cnn_error_set(error, CNN_OOM, "charts: no memory for %d rows", run->rows.count);
}

void chart_run_close(struct chart_run *run)
{
    free(run->series);
    free(run->series_of);
    free(run->fit);
    study_free(&run->study);
    rows_free(&run->rows);
}

int chart_physical_cores(const struct chart_run *run)
{
    char path[PATH_TEXT];
    struct cnn_error error;
    size_t size;
    snprintf(path, sizeof path, "%.4000s/machine.json", run->folder);
    char *text = durable_read(path, RECORD_BYTES_MAX, &size, &error);
    cJSON *record = text ? cJSON_Parse(text) : NULL;
    const cJSON *machine = cJSON_GetObjectItemCaseSensitive(record, "machine");
    const cJSON *cpu = cJSON_GetObjectItemCaseSensitive(machine, "cpu");
    const cJSON *cores = cJSON_GetObjectItemCaseSensitive(cpu, "physical_cores");
    bool sure = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(cpu, "topology_verified"));
    int count = sure && cJSON_IsNumber(cores) ? cores->valueint : 0;
    cJSON_Delete(record);
    free(text);
    return count;
}
