/* SPDX-License-Identifier: MIT */
/* The record beside the rows: on what machine, with what build, under which conditions they came to be. */
#ifndef DRIVER_MACHINE_H
#define DRIVER_MACHINE_H

#include "experiments/driver/conduct.h"
#include "lib/status.h"

#include <stddef.h>
#include <stdint.h>

#define MACHINE_SLUG 64

/* The machine's name in the path of its results: CONVSCALE_MACHINE, else its CPU model and number of logical CPUs
 * ("amd-epyc-9b14-2cpu"); never the host's name. Letters, digits, '-' and '.' only. */
void machine_slug(char out[MACHINE_SLUG]);

/* Makes a word of a path from any text: lower case, runs of other characters become one '-'. "unknown" for nothing. */
void machine_sanitize(const char *text, char *out, size_t size);

/* Commit of this build with "-dirty" behind it where the tree had changes, or the version where neither is known. */
const char *machine_build(void);

/* A device that points ran on, as its backend describes it. */
struct machine_device {
    char backend[16], name[128], detail[256];
};

struct machine_run {
    const char *study, *study_path, *study_text;
    uint64_t seed;
    int points;
    int argc;
    char **argv;
    const char *started;          /* UTC, 2010-09-15T12:00:00Z */
    const char *ended;            /* NULL while it runs */
    int signal;                   /* that ended it early, or 0 */
    int counts[CNN_STATUS_COUNT]; /* rows so far */
    const char *pinned;           /* processors that threads of omp kept to, "0,2,4"; NULL or empty: none did */
    double timer_resolution;      /* seconds */
    struct conduct conduct;
    const char *const *environment; /* what children get, NAME=VALUE, NULL-terminated */
    const struct machine_device *devices;
    int device_count;
    const char *before, *after; /* machine_moment() at start and end; NULL: not yet */
    const char *root, *library; /* NULL but in tests: put before /proc and /sys; NVML's */
};

/* The record as JSON text, malloc'd; NULL without memory. What the system does not say is null. */
char *machine_record(const struct machine_run *run);

/* What changes while a run lasts, as JSON text: load, free memory, clocks, GPUs. malloc'd; NULL without memory. */
char *machine_moment(const char *root, const char *library);

/* "battery" where one drains, "mains" where they feed the machine; NULL where the system tells of neither, as on most
 * servers. */
const char *machine_power_source(const char *root);

/* The time now, UTC: "2010-09-15T12:00:00Z". */
void machine_time(char *out, size_t size);

#endif
