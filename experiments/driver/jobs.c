/* SPDX-License-Identifier: MIT */
/* From arguments to points: each study is read, changed as the options say, and expanded. */
#include "experiments/driver/jobs.h"
#include "experiments/driver/choices.h"
#include "experiments/driver/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what is wrong and returns the exit code for it. */
static int complain(const char *sentence, int code)
{
    fprintf(stderr, "convscale: %s\n", sentence);
    return code;
}

static int read_filters(struct jobs *jobs, const struct words_given *expressions)
{
    struct cnn_error error;
    if (!(jobs->filters = calloc((size_t)expressions->count + 1, sizeof *jobs->filters)))
        return complain("no memory for filters", EXIT_POINTS_FAILED);
    for (int i = 0; i < expressions->count; i++, jobs->filter_count++)
        if (filter_create(&jobs->filters[i], expressions->list[i], &error))
            return complain(error.text, EXIT_USAGE);
    return EXIT_FINE;
}

/* Points that choose for themselves take what the file says of them; it outlives them. */
static void replay(const struct jobs *jobs, const struct options *options, const char *path, struct job *job)
{
    char key[2048];
    int missing = 0;
    for (int i = 0; jobs->choices && i < job->count; i++) {
        if (strcmp(job->points[i].algorithm, CHOICES_AUTO))
            continue;
        point_key(&job->points[i], key, sizeof key);
        job->points[i].replay = choices_book_find(jobs->choices, key);
        missing += !job->points[i].replay;
    }
    if (missing > 0)
        fprintf(stderr, "convscale: %s: %d point%s not in %s and will be chosen for anew\n", path, missing,
                missing == 1 ? " is" : "s are", options->choices);
}

static int read_job(const struct jobs *jobs, const struct options *options, const char *path, struct job *job,
                    struct cnn_error *error)
{
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
    for (int i = 0; i < jobs->filter_count; i++)
        job->count = filter_points(jobs->filters[i], job->points, job->count);
    for (int i = 0; i < job->count; i++)
        job->points[i].layers = options->layers;
    for (int i = 0; i < job->count && options->data; i++)
        snprintf(job->points[i].data_folder, sizeof job->points[i].data_folder, "%s", options->data);
    replay(jobs, options, path, job);
    return CNN_OK;
}

static void free_job(struct job *job)
{
    free(job->points);
    study_free(&job->study);
    *job = (struct job){ .count = 0 };
}

static void tell_empty(const struct options *options, const char *path)
{
    fprintf(stderr, "convscale: %s: no point of it is left by %s: left out\n", path,
            options->action == ACTION_EXPLAIN   ? "--explain"
            : options->action == ACTION_PROFILE ? "--profile"
            : options->filters.count > 0        ? "--filter"
            : options->backends.count > 0       ? "--backend"
                                                : "its exclude");
}

/* A study without points under the filters is told and left out; where none has any, that is a mistake. */
static int read_studies(struct jobs *jobs, const struct options *options)
{
    const struct words_given *paths = &options->arguments;
    int code = EXIT_FINE;
    if (!(jobs->list = calloc((size_t)paths->count + 1, sizeof *jobs->list)))
        return complain("no memory for the studies", EXIT_POINTS_FAILED);
    for (int i = 0; i < paths->count; i++) {
        struct cnn_error error = { CNN_OK, "" };
        struct job *job = &jobs->list[jobs->count];
        bool fine = read_job(jobs, options, paths->list[i], job, &error) == CNN_OK;
        if (fine && job->count > 0) {
            jobs->count++;
            continue;
        }
        if (fine)
            tell_empty(options, paths->list[i]);
        else
            code = complain(error.text, EXIT_USAGE);
        free_job(job);
    }
    return jobs->count > 0 ? code : EXIT_USAGE;
}

int jobs_read(struct jobs *out, const struct options *options)
{
    struct cnn_error error;
    *out = (struct jobs){ .count = 0 };
    int code = read_filters(out, &options->filters);
    if (code == EXIT_FINE && options->choices && choices_book_read(&out->choices, options->choices, &error))
        code = complain(error.text, EXIT_USAGE);
    return code == EXIT_FINE ? read_studies(out, options) : code;
}

void jobs_free(struct jobs *jobs)
{
    for (int i = 0; i < jobs->count; i++)
        free_job(&jobs->list[i]);
    for (int i = 0; i < jobs->filter_count; i++)
        filter_free(jobs->filters[i]);
    free(jobs->list);
    free(jobs->filters);
    choices_book_free(jobs->choices);
    *jobs = (struct jobs){ .count = 0 };
}
