/* SPDX-License-Identifier: MIT */
/* Faults of the CUDA runtime as statuses and sentences. */
#ifndef KERNELS_FAULT_H
#define KERNELS_FAULT_H

#include "lib/status.h"

#include <cuda_runtime_api.h>

/* CNN_OK for cudaSuccess; otherwise a sentence that starts with `what`: CNN_OOM, CNN_UNAVAILABLE or CNN_ERROR. */
int cuda_check(cudaError_t code, struct cnn_error *error, const char *what);

#endif
