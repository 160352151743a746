/* SPDX-License-Identifier: MIT */
/* What SGD does with one parameter once its gradient is known: v = momentum v + g + decay w (decay of weights of
 * convolutions and fully connected layers only), w -= rate v. */
#ifndef KERNELS_UPDATE_CUH
#define KERNELS_UPDATE_CUH

#include "kernels/math.cuh"
#include "kernels/shared.h"

/* Parameter `at` of the arena. Returns its new value. */
__device__ __forceinline__ float update_parameter(const cuda_update &update, const cuda_rates &rates, long long at,
                                                  float gradient, bool decays)
{
    float w = update.parameters[at], v = gradient;
    if (update.gradient)
        update.gradient[at] = gradient;
    if (decays)
        v += rates.decay * w;
    if (update.velocity) {
        v += rates.momentum * update.velocity[at];
        update.velocity[at] = v;
    }
    w -= rates.rate * v;
    update.parameters[at] = w;
    return w;
}

#endif
