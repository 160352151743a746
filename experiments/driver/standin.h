/* SPDX-License-Identifier: MIT */
/* Where the oracle would take too long for gradients, the plain loops of `cpu` stand in for it. */
#ifndef DRIVER_STANDIN_H
#define DRIVER_STANDIN_H

#include "lib/backend.h"

struct standin_question {
    const struct cnn_network *network;
    const float *parameters; /* arena order */
    const float *image;      /* the batch holds this one alone, `batch` times */
    int32_t label;
    int batch;
    enum cnn_precision precision;        /* of the program that is checked */
    const double *output, *output_bound; /* the oracle's, [classes]: the stand-in is held to them first */
};

/* The gradient of the mean loss by every parameter and how far a program may be from it, arena order, to the caller's
 * lists. CNN_MISMATCH where the plain loops themselves are not what the oracle says, CNN_OOM where they do not fit. */
int standin_gradient(const struct standin_question *question, double *gradient, double *bound, struct cnn_error *error);

#endif
