/* SPDX-License-Identifier: MIT */
/* Reads what earlier runs left: who they were from machine.json, what they measured from rows.csv. */
#include "experiments/driver/resume.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/rows.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define RECORD_BYTES_MAX ((int64_t)16 << 20)
#define RUNS_LOOKED_AT 20 /* the newest ones */
#define KEY_BYTES 2048

/* ---- who a run is ---- */

static bool hash_file(const char *path, uLong *hash)
{
    unsigned char piece[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    *hash = 0;
    while (file && (got = fread(piece, 1, sizeof piece, file)) > 0)
        *hash = crc32_z(*hash, piece, got);
    bool whole = file && !ferror(file);
    if (file)
        fclose(file);
    return whole;
}

static uLong hash_text(uLong hash, const char *text)
{
    return crc32_z(hash, (const Bytef *)text, strlen(text) + 1);
}

void resume_identity(char out[RESUME_IDENTITY], const char *program, const struct study *study,
                     const struct point *points, int count, bool budget)
{
    const char *data = getenv("CONVSCALE_DATA");
    char *resolved = data && *data ? realpath(data, NULL) : NULL;
    uLong left_out = hash_text(hash_text(0, study->slow ? "slow" : ""), budget ? "budget" : "");
    left_out = hash_text(left_out, resolved ? resolved : data ? data : "");
    free(resolved);
    uLong binary, asked = hash_text(0, study->text ? study->text : "");
    out[0] = '\0';
    for (int i = 0; i < count; i++) {
        char *point = point_to_json(&points[i]);
        if (!point)
            return;
        asked = hash_text(asked, point);
        free(point);
    }
    if (hash_file(program, &binary))
        snprintf(out, RESUME_IDENTITY, "%08lx-%08lx-%d-%08lx", binary & 0xffffffffu, asked & 0xffffffffu, ROWS_SCHEMA,
                 left_out & 0xffffffffu);
}

/* ---- finding it ---- */

static const char *word_of(const cJSON *run, const char *name)
{
    const char *word = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, name));
    return word ? word : "";
}

/* A run's machine.json; NULL where there is none that can be read. */
static cJSON *record_of(const char *folder)
{
    char path[RESUME_PATH + 32];
    struct cnn_error ignored;
    size_t size;
    snprintf(path, sizeof path, "%s/machine.json", folder);
    char *text = durable_read(path, RECORD_BYTES_MAX, &size, &ignored);
    cJSON *record = text ? cJSON_Parse(text) : NULL;
    free(text);
    return record;
}

/* Whether the run of this folder is the one that is looked for, by `length` letters of its identity; fills *out then.
 */
static bool is_it(struct resume *out, const char *folder, const char *identity, size_t length)
{
    cJSON *record = record_of(folder);
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(record, "run");
    bool same = strncmp(word_of(run, "identity"), identity, length) == 0;
    if (same) {
        snprintf(out->folder, sizeof out->folder, "%s", folder);
        snprintf(out->started, sizeof out->started, "%s", word_of(run, "started"));
        out->finished = *word_of(run, "ended") && !cJSON_HasObjectItem(run, "ended_by_signal");
    }
    cJSON_Delete(record);
    return same;
}

/* Names of runs begin with their year; `latest` is one of them. */
static int is_run(const struct dirent *entry)
{
    return entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
}

void resume_find(struct resume *out, const char *parent, const char *identity, bool repeats)
{
    const char *last = strrchr(identity, '-');
    size_t compared = repeats && last ? (size_t)(last + 1 - identity) : RESUME_IDENTITY;
    struct dirent **entries = NULL;
    int count = *identity ? scandir(parent, &entries, is_run, versionsort) : 0;
    bool found = false;
    *out = (struct resume){ .folder = "" };
    for (int i = count - 1; i >= 0; i--) {
        char folder[RESUME_PATH];
        int length = snprintf(folder, sizeof folder, "%s/%s", parent, entries[i]->d_name);
        found = found ||
                (count - i <= RUNS_LOOKED_AT && length < (int)sizeof folder && is_it(out, folder, identity, compared));
        free(entries[i]);
    }
    free(entries);
}

/* ---- what it ran on ---- */

int resume_devices(const char *folder, struct machine_device *devices, int most, char *pinned, size_t size)
{
    cJSON *record = record_of(folder);
    const cJSON *item, *machine = cJSON_GetObjectItemCaseSensitive(record, "machine");
    int count = 0;
    size_t at = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(machine, "devices"))
    {
        if (count == most)
            break;
        struct machine_device *device = &devices[count++];
        snprintf(device->backend, sizeof device->backend, "%s", word_of(item, "backend"));
        snprintf(device->name, sizeof device->name, "%s", word_of(item, "name"));
        snprintf(device->detail, sizeof device->detail, "%s", word_of(item, "detail"));
    }
    pinned[0] = '\0';
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(machine, "pinned"))
    {
        if (at < size)
            at += (size_t)snprintf(pinned + at, size - at, at ? ",%d" : "%d", item->valueint);
    }
    cJSON_Delete(record);
    return count;
}

/* ---- what it measured ---- */

/* Two epochs say what a table shows: the one that reached the target, with the seconds until then as if they were its
 * own, and the last. Where none reached it, the first has no accuracy. */
static int epochs_of_row(struct result *out, const struct row *row, double target, struct cnn_error *error)
{
    double until = row_number(row, ROW_SECONDS_TO_TARGET);
    int64_t reached = row_integer(row, ROW_EPOCHS_TO_TARGET);
    if (!(out->epoch = calloc(2, sizeof *out->epoch)))
        return cnn_error_set(error, CNN_OOM, "no memory for rows of an earlier run");
    out->epochs = 2;
    out->data_seconds = row_number(row, ROW_SECONDS_TO_TARGET_WITH_LOADING) - until;
    out->epoch[0] = (struct epoch_result){ .epoch = (int)reached,
                                           .train_loss = NAN,
                                           .train_accuracy = NAN,
                                           .test_loss = NAN,
                                           .test_accuracy = reached > 0 ? target : NAN,
                                           .train_seconds = until };
    out->epoch[1] = (struct epoch_result){ .epoch = (int)row_integer(row, ROW_EPOCHS),
                                           .train_loss = row_number(row, ROW_TRAIN_LOSS),
                                           .train_accuracy = row_number(row, ROW_TRAIN_ACCURACY),
                                           .test_loss = row_number(row, ROW_TEST_LOSS),
                                           .test_accuracy = row_number(row, ROW_TEST_ACCURACY) };
    return CNN_OK;
}

static int result_of_row(struct result *out, const struct row *row, double target, struct cnn_error *error)
{
    bool accuracy = strcmp(row->cell[ROW_PHASE], point_phase_name(POINT_ACCURACY)) == 0;
    result_free(out);
    result_init(out);
    out->status = row_status(row);
    snprintf(out->reason, sizeof out->reason, "%s", row->cell[ROW_REASON]);
    out->median = row_number(row, accuracy ? ROW_SECONDS_PER_EPOCH : ROW_SECONDS_PER_STEP);
    out->low = row_number(row, ROW_INTERVAL_LOW_SECONDS);
    out->high = row_number(row, ROW_INTERVAL_HIGH_SECONDS);
    return accuracy && row_integer(row, ROW_EPOCHS) > 0 ? epochs_of_row(out, row, target, error) : CNN_OK;
}

int resume_take(const char *folder, const struct point *points, int count, struct result *results, bool *done,
                struct cnn_error *error)
{
    char path[RESUME_PATH + 16], key[KEY_BYTES];
    struct rows rows;
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    if (rows_read(&rows, path, error))
        return error->status;
    int status = CNN_OK;
    for (int i = 0; i < count; i++) {
        point_key(&points[i], key, sizeof key);
        for (int k = 0; k < rows.count && !done[i] && status == CNN_OK; k++)
            if (strcmp(rows.list[k].cell[ROW_KEY], key) == 0) {
                status = result_of_row(&results[i], &rows.list[k], points[i].target, error);
                done[i] = true;
            }
    }
    rows_free(&rows);
    return status;
}
