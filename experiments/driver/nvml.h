/* SPDX-License-Identifier: MIT */
/* What NVIDIA's driver says of its GPUs, through its management library, which is loaded at run time: no header of it
 * is needed to build, and a machine without it has no GPU to tell of. Nothing here starts CUDA or changes a setting. */
#ifndef DRIVER_NVML_H
#define DRIVER_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvml;
struct nvml_gpu; /* a GPU's handle; valid while the library is open */

/* What stays. Text is empty, a count -1 and a number NAN where the driver does not say. */
struct nvml_facts {
    char name[96], uuid[96], pci[32];
    int64_t memory_bytes;
    double power_limit_watts, clock_mhz_most, memory_mhz_most;
    int display_attached, persistent; /* 1, 0; -1 unknown */
};

/* What changes. */
struct nvml_moment {
    double clock_mhz, memory_mhz, temperature_celsius, power_watts;
    double energy_joules; /* since the driver was loaded */
    int64_t throttle;     /* bits, -1 unknown */
};

/* NULL where the library or a driver is absent. nvml_close() takes NULL. */
struct nvml *nvml_open(const char *library);
void nvml_close(struct nvml *nvml);

void nvml_driver(const struct nvml *nvml, char *out, size_t size); /* "550.54.15" */
int nvml_count(const struct nvml *nvml);

/* NULL where there is none. `pci` as CUDA writes it, "0000:3b:00.0". */
struct nvml_gpu *nvml_gpu_at(const struct nvml *nvml, int index);
struct nvml_gpu *nvml_gpu_at_pci(const struct nvml *nvml, const char *pci);

void nvml_facts(const struct nvml *nvml, struct nvml_gpu *gpu, struct nvml_facts *out);
void nvml_look(const struct nvml *nvml, struct nvml_gpu *gpu, struct nvml_moment *out);

/* The bits as words, "power cap, heat"; "" where nothing holds the GPU back but that it is idle. */
void nvml_throttle_words(int64_t bits, char *out, size_t size);

#endif
