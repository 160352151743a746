/* SPDX-License-Identifier: MIT */
/* A CPU device is a way to run a list of passes, and how many threads do it. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "cpu/kernel.h"
#include "lib/backend.h"

/* A pass of a job. With `barrier` every tile is done before the next step begins; without, the next does not depend on
 * it. */
struct cpu_step {
    const struct cpu_job *job;
    struct cpu_pass pass;
    bool barrier;
};

struct cnn_device {
    /* Runs the steps in order on `threads` threads. Subnormals are flushed to zero inside, and the caller's mode is
     * restored. */
    void (*run)(int threads, const struct cpu_step *steps, int count, const struct cpu_batch *batch);
    int threads;        /* that will run */
    int asked, allowed; /* asked for (0: automatic); what affinity and quota allow */
};

/* Flush-to-zero and denormals-are-zero for the calling thread; returns the mode before. */
unsigned cpu_flush_subnormals(void);
void cpu_restore_subnormals(unsigned mode);

/* Processors this process may use: affinity and the control group's quota, rounded up, at least 1. */
int cpu_allowed_threads(void);

/* The functions that cpu and omp share, for their tables. */
void cpu_device_close(struct cnn_device *device);
int cpu_device_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error);

#endif
