/* SPDX-License-Identifier: MIT */
/* In place of the build's own: tests of the emulation know one backend beside cpu, the emulated one. */
#ifndef DRIVER_BACKENDS_BUILT_H
#define DRIVER_BACKENDS_BUILT_H

#include "kernels/cuda.h"

#define BUILT_OMP NULL
#define BUILT_CUDA (&cnn_cuda_backend)
#define BUILT_CUDA_ARCHS ""

#endif
