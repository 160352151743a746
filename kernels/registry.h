/* SPDX-License-Identifier: MIT */
/* The kernels there are. To add one: its file in kernels/meson.build and its line in registry.c. */
#ifndef KERNELS_REGISTRY_H
#define KERNELS_REGISTRY_H

#include "kernels/kernel.h"

/* The first kernel of the algorithm (or shared by all) that supports the job's layer; NULL: none. */
const struct cuda_kernel *cuda_kernel_find(const char *algorithm, enum cnn_operation_kind kind,
                                           const struct cuda_job *job);

const char *const *cuda_algorithms(void);
bool cuda_algorithm_known(const char *name);

#endif
