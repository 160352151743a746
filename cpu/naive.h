/* SPDX-License-Identifier: MIT */
/* What the plain kernels share: activations by the C library, and whole-map helpers of one image. */
#ifndef CPU_NAIVE_H
#define CPU_NAIVE_H

#include "cpu/kernel.h"

#include <math.h>

static inline float naive_activate(enum cnn_activation kind, float x)
{
    switch (kind) {
    case CNN_TANH:
        return tanhf(x);
    case CNN_LECUN_TANH:
        return 1.7159f * tanhf(2.0f / 3.0f * x);
    case CNN_LOGISTIC:
        return 1.0f / (1.0f + expf(-x));
    case CNN_RELU:
        return x < 0 ? 0 : x; /* NaN passes */
    default:
        return x;
    }
}

/* The slope of the activation, from its value y. */
static inline float naive_slope(enum cnn_activation kind, float y)
{
    switch (kind) {
    case CNN_TANH:
        return 1 - y * y;
    case CNN_LECUN_TANH:
        return 1.7159f * 2.0f / 3.0f - y * y * (2.0f / 3.0f / 1.7159f);
    case CNN_LOGISTIC:
        return y * (1 - y);
    case CNN_RELU:
        return y > 0 ? 1 : y - y; /* 0, and NaN stays NaN */
    default:
        return 1;
    }
}

static inline void naive_clear(const struct cpu_tensor *t, int image)
{
    for (int map = 0; map < t->maps; map++)
        for (int row = 0; row < t->rows; row++) {
            float *at = cpu_pixel(t, image, map, row, 0);
            for (int col = 0; col < t->cols; col++)
                at[(int64_t)col * t->lanes] = 0;
        }
}

/* Turns the gradient by the layer's input into the delta of the layer below. */
static inline void naive_apply_slope(const struct cpu_job *job, int image)
{
    if (job->below == CNN_LINEAR)
        return;
    for (int map = 0; map < job->dx.maps; map++)
        for (int row = 0; row < job->dx.rows; row++) {
            float *dx = cpu_pixel(&job->dx, image, map, row, 0);
            const float *y = cpu_pixel(&job->x, image, map, row, 0);
            for (int64_t at = 0; at < (int64_t)job->dx.cols * job->lanes; at += job->lanes)
                dx[at] *= naive_slope(job->below, y[at]);
        }
}

#endif
