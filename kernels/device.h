/* SPDX-License-Identifier: MIT */
/* One GPU, opened. */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include "lib/backend.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

struct cuda_blas;

struct cnn_device {
    int index;
    int multiprocessors;
    int shared_bytes;       /* most that a block may have */
    int architecture;       /* that the code was made for which runs here, such as 90: at most the GPU's own */
    int hopper;             /* it is one and runs code that was made for it, its own instructions too */
    size_t free_bytes;      /* when it was opened, this process's context taken off already */
    struct cuda_blas *blas; /* opened with the first program that needs it */
};

int cuda_device_open(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error);
void cuda_device_close(struct cnn_device *device);
int cuda_device_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error);

/* Makes the device the calling thread's own; every function of the seam starts with it. */
int cuda_device_use(const struct cnn_device *device, struct cnn_error *error);

/* probe.cu: the architecture of the code that runs on the current device; an error where none of this build does. */
#ifdef __cplusplus
extern "C"
#endif
    cudaError_t
    cuda_probe(int *architecture);

#endif
