/* SPDX-License-Identifier: MIT */
/* The loop over points. Order of things: a place that can be written, then the record of the machine, then points; of
 * every point its row is on disk before the next one starts. */
#include "experiments/driver/sweep.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/child.h"
#include "experiments/driver/choices.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/machine.h"
#include "experiments/driver/progress.h"
#include "experiments/driver/rows.h"
#include "lib/random.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 16
#define CHOICES_SECONDS 5

struct sweep {
    const struct study *study;
    const struct point *points;
    const struct sweep_options *options;
    struct sweep_summary *summary;
    struct rows_writer *rows;
    struct progress progress;
    struct machine_run run;
    char program[4096], machine[MACHINE_SLUG], started[32];
    char told[TOLD_MAX][512]; /* why points were `unavailable`, as said so far */
    int told_count;
    struct choices_book *choices; /* NULL while no point has chosen */
    double choices_written;       /* when, by clock_seconds(); 0: never */
    bool choices_new;             /* since then */
    char pinned[256];             /* of the point with most threads */
    bool linked;                  /* `latest` points here */
    struct cnn_error out_lost;    /* stdout failed; rows go on to disk */
    struct cnn_error *error;
};

void sweep_summary_free(struct sweep_summary *summary)
{
    for (int i = 0; summary->results && i < summary->result_count; i++)
        result_free(&summary->results[i]);
    free(summary->results);
    summary->results = NULL;
    summary->result_count = 0;
}

/* ---- stdout ---- */

static void print_out(struct sweep *sweep, const char *text)
{
    if (!sweep->options->csv_stdout || !text || sweep->out_lost.status != CNN_OK)
        return;
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return;
    if (errno == EPIPE)
        sweep->summary->signal = SIGPIPE;
    cnn_error_set(&sweep->out_lost, CNN_ERROR, "stdout: cannot be written: %s; all rows are in %s", strerror(errno),
                  sweep->summary->rows);
}

static void print_header(struct sweep *sweep)
{
    if (sweep->options->csv_headed)
        return;
    char *header = rows_header_text();
    print_out(sweep, header);
    free(header);
}

/* ---- notes on stderr ---- */

/* Whether this reason is new. */
static bool remember(struct sweep *sweep, const char *reason)
{
    for (int i = 0; i < sweep->told_count; i++)
        if (strncmp(sweep->told[i], reason, sizeof sweep->told[i] - 1) == 0)
            return false;
    if (sweep->told_count < TOLD_MAX)
        snprintf(sweep->told[sweep->told_count++], sizeof *sweep->told, "%s", reason);
    return true;
}

/* A failure is said as it happens; what this machine lacks, once for all points that lack it. */
static void note(struct sweep *sweep, const struct point *point, const struct result *result)
{
    char title[512];
    if (sweep->options->quiet || result->status == CNN_OK || result->status == CNN_UNSTABLE)
        return;
    if (result->status == CNN_UNAVAILABLE && !remember(sweep, result->reason))
        return;
    progress_clear(&sweep->progress);
    point_title(point, title, sizeof title);
    if (result->status == CNN_UNAVAILABLE)
        fprintf(stderr, "%s: left out: %s\n", point->label, result->reason);
    else
        fprintf(stderr, "%s: %s: %s\n", title, cnn_status_word(result->status), result->reason);
}

/* ---- the record ---- */

static int write_record(struct sweep *sweep)
{
    memcpy(sweep->run.counts, sweep->summary->counts, sizeof sweep->run.counts);
    sweep->run.signal = sweep->summary->signal;
    sweep->run.pinned = sweep->pinned;
    char *record = machine_record(&sweep->run);
    if (!record)
        return cnn_error_set(sweep->error, CNN_OOM, "%s: no memory for the record of the machine",
                             sweep->summary->folder);
    int status = rows_write_file(sweep->rows, "machine.json", record, strlen(record), sweep->error);
    free(record);
    return status;
}

static int open_folder(struct sweep *sweep)
{
    const struct study *study = sweep->study;
    const char *root = sweep->options->results ? sweep->options->results : "results";
    machine_slug(sweep->machine);
    machine_time(sweep->started, sizeof sweep->started);
    if (rows_open(&sweep->rows, root, sweep->machine, study->name, sweep->error))
        return sweep->error->status;
    snprintf(sweep->summary->folder, sizeof sweep->summary->folder, "%s", rows_folder(sweep->rows));
    snprintf(sweep->summary->rows, sizeof sweep->summary->rows, "%s/rows.csv", sweep->summary->folder);
    sweep->run = (struct machine_run){
        .study = study->name,
        .study_path = study->path,
        .study_text = study->text,
        .seed = study->seed,
        .points = sweep->summary->result_count,
        .argc = sweep->options->argc,
        .argv = sweep->options->argv,
        .started = sweep->started,
        .timer_resolution = clock_resolution(),
        .environment = child_environment(),
    };
    if (study->text && rows_write_file(sweep->rows, "study.cfg", study->text, strlen(study->text), sweep->error))
        return sweep->error->status;
    return write_record(sweep);
}

/* ---- points ---- */

/* What can be known without a process of its own is not worth one. Returns false when a signal came. */
static bool run_point(struct sweep *sweep, const struct point *point, const struct cnn_network *network,
                      struct cnn_error *why, struct result *result)
{
    if (network && !backend_find(point->backend, why))
        network = NULL;
    if (network)
        return child_run(sweep->program, point, result);
    result_init(result);
    result_set(result, why->status, "%s", why->text);
    return true;
}

static int write_choices(struct sweep *sweep)
{
    char *text = choices_book_json(sweep->choices);
    if (!text)
        return cnn_error_set(sweep->error, CNN_OOM, "%s: no memory for " CHOICES_FILE, sweep->summary->folder);
    int status = rows_write_file(sweep->rows, CHOICES_FILE, text, strlen(text), sweep->error);
    free(text);
    sweep->choices_written = clock_seconds();
    sweep->choices_new = false;
    return status;
}

/* What a point chose for itself goes into the run's book, which is written at most every few seconds and at the end. */
static int keep_choices(struct sweep *sweep, const struct point *point, struct result *result)
{
    char key[2048];
    if (strlen(result->pinned) > strlen(sweep->pinned))
        snprintf(sweep->pinned, sizeof sweep->pinned, "%s", result->pinned);
    if (!result->choices)
        return CNN_OK;
    if (!sweep->choices)
        sweep->choices = choices_book_create();
    point_key(point, key, sizeof key);
    if (!sweep->choices || !choices_book_add(sweep->choices, key, result->choices))
        return cnn_error_set(sweep->error, CNN_OOM, "%s: no memory for " CHOICES_FILE, sweep->summary->folder);
    free(result->choices);
    result->choices = NULL;
    sweep->choices_new = true;
    return clock_seconds() - sweep->choices_written < CHOICES_SECONDS ? CNN_OK : write_choices(sweep);
}

static int keep_row(struct sweep *sweep, const struct row_context *context, const struct point *point,
                    const struct cnn_network *network, struct result *result)
{
    if (rows_append(sweep->rows, context, point, network, result, sweep->error))
        return sweep->error->status;
    char *row = rows_row_text(context, point, network, result);
    print_out(sweep, row);
    free(row);
    sweep->summary->counts[result->status]++;
    sweep->summary->points++;
    if (result->status == CNN_UNAVAILABLE && point->required)
        sweep->summary->required_missing = true;
    note(sweep, point, result);
    struct cnn_error link;
    if (!sweep->linked && rows_point_latest(sweep->rows, &link) && !sweep->options->quiet) {
        progress_clear(&sweep->progress);
        fprintf(stderr, "%s\n", link.text);
    }
    sweep->linked = true;
    int status = keep_choices(sweep, point, result);
    free(result->sample); /* on disk now; the rest is small */
    free(result->event);
    result->sample = result->event = NULL;
    return status;
}

static int do_point(struct sweep *sweep, int index)
{
    const struct point *point = &sweep->points[index];
    struct result *result = &sweep->summary->results[index];
    struct cnn_network *network = NULL;
    struct cnn_error why = { CNN_ERROR, "" };
    char started[32];
    int status = CNN_OK;
    machine_time(started, sizeof started);
    const struct backend_entry *backend = backend_entry(point->backend);
    const struct row_context context = { sweep->study->name, sweep->machine, machine_build(), started,
                                         backend ? backend->sources : NULL };
    progress_show(&sweep->progress, point);
    if (cnn_network_create(&network, &point->spec, &why))
        network = NULL;
    if (run_point(sweep, point, network, &why, result))
        status = keep_row(sweep, &context, point, network, result);
    cnn_network_destroy(network);
    progress_done(&sweep->progress, index);
    return status;
}

/* The order of the points, malloc'd: drawn from the study's seed, or as listed. */
static int32_t *make_order(const struct study *study, int count)
{
    int32_t *order = calloc((size_t)(count > 0 ? count : 1), sizeof *order);
    struct cnn_random random;
    if (!order)
        return NULL;
    for (int i = 0; i < count; i++)
        order[i] = i;
    if (study->shuffled) {
        cnn_random_init(&random, study->seed, CNN_STREAM_ORDER, 0);
        cnn_random_shuffle(&random, order, count);
    }
    return order;
}

static int do_points(struct sweep *sweep, const int32_t *order, int count)
{
    int status = CNN_OK;
    for (int i = 0; i < count && status == CNN_OK && !sweep->summary->signal; i++) {
        status = do_point(sweep, order[i]);
        if (!sweep->summary->signal)
            sweep->summary->signal = child_interrupted();
    }
    sweep->summary->left = count - sweep->summary->points;
    return status;
}

static int prepare(struct sweep *sweep, int count)
{
    sweep->summary->results = calloc((size_t)(count > 0 ? count : 1), sizeof *sweep->summary->results);
    if (!sweep->summary->results)
        return cnn_error_set(sweep->error, CNN_OOM, "no memory for the results of %d points", count);
    sweep->summary->result_count = count;
    for (int i = 0; i < count; i++) {
        result_init(&sweep->summary->results[i]);
        result_set(&sweep->summary->results[i], CNN_SKIPPED, "not reached");
    }
    if (sweep->options->program)
        snprintf(sweep->program, sizeof sweep->program, "%s", sweep->options->program);
    else if (child_program(sweep->options->argc > 0 ? sweep->options->argv[0] : NULL, sweep->program,
                           sizeof sweep->program, sweep->error))
        return sweep->error->status;
    return open_folder(sweep);
}

static int finish(struct sweep *sweep, int status)
{
    char ended[32];
    machine_time(ended, sizeof ended);
    sweep->run.ended = ended;
    /* a first failure is the one to tell */
    if (status == CNN_OK && sweep->choices_new)
        status = write_choices(sweep);
    if (status == CNN_OK)
        status = write_record(sweep);
    if (status == CNN_OK && sweep->out_lost.status != CNN_OK && sweep->summary->signal != SIGPIPE) {
        *sweep->error = sweep->out_lost;
        status = sweep->out_lost.status;
    }
    return status;
}

int sweep_run(const struct study *study, const struct point *points, int count, const struct sweep_options *options,
              struct sweep_summary *summary, struct cnn_error *error)
{
    struct sweep sweep = { .study = study, .points = points, .options = options, .summary = summary, .error = error };
    *summary = (struct sweep_summary){ 0 };
    int32_t *order = make_order(study, count);
    child_signals_catch();
    int status = order ? prepare(&sweep, count) : cnn_error_set(error, CNN_OOM, "no memory for %d points", count);
    if (status == CNN_OK) {
        print_header(&sweep);
        progress_open(&sweep.progress, points, count, options->quiet);
        status = finish(&sweep, do_points(&sweep, order, count));
        progress_close(&sweep.progress);
    }
    if (status == CNN_OK)
        status = rows_close(sweep.rows, error);
    else
        rows_close(sweep.rows, NULL);
    child_signals_release();
    choices_book_free(sweep.choices);
    free(order);
    return status;
}
