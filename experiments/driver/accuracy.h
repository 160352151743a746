/* SPDX-License-Identifier: MIT */
/* Training for epochs on a data set: what it learns, and how long an epoch takes. */
#ifndef DRIVER_ACCURACY_H
#define DRIVER_ACCURACY_H

#include "experiments/driver/measure.h"

/* Opens both splits of the point's data set. CNN_UNAVAILABLE without its files; CNN_INVALID where the set does not fit
 * the network. The caller closes both, also after a failure. */
int accuracy_open(const struct bench *bench, struct cnn_dataset **train, struct cnn_dataset **test,
                  struct cnn_error *error);

/* How many batches are on the device at a time while training, where no step copies: about 64 MiB, 1 to 64. */
int accuracy_slots(const struct point *point);

/* Trains the bench's program (phases train and evaluate) from the initial parameters. result->epoch gets every epoch,
 * also those before a failure; result->median is of the seconds of training alone; loading (where no step copies) and
 * testing have their own clocks. CNN_ERROR where the loss is no longer finite. */
int accuracy_run(struct bench *bench, const struct cnn_dataset *train, const struct cnn_dataset *test,
                 struct result *result, struct cnn_error *error);

#endif
