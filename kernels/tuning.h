/* SPDX-License-Identifier: MIT */
/* Constants that were chosen by measurement, apart from the kernels that use them. */
#ifndef KERNELS_TUNING_H
#define KERNELS_TUNING_H

/* Up to this many images a fully connected layer is a product of a matrix and few vectors: a warp for each output. */
#define FEW_IMAGES 8

/* Slices of a weight gradient: at least this many terms each, at most so many floats of partial sums in all, and at
 * most so many slices for the update to add up. */
#define SLICE_TERMS 128
#define SLICE_FLOATS ((long long)48 << 20)
#define SLICES_MOST 256

/* The terms of a tile go to several blocks where there are few tiles: up to this many blocks per multiprocessor, each
 * with at least so many rounds of terms. */
#define SPLIT_BLOCKS 2
#define SPLIT_ROUNDS 2
#define SPLIT_MOST 64

/* Tensor cores (tf32) are taken from this many maps on, and from this many terms of a sum; below, tiles would be mostly
 * padding. */
#define TENSOR_MAPS 24
#define TENSOR_TERMS 32

/* Strips are taken from this many threads per multiprocessor on; in tf32 up to fewer maps than these, where tensor
 * cores do better. */
#define STRIP_ITEMS 64
#define STRIP_TENSOR_MAPS 48

/* A fully connected layer over few images gets a warp per unit up to so many inputs; beyond, several blocks per unit.
 */
#define FEW_INPUTS 4096

/* Fully connected layers in fp32 are made of three products of tensor cores where sums have so many terms; shorter ones
 * would be less accurate than plain ones (their largest error is theirs at 32 to 64). */
#define SPLIT_TERMS 64

/* What product_plan.cuh reckons with, in cycles of a multiprocessor: multiply-adds of tensor cores by mma.sync; the
 * start of a tile and the floats that it puts; the wait of blocks that join their sums, and the floats joined; floats
 * of a weight gradient's slices that the update reads. */
#define TENSOR_CYCLE 610.0
#define PRODUCT_START 2000.0
#define PRODUCT_PUT 8.0
#define PRODUCT_JOIN 3000.0
#define PRODUCT_JOIN_FLOATS 10.0
#define SLICE_PUT 200.0

#endif
