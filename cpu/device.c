/* SPDX-License-Identifier: MIT */
/* What both CPU backends know of the machine: processors allowed, name, memory, and the subnormal mode of a thread. */
#include "cpu/device.h"
#include "cpu/isa.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

unsigned cpu_flush_subnormals(void)
{
#if defined(__x86_64__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040); /* FTZ and DAZ */
    return mode;
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | (1u << 24)));
    return (unsigned)mode;
#else
    return 0;
#endif
}

void cpu_restore_subnormals(unsigned mode)
{
#if defined(__x86_64__)
    _mm_setcsr(mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode));
#else
    (void)mode;
#endif
}

/* Processors that a control group (version 2, or 1) grants, rounded up; 0: no quota. */
static int quota_processors(void)
{
    long long quota = -1, period = 100000;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (file) {
        if (fscanf(file, "%lld %lld", &quota, &period) != 2)
            quota = -1; /* "max" */
        fclose(file);
    } else if ((file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r"))) {
        if (fscanf(file, "%lld", &quota) != 1)
            quota = -1;
        fclose(file);
        if ((file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "r"))) {
            if (fscanf(file, "%lld", &period) != 1)
                period = 100000;
            fclose(file);
        }
    }
    if (quota <= 0 || period <= 0)
        return 0;
    long long processors = (quota + period - 1) / period;
    return processors > 1 << 20 ? 0 : (int)processors;
}

int cpu_allowed_threads(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int allowed = online > 0 ? (int)online : 1;
    cpu_set_t set;
    if (cpu_affinity(&set) && CPU_COUNT(&set) > 0)
        allowed = CPU_COUNT(&set);
    int quota = quota_processors();
    if (quota > 0 && quota < allowed)
        allowed = quota;
    return allowed;
}

void cpu_device_close(struct cnn_device *device)
{
    if (device && device->pins) {
        cpu_pins_free(device->pins);
        cpu_unpin();
    }
    free(device);
}

static void read_processor_name(char *out, size_t size)
{
    snprintf(out, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, "model name", 10)) {
            colon[strcspn(colon, "\n")] = 0;
            snprintf(out, size, "%s", colon + 1 + (colon[1] == ' '));
            break;
        }
    }
    if (file)
        fclose(file);
}

static void add_detail(struct cnn_device_info *info, const char *what, const char *text)
{
    size_t used = strlen(info->detail);
    snprintf(info->detail + used, sizeof info->detail - used, "%s%s%s", used ? "; " : "", what, text);
}

int cpu_device_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error)
{
    (void)error;
    *info = (struct cnn_device_info){ .threads = device->threads };
    read_processor_name(info->name, sizeof info->name);
    if (device->asked > device->allowed)
        snprintf(info->detail, sizeof info->detail, "%d threads asked for, affinity and quota allow %d", device->asked,
                 device->allowed);
    if (device->pins) {
        cpu_pins_text(device->pins, info->pinned, sizeof info->pinned);
        add_detail(info, "pinned to processors ", info->pinned);
    }
    if (device->not_pinned)
        add_detail(info, "not pinned: ", device->not_pinned);
    info->memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    for (enum cpu_isa isa = CPU_SCALAR; isa < CPU_ISA_COUNT; isa++)
        if (cpu_isa_usable(isa)) {
            if (*info->isas)
                strcat(info->isas, " ");
            strcat(info->isas, cpu_isa_name(isa));
        }
    return CNN_OK;
}
