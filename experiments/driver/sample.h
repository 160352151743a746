/* SPDX-License-Identifier: MIT */
/* The clock around the steps: warm-up, samples, and when to stop. */
#ifndef DRIVER_SAMPLE_H
#define DRIVER_SAMPLE_H

#include "experiments/driver/measure.h"

/* Measures seconds per step of the bench's compiled program and fills the times of *result, its samples, stop and
 * status: CNN_OK, or CNN_UNSTABLE where the interval stayed wide.
 *
 * copies = none: BATCHES_COUNT batches are in the program's slots; inside the clock are N steps and one sync, nothing
 * is fetched. Other copies: inside the clock every step loads its batch from host memory, runs and fetches its loss
 * (train), labels (classify) or both (evaluate).
 *
 * Outside the clock, before every sample: parameters as they were at first, and other batches in the slots where a
 * sample has fewer steps than slots. After every sample its answers are read and checked. */
int sample_point(struct bench *bench, struct result *result, struct cnn_error *error);

#endif
