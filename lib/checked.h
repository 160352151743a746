/* SPDX-License-Identifier: MIT */
/* Size arithmetic that cannot wrap: every count, byte number and offset of the project goes through here before memory
 * is taken. A false return means "does not fit"; *out is then untouched. */
#ifndef CNN_LIB_CHECKED_H
#define CNN_LIB_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool cnn_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool cnn_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

/* a * b * c */
static inline bool cnn_mul3(int64_t a, int64_t b, int64_t c, int64_t *out)
{
    int64_t product;
    if (!cnn_mul(a, b, &product) || !cnn_mul(product, c, &product))
        return false;
    *out = product;
    return true;
}

/* *out += a * b */
static inline bool cnn_accumulate(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    return cnn_mul(a, b, &product) && cnn_add(*out, product, out);
}

/* Bytes of `count` elements, as size_t for an allocator. */
static inline bool cnn_bytes(int64_t count, size_t element, size_t *out)
{
    return count >= 0 && !__builtin_mul_overflow((size_t)count, element, out);
}

#endif
