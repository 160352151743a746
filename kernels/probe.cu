/* SPDX-License-Identifier: MIT */
/* Whether any code of this build runs on the current device, and which. */
#include "kernels/device.h"

__global__ static void probe_kernel()
{
}

cudaError_t cuda_probe(int *architecture)
{
    cudaFuncAttributes attributes;
    cudaError_t code = cudaFuncGetAttributes(&attributes, (const void *)probe_kernel);
    if (!code) {
        *architecture = attributes.ptxVersion;
        probe_kernel<<<1, 1>>>();
        code = cudaGetLastError();
    }
    return code ? code : cudaDeviceSynchronize();
}
