/* SPDX-License-Identifier: MIT */
/* The kernels behind ceiling(): loops that nothing but the GPU limits. Each is launched on `blocks` blocks of
 * CUDA_CEILING_THREADS threads, and repeats what one round is so many times. */
#ifndef KERNELS_CEILING_H
#define KERNELS_CEILING_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_CEILING_THREADS 256
#define CUDA_CEILING_FFMA_FLOPS 256   /* of a thread in a round: 16 times 8 chains */
#define CUDA_CEILING_TF32_FLOPS 16384 /* of a warp in a round: 8 products of 16x8x8 */

/* `sink` is a float on the device that is never written, which the compiler cannot know. */
cudaError_t cuda_ceiling_ffma(int blocks, int64_t rounds, float *sink, cudaStream_t stream);
cudaError_t cuda_ceiling_tf32(int blocks, int64_t rounds, float *sink, cudaStream_t stream);

/* Reads `floats`, a multiple of 4, aligned to 16 bytes, once in a round. */
cudaError_t cuda_ceiling_read(int blocks, int64_t rounds, const float *from, int64_t floats, float *sink,
                              cudaStream_t stream);

/* One block of one warp with nothing to do. */
cudaError_t cuda_ceiling_nothing(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
