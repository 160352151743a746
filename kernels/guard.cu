/* SPDX-License-Identifier: MIT */
/* Canaries around every piece of a guarded program's memory: one block per piece. */
#include "kernels/memory.h"

__global__ static void write_canaries(const cuda_region *regions)
{
    const cuda_region region = regions[blockIdx.x];
    unsigned *before = (unsigned *)region.data - CUDA_CANARY_WORDS, *behind = (unsigned *)region.data + region.size;
    before[threadIdx.x] = CUDA_CANARY;
    behind[threadIdx.x] = CUDA_CANARY;
}

__global__ static void check_canaries(const cuda_region *regions, int *broken)
{
    const cuda_region region = regions[blockIdx.x];
    const unsigned *before = (const unsigned *)region.data - CUDA_CANARY_WORDS;
    const unsigned *behind = (const unsigned *)region.data + region.size;
    if (before[threadIdx.x] != CUDA_CANARY || behind[threadIdx.x] != CUDA_CANARY)
        atomicMin(broken, (int)blockIdx.x);
}

cudaError_t cuda_guard_write(const cuda_region *regions, int count, cudaStream_t stream)
{
    write_canaries<<<count, CUDA_CANARY_WORDS, 0, stream>>>(regions);
    return cudaGetLastError();
}

cudaError_t cuda_guard_check(const cuda_region *regions, int count, int *broken, cudaStream_t stream)
{
    check_canaries<<<count, CUDA_CANARY_WORDS, 0, stream>>>(regions, broken);
    return cudaGetLastError();
}
