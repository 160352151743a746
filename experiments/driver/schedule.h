/* SPDX-License-Identifier: MIT */
/* In which order points run, what each of them may take, and which of them share an answer of the oracle. */
#ifndef DRIVER_SCHEDULE_H
#define DRIVER_SCHEDULE_H

#include "experiments/driver/study.h"

struct schedule {
    int count;       /* points */
    int places;      /* of these to be run */
    int32_t *order;  /* place in the run -> point */
    double *cost;    /* expected seconds of each point, progress_cost(); 0: it cannot run */
    uint32_t *group; /* of each point, oracle_group() */
};

/* Points of one size, which the oracle answers together, stand together. Sizes and the points of a size are in random
 * order, drawn from the study's seed, or as the study has them; with `cheap_first` the cheapest point comes first
 * whatever its size. CNN_OOM without memory; free it in either case. */
int schedule_make(struct schedule *out, const struct study *study, const struct point *points, int count,
                  bool cheap_first, struct cnn_error *error);
/* Takes out points that are done. */
void schedule_drop(struct schedule *schedule, const bool *done);
void schedule_free(struct schedule *schedule);

/* Whether a point behind `place` in the run is of the same group as the one there. */
bool schedule_needed_again(const struct schedule *schedule, int place);

/* Seconds after which a point that should take `cost` is taken to hang. */
double schedule_patience(double cost);

#endif
