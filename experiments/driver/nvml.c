/* SPDX-License-Identifier: MIT */
/* The few functions of NVML that are used, as its reference manual declares them. A function that an older driver lacks
 * leaves its value unknown. */
#include "experiments/driver/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

struct nvml_pci { /* nvmlPciInfo_t */
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_memory { /* nvmlMemory_t, bytes */
    unsigned long long total, unused, used;
};

typedef int (*count_reader)(struct nvml_gpu *, unsigned *);
typedef int (*kind_reader)(struct nvml_gpu *, int, unsigned *); /* a clock or sensor of that kind */
typedef int (*long_reader)(struct nvml_gpu *, unsigned long long *);
typedef int (*text_reader)(struct nvml_gpu *, char *, unsigned);

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *, unsigned);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, struct nvml_gpu **);
    int (*by_pci)(const char *, struct nvml_gpu **);
    text_reader name, uuid;
    int (*pci)(struct nvml_gpu *, struct nvml_pci *);
    int (*memory)(struct nvml_gpu *, struct nvml_memory *);
    count_reader power_limit, display, persistence, power; /* milliwatts; 0 or 1 */
    kind_reader clock, clock_most, temperature;            /* MHz, degrees Celsius */
    long_reader throttle, energy;                          /* bits; millijoules */
};

static const struct {
    const char *symbol;
    size_t at;
} symbols[] = {
    { "nvmlInit_v2", offsetof(struct nvml, init) },
    { "nvmlShutdown", offsetof(struct nvml, shutdown) },
    { "nvmlSystemGetDriverVersion", offsetof(struct nvml, driver) },
    { "nvmlDeviceGetCount_v2", offsetof(struct nvml, count) },
    { "nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, by_index) },
    { "nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml, by_pci) },
    { "nvmlDeviceGetName", offsetof(struct nvml, name) },
    { "nvmlDeviceGetUUID", offsetof(struct nvml, uuid) },
    { "nvmlDeviceGetPciInfo_v3", offsetof(struct nvml, pci) },
    { "nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory) },
    { "nvmlDeviceGetEnforcedPowerLimit", offsetof(struct nvml, power_limit) },
    { "nvmlDeviceGetDisplayActive", offsetof(struct nvml, display) },
    { "nvmlDeviceGetPersistenceMode", offsetof(struct nvml, persistence) },
    { "nvmlDeviceGetPowerUsage", offsetof(struct nvml, power) },
    { "nvmlDeviceGetClockInfo", offsetof(struct nvml, clock) },
    { "nvmlDeviceGetMaxClockInfo", offsetof(struct nvml, clock_most) },
    { "nvmlDeviceGetTemperature", offsetof(struct nvml, temperature) },
    { "nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml, throttle) },
    { "nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml, energy) },
};

struct nvml *nvml_open(const char *library)
{
    struct nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml)
        return NULL;
    nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; nvml->library && i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(nvml->library, symbols[i].symbol);
        memcpy((char *)nvml + symbols[i].at, &symbol, sizeof symbol);
    }
    if (nvml->init && nvml->shutdown && nvml->count && nvml->by_index && nvml->init() == NVML_SUCCESS)
        return nvml;
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
    return NULL;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

void nvml_driver(const struct nvml *nvml, char *out, size_t size)
{
    *out = '\0';
    if (nvml->driver && nvml->driver(out, (unsigned)size) != NVML_SUCCESS)
        *out = '\0';
}

int nvml_count(const struct nvml *nvml)
{
    unsigned count = 0;
    return nvml->count(&count) == NVML_SUCCESS ? (int)count : 0;
}

struct nvml_gpu *nvml_gpu_at(const struct nvml *nvml, int index)
{
    struct nvml_gpu *gpu = NULL;
    return nvml->by_index((unsigned)index, &gpu) == NVML_SUCCESS ? gpu : NULL;
}

struct nvml_gpu *nvml_gpu_at_pci(const struct nvml *nvml, const char *pci)
{
    struct nvml_gpu *gpu = NULL;
    return nvml->by_pci && nvml->by_pci(pci, &gpu) == NVML_SUCCESS ? gpu : NULL;
}

static void read_text(text_reader read, struct nvml_gpu *gpu, char *out, size_t size)
{
    if (!read || read(gpu, out, (unsigned)size) != NVML_SUCCESS)
        *out = '\0';
}

/* `scale` times the count. */
static double read_count(count_reader read, struct nvml_gpu *gpu, double scale)
{
    unsigned value = 0;
    return read && read(gpu, &value) == NVML_SUCCESS ? scale * value : NAN;
}

static double read_kind(kind_reader read, struct nvml_gpu *gpu, int kind)
{
    unsigned value = 0;
    return read && read(gpu, kind, &value) == NVML_SUCCESS ? value : NAN;
}

static int read_switch(count_reader read, struct nvml_gpu *gpu)
{
    unsigned value = 0;
    return read && read(gpu, &value) == NVML_SUCCESS ? value != 0 : -1;
}

void nvml_facts(const struct nvml *nvml, struct nvml_gpu *gpu, struct nvml_facts *out)
{
    struct nvml_pci pci;
    struct nvml_memory memory;
    read_text(nvml->name, gpu, out->name, sizeof out->name);
    read_text(nvml->uuid, gpu, out->uuid, sizeof out->uuid);
    *out->pci = '\0';
    if (nvml->pci && nvml->pci(gpu, &pci) == NVML_SUCCESS)
        snprintf(out->pci, sizeof out->pci, "%.31s", pci.bus_id);
    out->memory_bytes = nvml->memory && nvml->memory(gpu, &memory) == NVML_SUCCESS ? (int64_t)memory.total : -1;
    out->power_limit_watts = read_count(nvml->power_limit, gpu, 1e-3);
    out->clock_mhz_most = read_kind(nvml->clock_most, gpu, NVML_CLOCK_SM);
    out->memory_mhz_most = read_kind(nvml->clock_most, gpu, NVML_CLOCK_MEMORY);
    out->display_attached = read_switch(nvml->display, gpu);
    out->persistent = read_switch(nvml->persistence, gpu);
}

void nvml_look(const struct nvml *nvml, struct nvml_gpu *gpu, struct nvml_moment *out)
{
    unsigned long long value;
    out->clock_mhz = read_kind(nvml->clock, gpu, NVML_CLOCK_SM);
    out->memory_mhz = read_kind(nvml->clock, gpu, NVML_CLOCK_MEMORY);
    out->temperature_celsius = read_kind(nvml->temperature, gpu, NVML_TEMPERATURE_GPU);
    out->power_watts = read_count(nvml->power, gpu, 1e-3);
    out->energy_joules = nvml->energy && nvml->energy(gpu, &value) == NVML_SUCCESS ? 1e-3 * (double)value : NAN;
    out->throttle = nvml->throttle && nvml->throttle(gpu, &value) == NVML_SUCCESS ? (int64_t)value : -1;
}

void nvml_throttle_words(int64_t bits, char *out, size_t size)
{
    /* from bit 1 on; bit 0 says that the GPU is idle */
    static const char *const words[] = { "application clocks", "power cap",   "hardware slowdown", "sync boost", "heat",
                                         "heat in hardware",   "power brake", "display clock" };
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; bits > 0 && i < sizeof words / sizeof *words; i++)
        if (bits >> (i + 1) & 1 && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", words[i]);
}
