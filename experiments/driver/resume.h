/* SPDX-License-Identifier: MIT */
/* A run that goes on where an earlier one of the same study, points and program stopped. */
#ifndef DRIVER_RESUME_H
#define DRIVER_RESUME_H

#include "experiments/driver/machine.h"
#include "experiments/driver/result.h"
#include "experiments/driver/study.h"

#define RESUME_IDENTITY 48
#define RESUME_PATH 1024

struct resume {
    char folder[RESUME_PATH]; /* of the earlier run; empty: there is none */
    char started[32];         /* when that began */
    bool finished;            /* nothing of it is left to do */
};

/* A text that two runs share only where program, study, all points with their settings, and what may leave points out
 * are the same: --slow, a budget or none, the folder of data. "" where the program cannot be read: such a run is never
 * gone on with. */
void resume_identity(char out[RESUME_IDENTITY], const char *program, const struct study *study,
                     const struct point *points, int count, bool budget);

/* Looks for the newest run of this identity in PARENT = ROOT/<machine>/<study>; `repeats`: what may have left points
 * out there makes no difference, for they can be repeated. */
void resume_find(struct resume *out, const char *parent, const char *identity, bool repeats);

/* The devices that a run's record tells of, at most `most`, and the processors that threads kept to, "0,2,4". Returns
 * how many devices: 0 also where there is no such record. */
int resume_devices(const char *folder, struct machine_device *devices, int most, char *pinned, size_t size);

/* Reads the rows of a folder into the results of their points and sets done[i] for each that has one. */
int resume_take(const char *folder, const struct point *points, int count, struct result *results, bool *done,
                struct cnn_error *error);

#endif
