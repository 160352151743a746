/* SPDX-License-Identifier: MIT */
/* The device of the emulation, and what a launch must keep to on it. */
#include "tests/emulation/device.h"
#include "tests/emulation/runtime.h"

#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_PLAIN ((size_t)48 << 10) /* dynamic shared memory that needs no attribute */

static std::map<const void *, int> shared_allowed; /* by kernel: what cudaFuncSetAttribute() said */

/* From the environment, EMULATED_MULTIPROCESSORS: sums are dealt to more blocks on a large GPU. */
static int multiprocessors(void)
{
    const char *text = getenv("EMULATED_MULTIPROCESSORS");
    int count = text ? atoi(text) : 132;
    return count < 1 ? 1 : count;
}

/* From the environment, EMULATED_ARCHITECTURE: the GPU is an sm_ of that number, which decides what instructions are
 * taken and how much shared memory there is. */
static int architecture(void)
{
    const char *text = getenv("EMULATED_ARCHITECTURE");
    int number = text ? atoi(text) : 90;
    return number < 75 ? 75 : number;
}

/* Most of a block: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". */
static size_t shared_most(void)
{
    switch (architecture()) {
    case 75:
        return (size_t)64 << 10;
    case 80:
    case 87:
        return (size_t)163 << 10;
    case 90:
    case 100:
    case 103:
        return (size_t)227 << 10;
    default:
        return (size_t)99 << 10;
    }
}

static cudaError_t check_launch(const void *function, dim3 grid, dim3 block, size_t shared)
{
    size_t threads = (size_t)block.x * block.y * block.z;
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535 || threads == 0 ||
        threads > 1024 || block.z > 64)
        return cudaErrorInvalidConfiguration;
    auto allowed = shared_allowed.find(function);
    size_t most = allowed == shared_allowed.end() ? SHARED_PLAIN : (size_t)allowed->second;
    return shared > (most < SHARED_PLAIN ? SHARED_PLAIN : most) ? cudaErrorInvalidValue : cudaSuccess;
}

void emulated_enqueue_grid(const char *kernel, const void *function, dim3 grid, dim3 block, size_t shared,
                           cudaStream_t stream, std::function<void()> thread)
{
    cudaError_t code = check_launch(function, grid, block, shared);
    if (code)
        emulated_fail(code);
    else
        emulated_enqueue(stream, [=] { emulated_grid(kernel, grid, block, shared, thread); });
}

extern "C" {

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || (size_t)value > shared_most())
            return emulated_fail(cudaErrorInvalidValue);
        shared_allowed[function] = value;
    }
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    (void)function;
    memset(attributes, 0, sizeof *attributes);
    attributes->ptxVersion = attributes->binaryVersion = architecture();
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared)
{
    (void)function;
    (void)shared;
    *blocks = threads > 0 ? 2048 / threads : 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int index)
{
    return index == 0 ? cudaSuccess : emulated_fail(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int *index)
{
    *index = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int index)
{
    size_t available;
    if (index != 0)
        return emulated_fail(cudaErrorInvalidDevice);
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "emulated GPU, for tests only");
    properties->major = architecture() / 10;
    properties->minor = architecture() % 10;
    properties->multiProcessorCount = multiprocessors();
    properties->sharedMemPerBlock = SHARED_PLAIN;
    properties->sharedMemPerBlockOptin = shared_most();
    properties->sharedMemPerMultiprocessor = shared_most() + 1024;
    properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    return cudaMemGetInfo(&available, &properties->totalGlobalMem);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int index)
{
    (void)index;
    switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
        *value = multiprocessors();
        break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        *value = 1000000; /* kHz */
        break;
    default:
        *value = 0;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int index)
{
    snprintf(text, (size_t)size, "0000:00:%02x.0", index);
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t code)
{
    switch (code) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorStreamCaptureUnjoined:
        return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
        return "dependency created on uncaptured work in another stream";
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    default:
        return "an error of the emulated runtime";
    }
}
}
