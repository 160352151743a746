/* SPDX-License-Identifier: MIT */
/* The way of a command line: options, studies, points; then the sweep, its table and its charts. Only here does the
 * program decide how it ends. */
#include "experiments/driver/ceilings.h"
#include "experiments/driver/child.h"
#include "experiments/driver/choices.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/compare.h"
#include "experiments/driver/filter.h"
#include "experiments/driver/folders.h"
#include "experiments/driver/options.h"
#include "experiments/driver/outputs.h"
#include "experiments/driver/report.h"
#include "experiments/driver/study.h"
#include "experiments/driver/sweep.h"
#include "experiments/driver/table.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One study of the command line on its way. */
struct job {
    struct study study;
    struct point *points;
    int count;
};

struct run {
    struct options options;
    enum format format;
    int argc;
    char **argv;
    struct choices_book *choices; /* of --choices, or NULL */
    struct ceilings ceilings;     /* count 0: not known */
    struct filter **filters;      /* as many as options.filters */
    struct job *jobs;
    int job_count;
    char **rows; /* the rows.csv of every finished job, for JSON */
    int row_files;
    double start; /* by clock_seconds() */
    char results[PATH_MAX];
    int exit_code;
    bool csv_headed;
};

static void complain(const char *sentence)
{
    fprintf(stderr, "convscale: %s\n", sentence);
}

/* A wrong study outweighs points that failed. */
static void exit_at_least(struct run *run, int code)
{
    if (code > run->exit_code)
        run->exit_code = code;
}

/* ---- from arguments to points ---- */

static bool read_filters(struct run *run)
{
    const struct words_given *expressions = &run->options.filters;
    struct cnn_error error = { CNN_OK, "" };
    int status = CNN_OK;
    if (!(run->filters = calloc((size_t)expressions->count + 1, sizeof *run->filters)))
        status = cnn_error_set(&error, CNN_OOM, "no memory for filters");
    for (int i = 0; i < expressions->count && !status; i++)
        status = filter_create(&run->filters[i], expressions->list[i], &error);
    if (status) {
        complain(error.text);
        exit_at_least(run, EXIT_USAGE);
    }
    return status == CNN_OK;
}

/* Points that choose for themselves take what the file says of them; it outlives them. */
static void replay(const struct run *run, const char *path, struct job *job)
{
    char key[2048];
    int missing = 0;
    for (int i = 0; run->choices && i < job->count; i++) {
        if (strcmp(job->points[i].algorithm, CHOICES_AUTO))
            continue;
        point_key(&job->points[i], key, sizeof key);
        job->points[i].replay = choices_book_find(run->choices, key);
        missing += !job->points[i].replay;
    }
    if (missing > 0)
        fprintf(stderr, "convscale: %s: %d point%s not in %s and will be chosen for anew\n", path, missing,
                missing == 1 ? " is" : "s are", run->options.choices);
}

static bool read_choices(struct run *run)
{
    struct cnn_error error = { CNN_OK, "" };
    if (!run->options.choices || !choices_book_read(&run->choices, run->options.choices, &error))
        return true;
    complain(error.text);
    exit_at_least(run, EXIT_USAGE);
    return false;
}

static int read_job(const struct run *run, const char *path, struct job *job, struct cnn_error *error)
{
    const struct options *options = &run->options;
    if (study_read(&job->study, path, error))
        return error->status;
    for (int i = 0; i < options->sets.count; i++)
        if (study_set(&job->study, options->sets.list[i], error))
            return cnn_error_prefix(error, "%s", path);
    if (options->backends.count > 0) {
        int status = study_keep_backends(&job->study, options->backends.list, options->backends.count, error);
        if (status)
            return status == CNN_SKIPPED ? CNN_OK : status;
    }
    if (study_expand(&job->study, &job->points, &job->count, error))
        return error->status;
    for (int i = 0; i < options->filters.count; i++)
        job->count = filter_points(run->filters[i], job->points, job->count);
    for (int i = 0; i < job->count && options->data; i++)
        snprintf(job->points[i].data_folder, sizeof job->points[i].data_folder, "%s", options->data);
    replay(run, path, job);
    return CNN_OK;
}

static void free_job(struct job *job)
{
    free(job->points);
    study_free(&job->study);
    *job = (struct job){ .count = 0 };
}

/* A study without points under the filters is told and left out; where none has any, that is a mistake. */
static bool read_jobs(struct run *run)
{
    const struct words_given *paths = &run->options.arguments;
    int read = 0;
    run->jobs = calloc((size_t)paths->count, sizeof *run->jobs);
    run->rows = calloc((size_t)paths->count, sizeof *run->rows);
    if (!run->jobs || !run->rows) {
        complain("no memory for the studies");
        exit_at_least(run, EXIT_POINTS_FAILED);
        return false;
    }
    for (int i = 0; i < paths->count; i++) {
        struct cnn_error error = { CNN_OK, "" };
        struct job *job = &run->jobs[run->job_count];
        bool fine = read_job(run, paths->list[i], job, &error) == CNN_OK;
        read += fine;
        if (!fine) {
            complain(error.text);
            exit_at_least(run, EXIT_USAGE);
        } else if (job->count == 0) {
            fprintf(stderr, "convscale: %s: no point of it is left by %s: left out\n", paths->list[i],
                    run->options.filters.count > 0    ? "--filter"
                    : run->options.backends.count > 0 ? "--backend"
                                                      : "its exclude");
        } else {
            run->job_count++;
            continue;
        }
        free_job(job);
    }
    if (run->job_count == 0 && read > 0)
        exit_at_least(run, EXIT_USAGE);
    return run->job_count > 0;
}

/* ---- running ---- */

/* Below the project's folder, which run_sweep names, unless the user says where. */
static void choose_results(struct run *run)
{
    const char *home = getenv("CONVSCALE_HOME");
    char here[PATH_MAX];
    bool elsewhere = home && *home && (!getcwd(here, sizeof here) || strcmp(here, home));
    if (run->options.out)
        snprintf(run->results, sizeof run->results, "%s", run->options.out);
    else
        snprintf(run->results, sizeof run->results, "%s%sresults", elsewhere ? home : "", elsewhere ? "/" : "");
}

/* `invalid` and `unavailable` are what a machine or a size is like, unless somebody asked for just that. */
static bool points_failed(const struct job *job, const struct sweep_summary *summary)
{
    int idle = summary->counts[CNN_INVALID] + summary->counts[CNN_SKIPPED];
    if (summary->required_missing || summary->counts[CNN_MISMATCH] || summary->counts[CNN_OOM] ||
        summary->counts[CNN_TIMEOUT] || summary->counts[CNN_ERROR])
        return true;
    for (int i = 0; i < summary->result_count && i < job->count; i++)
        if (job->points[i].required && summary->results[i].status == CNN_INVALID)
            return true;
    return summary->points > 0 && idle > 0 && idle + summary->counts[CNN_UNAVAILABLE] == summary->points;
}

static void show_table(struct run *run, const struct job *job, const struct sweep_summary *summary, bool first)
{
    if (!first)
        fputc('\n', stdout);
    bool fine = summary->result_count != job->count ||
                table_print(stdout, &job->study, job->points, summary->results, job->count, report_columns());
    if (!fine || fflush(stdout)) {
        complain("the table cannot be written to stdout; the rows are on disk");
        exit_at_least(run, EXIT_POINTS_FAILED);
    }
}

/* Returns the signal that ended the sweep, or 0. */
static int run_job(struct run *run, const struct job *job, bool first)
{
    struct sweep_summary summary = { .points = 0 };
    struct cnn_error error = { CNN_OK, "" };
    struct sweep_options options = {
        .results = run->results,
        .argc = run->argc,
        .argv = run->argv,
        .budget = run->options.budget > 0 ? fmax(run->options.budget - (clock_seconds() - run->start), 1e-3) : 0,
        .ceilings = run->ceilings.count > 0 ? &run->ceilings : NULL,
        .quiet = run->options.quiet,
        .csv_stdout = run->format == FORMAT_CSV,
        .csv_headed = run->csv_headed,
    };
    bool broken = sweep_run(&job->study, job->points, job->count, &options, &summary, &error) != CNN_OK;
    run->csv_headed = true;
    if (broken)
        complain(error.text);
    if (broken || points_failed(job, &summary))
        exit_at_least(run, EXIT_POINTS_FAILED);
    if (run->format == FORMAT_TABLE && summary.points > 0)
        show_table(run, job, &summary, first);
    if (summary.rows[0] && summary.points > 0) {
        run->rows[run->row_files] = strdup(summary.rows);
        run->row_files += run->rows[run->row_files] != NULL;
    }
    if (summary.folder[0] && summary.points > 0 &&
        !outputs_make(summary.folder, &run->options.style, run->format == FORMAT_TABLE ? stdout : NULL,
                      run->options.quiet ? NULL : stderr, false))
        exit_at_least(run, EXIT_POINTS_FAILED);
    int signal = summary.signal;
    sweep_summary_free(&summary);
    return signal;
}

static void run_jobs(struct run *run)
{
    struct cnn_error error = { CNN_OK, "" };
    int signal = 0;
    choose_results(run);
    ceilings_learn(&run->ceilings, run->results, run->argv[0], run->options.quiet ? NULL : stderr);
    for (int i = 0; i < run->job_count && !signal; i++)
        signal = run_job(run, &run->jobs[i], i == 0);
    if (run->format == FORMAT_JSON && rows_print_json(stdout, (const char *const *)run->rows, run->row_files, &error)) {
        complain(error.text);
        exit_at_least(run, EXIT_POINTS_FAILED);
    }
    if (signal)
        run->exit_code = 128 + signal;
}

static void dry_run_jobs(struct run *run)
{
    for (int i = 0; i < run->job_count; i++) {
        const struct job *job = &run->jobs[i];
        struct cnn_error error = { CNN_OK, "" };
        if (i > 0 && run->format == FORMAT_TABLE)
            fputc('\n', stdout);
        if (dryrun_print(stdout, &job->study, job->points, job->count, run->format, i > 0, report_columns(), &error)) {
            complain(error.text);
            exit_at_least(run, EXIT_POINTS_FAILED);
            return;
        }
    }
}

/* ---- ways in ---- */

static void run_studies(struct run *run)
{
    bool dry = run->options.action == ACTION_DRY_RUN;
    run->format = run->options.format;
    if (run->format == FORMAT_AUTO)
        run->format = isatty(STDOUT_FILENO) || dry ? FORMAT_TABLE : FORMAT_CSV;
    if (!read_filters(run) || !read_choices(run) || !read_jobs(run))
        return;
    if (dry)
        dry_run_jobs(run);
    else
        run_jobs(run);
}

static void act(struct run *run)
{
    switch (run->options.action) {
    case ACTION_HELP:
        help_print(stdout);
        break;
    case ACTION_VERSION:
        version_print(stdout);
        break;
    case ACTION_LIST:
        list_print(stdout, report_columns());
        break;
    case ACTION_PLOT:
        exit_at_least(run, folders_plot(&run->options));
        break;
    case ACTION_CEILINGS:
        choose_results(run);
        exit_at_least(run, folders_ceilings(&run->options, run->results));
        break;
    case ACTION_REPORT:
        choose_results(run);
        exit_at_least(run, folders_report(&run->options, run->results));
        break;
    case ACTION_ANALYSE:
        exit_at_least(run, folders_analyse(&run->options));
        break;
    case ACTION_COMPARE:
        choose_results(run);
        exit_at_least(run, compare_folders(&run->options, run->results));
        break;
    case ACTION_RUN:
    case ACTION_DRY_RUN:
        run_studies(run);
        break;
    }
    if (fflush(stdout) || ferror(stdout)) {
        complain("stdout cannot be written");
        exit_at_least(run, EXIT_POINTS_FAILED);
    }
}

int main(int argc, char **argv)
{
    struct run run = { .argc = argc, .argv = argv, .start = clock_seconds() };
    struct cnn_error error = { CNN_OK, "" };
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return child_main();
    signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is an error of write() */
    if (options_parse(&run.options, argc, argv, &error)) {
        complain(error.text);
        run.exit_code = EXIT_USAGE;
    } else {
        act(&run);
    }
    for (int i = 0; i < run.job_count; i++)
        free_job(&run.jobs[i]);
    for (int i = 0; i < run.row_files; i++)
        free(run.rows[i]);
    for (int i = 0; run.filters && i < run.options.filters.count; i++)
        filter_free(run.filters[i]);
    free(run.filters);
    choices_book_free(run.choices);
    ceilings_free(&run.ceilings);
    free(run.jobs);
    free(run.rows);
    options_free(&run.options);
    return run.exit_code;
}
