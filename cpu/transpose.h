/* SPDX-License-Identifier: MIT */
/* A square of vectors transposed in registers: lane j of row i changes places with lane i of row j. Bit by bit of the
 * index: for each bit, rows that differ in it exchange the lanes that differ in it, 2 shuffles for 2 rows. */
#ifndef CPU_TRANSPOSE_H
#define CPU_TRANSPOSE_H

#include "cpu/simd.h"

/* Rows a and b = a + bit: their lanes exchanged. */
CPU_INLINE void vec_exchange(vec *a, vec *b, const int bit)
{
    vec low, high;
#if VEC_WIDTH == 16
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(bit));
    __m512i of_b = _mm512_add_epi32(lane, _mm512_set1_epi32(16)), shift = _mm512_set1_epi32(bit);
    low = (vec)_mm512_permutex2var_ps((__m512)*a, _mm512_mask_sub_epi32(lane, upper, of_b, shift), (__m512)*b);
    high = (vec)_mm512_permutex2var_ps((__m512)*a, _mm512_mask_mov_epi32(_mm512_add_epi32(lane, shift), upper, of_b),
                                       (__m512)*b);
#elif VEC_WIDTH == 8
    __m256 x = (__m256)*a, y = (__m256)*b;
    if (bit == 1) {
        low = (vec)_mm256_blend_ps(x, _mm256_permute_ps(y, 0xa0), 0xaa);
        high = (vec)_mm256_blend_ps(_mm256_permute_ps(x, 0xf5), y, 0xaa);
    } else if (bit == 2) {
        low = (vec)_mm256_shuffle_ps(x, y, 0x44);
        high = (vec)_mm256_shuffle_ps(x, y, 0xee);
    } else {
        low = (vec)_mm256_permute2f128_ps(x, y, 0x20);
        high = (vec)_mm256_permute2f128_ps(x, y, 0x31);
    }
#else
    float x[VEC_WIDTH], y[VEC_WIDTH];
    vec_store(x, *a);
    vec_store(y, *b);
    for (int lane = 0; lane < VEC_WIDTH; lane++)
        if (lane & bit) {
            float from_x = x[lane];
            x[lane] = y[lane - bit];
            y[lane - bit] = from_x;
        }
    low = vec_load(x);
    high = vec_load(y);
#endif
    *a = low;
    *b = high;
}

CPU_INLINE void vec_exchange_all(vec rows[VEC_WIDTH], const int bit)
{
    CPU_UNROLL
    for (int i = 0; i < VEC_WIDTH; i++)
        if (!(i & bit))
            vec_exchange(&rows[i], &rows[i + bit], bit);
}

CPU_INLINE void vec_transpose(vec rows[VEC_WIDTH])
{
    if (VEC_WIDTH > 1)
        vec_exchange_all(rows, 1);
    if (VEC_WIDTH > 2)
        vec_exchange_all(rows, 2);
    if (VEC_WIDTH > 4)
        vec_exchange_all(rows, 4);
    if (VEC_WIDTH > 8)
        vec_exchange_all(rows, 8);
}

#endif
