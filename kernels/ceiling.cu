/* SPDX-License-Identifier: MIT */
/* Multiply-adds in registers, tf32 products on tensor cores by mma.sync as this project's kernels use them, reading,
 * and an empty kernel.
 *
 * An SM issues one FFMA a cycle for each of its 128 lanes with a latency of 4: 8 chains a thread and 2048 threads are
 * far more than the 4 that would do. Eight accumulators of a warp and up to 64 warps do the same for the tensor cores.
 * Values tend to 1 (FFMA), or grow by a constant (tf32): neither overflows in the rounds that a measurement takes. The
 * sums are compared with a value that they never take, so that the loops are not left out. */
#include "kernels/ceiling.h"
#include "kernels/tf32.cuh"

#define CHAINS 8
#define UNROLL 16
#define NEVER (-123.0f)

__global__ static void __launch_bounds__(CUDA_CEILING_THREADS)
    ffma_kernel(long long rounds, float factor, float term, float *sink)
{
    float chain[CHAINS], sum = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        chain[i] = (float)(threadIdx.x + i);
    for (long long round = 0; round < rounds; round++)
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
#pragma unroll
            for (int i = 0; i < CHAINS; i++)
                chain[i] = fmaf(chain[i], factor, term);
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        sum += chain[i];
    if (sum == NEVER)
        *sink = sum;
}

__global__ static void __launch_bounds__(CUDA_CEILING_THREADS) tf32_kernel(long long rounds, float value, float *sink)
{
    float c[CHAINS][4], sum = 0;
    unsigned one = __float_as_uint(value), a[4] = { one, one, one, one }, b[2] = { one, one };
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
#pragma unroll
        for (int v = 0; v < 4; v++)
            c[i][v] = (float)(i + v);
    for (long long round = 0; round < rounds; round++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++)
            tf32_multiply_add(c[i], a, b);
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
#pragma unroll
        for (int v = 0; v < 4; v++)
            sum += c[i][v];
    if (sum == NEVER)
        *sink = sum;
}

/* Neighbouring threads read neighbouring 16 bytes; four loads of a thread are on their way at once. */
__global__ static void __launch_bounds__(CUDA_CEILING_THREADS)
    read_kernel(long long rounds, const float4 *from, long long count, float *sink)
{
    long long step = (long long)gridDim.x * blockDim.x;
    float sum = 0;
    for (long long round = 0; round < rounds; round++)
#pragma unroll 4
        for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
            float4 four = __ldcg(from + at); /* past L1, which is too small to be meant */
            sum += four.x + four.y + four.z + four.w;
        }
    if (sum == NEVER)
        *sink = sum;
}

__global__ static void nothing_kernel()
{
}

cudaError_t cuda_ceiling_ffma(int blocks, int64_t rounds, float *sink, cudaStream_t stream)
{
    static_assert(CUDA_CEILING_FFMA_FLOPS == 2 * CHAINS * UNROLL, "the flops of a thread in a round");
    ffma_kernel<<<blocks, CUDA_CEILING_THREADS, 0, stream>>>(rounds, 0.999f, 0.001f, sink);
    return cudaGetLastError();
}

cudaError_t cuda_ceiling_tf32(int blocks, int64_t rounds, float *sink, cudaStream_t stream)
{
    static_assert(CUDA_CEILING_TF32_FLOPS == 2 * CHAINS * 16 * 8 * 8, "the flops of a warp in a round");
    tf32_kernel<<<blocks, CUDA_CEILING_THREADS, 0, stream>>>(rounds, 0.5f, sink);
    return cudaGetLastError();
}

cudaError_t cuda_ceiling_read(int blocks, int64_t rounds, const float *from, int64_t floats, float *sink,
                              cudaStream_t stream)
{
    read_kernel<<<blocks, CUDA_CEILING_THREADS, 0, stream>>>(rounds, (const float4 *)from, floats / 4, sink);
    return cudaGetLastError();
}

cudaError_t cuda_ceiling_nothing(cudaStream_t stream)
{
    nothing_kernel<<<1, 32, 0, stream>>>();
    return cudaGetLastError();
}
