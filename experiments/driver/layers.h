/* SPDX-License-Identifier: MIT */
/* Where a step's time goes: each operation by itself. */
#ifndef DRIVER_LAYERS_H
#define DRIVER_LAYERS_H

#include "experiments/driver/measure.h"

#include <stdio.h>

/* Takes steps of the bench's program apart, in a pass of its own behind all samples, and fills the operations of
 * *result: medians over the passes. Every operation is waited for, so that their sum is more than a step takes. */
int layers_measure(struct bench *bench, struct result *result, struct cnn_error *error);

/* Useful FLOPs of an operation on `images` images: 0 where it has no MACs. */
double layers_flops(const struct cnn_operations *operations, enum cnn_operation_kind kind, int layer, int images);

/* For every point that has operations: a table of them, then one of the layers, each with sum, whole step and
 * remainder. False where a write failed. */
bool layers_print(FILE *out, const struct point *points, const struct result *results, int count, int columns);

#endif
