/* SPDX-License-Identifier: MIT */
/* The gate before timing: the very program that will be timed must agree with the oracle, or its times do not count. */
#ifndef DRIVER_VERIFY_H
#define DRIVER_VERIFY_H

#include "experiments/driver/measure.h"

#define VERIFY_DISTINCT_WANTED 4 /* different images that a batch should hold */

/* Runs one step of every compiled phase at the full batch and compares it with the oracle. CNN_MISMATCH with the first
 * wrong element; otherwise result->verified_error is the largest |error| / bound, and a remark says what the gate left
 * out. Parameters, rates and slots of the program are not what they were. */
int verify_program(struct bench *bench, struct result *result, struct cnn_error *error);

/* Seconds that the oracle will take at most for one image, forward and, with `gradient`, backward. */
double verify_oracle_seconds(const struct cnn_network *network, bool gradient);

/* Seconds of the oracle for one image's gradient above which it has a stand-in. A test lowers them. */
extern double verify_seconds_most;

/* How much of the batch the oracle computes. */
struct verify_extent {
    int distinct;  /* different images in the batch */
    bool gradient; /* backward as well */
    bool stand_in; /* plain loops do that instead, see standin.h */
};
struct verify_extent verify_extent(const struct cnn_network *network, int batch, bool train);

/* Host memory that the gate takes, an estimate from above; -1 when it does not fit in 63 bits. */
int64_t verify_bytes(const struct cnn_network *network, int batch, bool train);

#endif
