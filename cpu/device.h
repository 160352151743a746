/* SPDX-License-Identifier: MIT */
/* A CPU device is a way to run a list of passes, and how many threads do it. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "cpu/kernel.h"
#include "lib/backend.h"

#include <sched.h>

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
    int threads;            /* that will run */
    int asked, allowed;     /* asked for (0: automatic); what affinity and quota allow */
    struct cpu_pins *pins;  /* omp: where threads keep to; NULL: wherever the system puts them */
    const char *not_pinned; /* why not, though it was asked for; NULL: pinned, or not asked for */
};

/* Flush-to-zero and denormals-are-zero for the calling thread; returns the mode before. */
unsigned cpu_flush_subnormals(void);
void cpu_restore_subnormals(unsigned mode);

/* The process's affinity before anything was pinned; false where the system does not tell. */
bool cpu_affinity(cpu_set_t *out);

/* Processors this process may use: affinity and the control group's quota, rounded up, at least 1. */
int cpu_allowed_threads(void);

/* ---- pin.c ---- */

/* Processors for threads that each keep to one of their own. The process's affinity as it was before anything was
 * pinned is remembered, and cpu_allowed_threads() counts it. */
struct cpu_pins;

/* One processor for each of `threads` threads out of those that the process may use: first one of every physical core,
 * package by package as they are numbered, then second hyperthreads and so on; in no order but that of their numbers
 * where the topology is not known. NULL with *why (static storage) where there are fewer processors than threads, where
 * the user has bound threads by the OpenMP runtime's variables, or where the system does not permit it. */
struct cpu_pins *cpu_pins_create(int threads, const char **why);
bool cpu_pins_bind(const struct cpu_pins *pins, int thread);             /* the calling thread; false: not permitted */
void cpu_pins_text(const struct cpu_pins *pins, char *out, size_t size); /* "0,2,4", ends in "..." where it is cut */
void cpu_pins_free(struct cpu_pins *pins);

/* The calling thread may run wherever the process could before anything was pinned. */
void cpu_unpin(void);

/* ---- */

/* The functions that cpu and omp share, for their tables. */
void cpu_device_close(struct cnn_device *device);
int cpu_device_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error);

#endif
