/* SPDX-License-Identifier: MIT */
/* Carving, taking and guarding device memory. */
#include "kernels/memory.h"
#include "kernels/fault.h"
#include "lib/checked.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGN_WORDS 64
#define RESERVE_BYTES ((size_t)64 << 20) /* left to the driver: local memory, recorded graphs */

static const char *const CLASS_NAMES[CUDA_CLASS_COUNT] = { "parameters", "gradients", "activations", "workspace",
                                                           "batches" };

void cuda_memory_begin(struct cuda_memory *memory, bool guarded)
{
    *memory = (struct cuda_memory){ .guarded = guarded };
}

static void add_region(struct cuda_memory *memory, float *data, int64_t size, const char *name, int index)
{
    if (memory->region_count == memory->region_capacity)
        return; /* sizes were added up first, so this is the second carving with a full list */
    char *text = memory->names[memory->region_count];
    memory->regions[memory->region_count++] = (struct cuda_region){ .data = data, .size = size };
    if (index >= 0)
        snprintf(text, sizeof memory->names[0], "%s %d", name, index);
    else
        snprintf(text, sizeof memory->names[0], "%s", name);
}

void *cuda_carve(struct cuda_memory *memory, enum cuda_class class, int64_t count, const char *name, int index)
{
    int64_t canary = memory->guarded ? CUDA_CANARY_WORDS : 0, at, end;
    if (count == 0)
        return NULL;
    if (count < 0 || !cnn_add(memory->size[class], canary, &at) || !cnn_add(at, count, &end) ||
        !cnn_add(end, canary + ALIGN_WORDS - 1, &end)) {
        memory->overflow = true;
        return NULL;
    }
    memory->size[class] = end / ALIGN_WORDS * ALIGN_WORDS;
    if (!memory->base[class]) {
        memory->region_capacity++;
        return NULL;
    }
    if (canary)
        add_region(memory, memory->base[class] + at, count, name, index);
    return memory->base[class] + at;
}

int64_t cuda_memory_bytes(const struct cuda_memory *memory)
{
    int64_t bytes = 0;
    for (int class = 0; class < CUDA_CLASS_COUNT; class ++)
        if (!cnn_accumulate(memory->size[class], sizeof(float), &bytes))
            return -1;
    return bytes;
}

static int check_free(const struct cuda_memory *memory, struct cnn_error *error)
{
    size_t available = 0, all = 0;
    int64_t bytes = cuda_memory_bytes(memory);
    if (cuda_check(cudaMemGetInfo(&available, &all), error, "asking for the GPU's free memory"))
        return error->status;
    if (bytes < 0 || (size_t)bytes > available || available - (size_t)bytes < RESERVE_BYTES)
        return cnn_error_set(error, CNN_OOM, "needs %.1f MiB on the GPU, %.1f of %.1f MiB are free",
                             (double)bytes / 0x1p20, (double)available / 0x1p20, (double)all / 0x1p20);
    return CNN_OK;
}

static int take_lists(struct cuda_memory *memory, struct cnn_error *error)
{
    size_t count = (size_t)memory->region_capacity;
    if (!memory->guarded || count == 0)
        return CNN_OK;
    memory->regions = calloc(count, sizeof *memory->regions);
    memory->names = calloc(count, sizeof *memory->names);
    if (!memory->regions || !memory->names)
        return cnn_error_set(error, CNN_OOM, "no memory for the list of guarded tensors");
    if (cuda_check(cudaMalloc((void **)&memory->device_regions, count * sizeof *memory->regions), error,
                   "the list of guarded tensors"))
        return error->status;
    return cuda_check(cudaMalloc((void **)&memory->broken, sizeof *memory->broken), error, "the guard's answer");
}

int cuda_memory_take(struct cuda_memory *memory, struct cnn_error *error)
{
    if (check_free(memory, error) || take_lists(memory, error))
        return error->status;
    for (int class = 0; class < CUDA_CLASS_COUNT; class ++) {
        size_t bytes;
        void *piece = NULL;
        if (!memory->size[class])
            continue;
        if (!cnn_bytes(memory->size[class], sizeof(float), &bytes))
            return cnn_error_set(error, CNN_OOM, "%s: more bytes than can be counted", CLASS_NAMES[class]);
        if (cuda_check(cudaMalloc(&piece, bytes), error, CLASS_NAMES[class]))
            return error->status;
        memory->base[class] = piece;
        memory->size[class] = 0; /* the second carving counts it up again */
        if (cuda_check(cudaMemset(piece, 0, bytes), error, CLASS_NAMES[class]))
            return error->status;
    }
    return CNN_OK;
}

int cuda_memory_guard(struct cuda_memory *memory, struct cnn_error *error)
{
    if (!memory->region_count)
        return CNN_OK;
    if (cuda_check(cudaMemcpy(memory->device_regions, memory->regions,
                              (size_t)memory->region_count * sizeof *memory->regions, cudaMemcpyHostToDevice),
                   error, "the list of guarded tensors"))
        return error->status;
    return cuda_check(cuda_guard_write(memory->device_regions, memory->region_count, 0), error, "writing canaries");
}

void cuda_memory_free(struct cuda_memory *memory)
{
    for (int class = 0; class < CUDA_CLASS_COUNT; class ++)
        cudaFree(memory->base[class]);
    cudaFree(memory->device_regions);
    cudaFree(memory->broken);
    free(memory->regions);
    free(memory->names);
    *memory = (struct cuda_memory){ .guarded = false };
}

int cuda_memory_check(const struct cuda_memory *memory, cudaStream_t stream, struct cnn_error *error)
{
    int broken = INT_MAX;
    if (!memory->region_count)
        return CNN_OK;
    cudaError_t code = cudaMemcpyAsync(memory->broken, &broken, sizeof broken, cudaMemcpyHostToDevice, stream);
    if (!code)
        code = cuda_guard_check(memory->device_regions, memory->region_count, memory->broken, stream);
    if (!code)
        code = cudaMemcpyAsync(&broken, memory->broken, sizeof broken, cudaMemcpyDeviceToHost, stream);
    if (!code)
        code = cudaStreamSynchronize(stream);
    if (code)
        return cuda_check(code, error, "checking the canaries");
    if (broken < memory->region_count)
        return cnn_error_set(error, CNN_ERROR, "written beyond its end or before its begin: %s", memory->names[broken]);
    return CNN_OK;
}
