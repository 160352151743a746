/* SPDX-License-Identifier: MIT */
/* One point from its network to its numbers, inside the process that was made for it. */
#ifndef DRIVER_MEASURE_H
#define DRIVER_MEASURE_H

#include "experiments/driver/batches.h"
#include "experiments/driver/points.h"
#include "experiments/driver/result.h"
#include "lib/backend.h"

/* What is on the bench while a point is measured. */
struct bench {
    const struct point *point;
    const struct cnn_backend *backend;
    struct cnn_network *network;
    struct cnn_device *device;
    char pci[32];                                 /* of a GPU, else "" */
    struct cnn_program_options options;           /* what the program was compiled with */
    struct cnn_choice choices[POINT_CHOICES_MAX]; /* the point's own */
    struct cnn_choice *all_choices;               /* algorithm "auto": what was chosen, then the point's; malloc'd */
    struct cnn_program *program;
    float *parameters; /* initial values, arena order */
    struct batches batches;
};

/* Measures a point and always fills *result. */
void measure_point(const struct point *point, const struct cnn_backend *backend, struct result *result);

/* Fills options and choices from the point: what its program is compiled with. A dry run plans the same, but that the
 * algorithm "auto" is not chosen yet. */
void bench_options(struct bench *bench);

/* CNN_OOM where a plan does not fit into memory beside what else the point takes. */
int bench_check_memory(const struct bench *bench, const struct cnn_device_info *info, const struct cnn_plan *plan,
                       struct cnn_error *error);

/* The phase of the seam that a point's steps run; of accuracy, training. */
enum cnn_phase bench_phase(const struct bench *bench);

/* Everything before the clock: network, device, choices, plan, batches, program. What was found out goes into *result;
 * close the bench in either case. */
int bench_open(struct bench *bench, struct result *result, struct cnn_error *error);
void bench_close(struct bench *bench);

/* Runs `steps` steps of a phase over the loaded slots. */
int bench_run(struct bench *bench, enum cnn_phase phase, int steps, struct cnn_error *error);

#endif
