/* SPDX-License-Identifier: MIT */
/* The studies of a command line with the points that its options leave of them. */
#ifndef DRIVER_JOBS_H
#define DRIVER_JOBS_H

#include "experiments/driver/options.h"
#include "experiments/driver/study.h"

struct job {
    struct study study;
    struct point *points;
    int count; /* at least 1 */
};

struct jobs {
    int count;
    struct job *list;
    struct choices_book *choices; /* of --choices, or NULL; points refer to it */
    struct filter **filters;      /* filter_count of them */
    int filter_count;
};

/* Reads all studies; one that is wrong does not stop the others. What is wrong, and which of them has no point left, is
 * said on stderr. Returns the exit code that this deserves. Free it in any case. */
int jobs_read(struct jobs *out, const struct options *options);
void jobs_free(struct jobs *jobs);

#endif
