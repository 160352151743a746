/* SPDX-License-Identifier: MIT */
#ifndef CPU_REGISTRY_H
#define CPU_REGISTRY_H

#include "cpu/isa.h"
#include "cpu/kernel.h"

/* All kernels of an instruction set, NULL-terminated. */
const struct cpu_kernel *const *cpu_kernels(enum cpu_isa isa);

#define CPU_LANES_MAX 16 /* images of the largest block, a multiple of every vector width */

/* The algorithm that does an operation which `algorithm` has no way of its own for, whatever the layout; NULL where it
 * has one, or where nothing stands in. */
const char *cpu_algorithm_rest(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind,
                               const struct cnn_layer *layer);

/* The kernel of that algorithm, or of its rest, for an operation; NULL where there is none or it does not support the
 * layer. */
const struct cpu_kernel *cpu_kernel_find(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind,
                                         const struct cnn_layer *layer, int lanes);

/* Names of the algorithms in this build, NULL-terminated. */
const char *const *cpu_algorithms(void);

#endif
