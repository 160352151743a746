/* SPDX-License-Identifier: MIT */
/* Energy counters are read at start and stop; clocks and reasons for throttling at looks in between. RAPL counts each
 * package's microjoules and wraps; NVML counts a GPU's millijoules since the driver was loaded. */
#include "experiments/driver/meter.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/sysfiles.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGES_MAX 16
#define LOOK_SECONDS 0.02
#define RAPL_SECONDS 0.02 /* a counter moves every millisecond; over less its steps show */
#define NVML_SECONDS 0.5  /* every 0.1 s at most */

struct meter {
    char root[256];
    struct nvml *nvml;
    struct nvml_gpu *gpu;
    bool is_gpu;
    double started, looked; /* clock_seconds() */
    double low, high;
    int64_t reasons;
    int packages;
    double wraps[PACKAGES_MAX], before[PACKAGES_MAX]; /* joules */
    double gpu_before;
    int processor; /* whose count of throttling is compared */
    double throttled_before;
};

/* Joules of package `index`: its counter, or the value where that wraps. NAN where it is absent or may not be read. */
static double rapl_joules(const struct meter *meter, int index, const char *file)
{
    char path[80];
    snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/%s", index, file);
    return 1e-6 * sysfile_number(meter->root, path);
}

static void rapl_open(struct meter *meter)
{
    for (int i = 0; i < PACKAGES_MAX; i++) {
        char path[80], name[32];
        snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/name", i);
        if (!sysfile_line(meter->root, path, name, sizeof name))
            break;
        meter->before[i] = NAN;
        if (!strncmp(name, "package", 7)) /* not psys, which counts packages again */
            meter->wraps[i] = rapl_joules(meter, i, "max_energy_range_uj");
        else
            meter->wraps[i] = NAN;
        meter->packages = i + 1;
    }
}

struct meter *meter_open(const char *root, const char *library, const char *pci)
{
    struct meter *meter = calloc(1, sizeof *meter);
    if (!meter)
        return NULL;
    snprintf(meter->root, sizeof meter->root, "%s", root);
    meter->is_gpu = *pci != '\0';
    if (!meter->is_gpu)
        rapl_open(meter);
    else if ((meter->nvml = nvml_open(library)))
        meter->gpu = nvml_gpu_at_pci(meter->nvml, pci);
    return meter;
}

void meter_close(struct meter *meter)
{
    if (!meter)
        return;
    nvml_close(meter->nvml);
    free(meter);
}

static double processor_number(const struct meter *meter, int processor, const char *file)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", processor, file);
    return sysfile_number(meter->root, path);
}

static void see_clock(struct meter *meter, double mhz)
{
    meter->low = fmin(meter->low, mhz); /* fmin takes the number beside a NAN */
    meter->high = fmax(meter->high, mhz);
}

static void look(struct meter *meter)
{
    struct nvml_moment moment;
    meter->looked = clock_seconds();
    if (!meter->is_gpu) {
        see_clock(meter, 1e-3 * processor_number(meter, sched_getcpu(), "cpufreq/scaling_cur_freq"));
    } else if (meter->gpu) {
        nvml_look(meter->nvml, meter->gpu, &moment);
        see_clock(meter, moment.clock_mhz);
        if (moment.throttle > 0)
            meter->reasons |= moment.throttle;
    }
}

void meter_start(struct meter *meter)
{
    struct nvml_moment moment;
    if (!meter)
        return;
    meter->low = meter->high = meter->gpu_before = NAN;
    meter->reasons = 0;
    meter->looked = -INFINITY;
    meter->processor = sched_getcpu();
    meter->throttled_before = processor_number(meter, meter->processor, "thermal_throttle/package_throttle_count");
    for (int i = 0; i < meter->packages; i++)
        meter->before[i] = rapl_joules(meter, i, "energy_uj");
    if (meter->gpu) {
        nvml_look(meter->nvml, meter->gpu, &moment);
        meter->gpu_before = moment.energy_joules;
    }
    meter->started = clock_seconds();
}

void meter_look(struct meter *meter)
{
    if (meter && clock_seconds() - meter->looked >= LOOK_SECONDS)
        look(meter);
}

/* Joules of all packages since the start; NAN where none can be read. */
static double rapl_used(const struct meter *meter)
{
    double sum = NAN;
    for (int i = 0; i < meter->packages; i++) {
        double used = isfinite(meter->wraps[i]) ? rapl_joules(meter, i, "energy_uj") - meter->before[i] : NAN;
        if (used < 0)
            used += meter->wraps[i];
        if (isfinite(used))
            sum = isfinite(sum) ? sum + used : used;
    }
    return sum;
}

void meter_stop(struct meter *meter, struct meter_reading *out)
{
    struct nvml_moment moment;
    *out = (struct meter_reading){ NAN, NAN, NAN, "" };
    if (!meter)
        return;
    double seconds = clock_seconds() - meter->started, joules = NAN;
    if (meter->gpu) {
        nvml_look(meter->nvml, meter->gpu, &moment);
        joules = moment.energy_joules - meter->gpu_before;
        nvml_throttle_words(meter->reasons, out->throttled, sizeof out->throttled);
    } else if (!meter->is_gpu) {
        joules = rapl_used(meter);
        if (processor_number(meter, meter->processor, "thermal_throttle/package_throttle_count") >
            meter->throttled_before)
            snprintf(out->throttled, sizeof out->throttled, "heat");
    }
    if (seconds >= (meter->is_gpu ? NVML_SECONDS : RAPL_SECONDS))
        out->power_watts = joules / seconds;
    out->clock_mhz_low = meter->low;
    out->clock_mhz_high = meter->high;
}

void meter_report(struct meter *meter, double images_per_second, struct result *result)
{
    struct meter_reading reading;
    meter_stop(meter, &reading);
    result->clock_mhz_low = reading.clock_mhz_low;
    result->clock_mhz_high = reading.clock_mhz_high;
    result->power_watts = reading.power_watts;
    result->energy_per_image = reading.power_watts / images_per_second;
    snprintf(result->throttled, sizeof result->throttled, "%s", reading.throttled);
    if (*reading.throttled)
        result_remark(result, "held back while it was timed: %s", reading.throttled);
}
