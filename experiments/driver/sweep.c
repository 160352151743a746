/* SPDX-License-Identifier: MIT */
/* The loop over points. Order of things: a place that can be written, then the record of the machine, then points; of
 * every point its row is on disk before the next one starts. */
#include "experiments/driver/sweep.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/bounds.h"
#include "experiments/driver/child.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/oracle.h"
#include "experiments/driver/sweep_parts.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES_SECONDS 5
#define SLOW_SECONDS 60
#define DRIFT_TOLD 0.05

void sweep_summary_free(struct sweep_summary *summary)
{
    for (int i = 0; summary->results && i < summary->result_count; i++)
        result_free(&summary->results[i]);
    free(summary->results);
    summary->results = NULL;
    summary->result_count = 0;
}

/* ---- points ---- */

/* What the user has no time for. */
static bool leave_out(struct sweep *sweep, double cost, struct result *result)
{
    char expected[32], left[32];
    double budget = sweep->options->budget, remaining = budget - (clock_seconds() - sweep->start);
    double takes = progress_expected(&sweep->progress, cost);
    progress_duration(takes, expected, sizeof expected);
    progress_duration(fmax(remaining, 0), left, sizeof left);
    if (cost > SLOW_SECONDS && !sweep->study->slow) {
        result_set(result, CNN_SKIPPED, "would take about %s: points above a minute are run with --slow", expected);
        sweep->slow++;
        return true;
    }
    if (budget > 0 && takes > remaining) {
        result_set(result, CNN_SKIPPED, "would take about %s, %s of --budget were left", expected, left);
        sweep->late++;
        return true;
    }
    return false;
}

/* What can be known without a process of its own is not worth one. Returns false when a signal came. */
static bool run_point(struct sweep *sweep, int index, const struct cnn_network *network, struct cnn_error *why,
                      struct result *result)
{
    struct point point = sweep->points[index];
    double cost = sweep->schedule.cost[index];
    result_init(result);
    if (!network || !backend_find(point.backend, why)) {
        result_set(result, why->status, "%s", why->text);
        return true;
    }
    if (leave_out(sweep, cost, result))
        return true;
    if (point.timeout < 0)
        point.timeout = schedule_patience(cost);
    memcpy(point.answers, sweep->answers, sizeof point.answers);
    return child_run(sweep->program, &point, result);
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

/* The record tells of every device that a point ran on, once for each backend and name. */
static void keep_device(struct sweep *sweep, const struct point *point, const struct result *result)
{
    int at = 0, count = sweep->run.device_count;
    if (strlen(result->pinned) > strlen(sweep->pinned))
        snprintf(sweep->pinned, sizeof sweep->pinned, "%s", result->pinned);
    while (at < count && (strcmp(sweep->devices[at].backend, point->backend) != 0 ||
                          strcmp(sweep->devices[at].detail, result->detail) != 0))
        at++;
    if (!*result->device || at < count || count == SWEEP_DEVICES_MAX)
        return;
    struct machine_device *device = &sweep->devices[sweep->run.device_count++];
    snprintf(device->backend, sizeof device->backend, "%s", point->backend);
    snprintf(device->name, sizeof device->name, "%s", result->device);
    snprintf(device->detail, sizeof device->detail, "%s", result->detail);
}

/* What a point chose for itself goes into the run's book, which is written at most every few seconds and at the end. */
static int keep_choices(struct sweep *sweep, const struct point *point, struct result *result)
{
    char key[2048];
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

/* How much of what the device can do at most this point does. */
static int judge(struct sweep *sweep, const struct point *point, const struct cnn_network *network,
                 struct result *result)
{
    bool exceeded;
    char title[512];
    if (!network)
        return CNN_OK;
    if (bounds_judge(result, sweep->options->ceilings, point, network, &exceeded, sweep->error))
        return sweep->error->status;
    if (exceeded && !sweep->options->quiet) {
        progress_clear(&sweep->progress);
        point_title(point, title, sizeof title);
        fprintf(stderr, "%s: warning: %s\n", title, result->reason);
    }
    return CNN_OK;
}

static int keep_row(struct sweep *sweep, const struct row_context *context, const struct point *point,
                    const struct cnn_network *network, struct result *result)
{
    if (judge(sweep, point, network, result) || rows_append(sweep->rows, context, point, network, result, sweep->error))
        return sweep->error->status;
    char *row = rows_row_text(context, point, network, result);
    sweep_print(sweep, row);
    free(row);
    sweep->summary->counts[result->status]++;
    sweep->summary->points++;
    if (result->status == CNN_UNAVAILABLE && point->required)
        sweep->summary->required_missing = true;
    sweep_note(sweep, point, result);
    struct cnn_error link;
    if (!sweep->linked && rows_point_latest(sweep->rows, &link))
        sweep_say(sweep, "%s", link.text);
    sweep->linked = true;
    keep_device(sweep, point, result);
    int status = keep_choices(sweep, point, result);
    conduct_count(&sweep->run.conduct.time, result);
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
    if (run_point(sweep, index, network, &why, result))
        status = keep_row(sweep, &context, point, network, result);
    cnn_network_destroy(network);
    progress_done(&sweep->progress, index, result->status != CNN_SKIPPED);
    return status;
}

static int do_points(struct sweep *sweep)
{
    const struct schedule *schedule = &sweep->schedule;
    int status = CNN_OK;
    for (int i = 0; i < schedule->places && status == CNN_OK && !sweep->summary->signal; i++) {
        status = do_point(sweep, schedule->order[i]);
        if (!schedule_needed_again(schedule, i))
            oracle_forget(sweep->answers, schedule->group[schedule->order[i]]);
        if (!sweep->summary->signal)
            sweep->summary->signal = child_interrupted();
    }
    sweep->summary->left = schedule->count - sweep->summary->points;
    return status;
}

void sweep_reach_nothing(struct sweep *sweep)
{
    for (int i = 0; i < sweep->summary->result_count; i++) {
        struct result *result = &sweep->summary->results[i];
        result_free(result);
        result_init(result);
        result_set(result, CNN_SKIPPED, "not reached");
    }
}

static int prepare(struct sweep *sweep, int count)
{
    bool cheap_first = sweep->options->budget > 0;
    if (schedule_make(&sweep->schedule, sweep->study, sweep->points, count, cheap_first, sweep->error))
        return sweep->error->status;
    sweep->summary->results = calloc((size_t)(count > 0 ? count : 1), sizeof *sweep->summary->results);
    if (!sweep->summary->results)
        return cnn_error_set(sweep->error, CNN_OOM, "no memory for the results of %d points", count);
    sweep->summary->result_count = count;
    sweep_reach_nothing(sweep);
    if (sweep->options->program)
        snprintf(sweep->program, sizeof sweep->program, "%s", sweep->options->program);
    else if (child_program(sweep->options->argc > 0 ? sweep->options->argv[0] : NULL, sweep->program,
                           sizeof sweep->program, sweep->error))
        return sweep->error->status;
    if (sweep_open_folder(sweep))
        return sweep->error->status;
    sweep_open_answers(sweep);
    return CNN_OK;
}

/* Says where the machine itself changed its speed meanwhile. */
static void probe_again(struct sweep *sweep)
{
    struct conduct *conduct = &sweep->run.conduct;
    drift_probe(&conduct->end);
    double change = drift_change(&conduct->start, &conduct->end);
    if (fabs(change) > DRIFT_TOLD)
        sweep_say(sweep,
                  "this machine was %.0f %% %s at the end than at the start (the same loop, timed before and after)",
                  100 * fabs(change), change > 0 ? "slower" : "faster");
}

static int finish(struct sweep *sweep, int status)
{
    char ended[32];
    machine_time(ended, sizeof ended);
    sweep->run.ended = ended;
    sweep->run.after = sweep->after = machine_moment("", NVML_LIBRARY);
    if (!sweep->summary->signal)
        probe_again(sweep);
    sweep->run.conduct.time.total = clock_seconds() - sweep->start;
    sweep->summary->time = sweep->run.conduct.time;
    /* a first failure is the one to tell */
    if (status == CNN_OK && sweep->choices_new)
        status = write_choices(sweep);
    if (status == CNN_OK)
        status = sweep_write_record(sweep);
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
    sweep.start = clock_seconds();
    child_signals_catch();
    int status = prepare(&sweep, count);
    if (status == CNN_OK) {
        progress_open(&sweep.progress, &sweep.schedule, options->quiet);
        status = do_points(&sweep);
        progress_clear(&sweep.progress);
        sweep_close_answers(&sweep);
        status = finish(&sweep, status);
        sweep_tell_skipped(&sweep);
    }
    if (status == CNN_OK)
        status = rows_close(sweep.rows, error);
    else
        rows_close(sweep.rows, NULL);
    child_signals_release();
    free(sweep.before);
    free(sweep.after);
    choices_book_free(sweep.choices);
    schedule_free(&sweep.schedule);
    return status;
}
