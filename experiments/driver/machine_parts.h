/* SPDX-License-Identifier: MIT */
/* What the files of the machine's record share, and nobody else. */
#ifndef DRIVER_MACHINE_PARTS_H
#define DRIVER_MACHINE_PARTS_H

#include "experiments/driver/machine.h"
#include "experiments/driver/resources.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Members of an object; what is not known is null. */
void record_text(cJSON *object, const char *name, const char *text);                   /* "" and NULL: null */
void record_number(cJSON *object, const char *name, double value);                     /* NAN: null */
void record_count(cJSON *object, const char *name, int64_t value);                     /* negative: null */
void record_switch(cJSON *object, const char *name, int value);                        /* 1 true, 0 false, -1 null */
void record_line(cJSON *object, const char *name, const char *root, const char *path); /* of a small file */

/* machine_cpu.c */
void machine_cpu_model(char *out, size_t size);
void machine_cpu(cJSON *machine, const char *root, const struct resources *resources);
void machine_clocks(cJSON *moment, const char *root); /* what processors run at now */

/* machine_power.c: GPUs as their driver tells */
void machine_gpus(cJSON *machine, const char *library);
void machine_gpu_moments(cJSON *moment, const char *library);

#endif
