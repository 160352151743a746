/* SPDX-License-Identifier: MIT */
/* SGD with momentum and decay for all layers in one kernel: v = momentum v + g + decay w (weights of convolutions and
 * fully connected layers only), w -= rate v. The gradient arrives in slices, one per range of images, and is summed
 * here in slice order, so it needs no pass and no memory of its own. Where a layer has many slices, 4 or 32 lanes share
 * them and join their sums in a fixed tree. A layer with a connection table also gets its dense copy refreshed.
 *
 * Bytes: slices + 2 to 4 floats per parameter, coalesced; it runs at memory speed. */
#include "kernels/update.cuh"

/* Where parameter i of a segment lies in a slice, and in the dense copy. Biases stand behind their map's weights. */
__device__ __forceinline__ long long place_of(const cuda_segment &s, long long i, long long *dense)
{
    long long pair, map;
    int tap;
    *dense = i < s.weights ? i : -1;
    if (i >= s.weights)
        return (i - s.weights) * (s.reduction + 1) + s.reduction;
    if (!s.first) {
        divide(i, s.reduction, &map, &tap);
        return i + map;
    }
    divide(i, s.taps, &pair, &tap);
    map = s.pair_out[pair];
    *dense = map * s.reduction + (long long)s.source[pair] * s.taps + tap;
    return *dense + map;
}

/* Whatever a thread needs from memory it asks for before it stores anything: several parameters are under way. */
__global__ static void __launch_bounds__(CUDA_UPDATE_THREADS) update_kernel(const __grid_constant__ cuda_update update)
{
    constexpr int EACH = CUDA_UPDATE_EACH;
    const cuda_segment &s = update.segments[update.owners[blockIdx.x]];
    const cuda_rates rates = *update.rates;
    int lanes = s.lanes, groups = CUDA_UPDATE_THREADS / lanes, lane = threadIdx.x % lanes, slices = s.slices;
    long long begin = (long long)(blockIdx.x - s.block_at) * groups * EACH + threadIdx.x / lanes;
    long long weights = s.weights, parameters = weights + s.biases, dense[EACH], first = s.at, slice = s.slice;
    const float *from[EACH];
    float gradient[EACH], w[EACH], v[EACH], *copy = s.dense;
    bool decays = s.decays;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        long long i = begin + j * groups;
        bool own = i < parameters && lane == 0;
        from[j] = s.partial + place_of(s, min(i, parameters - 1), &dense[j]) + lane * slice;
        gradient[j] = 0;
        w[j] = own ? update.parameters[first + i] : 0;
        v[j] = own && update.velocity ? update.velocity[first + i] : 0;
    }
#pragma unroll 4
    for (int at = lane; at < slices; at += lanes)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            gradient[j] += *from[j];
            from[j] += lanes * slice;
        }
    for (int step = lanes / 2; step; step /= 2) /* lanes of a warp stay together for the tree */
#pragma unroll
        for (int j = 0; j < EACH; j++)
            gradient[j] += __shfl_xor_sync(0xffffffffu, gradient[j], step, lanes);
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        long long i = begin + j * groups;
        if (i >= parameters || lane != 0)
            continue;
        step_parameter(rates, gradient[j], decays && i < weights, &w[j], &v[j]);
        store_parameter(update, first + i, gradient[j], w[j], v[j]);
        if (copy && dense[j] >= 0)
            copy[dense[j]] = w[j];
    }
}

__global__ static void expand_kernel(cuda_update update)
{
    const cuda_segment s = update.segments[update.owners[blockIdx.x]];
    if (!s.dense)
        return;
    int groups = CUDA_UPDATE_THREADS / s.lanes;
    long long begin = (long long)(blockIdx.x - s.block_at) * groups * CUDA_UPDATE_EACH, dense;
    for (int each = threadIdx.x; each < groups * CUDA_UPDATE_EACH && begin + each < s.weights; each += blockDim.x) {
        place_of(s, begin + each, &dense);
        s.dense[dense] = update.parameters[s.at + begin + each];
    }
}

cudaError_t cuda_update_launch(const cuda_update *update, cudaStream_t stream)
{
    if (update->blocks == 0)
        return cudaSuccess;
    update_kernel<<<update->blocks, CUDA_UPDATE_THREADS, 0, stream>>>(*update);
    return cudaGetLastError();
}

cudaError_t cuda_expand_launch(const cuda_update *update, cudaStream_t stream)
{
    if (update->blocks == 0)
        return cudaSuccess;
    expand_kernel<<<update->blocks, CUDA_UPDATE_THREADS, 0, stream>>>(*update);
    return cudaGetLastError();
}
