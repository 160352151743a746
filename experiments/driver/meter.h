/* SPDX-License-Identifier: MIT */
/* Clocks, power and throttling of the device that a point runs on, looked at between its samples and never inside one.
 * Only reads: no setting is changed. */
#ifndef DRIVER_METER_H
#define DRIVER_METER_H

#include "experiments/driver/result.h"

struct meter;

/* NAN and "" where the system does not say. */
struct meter_reading {
    double clock_mhz_low, clock_mhz_high; /* CPU: of the processor that the looking thread was on */
    double power_watts;                   /* mean from start to stop. CPU: all packages, whatever else runs there */
    char throttled[128];                  /* "power cap, heat" */
};

/* `pci` names a GPU; "" is the CPU, through RAPL and cpufreq. `root` is put before /sys and `library` is NVML's, ""
 * and NVML_LIBRARY but in tests. NULL without memory; all functions take NULL. */
struct meter *meter_open(const char *root, const char *library, const char *pci);
void meter_close(struct meter *meter);

void meter_start(struct meter *meter);
void meter_look(struct meter *meter); /* does nothing where the last look was a moment ago */
void meter_stop(struct meter *meter, struct meter_reading *out);

/* meter_stop() into a result; power over speed is the energy of an image, throttling a remark. */
void meter_report(struct meter *meter, double images_per_second, struct result *result);

#endif
