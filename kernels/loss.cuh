/* SPDX-License-Identifier: MIT */
/* The loss of one image, its gradient and the predicted label, by one warp: lanes share the classes. Softmax
 * cross-entropy subtracts the maximum first, so no finite output overflows. In double precision where sums or
 * exponentials are concerned: a few values per image. */
#ifndef KERNELS_LOSS_CUH
#define KERNELS_LOSS_CUH

#include "kernels/math.cuh"
#include "kernels/shared.h"

#define ALL_LANES 0xffffffffu

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
        place other = { __shfl_xor_sync(ALL_LANES, best.value, step), __shfl_xor_sync(ALL_LANES, best.index, step) };
        best = larger(best, other);
    }
    return best;
}

__device__ static double warp_sum(double value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, step);
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

/* labels NULL: the predicted label alone. delta NULL: no gradient. */
__device__ static void image_loss(const cuda_loss &loss, const float *y, const int32_t *labels, float *delta, int image,
                                  int count)
{
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

#endif
