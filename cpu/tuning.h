/* SPDX-License-Identifier: MIT */
/* Constants that were chosen by measurement, apart from the kernels that use them. */
#ifndef CPU_TUNING_H
#define CPU_TUNING_H

#include "cpu/simd.h"

/* Register tile of a convolution: maps x units (pixels, or column vectors). Accumulators, one weight and the inputs of
 * a tap must fit in the registers: 32 of them with AVX-512 and NEON, 16 otherwise. */
#if VEC_WIDTH == 16 || defined(CPU_ISA_NEON)
#define TILE_MAPS 6
#define TILE_UNITS 4
#define GRADIENT_VECTORS 20 /* accumulators of a weight gradient: maps x kernel columns */
#else
#define TILE_MAPS 3
#define TILE_UNITS 4
#define GRADIENT_VECTORS 10
#endif

/* Vector multiply-adds that make a tile worth dealing to a thread (about 10 us). */
#define TILE_WORK 32768

/* Partial weight gradients are kept per slot of blocks until a layer has this many tiles, and while they fit in L2. */
#define GRADIENT_TILES 64
#define GRADIENT_SLOT_FLOATS 65536

/* A step with fewer multiply-adds than this per thread runs on one thread: a barrier costs about 1 us, and a network's
 * step has about 20 of them. */
#define STEP_MACS_PER_THREAD 1000000

#endif
