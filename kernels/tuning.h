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

/* Convolutions on tensor cores: from so many maps and terms on, below which fragments are mostly padding and the output
 * is most of the work; at most so many taps, whose table lies in shared memory; and from so many multiply-adds on,
 * below which packing the weights costs more than it brings. */
#define TENSOR_CONV_MAPS 12
#define TENSOR_CONV_TERMS 64
#define TENSOR_CONV_TAPS 1024
#define TENSOR_CONV_MACS 64e6

/* Weight gradients by mma.sync: from so many maps and multiply-adds on, and where they come to so much of the tensor
 * cores' limit in tf32, padding left out, as FFMA kernels do. */
#define TENSOR_WEIGHTS_MAPS 12
#define TENSOR_WEIGHTS_MACS 64e6
#define TENSOR_WEIGHTS_SHARE 0.05

/* Weight gradients by Hopper's tensor instructions: rows are weights, 128 or 256 in a block, and deltas are packed
 * first.
 */
#define WGMMA_WEIGHTS_MAPS 48
#define WGMMA_WEIGHTS_TERMS 512
#define WGMMA_WEIGHTS_MACS 1e9

/* Convolutions whose rows are images: from so many of them and so many maps on, and where useful multiply-adds of a
 * multiprocessor come to so many in a clock. They are reckoned from its tf32 multiply-adds in a clock, as this kernel
 * comes to, bytes that L2 gives it, the start of a block, and an output put. */
#define IMAGES_BATCH 48
#define IMAGES_MAPS 12
#define IMAGES_LEAST 75.0
#define IMAGES_MACS 540.0
#define IMAGES_BYTES 26.0
#define IMAGES_START 4000.0
#define IMAGES_PUT 0.25

/* Strips are taken from this many threads per multiprocessor on; in tf32 up to fewer maps than these, where tensor
 * cores do better. */
#define STRIP_ITEMS 24
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

/* A step of up to FEW_IMAGES images is fused where its convolutions are small: so many multiply-adds of a batch, beyond
 * which tiles win by what they save of loads; weights of a map and maps as they fit in shared memory; floats of the
 * outputs of small last layers, and their weights. */
#define FUSED_MACS 24e6
#define FUSED_WEIGHTS 3072
#define FUSED_MAPS 256
#define FUSED_OUTPUTS 2048
#define FUSED_TAIL_WEIGHTS 16384
#define FUSED_SLICES 16 /* blocks that share the pixels of a weight gradient */

/* Up to so many words of a batch are brought over by a kernel instead of a copy engine. The host looks so often for the
 * answer before it waits for the stream: about a millisecond, far beyond such a step. */
#define MAPPED_WORDS (1 << 16)
#define MAPPED_LOOKS (1 << 20)

#endif
