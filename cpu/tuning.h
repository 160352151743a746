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

/* Weight gradients: a layer has at least this many tiles where its partial gradients fit in L2, one for each slot of
 * blocks. */
#define GRADIENT_TILES 32
#define GRADIENT_SLOT_FLOATS 65536

/* Deltas of a band of rows: half of L1, which has 48 KiB on most processors with AVX-512 and 32 KiB on others. */
#if VEC_WIDTH == 16
#define GRADIENT_BAND_FLOATS 6144
#else
#define GRADIENT_BAND_FLOATS 4096
#endif

/* Inputs of a convolution that pass by while sums wait: half of a 1 MiB L2 (two threads may share one of 2 MiB); with
 * shorter vectors L2 is often 512 KiB, where this took 5 to 8 % less time than 512 KiB for stack and for LeNet-5 of
 * width 16 (AMD EPYC, AVX2). */
#if VEC_WIDTH == 16
#define SOURCE_FLOATS 131072
#else
#define SOURCE_FLOATS 49152
#endif

/* Units of a fully connected layer whose weights' cache lines stay in L1 from one tile of inputs to the next. */
#define BACKWARD_UNITS 256

#endif
