/* SPDX-License-Identifier: MIT */
/* A stand-in for NVIDIA's management library: one GPU that uses 3 J between two looks, is held back by power and heat
 * at every second one, and whose driver does not know persistence. */
#include <stdio.h>
#include <string.h>

struct gpu {
    int looks, reads;
};

static struct gpu the_gpu;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **gpu);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct gpu **gpu);
int nvmlDeviceGetName(struct gpu *gpu, char *out, unsigned size);
int nvmlDeviceGetUUID(struct gpu *gpu, char *out, unsigned size);
int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, void *info);
int nvmlDeviceGetMemoryInfo(struct gpu *gpu, unsigned long long *bytes);
int nvmlDeviceGetEnforcedPowerLimit(struct gpu *gpu, unsigned *milliwatts);
int nvmlDeviceGetDisplayActive(struct gpu *gpu, unsigned *active);
int nvmlDeviceGetPowerUsage(struct gpu *gpu, unsigned *milliwatts);
int nvmlDeviceGetClockInfo(struct gpu *gpu, int kind, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(struct gpu *gpu, int kind, unsigned *mhz);
int nvmlDeviceGetTemperature(struct gpu *gpu, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct gpu *gpu, unsigned long long *bits);
int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, unsigned long long *millijoules);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    snprintf(out, size, "999.1");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **gpu)
{
    *gpu = &the_gpu;
    return index == 0 ? 0 : 2; /* invalid argument */
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct gpu **gpu)
{
    *gpu = &the_gpu;
    return strcmp(pci, "0000:3b:00.0") == 0 ? 0 : 6; /* not found */
}

int nvmlDeviceGetName(struct gpu *gpu, char *out, unsigned size)
{
    (void)gpu;
    snprintf(out, size, "A GPU");
    return 0;
}

int nvmlDeviceGetUUID(struct gpu *gpu, char *out, unsigned size)
{
    (void)gpu;
    snprintf(out, size, "GPU-0123");
    return 0;
}

int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, void *info)
{
    (void)gpu;
    memset(info, 0, 68);
    strcpy((char *)info + 36, "00000000:3B:00.0"); /* behind 16 bytes of text and five numbers */
    return 0;
}

int nvmlDeviceGetMemoryInfo(struct gpu *gpu, unsigned long long *bytes)
{
    (void)gpu;
    bytes[0] = 1ull << 36;
    bytes[1] = bytes[2] = 1ull << 35;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(struct gpu *gpu, unsigned *milliwatts)
{
    (void)gpu;
    *milliwatts = 700000;
    return 0;
}

int nvmlDeviceGetDisplayActive(struct gpu *gpu, unsigned *active)
{
    (void)gpu;
    *active = 1;
    return 0;
}

int nvmlDeviceGetPowerUsage(struct gpu *gpu, unsigned *milliwatts)
{
    (void)gpu;
    *milliwatts = 345000;
    return 0;
}

/* 1500 MHz at first, 100 less at each look. */
int nvmlDeviceGetClockInfo(struct gpu *gpu, int kind, unsigned *mhz)
{
    *mhz = kind == 1 ? 1500 - 100 * (unsigned)gpu->looks : 2600;
    return 0;
}

int nvmlDeviceGetMaxClockInfo(struct gpu *gpu, int kind, unsigned *mhz)
{
    (void)gpu;
    *mhz = kind == 1 ? 1980 : 2619;
    return 0;
}

int nvmlDeviceGetTemperature(struct gpu *gpu, int sensor, unsigned *celsius)
{
    (void)gpu;
    *celsius = 60;
    return sensor == 0 ? 0 : 2;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct gpu *gpu, unsigned long long *bits)
{
    *bits = gpu->looks++ % 2 ? 0x24 : 0x1;
    return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, unsigned long long *millijoules)
{
    *millijoules = 5000000 + 3000 * (unsigned long long)gpu->reads++;
    return 0;
}
