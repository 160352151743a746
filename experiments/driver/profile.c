/* SPDX-License-Identifier: MIT */
/* One warm step for a profiler: no child, no recorded graph, nothing else between start and stop. */
#include "experiments/driver/backends.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/inspect.h"
#include "experiments/driver/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WARM_STEPS_MIN 3

/* perf takes commands from a FIFO and says on another that it has done them: perf record -D -1 --control
 * fifo:CONTROL,ACK. Both are NULL where nobody asks for it. */
struct perf {
    FILE *control, *ack;
};

static int perf_open(struct perf *perf, struct cnn_error *error)
{
    const char *names = getenv("CONVSCALE_PERF");
    char control[512] = "";
    const char *comma = names ? strchr(names, ',') : NULL;
    *perf = (struct perf){ NULL, NULL };
    if (!names || !*names)
        return CNN_OK;
    if (!comma || (size_t)(comma - names) >= sizeof control)
        return cnn_error_set(error, CNN_INVALID, "CONVSCALE_PERF=%.300s: expected two FIFOs, CONTROL,ACK", names);
    memcpy(control, names, (size_t)(comma - names));
    if ((perf->control = fopen(control, "r+")) && (perf->ack = fopen(comma + 1, "r+"))) /* opens without waiting */
        return CNN_OK;
    return cnn_error_set(error, CNN_ERROR, "CONVSCALE_PERF=%.300s: %s", names, strerror(errno));
}

static void perf_close(struct perf *perf)
{
    if (perf->control)
        fclose(perf->control);
    if (perf->ack)
        fclose(perf->ack);
}

/* Returns when perf has done it. */
static int perf_say(struct perf *perf, const char *command, struct cnn_error *error)
{
    char answer[16] = "";
    if (!perf->control)
        return CNN_OK;
    if (fprintf(perf->control, "%s\n", command) < 0 || fflush(perf->control) ||
        !fgets(answer, sizeof answer, perf->ack) || strncmp(answer, "ack", 3))
        return cnn_error_set(error, CNN_ERROR, "perf did not answer to \"%s\": \"%s\"", command, answer);
    return CNN_OK;
}

static int step(struct bench *bench, struct cnn_error *error)
{
    return bench_run(bench, bench_phase(bench), 1, error) || bench->backend->sync(bench->program, error);
}

static int warm_up(struct bench *bench, struct cnn_error *error)
{
    double start = clock_seconds();
    const struct cnn_backend *backend = bench->backend;
    const int32_t *labels = bench_phase(bench) == CNN_PHASE_CLASSIFY ? NULL : batches_labels(&bench->batches, 0);
    if (backend->write_parameters(bench->program, bench->parameters, error) ||
        backend->set_rates(bench->program, &bench->point->rates, error) ||
        backend->load(bench->program, 0, batches_images(&bench->batches, 0), labels, bench->point->batch, error))
        return error->status;
    for (int i = 0; i < WARM_STEPS_MIN || clock_seconds() - start < bench->point->warmup; i++)
        if (step(bench, error))
            return error->status;
    return CNN_OK;
}

static int watched_step(struct bench *bench, struct perf *perf, FILE *log, struct cnn_error *error)
{
    char title[256];
    if (perf_say(perf, "enable", error))
        return error->status;
    bench->backend->watch(bench->program, true);
    double start = clock_seconds();
    int status = step(bench, error);
    double seconds = clock_seconds() - start;
    bench->backend->watch(bench->program, false);
    if (status || perf_say(perf, "disable", error))
        return error->status;
    point_title(bench->point, title, sizeof title);
    if (log)
        fprintf(log, "one step of %s: %.1f us\n", title, seconds * 1e6);
    return CNN_OK;
}

int profile_point(const struct point *point, FILE *log, struct cnn_error *error)
{
    struct point plain = *point;
    struct result result;
    struct perf perf;
    if (point->phase == POINT_ACCURACY)
        return cnn_error_set(error, CNN_INVALID, "--profile: accuracy is no step: choose train, classify or evaluate");
    plain.launch = CNN_LAUNCH_STREAM;
    struct bench bench = { .point = &plain, .backend = backend_find(point->backend, error) };
    if (!bench.backend)
        return error->status;
    result_init(&result);
    int status = perf_open(&perf, error);
    if (!status)
        status = bench_open(&bench, &result, error);
    if (!status)
        status = warm_up(&bench, error);
    if (!status)
        status = watched_step(&bench, &perf, log, error);
    perf_close(&perf);
    bench_close(&bench);
    result_free(&result);
    return status;
}
