/* SPDX-License-Identifier: MIT */
/* The CUDA backend: one GPU, one stream, everything behind lib/backend.h. */
#ifndef KERNELS_CUDA_H
#define KERNELS_CUDA_H

#include "lib/backend.h"

extern const struct cnn_backend cnn_cuda_backend;

#endif
