/* SPDX-License-Identifier: MIT */
/* One vector type for every instruction set. Kernel files are compiled once per set, with CPU_ISA_<SET> defined; what
 * they define carries the set's name through CPU_SYMBOL(). a * b + c contracts to one FMA (-ffp-contract=fast in these
 * files alone). `scalar` has vectors of one float, and its files are built with the vectorisers off. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CPU_PASTE_(a, b) a##_##b
#define CPU_PASTE(a, b) CPU_PASTE_(a, b)
#define CPU_SYMBOL(name) CPU_PASTE(name, CPU_ISA_SUFFIX)
#define CPU_INLINE static inline __attribute__((always_inline))

/* Before a loop over the lanes of a register tile, whose count is a constant after inlining: its sums are registers
 * only where it is unrolled. gcc wants the largest count there is. */
#if defined(__clang__)
#define CPU_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CPU_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(CPU_ISA_AVX512)
#define CPU_ISA_SUFFIX avx512
#define VEC_WIDTH 16
#elif defined(CPU_ISA_AVX2)
#define CPU_ISA_SUFFIX avx2
#define VEC_WIDTH 8
#elif defined(CPU_ISA_NEON)
#define CPU_ISA_SUFFIX neon
#define VEC_WIDTH 4
#else
#define CPU_ISA_SUFFIX scalar
#define VEC_WIDTH 1
#endif

#if VEC_WIDTH >= 8
#include <immintrin.h>
#endif

#if VEC_WIDTH > 1
typedef float vec __attribute__((vector_size(4 * VEC_WIDTH)));
typedef int32_t ivec __attribute__((vector_size(4 * VEC_WIDTH)));
typedef float vec_unaligned __attribute__((vector_size(4 * VEC_WIDTH), aligned(4), may_alias));

CPU_INLINE vec vec_load(const float *from)
{
    return *(const vec_unaligned *)from;
}

CPU_INLINE void vec_store(float *to, vec v)
{
    *(vec_unaligned *)to = v;
}

CPU_INLINE vec vec_set(float value)
{
    return value - (vec){ 0 };
}

/* mask ? a : b, lane by lane; masks come from comparisons: all ones or zero */
CPU_INLINE vec vec_select(ivec mask, vec a, vec b)
{
    return (vec)((mask & (ivec)a) | (~mask & (ivec)b));
}
#else
typedef float vec;
typedef int32_t ivec;

CPU_INLINE vec vec_load(const float *from)
{
    return *from;
}

CPU_INLINE void vec_store(float *to, vec v)
{
    *to = v;
}

CPU_INLINE vec vec_set(float value)
{
    return value;
}

CPU_INLINE vec vec_select(ivec mask, vec a, vec b)
{
    return mask ? a : b;
}
#endif

/* a < b ? x : y, lane by lane: one comparison and one blend where the set has them. False where a or b is NaN. */
CPU_INLINE vec vec_select_less(vec a, vec b, vec x, vec y)
{
#if VEC_WIDTH == 16
    return (vec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ), (__m512)y, (__m512)x);
#elif VEC_WIDTH == 8
    return (vec)_mm256_blendv_ps((__m256)y, (__m256)x, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ));
#else
    return vec_select(a < b, x, y);
#endif
}

/* The sign bit alone, and the value without it; or-ing them gives the value back. */
CPU_INLINE ivec vec_bits(vec v)
{
    ivec bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

CPU_INLINE vec vec_from_bits(ivec bits)
{
    vec v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* a / b within 1 ulp for b in the normal range and a quotient there. AVX-512 divides 16 lanes in 16 cycles or more; an
 * estimate of 14 bits, one Newton step and one correction of the quotient take a quarter of that. */
CPU_INLINE vec vec_divide(vec a, vec b)
{
#if VEC_WIDTH == 16
    vec inverse = (vec)_mm512_rcp14_ps((__m512)b);
    inverse = inverse * (vec_set(2.0f) - b * inverse);
    vec quotient = a * inverse;
    return quotient + inverse * (a - b * quotient);
#else
    return a / b;
#endif
}

/* The smaller, lane by lane; b where either is NaN. */
CPU_INLINE vec vec_min(vec a, vec b)
{
#if VEC_WIDTH == 16
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif VEC_WIDTH == 8
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return vec_select(a < b, a, b);
#endif
}

/* Unsigned lanes: bits shifted out are lost, also at the sign, and a sum wraps. */
#if VEC_WIDTH > 1
typedef uint32_t uvec __attribute__((vector_size(4 * VEC_WIDTH)));
#else
typedef uint32_t uvec;
#endif

CPU_INLINE ivec vec_shift_left(ivec bits, int by)
{
    return (ivec)((uvec)bits << by);
}

CPU_INLINE ivec vec_add_bits(ivec a, ivec b)
{
    return (ivec)((uvec)a + (uvec)b);
}

/* Lanes 0..n-1 of a mask, n <= VEC_WIDTH. */
#if VEC_WIDTH == 8
CPU_INLINE __m256i vec_first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

/* The first `n` lanes; the others are zero and never touched in memory. */
CPU_INLINE vec vec_load_first(const float *from, int n)
{
    if (n >= VEC_WIDTH)
        return vec_load(from);
#if VEC_WIDTH == 16
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);
#elif VEC_WIDTH == 8
    return (vec)_mm256_maskload_ps(from, vec_first_lanes(n));
#else
    vec v = vec_set(0);
    memcpy(&v, from, (size_t)n * sizeof *from);
    return v;
#endif
}

CPU_INLINE void vec_store_first(float *to, vec v, int n)
{
    if (n >= VEC_WIDTH) {
        vec_store(to, v);
        return;
    }
#if VEC_WIDTH == 16
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)v);
#elif VEC_WIDTH == 8
    _mm256_maskstore_ps(to, vec_first_lanes(n), (__m256)v);
#else
    memcpy(to, &v, (size_t)n * sizeof *to);
#endif
}

/* Every `step`-th float. */
CPU_INLINE vec vec_gather(const float *from, int64_t step, int n)
{
    float lanes[VEC_WIDTH];
    for (int i = 0; i < VEC_WIDTH; i++)
        lanes[i] = i < n ? from[i * step] : 0;
    return vec_load(lanes);
}

/* Sum of the lanes, halves first: a fixed order, the same for every set of that width. */
CPU_INLINE float vec_sum(vec v)
{
#if VEC_WIDTH >= 8
#if VEC_WIDTH == 16
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
#else
    __m256 half = (__m256)v;
#endif
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
    float lanes[VEC_WIDTH];
    vec_store(lanes, v);
    for (int half = VEC_WIDTH / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
#endif
}

/* Every second lane of a and b side by side: from the first on, or with `odd` from the second. */
CPU_INLINE vec vec_unzip(vec a, vec b, const int odd)
{
#if VEC_WIDTH == 16
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return (vec)_mm512_permutex2var_ps((__m512)a, _mm512_add_epi32(even, _mm512_set1_epi32(odd)), (__m512)b);
#elif VEC_WIDTH == 8
    __m256 lanes = odd ? _mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd) : _mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
    return (vec)_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(lanes), 0xd8));
#else
    float lanes[2 * VEC_WIDTH], every[VEC_WIDTH];
    vec_store(lanes, a);
    vec_store(lanes + VEC_WIDTH, b);
    for (int i = 0; i < VEC_WIDTH; i++)
        every[i] = lanes[2 * i + odd];
    return vec_load(every);
#endif
}

/* Lanes of a and b in turn: the first half of all, or with `second` the other; undoes vec_unzip(). */
CPU_INLINE vec vec_zip(vec a, vec b, const int second)
{
#if VEC_WIDTH == 16
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return (vec)_mm512_permutex2var_ps((__m512)a, _mm512_add_epi32(first, _mm512_set1_epi32(8 * second)), (__m512)b);
#elif VEC_WIDTH == 8
    __m256 low = _mm256_unpacklo_ps((__m256)a, (__m256)b), high = _mm256_unpackhi_ps((__m256)a, (__m256)b);
    return (vec)(second ? _mm256_permute2f128_ps(low, high, 0x31) : _mm256_permute2f128_ps(low, high, 0x20));
#else
    float lanes[2 * VEC_WIDTH], of_a[VEC_WIDTH], of_b[VEC_WIDTH];
    vec_store(of_a, a);
    vec_store(of_b, b);
    for (int i = 0; i < VEC_WIDTH; i++) {
        lanes[2 * i] = of_a[i];
        lanes[2 * i + 1] = of_b[i];
    }
    return vec_load(lanes + second * VEC_WIDTH);
#endif
}

#endif
