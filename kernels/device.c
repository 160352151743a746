/* SPDX-License-Identifier: MIT */
/* Finding a GPU, and a sentence of its own for each reason why there is none. */
#include "kernels/device.h"
#include "kernels/blas.h"
#include "kernels/build_archs.h"
#include "kernels/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse_driver(struct cnn_error *error, cudaError_t code)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) || driver == 0)
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "cuda: no NVIDIA driver answers on this machine: install one, or run cpu and omp");
    if (code == cudaErrorInsufficientDriver || driver / 1000 < CUDART_VERSION / 1000)
        return cnn_error_set(
            error, CNN_UNAVAILABLE,
            "cuda: the driver is too old: it knows CUDA %d.%d, this build needs %d.%d: update the driver",
            driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (code == cudaErrorNoDevice)
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "cuda: the driver sees no GPU: is one built in, and not hidden by CUDA_VISIBLE_DEVICES?");
    return cnn_error_set(error, CNN_UNAVAILABLE, "cuda: the driver does not answer: %s", cudaGetErrorString(code));
}

static int refuse_use(struct cnn_error *error, cudaError_t code, int index, const struct cudaDeviceProp *properties)
{
    switch (code) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceAlreadyInUse:
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "cuda: GPU %d (%s) is busy: another process has it exclusively, or it is prohibited",
                             index, properties->name);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "cuda: GPU %d (%s) is sm_%d%d, this build has code for %s: build again with "
                             "-Dgpu_archs=%d%d and a CUDA toolkit that knows it",
                             index, properties->name, properties->major, properties->minor, CUDA_BUILD_ARCHS,
                             properties->major, properties->minor);
    case cudaErrorMemoryAllocation:
        cudaGetLastError();
        return cnn_error_set(error, CNN_UNAVAILABLE, "cuda: GPU %d (%s) has no memory left for a program's start",
                             index, properties->name);
    default:
        return cnn_error_set(error, CNN_UNAVAILABLE, "cuda: GPU %d (%s) cannot be used: %s", index, properties->name,
                             cudaGetErrorString(code));
    }
}

int cuda_device_open(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error)
{
    int count = 0, index = options->index, architecture = 0;
    struct cudaDeviceProp properties;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code || count == 0)
        return refuse_driver(error, code ? code : cudaErrorNoDevice);
    if (index < 0 || index >= count)
        return cnn_error_set(error, CNN_UNAVAILABLE, "cuda: there is no GPU %d: this machine has %d, counted from 0",
                             index, count);
    memset(&properties, 0, sizeof properties);
    code = cudaGetDeviceProperties(&properties, index);
    if (!code)
        code = cudaSetDevice(index);
    if (!code)
        code = cudaFree(NULL); /* makes the context */
    if (!code)
        code = cuda_probe(&architecture);
    if (code)
        return refuse_use(error, code, index, &properties);
    struct cnn_device *device = calloc(1, sizeof *device);
    if (!device)
        return cnn_error_set(error, CNN_OOM, "backend cuda: no memory for its head");
    device->index = index;
    device->multiprocessors = properties.multiProcessorCount;
    device->shared_bytes = (int)properties.sharedMemPerBlockOptin;
    device->architecture = architecture;
    device->hopper = properties.major == 9 && properties.minor == 0 && architecture == 90;
    size_t all;
    if (cudaMemGetInfo(&device->free_bytes, &all))
        device->free_bytes = 0;
    *out = device;
    return CNN_OK;
}

void cuda_device_close(struct cnn_device *device)
{
    if (!device)
        return;
    cudaSetDevice(device->index);
    cuda_blas_close(device->blas);
    free(device);
}

int cuda_device_use(const struct cnn_device *device, struct cnn_error *error)
{
    return cuda_check(cudaSetDevice(device->index), error, "choosing the GPU");
}

int cuda_device_describe(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error)
{
    struct cudaDeviceProp properties;
    char uuid[48] = "", pci[16] = "?", blas[64];
    int driver = 0, clock = 0;
    *info = (struct cnn_device_info){ .threads = 0 };
    if (cuda_device_use(device, error) ||
        cuda_check(cudaGetDeviceProperties(&properties, device->index), error, "reading the GPU's properties") ||
        cuda_check(cudaDriverGetVersion(&driver), error, "reading the driver's version"))
        return error ? (int)error->status : CNN_ERROR;
    for (int i = 0, at = 0; i < 16; i++)
        at += snprintf(uuid + at, sizeof uuid - (size_t)at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       (unsigned char)properties.uuid.bytes[i]);
    cudaDeviceGetPCIBusId(pci, sizeof pci, device->index);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, device->index);
    cuda_blas_version(blas, sizeof blas);
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    snprintf(info->pci, sizeof info->pci, "%s", pci);
    snprintf(info->detail, sizeof info->detail,
             "GPU-%s, PCI %s, sm_%d%d, %d multiprocessors, %d MHz at most, driver CUDA %d.%d, runtime %d.%d, %s; runs "
             "code of sm_%d",
             uuid, pci, properties.major, properties.minor, properties.multiProcessorCount, clock / 1000, driver / 1000,
             driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, blas, device->architecture);
    info->memory = (int64_t)properties.totalGlobalMem;
    return CNN_OK;
}
