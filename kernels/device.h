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
    size_t free_bytes;      /* when it was opened, this process's context taken off already */
    struct cuda_blas *blas; /* opened with the first program that needs it */
};

int cuda_device_open(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error);
void cuda_device_close(struct cnn_device *device);
int cuda_device_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error);

/* Makes the device the calling thread's own; every function of the seam starts with it. */
int cuda_device_use(const struct cnn_device *device, struct cnn_error *error);

/* probe.cu: an error where no code of this build runs on the current device. */
#ifdef __cplusplus
extern "C"
#endif
    cudaError_t
    cuda_probe(void);

#endif
