/* SPDX-License-Identifier: MIT */
/* In place of the build's own: what the emulated backend was made for. */
#ifndef KERNELS_BUILD_ARCHS_H
#define KERNELS_BUILD_ARCHS_H

#define CUDA_BUILD_ARCHS "the emulation"
#define CUDA_LIBRARY_FOLDER ""
#define CUDA_BUILD_WGMMA 1

#endif
