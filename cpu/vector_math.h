/* SPDX-License-Identifier: MIT */
/* Activations and their slopes on vectors. The activation errors stated here are checked over all floats by
 * tests/unit/test_vector_math.c. */
#ifndef CPU_VECTOR_MATH_H
#define CPU_VECTOR_MATH_H

#include "cpu/simd.h"
#include "lib/layout.h"

/* 2^n times a degree-6 polynomial on [-ln2/2, ln2/2]; x in [-87, 88]. NaN may be lost here. */
CPU_INLINE vec vec_exp_core(vec x)
{
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    vec shifted = x * vec_set(1.44269504f) + vec_set(round);
    vec n = shifted - vec_set(round);
    vec r = x - n * vec_set(0.693359375f); /* ln 2 in two parts, the first exact in 9 bits */
    r = r - n * vec_set(-2.12194440e-4f);
    vec p = vec_set(1.0f / 720);
    p = p * r + vec_set(1.0f / 120);
    p = p * r + vec_set(1.0f / 24);
    p = p * r + vec_set(1.0f / 6);
    p = p * r + vec_set(0.5f);
    p = p * r + vec_set(1.0f);
    p = p * r + vec_set(1.0f);
    ivec bits, value;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&value, &p, sizeof value);
    value += vec_shift_left(bits, 23); /* the integer n moves into the exponent; what stood above it falls out */
    memcpy(&p, &value, sizeof p);
    return p;
}

/* exp(x), outside [-87, 88] that of the nearest end. Within 3 ulp. NaN stays NaN: clamps are by comparison. */
CPU_INLINE vec vec_exp(vec x)
{
    x = vec_select(x > vec_set(88.0f), vec_set(88.0f), x);
    x = vec_select(x < vec_set(-87.0f), vec_set(-87.0f), x);
    return vec_select(x == x, vec_exp_core(x), x);
}

/* tanh(x), within 3 ulp: below 0.625 x + x t R(t) with t = x^2 and R a minimax fit of relative error 4e-9 (weighted
 * least squares iterated to equal ripple), above it 1 - 2 / (exp(2|x|) + 1), which does not cancel there. From 9.02 on
 * tanh rounds to 1. */
CPU_INLINE vec vec_tanh(vec x)
{
    vec size = vec_select(x < vec_set(0), -x, x);
    vec t = x * x;
    vec r = vec_set(-0.00571703675f);
    r = r * t + vec_set(0.02065057934f);
    r = r * t + vec_set(-0.05374349544f);
    r = r * t + vec_set(0.1333149125f);
    r = r * t + vec_set(-0.3333328392f);
    vec small = x * t * r + x;
    vec clamped = vec_select(size > vec_set(9.02f), vec_set(9.02f), size);
    vec large = vec_set(1.0f) - vec_set(2.0f) / (vec_exp_core(clamped + clamped) + vec_set(1.0f));
    large = vec_select(x < vec_set(0), -large, large);
    return vec_select(size >= vec_set(0.625f), large, small); /* NaN compares false and passes through `small` */
}

CPU_INLINE vec vec_activate(enum cnn_activation kind, vec x)
{
    switch (kind) {
    case CNN_TANH:
        return vec_tanh(x);
    case CNN_LECUN_TANH:
        return vec_set(1.7159f) * vec_tanh(vec_set(2.0f / 3.0f) * x);
    case CNN_LOGISTIC:
        return vec_set(1.0f) / (vec_set(1.0f) + vec_exp(-x));
    case CNN_RELU:
        return vec_select(x < vec_set(0), vec_set(0), x); /* NaN passes */
    default:
        return x;
    }
}

/* The slope of the activation, from its value y. */
CPU_INLINE vec vec_slope(enum cnn_activation kind, vec y)
{
    switch (kind) {
    case CNN_TANH:
        return vec_set(1.0f) - y * y;
    case CNN_LECUN_TANH: /* 1.7159 * 2/3 * (1 - (y / 1.7159)^2) */
        return vec_set(1.7159f * 2.0f / 3.0f) - y * y * vec_set(2.0f / 3.0f / 1.7159f);
    case CNN_LOGISTIC:
        return y - y * y;
    case CNN_RELU:
        return vec_select(y > vec_set(0), vec_set(1.0f), y - y); /* 0, and NaN stays NaN */
    default:
        return vec_set(1.0f);
    }
}

#endif
