/* SPDX-License-Identifier: MIT */
/* The device memory of a program: one allocation per class, carved twice, first to add up the sizes and then for real.
 * In a guarded program each piece stands between canaries. */
#ifndef KERNELS_MEMORY_H
#define KERNELS_MEMORY_H

#include "lib/status.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_CANARY_WORDS 64 /* before and behind a piece; a piece starts at a multiple of 256 bytes */
#define CUDA_CANARY 0xdeadc0deu

enum cuda_class { CUDA_PARAMETERS, CUDA_GRADIENTS, CUDA_ACTIVATIONS, CUDA_WORKSPACE, CUDA_BATCHES, CUDA_CLASS_COUNT };

/* A piece, for the canaries of a guarded program. */
struct cuda_region {
    float *data;
    int64_t size; /* words of 4 bytes */
};

struct cuda_memory {
    float *base[CUDA_CLASS_COUNT];
    int64_t size[CUDA_CLASS_COUNT]; /* words */
    bool guarded, overflow;
    struct cuda_region *regions; /* guarded only: on the host, and a copy on the device */
    struct cuda_region *device_regions;
    char (*names)[48];
    int region_count, region_capacity;
    int *broken; /* on the device: number of the first broken region, or a large number */
};

void cuda_memory_begin(struct cuda_memory *memory, bool guarded);
/* `count` words of 4 bytes, zero at first. Sizes are added up while base[class] is NULL. index < 0: no number. */
void *cuda_carve(struct cuda_memory *memory, enum cuda_class class_, int64_t count, const char *name, int index);
int64_t cuda_memory_bytes(const struct cuda_memory *memory);
/* CNN_OOM, with nothing taken, where the device has less free than is needed. */
int cuda_memory_take(struct cuda_memory *memory, struct cnn_error *error);
/* After the second carving: writes the canaries and fills what starts as NaN. */
int cuda_memory_guard(struct cuda_memory *memory, struct cnn_error *error);
void cuda_memory_free(struct cuda_memory *memory);
/* CNN_ERROR that names the first region whose canary was written over. */
int cuda_memory_check(const struct cuda_memory *memory, cudaStream_t stream, struct cnn_error *error);

/* guard.cu */
cudaError_t cuda_guard_write(const struct cuda_region *regions, int count, cudaStream_t stream);
cudaError_t cuda_guard_check(const struct cuda_region *regions, int count, int *broken, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
