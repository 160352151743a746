/* SPDX-License-Identifier: MIT */
/* Two loops that nothing but the processor limits.
 *
 * Multiply-adds: chains that do not depend on each other, so many that both units of x86 (four of Arm) are busy for the
 * 4 cycles that one takes: 8 (16) are needed, and registers are there for 12 beside the two operands. `scalar` has no
 * fused instruction and does a product and a sum. Values tend to term / (1 - factor): neither overflow nor subnormals.
 *
 * Reading: sums into independent vectors, so that loads are the limit and not the latency of the sum. */
#include "cpu/ceiling_loops.h"
#include "cpu/simd.h"

#define CHAINS (VEC_WIDTH == 4 ? 16 : 12)
#define SUMS (VEC_WIDTH == 1 ? 4 : 8)

static float fma_loop(int64_t rounds, float factor, float term)
{
    vec chain[CHAINS], by = vec_set(factor), add = vec_set(term);
    for (int i = 0; i < CHAINS; i++)
        chain[i] = vec_set((float)i);
    for (int64_t round = 0; round < rounds; round++)
        for (int i = 0; i < CHAINS; i++)
            chain[i] = chain[i] * by + add;
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += vec_sum(chain[i]);
    return sum;
}

static float read_loop(const float *from, int64_t floats)
{
    vec sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = vec_set(0);
    for (int64_t at = 0; at < floats; at += SUMS * VEC_WIDTH)
        for (int i = 0; i < SUMS; i++)
            sum[i] += vec_load(from + at + i * VEC_WIDTH);
    float all = 0;
    for (int i = 0; i < SUMS; i++)
        all += vec_sum(sum[i]);
    return all;
}

const struct cpu_ceiling_loops CPU_SYMBOL(cpu_ceiling_loops) = { fma_loop, 2 * CHAINS *VEC_WIDTH, read_loop };
