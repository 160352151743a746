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
    /* the integer n moves into the exponent; what stood above it falls out */
    return vec_from_bits(vec_add_bits(vec_bits(p), vec_shift_left(vec_bits(shifted), 23)));
}

/* exp(x), outside [-87, 88] that of the nearest end. Within 4 ulp. NaN stays NaN: clamps are by comparison. */
CPU_INLINE vec vec_exp(vec x)
{
    vec clamped = vec_select_less(vec_set(88.0f), x, vec_set(88.0f), x);
    clamped = vec_select_less(clamped, vec_set(-87.0f), vec_set(-87.0f), clamped);
    return vec_select(x == x, vec_exp_core(clamped), x);
}

/* tanh(x), within 4 ulp. With e = exp(2|x|) - 1, tanh |x| = e / (e + 2), and e = 2^n p + (2^n - 1) where |x| = n ln2 /
 * 2 + r and p = exp(2r) - 1: for small x n is 0 and e keeps its relative precision, so one branch serves all x. p / r
 * is a minimax fit of degree 5 and relative error 1e-8 on [-ln2/4, ln2/4] (weighted least squares iterated to equal
 * ripple). From 9.02 on tanh rounds to 1. */
CPU_INLINE vec vec_tanh(vec x)
{
    const float round = 12582912.0f + 127; /* as in vec_exp_core, with the bias of an exponent */
    ivec sign = vec_bits(x) & (int32_t)0x80000000;
    vec size = vec_min(vec_set(9.02f), vec_from_bits(vec_bits(x) ^ sign));
    vec shifted = size * vec_set(2.88539008f) + vec_set(round);
    vec r = size - (shifted - vec_set(round)) * vec_set(0.34657359f);
    vec p = vec_set(0.08888708089f);
    p = p * r + vec_set(0.26781245884f);
    p = p * r + vec_set(0.66667427336f);
    p = p * r + vec_set(1.3333204469f);
    p = p * r + vec_set(1.9999999241f);
    p = p * r + vec_set(2.0000000214f);
    p = p * r;
    vec scale = vec_from_bits(vec_shift_left(vec_bits(shifted), 23)); /* 2^n */
    vec e = scale * p + (scale - vec_set(1.0f));
    return vec_from_bits(vec_bits(vec_divide(e, e + vec_set(2.0f))) | sign);
}

CPU_INLINE vec vec_activate(enum cnn_activation kind, vec x)
{
    switch (kind) {
    case CNN_TANH:
        return vec_tanh(x);
    case CNN_LECUN_TANH:
        return vec_set(1.7159f) * vec_tanh(vec_set(2.0f / 3.0f) * x);
    case CNN_LOGISTIC:
        return vec_divide(vec_set(1.0f), vec_set(1.0f) + vec_exp(-x));
    case CNN_RELU:
        return vec_select_less(x, vec_set(0), vec_set(0), x); /* NaN passes */
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
        return vec_select_less(vec_set(0), y, vec_set(1.0f), y - y); /* 0, and NaN stays NaN */
    default:
        return vec_set(1.0f);
    }
}

#endif
