/* SPDX-License-Identifier: MIT */
/* What the oracle says of a gate's batch. It depends on network, batch and precision alone, never on the backend:
 * points of a run that ask the same (its series, its phases) share one answer through a file, which serves only where
 * it is whole and was made from the very same parameters, images, labels and counts. */
#ifndef DRIVER_ORACLE_H
#define DRIVER_ORACLE_H

#include "experiments/driver/points.h"
#include "lib/network.h"

struct oracle_question {
    const struct cnn_network *network;
    const float *parameters; /* arena order */
    const float *images;     /* [distinct][channels][side][side] */
    const int32_t *labels;   /* [distinct] */
    const double *counts;    /* [distinct]: how often each stands in the batch */
    int distinct, batch;
    enum cnn_precision precision; /* that the bounds allow */
    bool gradient;                /* of the mean loss by every parameter, as well */
};

struct oracle_answer {
    double loss, loss_bound;                 /* sum over the batch */
    const double *output, *output_bound;     /* [distinct][classes] */
    const double *gradient, *gradient_bound; /* arena order; NULL where there are none */
    bool shared;                             /* another point's */
    struct cnn_reference *reference;         /* owns the lists, or */
    void *mapped;                            /* the file does */
    int64_t mapped_bytes;
};

/* Computes the answer, or takes it from `folder`; leaves there what it computed. Without a folder (NULL or "") nothing
 * is shared. What goes wrong with the file costs time only; CNN_OOM where the oracle has no memory. The network must
 * outlive the answer, which is freed in any case. */
int oracle_ask(struct oracle_answer *out, const struct oracle_question *question, const char *folder,
               struct cnn_error *error);
void oracle_free(struct oracle_answer *answer); /* a zeroed one is fine */

/* The number that all points with this network and batch share; it names their file. */
uint32_t oracle_group(const struct cnn_network_spec *spec, int batch);

/* Takes away what a group has left in `folder`. */
void oracle_forget(const char *folder, uint32_t group);

#endif
