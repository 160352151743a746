/* SPDX-License-Identifier: MIT */
#ifndef CPU_REGISTRY_H
#define CPU_REGISTRY_H

#include "cpu/isa.h"
#include "cpu/kernel.h"

/* All kernels of an instruction set, NULL-terminated. */
const struct cpu_kernel *const *cpu_kernels(enum cpu_isa isa);

/* The kernel of that algorithm for an operation; NULL where there is none or it does not support the layer. */
const struct cpu_kernel *cpu_kernel_find(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind,
                                         const struct cnn_layer *layer, int lanes);

/* Algorithm names, NULL-terminated. */
const char *const *cpu_algorithms(void);

#endif
