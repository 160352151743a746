/* SPDX-License-Identifier: MIT */
/* The way of a command line: options, studies, points; then the sweep, its table and its charts. Only here does the
 * program decide how it ends. */
#include "experiments/driver/ceilings.h"
#include "experiments/driver/child.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/compare.h"
#include "experiments/driver/folders.h"
#include "experiments/driver/inspect.h"
#include "experiments/driver/jobs.h"
#include "experiments/driver/layers.h"
#include "experiments/driver/options.h"
#include "experiments/driver/outputs.h"
#include "experiments/driver/report.h"
#include "experiments/driver/resolution.h"
#include "experiments/driver/sweep.h"
#include "experiments/driver/table.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct options options;
    enum format format;
    int argc;
    char **argv;
    struct ceilings ceilings; /* count 0: not known */
    struct jobs jobs;
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
                (table_print(stdout, &job->study, job->points, summary->results, job->count, report_columns()) &&
                 layers_print(stdout, job->points, summary->results, job->count, report_columns()));
    if (!fine || fflush(stdout)) {
        complain("the table cannot be written to stdout; the rows are on disk");
        exit_at_least(run, EXIT_POINTS_FAILED);
    }
}

/* Makes what is made of rows; before the paths of pictures and page stands where the time went, theirs included. */
static void make_outputs(struct run *run, struct sweep_summary *summary)
{
    char *paths = NULL, account[300];
    size_t size = 0;
    double before = clock_seconds();
    FILE *log = run->options.quiet ? NULL : open_memstream(&paths, &size);
    if (!outputs_make(summary->folder, &run->options.style, run->format == FORMAT_TABLE ? stdout : NULL, log, false))
        exit_at_least(run, EXIT_POINTS_FAILED);
    summary->time.charts = clock_seconds() - before;
    conduct_time_text(&summary->time, account, sizeof account);
    if (log && fclose(log) == 0)
        fprintf(stderr, "%s\n%s", account, paths);
    free(paths);
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
        .fresh = run->options.fresh,
        .retry = run->options.retry,
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
    if (summary.folder[0] && summary.points > 0)
        make_outputs(run, &summary);
    int signal = summary.signal;
    sweep_summary_free(&summary);
    return signal;
}

static void run_jobs(struct run *run)
{
    struct cnn_error error = { CNN_OK, "" };
    int signal = 0;
    if (!(run->rows = calloc((size_t)run->jobs.count, sizeof *run->rows))) {
        complain("no memory for the studies");
        exit_at_least(run, EXIT_POINTS_FAILED);
        return;
    }
    choose_results(run);
    ceilings_learn(&run->ceilings, run->results, run->argv[0], run->options.quiet ? NULL : stderr);
    for (int i = 0; i < run->jobs.count && !signal; i++)
        signal = run_job(run, &run->jobs.list[i], i == 0);
    if (run->format == FORMAT_JSON && rows_print_json(stdout, (const char *const *)run->rows, run->row_files, &error)) {
        complain(error.text);
        exit_at_least(run, EXIT_POINTS_FAILED);
    }
    if (signal)
        run->exit_code = 128 + signal;
}

static void dry_run_jobs(struct run *run)
{
    for (int i = 0; i < run->jobs.count; i++) {
        const struct job *job = &run->jobs.list[i];
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

static void look_at_point(struct run *run)
{
    int points = 0;
    for (int i = 0; i < run->jobs.count; i++)
        points += run->jobs.list[i].count;
    exit_at_least(run, inspect_point(&run->options, run->format, run->jobs.list[0].points, points));
}

static void run_studies(struct run *run)
{
    bool dry = run->options.action == ACTION_DRY_RUN;
    run->format = run->options.format;
    if (run->format == FORMAT_AUTO)
        run->format = isatty(STDOUT_FILENO) || dry ? FORMAT_TABLE : FORMAT_CSV;
    exit_at_least(run, jobs_read(&run->jobs, &run->options));
    if (run->jobs.count == 0)
        return;
    if (run->options.action == ACTION_EXPLAIN || run->options.action == ACTION_PROFILE)
        look_at_point(run);
    else if (dry)
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
        choose_results(run);
        exit_at_least(run, folders_plot(&run->options, run->results));
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
    case ACTION_RESOLUTION:
        choose_results(run);
        exit_at_least(run, resolution_asked(&run->options, run->results, run->argv[0]));
        break;
    case ACTION_RUN:
    case ACTION_DRY_RUN:
    case ACTION_EXPLAIN:
    case ACTION_PROFILE:
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
    jobs_free(&run.jobs);
    for (int i = 0; i < run.row_files; i++)
        free(run.rows[i]);
    ceilings_free(&run.ceilings);
    free(run.rows);
    options_free(&run.options);
    return run.exit_code;
}
