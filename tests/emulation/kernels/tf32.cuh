/* SPDX-License-Identifier: MIT */
/* In place of kernels/tf32.cuh: a warp's tensor-core products, worked out by the last of its lanes to come. Operands
 * lose the bits below 11 of mantissa, products are exact, and 8 of them and the sum so far are added up in double and
 * cut off to fp32, towards zero as tensor cores do: more accurate than theirs, where each term is cut off. */
#ifndef KERNELS_TF32_CUH
#define KERNELS_TF32_CUH

#define HAS_TF32 1

/* To 11 bits, ties away from zero. */
inline float tf32_round(float value)
{
    unsigned bits = __float_as_uint(value);
    return isfinite(value) ? __uint_as_float((bits + 0x1000u) & 0xffffe000u) : value;
}

/* What a tensor core reads of an operand. */
inline float emulated_tf32(unsigned bits)
{
    return __uint_as_float(bits & 0xffffe000u);
}

inline float emulated_cut(double sum)
{
    float near = (float)sum;
    return isfinite(near) && fabs((double)near) > fabs(sum) ? nextafterf(near, 0.0f) : near;
}

/* d[16][8] = c[16][8] + a[16][8] b[8][8] of a warp; element (row, column) of c and d is in lane row % 8 * 4 + column /
 * 2, number row / 8 * 2 + column % 2. */
inline void emulated_product(float *const *d, const unsigned *const *a, const float (&b)[8][8], bool add)
{
    double sums[16][8];
    float left[16][8];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            left[lane / 4 + i % 2 * 8][lane % 4 + i / 2 * 4] = emulated_tf32(a[lane][i]);
            sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = add ? d[lane][i] : 0;
        }
    for (int row = 0; row < 16; row++)
        for (int term = 0; term < 8; term++)
            for (int column = 0; column < 8; column++)
                sums[row][column] += (double)left[row][term] * b[term][column];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            d[lane][i] = emulated_cut(sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
}

inline void tf32_multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    struct operands {
        float *sum;
        const unsigned *a, *b;
    } own = { sum, a, b };
    emulated_collective("tf32_multiply_add", 0xffffffffu, &own, [](void *const *lanes) {
        float *sums[32], right[8][8];
        const unsigned *left[32];
        for (int lane = 0; lane < 32; lane++) {
            const operands *o = (const operands *)lanes[lane];
            if (!o)
                emulated_stop("a product of tensor cores in a warp of fewer than 32 threads");
            sums[lane] = o->sum;
            left[lane] = o->a;
            for (int i = 0; i < 2; i++)
                right[lane % 4 + i * 4][lane / 4] = emulated_tf32(o->b[i]);
        }
        emulated_product(sums, left, right, true);
    });
}

#endif
