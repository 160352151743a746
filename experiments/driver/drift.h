/* SPDX-License-Identifier: MIT */
/* A fixed piece of work, timed at the start and at the end of a sweep: whether the machine itself became faster or
 * slower meanwhile (heat, clocks, neighbours). */
#ifndef DRIVER_DRIFT_H
#define DRIVER_DRIFT_H

/* Seconds of the fastest of a few repetitions; NAN where it could not be timed. */
struct drift_probe {
    double compute; /* multiply-adds in registers */
    double memory;  /* a pass over arrays larger than caches */
};

/* About 0.1 s on one thread. */
void drift_probe(struct drift_probe *out);

/* The larger change of the two, relative: 0.05 is 5 % slower at the end; NAN where unknown. */
double drift_change(const struct drift_probe *start, const struct drift_probe *end);

#endif
