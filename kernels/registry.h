/* SPDX-License-Identifier: MIT */
/* The kernels there are. To add one: a file, and its line in kernels/meson.build. */
#ifndef KERNELS_REGISTRY_H
#define KERNELS_REGISTRY_H

#include "kernels/kernel.h"

/* The first kernel of the algorithm (or shared by all) that supports the job's layer; of `direct` where the algorithm
 * has none for that kind of operation. NULL: none. */
const struct cuda_kernel *cuda_kernel_find(const char *algorithm, enum cnn_operation_kind kind,
                                           const struct cuda_job *job);

/* Names of the algorithms, best guess first, NULL-terminated. */
const char *const *cuda_algorithms(void);

#endif
