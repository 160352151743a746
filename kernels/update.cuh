/* SPDX-License-Identifier: MIT */
/* What SGD does with one parameter once its gradient is known: v = momentum v + g + decay w (decay of weights of
 * convolutions and fully connected layers only), w -= rate v. */
#ifndef KERNELS_UPDATE_CUH
#define KERNELS_UPDATE_CUH

#include "kernels/math.cuh"
#include "kernels/shared.h"

/* A parameter w and its velocity v, as they were, to what they become. */
__device__ __forceinline__ void step_parameter(const cuda_rates &rates, float gradient, bool decays, float *w, float *v)
{
    if (decays)
        gradient += rates.decay * *w;
    *v = gradient + rates.momentum * *v;
    *w -= rates.rate * *v;
}

__device__ __forceinline__ void store_parameter(const cuda_update &update, long long at, float gradient, float w,
                                                float v)
{
    if (update.gradient)
        update.gradient[at] = gradient;
    if (update.velocity)
        update.velocity[at] = v;
    update.parameters[at] = w;
}

/* Parameter `at` of the arena. Returns its new value. */
__device__ __forceinline__ float update_parameter(const cuda_update &update, const cuda_rates &rates, long long at,
                                                  float gradient, bool decays)
{
    float w = update.parameters[at], v = update.velocity ? update.velocity[at] : 0;
    step_parameter(rates, gradient, decays, &w, &v);
    store_parameter(update, at, gradient, w, v);
    return w;
}

#endif
