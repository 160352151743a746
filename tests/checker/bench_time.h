/* SPDX-License-Identifier: MIT */
/* Seconds per step of one point through the seam, unverified: what the benches for whoever writes a kernel share. */
#ifndef TESTS_CHECKER_BENCH_TIME_H
#define TESTS_CHECKER_BENCH_TIME_H

#include "lib/backend.h"

struct bench_point {
    char network[32];
    int width, depth, image, batch;
    enum cnn_precision precision;
    enum cnn_copies copies;
    bool train; /* else classify */
};

struct bench_times {
    double seconds; /* per step, median */
    double flops;   /* useful ones of a step */
};

/* The point in the peer preset. `profile`: prints what each operation took. */
int bench_time(const struct cnn_backend *backend, struct cnn_device *device, const char *algorithm,
               const struct bench_point *point, bool profile, struct bench_times *out, struct cnn_error *error);

#endif
