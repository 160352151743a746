/* SPDX-License-Identifier: MIT */
/* The loops behind ceiling(), compiled once for each instruction set like the kernels they are the limit of. */
#ifndef CPU_CEILING_LOOPS_H
#define CPU_CEILING_LOOPS_H

#include <stdint.h>

#define CEILING_READ_FLOATS 256 /* read() takes whole blocks of these: 1 KiB */

/* What comes back of both is their answer, which must be used, or the compiler leaves the loop out. */
struct cpu_ceiling_loops {
    float (*fma)(int64_t rounds, float factor, float term); /* multiply-adds in registers alone */
    int flops_of_round;
    float (*read)(const float *from, int64_t floats); /* a sum over memory aligned to 64 bytes */
};

extern const struct cpu_ceiling_loops cpu_ceiling_loops_scalar, cpu_ceiling_loops_avx2, cpu_ceiling_loops_avx512,
    cpu_ceiling_loops_neon;

#endif
