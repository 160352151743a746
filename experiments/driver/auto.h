/* SPDX-License-Identifier: MIT */
/* algorithm = "auto": the driver times what a backend can do and takes the fastest, operation by operation. */
#ifndef DRIVER_AUTO_H
#define DRIVER_AUTO_H

#include "experiments/driver/choices.h"
#include "experiments/driver/measure.h"

/* Fills *out for the point on the bench (network, device, options and initial parameters are there): from the point's
 * `replay` where it has one, else by `clock`.
 *
 * First every algorithm that can do the whole network: a few profiled steps each at the full batch, the least time of
 * each operation counts, since noise only adds. One that a smaller batch already shows to be many times slower is left
 * out. Then, for each other algorithm, those operations that it can do without changing how tensors lie in the fastest
 * program are timed inside that program, and taken where they are faster by more than 2 %. The mixture must then be
 * faster as a whole, or the plain one stays. On equal times the algorithm that the backend lists first is taken, and
 * operations that the study has fixed are left alone. CNN_INVALID where no algorithm can do the network. */
int auto_choose(const struct bench *bench, const struct cnn_device_info *info, double (*clock)(void),
                struct choices *out, struct cnn_error *error);

/* What a dry run plans with, before anything is chosen: the first algorithm that the backend offers for the operation
 * with the most work. */
const char *auto_guess(const struct bench *bench, struct cnn_device *device);

#endif
