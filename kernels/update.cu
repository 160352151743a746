/* SPDX-License-Identifier: MIT */
/* SGD with momentum and decay for all layers in one kernel: v = momentum v + g + decay w (weights of convolutions and
 * fully connected layers only), w -= rate v. The gradient arrives in slices, one per range of images, and is summed
 * here in slice order, so it needs no pass and no memory of its own. Where a layer has many slices, 4 or 32 lanes share
 * them and join their sums in a fixed tree. A layer with a connection table also gets its dense copy refreshed.
 *
 * Bytes: slices + 2 to 4 floats per parameter, coalesced; it runs at memory speed. */
#include "kernels/update.cuh"

/* Where parameter i of a segment lies in a slice, and in the dense copy. Biases stand behind their map's weights. */
__device__ static long long place_of(const cuda_segment &s, long long i, long long *dense)
{
    *dense = -1;
    if (i >= s.weights)
        return (i - s.weights) * (s.reduction + 1) + s.reduction;
    long long pair, map;
    int tap, in;
    divide(i, s.taps, &pair, &tap);
    if (s.first) {
        map = s.pair_out[pair];
        in = s.source[pair];
    } else {
        divide(pair, s.in_maps, &map, &in);
    }
    long long inside = (long long)in * s.taps + tap;
    *dense = map * s.reduction + inside;
    return map * (s.reduction + 1) + inside;
}

__device__ static float sum_slices(const cuda_segment &s, long long place, int lane)
{
    float sum = 0;
    const float *from = s.partial + place;
#pragma unroll 8
    for (int slice = lane; slice < s.slices; slice += s.lanes)
        sum += from[slice * s.slice];
    for (int step = s.lanes / 2; step; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step, s.lanes);
    return sum;
}

__global__ static void __launch_bounds__(CUDA_UPDATE_THREADS) update_kernel(cuda_update update)
{
    const cuda_segment s = update.segments[update.owners[blockIdx.x]];
    const cuda_rates rates = *update.rates;
    int groups = CUDA_UPDATE_THREADS / s.lanes, group = threadIdx.x / s.lanes, lane = threadIdx.x % s.lanes;
    long long begin = (long long)(blockIdx.x - s.block_at) * groups * CUDA_UPDATE_EACH;
    for (int each = 0; each < CUDA_UPDATE_EACH; each++) {
        long long i = begin + each * groups + group, dense, parameters = s.weights + s.biases;
        bool there = i < parameters;
        long long place = place_of(s, there ? i : 0, &dense); /* lanes of a warp stay together for the tree */
        float gradient = sum_slices(s, place, lane);
        if (!there || lane != 0)
            continue;
        long long at = s.at + i;
        float w = update_parameter(update, rates, at, gradient, s.decays && i < s.weights);
        if (s.dense && dense >= 0)
            s.dense[dense] = w;
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
