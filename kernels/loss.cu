/* SPDX-License-Identifier: MIT */
/* Loss, its gradient and the predicted label, one warp per image: lanes share the classes. Softmax cross-entropy
 * subtracts the maximum first, so no finite output overflows. In double precision where sums or exponentials are
 * concerned: a few values per image. The block that finishes last adds up the batch, so the sum has one order whatever
 * the schedule. */
#include "kernels/math.cuh"
#include "kernels/shared.h"

#define WARPS 8
#define FULL 0xffffffffu

struct place {
    float value;
    int index;
};

/* The larger of two, the lower index on ties; a NaN is larger than any number. */
__device__ static place larger(place a, place b)
{
    bool nan_a = isnan(a.value), nan_b = isnan(b.value);
    bool take_b = nan_a || nan_b ? nan_b && (!nan_a || b.index < a.index)
                                 : b.value > a.value || (b.value == a.value && b.index < a.index);
    return take_b ? b : a;
}

__device__ static place warp_largest(const float *y, int classes)
{
    int lane = threadIdx.x % 32;
    place best = { lane < classes ? y[lane] : -INFINITY, lane < classes ? lane : INT_MAX };
    for (int k = lane + 32; k < classes; k += 32)
        best = larger(best, place{ y[k], k });
    for (int step = 16; step; step /= 2) {
        place other = { __shfl_xor_sync(FULL, best.value, step), __shfl_xor_sync(FULL, best.index, step) };
        best = larger(best, other);
    }
    return best;
}

__device__ static double warp_sum(double value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(FULL, value, step);
    return value;
}

__device__ static double softmax_loss(const cuda_loss &loss, const float *y, int label, double top, float *delta,
                                      double scale)
{
    double sum = 0;
    for (int k = threadIdx.x % 32; k < loss.classes; k += 32)
        sum += exp((double)y[k] - top);
    sum = warp_sum(sum);
    for (int k = threadIdx.x % 32; delta && k < loss.classes; k += 32)
        delta[k] = (float)((exp((double)y[k] - top) / sum - (k == label)) * scale) * slope_of(loss.activation, y[k]);
    return log(sum) + top - (double)y[label];
}

__device__ static double squared_loss(const cuda_loss &loss, const float *y, int label, float *delta, double scale)
{
    double sum = 0;
    for (int k = threadIdx.x % 32; k < loss.classes; k += 32) {
        double difference = (double)y[k] - (k == label ? loss.on : loss.off);
        sum += difference * difference;
        if (delta)
            delta[k] = (float)(difference * scale) * slope_of(loss.activation, y[k]);
    }
    return warp_sum(sum) / 2;
}

/* Over the batch in a fixed order: each thread its images, then the tree. */
__device__ static void add_up(const cuda_loss &loss, const int32_t *labels, int count)
{
    __shared__ double sums[32 * WARPS];
    __shared__ int corrects[32 * WARPS];
    double sum = 0;
    int correct = 0;
    for (int i = threadIdx.x; i < count; i += 32 * WARPS) {
        sum += __ldcg(&loss.losses[i]);
        correct += __ldcg(&loss.predicted[i]) == labels[i];
    }
    sums[threadIdx.x] = sum;
    corrects[threadIdx.x] = correct;
    for (int half = 16 * WARPS; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            corrects[threadIdx.x] += corrects[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        loss.answer->loss_sum += sums[0];
        loss.answer->correct += corrects[0];
        loss.answer->blocks_done = 0;
    }
}

__global__ static void __launch_bounds__(32 * WARPS)
    loss_kernel(cuda_loss loss, const float *__restrict__ outputs, const int32_t *__restrict__ labels, float *deltas,
                int count)
{
    __shared__ bool last;
    int image = blockIdx.x * WARPS + threadIdx.x / 32;
    if (image < count) {
        const float *y = outputs + (long long)image * loss.classes;
        float *delta = deltas ? deltas + (long long)image * loss.classes : NULL;
        place best = warp_largest(y, loss.classes);
        int label = isnan(best.value) ? -1 : loss.classes > 1 ? best.index : y[0] >= (loss.on + loss.off) / 2 ? 0 : 1;
        double scale = 1.0 / count, value = 0;
        if (labels)
            value = loss.softmax ? softmax_loss(loss, y, labels[image], best.value, delta, scale)
                                 : squared_loss(loss, y, labels[image], delta, scale);
        if (threadIdx.x % 32 == 0) {
            loss.predicted[image] = label;
            if (labels)
                loss.losses[image] = value;
        }
    }
    if (!labels)
        return;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&loss.answer->blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last)
        add_up(loss, labels, count);
}

cudaError_t cuda_loss_launch(const cuda_loss *loss, const float *outputs, const int32_t *labels, float *delta,
                             int count, cudaStream_t stream)
{
    loss_kernel<<<(count + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*loss, outputs, labels, delta, count);
    return cudaGetLastError();
}
