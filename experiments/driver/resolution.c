/* SPDX-License-Identifier: MIT */
/* Runs of one point, as it is and with extra steps inside the clock, compared in pairs. */
#include "experiments/driver/resolution.h"
#include "experiments/driver/child.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/statistics.h"
#include "lib/random.h"

#include <math.h>
#include <string.h>

#define KINDS (2 + RESOLUTION_LEVELS) /* of runs in a round: twice as it is, then the planted ones */
#define READINGS 100000

static const double levels[RESOLUTION_LEVELS] = { 0.01, 0.02, 0.05 };

/* What was measured: [round][kind]. */
struct runs {
    struct compare_time time[RESOLUTION_ROUNDS][KINDS];
};

static int run_once(const char *program, const struct point *point, double planted, struct compare_time *out,
                    struct cnn_error *error)
{
    struct point changed = *point;
    struct result result;
    changed.planted = planted;
    if (!child_run(program, &changed, &result)) {
        result_free(&result);
        return cnn_error_set(error, CNN_SKIPPED, "ended before all runs were made");
    }
    bool measured = result.status == CNN_OK || result.status == CNN_UNSTABLE;
    *out = (struct compare_time){ result.median, result.low, result.high };
    if (!measured)
        cnn_error_set(error, CNN_ERROR, "a run of the point failed: %s: %s", cnn_status_word(result.status),
                      result.reason);
    result_free(&result);
    return measured ? CNN_OK : CNN_ERROR;
}

static int run_all(struct runs *runs, const char *program, const struct point *point, FILE *log,
                   struct cnn_error *error)
{
    for (int round = 0; round < RESOLUTION_ROUNDS; round++) {
        int32_t order[KINDS];
        struct cnn_random random;
        for (int i = 0; i < KINDS; i++)
            order[i] = i;
        cnn_random_init(&random, point->spec.seed, CNN_STREAM_ORDER, (uint32_t)round);
        cnn_random_shuffle(&random, order, KINDS);
        if (log)
            fprintf(log, "round %d of %d\n", round + 1, RESOLUTION_ROUNDS);
        for (int i = 0; i < KINDS; i++) {
            int kind = order[i];
            if (run_once(program, point, kind < 2 ? 0 : levels[kind - 2], &runs->time[round][kind], error))
                return error->status;
        }
    }
    return CNN_OK;
}

/* Every two runs of the point as it is. */
static void compare_nulls(struct resolution *out, const struct runs *runs)
{
    struct compare_time ratio;
    out->runs = 2 * RESOLUTION_ROUNDS;
    for (int a = 0; a < out->runs; a++)
        for (int b = a + 1; b < out->runs; b++) {
            out->words[compare_times(&runs->time[a / 2][a % 2], &runs->time[b / 2][b % 2], COMPARE_THRESHOLD,
                                     &ratio)]++;
            out->largest = fmax(out->largest, fmax(ratio.median, 1 / ratio.median) - 1);
            out->pairs++;
        }
}

/* A planted run with both plain ones of its round. */
static void compare_planted(struct resolution *out, const struct runs *runs, int level)
{
    double measured[2 * RESOLUTION_ROUNDS];
    for (int i = 0; i < 2 * RESOLUTION_ROUNDS; i++) {
        const struct compare_time *round = runs->time[i / 2];
        struct compare_time ratio;
        out->level[level].seen +=
            compare_times(&round[i % 2], &round[2 + level], COMPARE_THRESHOLD, &ratio) == COMPARE_SLOWER;
        statistics_insert(measured, i, ratio.median - 1);
    }
    out->level[level].planted = levels[level];
    out->level[level].measured = statistics_quantile(measured, 2 * RESOLUTION_ROUNDS, 0.5);
    out->level[level].pairs = 2 * RESOLUTION_ROUNDS;
}

static double reading(void)
{
    double start = clock_seconds();
    for (int i = 0; i < READINGS; i++)
        clock_seconds();
    return (clock_seconds() - start) / READINGS;
}

int resolution_measure(struct resolution *out, const char *program, const struct point *point, FILE *log,
                       struct cnn_error *error)
{
    struct runs runs;
    *out = (struct resolution){ .timer_step = clock_resolution(), .timer_reading = reading(), .smallest = NAN };
    if (run_all(&runs, program, point, log, error))
        return error->status;
    compare_nulls(out, &runs);
    for (int level = 0; level < RESOLUTION_LEVELS; level++)
        compare_planted(out, &runs, level);
    for (int level = RESOLUTION_LEVELS - 1; level >= 0; level--) {
        if (out->level[level].seen < RESOLUTION_SEEN * out->level[level].pairs)
            break;
        out->smallest = out->level[level].planted;
    }
    return CNN_OK;
}
