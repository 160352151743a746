/* SPDX-License-Identifier: MIT */
/* Which status an error of the CUDA runtime is. */
#include "kernels/fault.h"

int cuda_check(cudaError_t code, struct cnn_error *error, const char *what)
{
    switch (code) {
    case cudaSuccess:
        return CNN_OK;
    case cudaErrorMemoryAllocation:
        cudaGetLastError(); /* it is not sticky: the device stays usable */
        return cnn_error_set(error, CNN_OOM, "%s: not enough memory on the GPU", what);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
        return cnn_error_set(
            error, CNN_UNAVAILABLE,
            "%s: this build has no code for this GPU: build again with its architecture in -Dgpu_archs", what);
    default:
        return cnn_error_set(error, CNN_ERROR, "%s: %s (CUDA error %d)", what, cudaGetErrorString(code), (int)code);
    }
}
