/* SPDX-License-Identifier: MIT */
/* What this process may take of the machine: memory and processor time, as the kernel and its control groups say. A
 * container's limits are the real ones. */
#ifndef DRIVER_RESOURCES_H
#define DRIVER_RESOURCES_H

#include <stdint.h>

/* Bytes and counts; -1 (quota: NAN) where the system does not say or sets no limit. */
struct resources {
    int64_t memory_total;     /* of the machine */
    int64_t memory_free;      /* what new allocations can get without swapping: MemAvailable */
    int64_t group_limit;      /* smallest memory limit of the control groups above this process */
    int64_t group_free;       /* what is left below it, reclaimable file pages counted as free */
    int64_t memory_available; /* the smaller of memory_free and group_free */
    int64_t oom_kills;        /* grows whenever the kernel ends a process for memory, in these groups or anywhere */
    double cpu_quota;         /* processors' worth of time that the control groups grant */
};

/* `root` is put before /proc and /sys; "" but in tests. Never fails: what cannot be read is unknown. */
void resources_read(struct resources *out, const char *root);

#endif
