/* SPDX-License-Identifier: MIT */
/* Monotonic wall clock, and its resolution as it is, not as it is promised: the time that one reading takes is part of
 * it. */
#include "experiments/driver/clock.h"

#include <math.h>
#include <time.h>

#define STEPS_WATCHED 200

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Differences are taken in integers: as doubles of seconds they would show the rounding of a long uptime. */
double clock_resolution(void)
{
    double least = INFINITY;
    for (int i = 0; i < STEPS_WATCHED; i++) {
        struct timespec first, next;
        long long step;
        clock_gettime(CLOCK_MONOTONIC, &first);
        do {
            clock_gettime(CLOCK_MONOTONIC, &next);
            step = (next.tv_sec - first.tv_sec) * 1000000000LL + (next.tv_nsec - first.tv_nsec);
        } while (step <= 0);
        least = fmin(least, 1e-9 * (double)step);
    }
    return least;
}
