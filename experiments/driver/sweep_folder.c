/* SPDX-License-Identifier: MIT */
/* The place of a run: a new folder, or that of a run which goes on, with its record and what its points share. */
#include "experiments/driver/child.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/oracle.h"
#include "experiments/driver/resume.h"
#include "experiments/driver/sweep_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS_BYTES_MAX ((int64_t)1 << 30)

int sweep_write_record(struct sweep *sweep)
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

/* ---- going on with an earlier run ---- */

/* A run of its own with the rows that stay; the old one is left as it is. */
static int copy_run(struct sweep *sweep, const char *root, const char *from, struct cnn_error *error)
{
    char folder[RESUME_PATH];
    if (rows_open(&sweep->rows, root, sweep->machine, sweep->study->name, error))
        return error->status;
    snprintf(folder, sizeof folder, "%s", rows_folder(sweep->rows));
    rows_close(sweep->rows, NULL);
    sweep->rows = NULL;
    return rows_copy(from, folder, sweep->options->retry, error) || rows_reopen(&sweep->rows, folder, error)
               ? error->status
               : CNN_OK;
}

static int take_choices(struct sweep *sweep, const char *folder, struct cnn_error *error)
{
    char path[RESUME_PATH + 32];
    snprintf(path, sizeof path, "%s/" CHOICES_FILE, folder);
    return access(path, R_OK) == 0 ? choices_book_read(&sweep->choices, path, error) : CNN_OK;
}

/* Results and counts of the rows that are there, the latter where nothing can fail any more. */
static int take_rows(struct sweep *sweep, bool *done, struct cnn_error *error)
{
    struct sweep_summary *summary = sweep->summary;
    if (resume_take(rows_folder(sweep->rows), sweep->points, summary->result_count, summary->results, done, error))
        return error->status;
    for (int i = 0; i < summary->result_count; i++) {
        if (!done[i])
            continue;
        enum cnn_status status = summary->results[i].status;
        summary->counts[status]++;
        summary->points++;
        summary->required_missing |= status == CNN_UNAVAILABLE && sweep->points[i].required;
    }
    return CNN_OK;
}

/* Opens the folder of an earlier run, or a copy of it, and takes over what is there. After a failure nothing is. */
static bool take_over(struct sweep *sweep, const char *root, bool *done, struct cnn_error *error)
{
    const char *folder = sweep->earlier.folder;
    int status;
    if (!sweep->options->retry)
        status = rows_reopen(&sweep->rows, folder, error) || take_choices(sweep, folder, error);
    else /* no copy is made for choices that cannot be read */
        status = take_choices(sweep, folder, error) || copy_run(sweep, root, folder, error);
    if (status == CNN_OK && take_rows(sweep, done, error) == CNN_OK)
        return true;
    sweep_say(sweep, "%s; a new run starts", error->text);
    rows_close(sweep->rows, NULL);
    sweep->rows = NULL;
    choices_book_free(sweep->choices);
    sweep->choices = NULL;
    sweep_reach_nothing(sweep);
    return false;
}

/* The record of the process that went before stays beside that of this one. */
static void keep_record(const struct sweep *sweep)
{
    char now[RESUME_PATH + 32], then[RESUME_PATH + 32];
    snprintf(now, sizeof now, "%s/machine.json", rows_folder(sweep->rows));
    snprintf(then, sizeof then, "%s/machine-before.json", rows_folder(sweep->rows));
    unlink(then);
    (void)!link(now, then); /* a copied run has none */
}

/* What stdout would have, had nothing come in between. */
static void print_rows(struct sweep *sweep)
{
    char path[RESUME_PATH + 16];
    struct cnn_error ignored;
    size_t size;
    snprintf(path, sizeof path, "%s/rows.csv", rows_folder(sweep->rows));
    char *text = sweep->options->csv_stdout ? durable_read(path, ROWS_BYTES_MAX, &size, &ignored) : NULL;
    char *behind = text ? strchr(text, '\n') : NULL;
    if (behind && behind[1])
        sweep_print(sweep, behind + 1);
    free(text);
}

static void tell_taken(struct sweep *sweep)
{
    int taken = sweep->summary->points, count = sweep->summary->result_count;
    if (sweep->options->retry)
        sweep_say(sweep, "%s: repeats %d of %d points, the other rows are those of %s", rows_folder(sweep->rows),
                  count - taken, count, sweep->earlier.folder);
    else
        sweep_say(sweep, "%s: goes on with %d of %d points done; --fresh starts a new run", rows_folder(sweep->rows),
                  taken, count);
}

/* True where an earlier run goes on. What is in the way of that is said, and a new run starts. */
static bool go_on(struct sweep *sweep, const char *root)
{
    const struct sweep_options *options = sweep->options;
    char parent[RESUME_PATH];
    struct cnn_error error = { CNN_OK, "" };
    bool *done = calloc((size_t)sweep->summary->result_count + 1, sizeof *done);
    snprintf(parent, sizeof parent, "%s/%s/%s", root, sweep->machine, sweep->study->name);
    resume_find(&sweep->earlier, parent, sweep->identity, options->retry);
    bool wanted = done && *sweep->earlier.folder && (options->retry || !sweep->earlier.finished);
    if (options->retry && !wanted)
        sweep_say(sweep, "%s: no run of this very study and program is in %s: all points run", sweep->study->name,
                  parent);
    wanted = wanted && take_over(sweep, root, done, &error);
    if (wanted) {
        schedule_drop(&sweep->schedule, done);
        keep_record(sweep);
        tell_taken(sweep);
    }
    free(done);
    return wanted;
}

/* ---- the folder ---- */

/* The ceilings that the rows are held against stay beside them. */
static int write_ceilings(struct sweep *sweep)
{
    if (!sweep->options->ceilings)
        return CNN_OK;
    char *text = ceilings_to_json(sweep->options->ceilings);
    if (!text)
        return cnn_error_set(sweep->error, CNN_OOM, "%s: no memory for " CEILINGS_FILE, sweep->summary->folder);
    int status = rows_write_file(sweep->rows, CEILINGS_FILE, text, strlen(text), sweep->error);
    free(text);
    return status;
}

static const char *order_word(const struct sweep *sweep)
{
    return sweep->options->budget > 0 ? "cheap first" : sweep->study->shuffled ? "random" : "as-written";
}

static void describe_run(struct sweep *sweep, bool goes_on)
{
    const struct study *study = sweep->study;
    sweep->run = (struct machine_run){
        .study = study->name,
        .study_path = study->path,
        .study_text = study->text,
        .seed = study->seed,
        .points = sweep->summary->result_count,
        .argc = sweep->options->argc,
        .argv = sweep->options->argv,
        .started = goes_on ? sweep->earlier.started : sweep->started,
        .timer_resolution = clock_resolution(),
        .environment = child_environment(),
        .devices = sweep->devices,
        .before = sweep->before = machine_moment("", NVML_LIBRARY),
        .conduct = { .identity = sweep->identity,
                     .order = order_word(sweep),
                     .continued = goes_on ? sweep->started : NULL,
                     .taken = sweep->summary->points },
    };
    if (goes_on) /* rows that were taken over ran on these */
        sweep->run.device_count = resume_devices(sweep->earlier.folder, sweep->devices, SWEEP_DEVICES_MAX,
                                                 sweep->pinned, sizeof sweep->pinned);
}

int sweep_open_folder(struct sweep *sweep)
{
    const struct study *study = sweep->study;
    const char *root = sweep->options->results ? sweep->options->results : "results";
    machine_slug(sweep->machine);
    machine_time(sweep->started, sizeof sweep->started);
    resume_identity(sweep->identity, sweep->program, study, sweep->points, sweep->summary->result_count,
                    sweep->options->budget > 0);
    bool goes_on = !sweep->options->fresh && go_on(sweep, root);
    if (!goes_on && rows_open(&sweep->rows, root, sweep->machine, study->name, sweep->error))
        return sweep->error->status;
    snprintf(sweep->summary->folder, sizeof sweep->summary->folder, "%s", rows_folder(sweep->rows));
    snprintf(sweep->summary->rows, sizeof sweep->summary->rows, "%s/rows.csv", sweep->summary->folder);
    sweep_print_header(sweep);
    if (goes_on)
        print_rows(sweep);
    describe_run(sweep, goes_on);
    if (study->text && rows_write_file(sweep->rows, "study.cfg", study->text, strlen(study->text), sweep->error))
        return sweep->error->status;
    if (study->published_text && rows_write_file(sweep->rows, study->published_file, study->published_text,
                                                 strlen(study->published_text), sweep->error))
        return sweep->error->status;
    const char *power = machine_power_source("");
    if (power && !strcmp(power, "battery"))
        sweep_say(sweep, "on battery: processors may be held back; times hold for that");
    drift_probe(&sweep->run.conduct.start);
    return sweep_write_record(sweep) || write_ceilings(sweep) ? sweep->error->status : CNN_OK;
}

/* ---- what points share ---- */

/* Points go on without it: every one then asks the oracle for itself. */
void sweep_open_answers(struct sweep *sweep)
{
    int length = snprintf(sweep->answers, sizeof sweep->answers, "%s/.answers", sweep->summary->folder);
    bool fits = length > 0 && (size_t)length < sizeof sweep->answers;
    if (!fits || (mkdir(sweep->answers, 0777) && errno != EEXIST))
        sweep->answers[0] = '\0';
}

/* Whatever is in the folder goes: a killed child leaves its half of a file under a name of its own. */
void sweep_close_answers(struct sweep *sweep)
{
    DIR *folder = sweep->answers[0] ? opendir(sweep->answers) : NULL;
    struct dirent *entry;
    if (!folder)
        return;
    while ((entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0); /* "." and ".." are folders, which this refuses */
    closedir(folder);
    rmdir(sweep->answers);
}
