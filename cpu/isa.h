/* SPDX-License-Identifier: MIT */
/* Instruction sets: which kernels are compiled in, and which of them this processor can run. `scalar` kernels are
 * compiled with the vectorisers off and hold no packed arithmetic; those of the other sets at -O3 for that set, so that
 * the plain loops of `naive` are there both as a program of 2010 ran them and as a compiler of today does. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <stdbool.h>
#include <stddef.h>

enum cpu_isa { CPU_SCALAR, CPU_AVX2, CPU_AVX512, CPU_NEON, CPU_ISA_COUNT };

const char *cpu_isa_name(enum cpu_isa isa); /* "scalar", "avx2", "avx512", "neon" */

/* Compiled in and runnable on this processor (asked by cpuid, including the operating system's part). */
bool cpu_isa_usable(enum cpu_isa isa);

/* The best usable one. */
enum cpu_isa cpu_isa_best(void);

/* By name; false with *known telling whether the word exists at all. */
bool cpu_isa_parse(const char *name, enum cpu_isa *out, bool *known);

/* Floats in a vector. */
int cpu_isa_width(enum cpu_isa isa);

#endif
