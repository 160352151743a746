/* SPDX-License-Identifier: MIT */
/* The order of a run. Random order keeps a drifting machine from favouring a series; within a size the series are drawn
 * anew, so that those which a ratio compares are measured close to each other (a randomised block design). */
#include "experiments/driver/schedule.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/oracle.h"
#include "experiments/driver/progress.h"
#include "lib/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_LEAST 300.0 /* seconds */
#define PATIENCE_TIMES 20.0  /* a slow machine, a busy one */

double schedule_patience(double cost)
{
    return fmax(PATIENCE_LEAST, PATIENCE_TIMES * cost);
}

/* What cannot run takes no time. */
static double cost_of(const struct point *point)
{
    struct cnn_network *network = NULL;
    struct cnn_error ignored;
    double cost = 0;
    if (backend_find(point->backend, &ignored) && cnn_network_create(&network, &point->spec, &ignored) == CNN_OK)
        cost = progress_cost(point, network);
    cnn_network_destroy(network);
    return cost;
}

/* Each group moves up to its first point; otherwise nobody passes anybody. */
static void gather(struct schedule *schedule, int32_t *spare)
{
    int count = schedule->count, placed = 0;
    memcpy(spare, schedule->order, (size_t)count * sizeof *spare);
    for (int i = 0; i < count; i++) {
        if (spare[i] < 0)
            continue;
        uint32_t group = schedule->group[spare[i]];
        for (int k = i; k < count; k++) {
            if (spare[k] < 0 || schedule->group[spare[k]] != group)
                continue;
            schedule->order[placed++] = spare[k];
            spare[k] = -1;
        }
    }
}

/* Insertion keeps the order of equals. */
static void sort_by_cost(struct schedule *schedule)
{
    for (int i = 1; i < schedule->count; i++) {
        int32_t point = schedule->order[i];
        int k = i;
        for (; k > 0 && schedule->cost[schedule->order[k - 1]] > schedule->cost[point]; k--)
            schedule->order[k] = schedule->order[k - 1];
        schedule->order[k] = point;
    }
}

int schedule_make(struct schedule *out, const struct study *study, const struct point *points, int count,
                  bool cheap_first, struct cnn_error *error)
{
    size_t room = (size_t)count + 1;
    *out = (struct schedule){ .count = count,
                              .places = count,
                              .order = calloc(room, sizeof *out->order),
                              .cost = calloc(room, sizeof *out->cost),
                              .group = calloc(room, sizeof *out->group) };
    int32_t *spare = calloc(room, sizeof *spare);
    if (!out->order || !out->cost || !out->group || !spare) {
        free(spare);
        return cnn_error_set(error, CNN_OOM, "no memory for the order of %d points", count);
    }
    for (int i = 0; i < count; i++) {
        out->order[i] = i;
        out->cost[i] = cost_of(&points[i]);
        out->group[i] = oracle_group(&points[i].spec, points[i].batch);
    }
    if (study->shuffled) {
        struct cnn_random random;
        cnn_random_init(&random, study->seed, CNN_STREAM_ORDER, 0);
        cnn_random_shuffle(&random, out->order, count);
        gather(out, spare);
    }
    if (cheap_first)
        sort_by_cost(out);
    free(spare);
    return CNN_OK;
}

void schedule_drop(struct schedule *schedule, const bool *done)
{
    int kept = 0;
    for (int i = 0; i < schedule->places; i++)
        if (!done[schedule->order[i]])
            schedule->order[kept++] = schedule->order[i];
    schedule->places = kept;
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->order);
    free(schedule->cost);
    free(schedule->group);
    *schedule = (struct schedule){ .count = 0 };
}

bool schedule_needed_again(const struct schedule *schedule, int place)
{
    for (int i = place + 1; i < schedule->places; i++)
        if (schedule->group[schedule->order[i]] == schedule->group[schedule->order[place]])
            return true;
    return false;
}
