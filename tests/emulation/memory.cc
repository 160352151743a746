/* SPDX-License-Identifier: MIT */
/* Device memory in the emulation is the host's, filled with NaN, between red zones that are checked when it is freed. A
 * copy must name memory of the kind it says: a GPU cannot read the one for the other. */
#include "tests/emulation/runtime.h"

#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((size_t)16 << 30) /* what the device is said to have */
#define RED_ZONE 4096
#define RED 0xa5
#define FILL 0xff
#define FILL_MOST ((size_t)256 << 20)

static std::map<const char *, size_t> pieces; /* of device memory, by where they begin */
static size_t taken;

static const char *begin_of(const void *at)
{
    auto piece = pieces.upper_bound((const char *)at);
    if (piece == pieces.begin())
        return NULL;
    --piece;
    return (const char *)at < piece->first + piece->second ? piece->first : NULL;
}

bool emulated_on_device(const void *at, size_t bytes)
{
    const char *begin = begin_of(at);
    return bytes == 0 || (begin && (const char *)at + bytes <= begin + pieces[begin]);
}

bool emulated_on_host(const void *at, size_t bytes)
{
    return bytes == 0 || (!begin_of(at) && !begin_of((const char *)at + bytes - 1));
}

extern "C" {

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    size_t room = (bytes + 255) / 256 * 256;
    if (bytes > MEMORY_BYTES || room > MEMORY_BYTES - taken)
        return emulated_fail(cudaErrorMemoryAllocation);
    char *memory = (char *)aligned_alloc(RED_ZONE, (room + 3 * RED_ZONE - 1) / RED_ZONE * RED_ZONE);
    if (!memory)
        return emulated_fail(cudaErrorMemoryAllocation);
    memset(memory, RED, RED_ZONE);
    memset(memory + RED_ZONE, FILL, bytes < FILL_MOST ? bytes : FILL_MOST);
    memset(memory + RED_ZONE + bytes, RED, RED_ZONE);
    *out = memory + RED_ZONE;
    pieces[memory + RED_ZONE] = bytes;
    taken += room;
    return cudaSuccess;
}

cudaError_t cudaFree(void *at)
{
    if (!at)
        return cudaSuccess;
    auto piece = pieces.find((const char *)at);
    if (piece == pieces.end())
        return emulated_fail(cudaErrorInvalidValue);
    size_t bytes = piece->second;
    char *memory = (char *)at - RED_ZONE;
    for (size_t i = 0; i < RED_ZONE; i++)
        if ((unsigned char)memory[i] != RED || (unsigned char)memory[RED_ZONE + bytes + i] != RED) {
            fprintf(stderr, "emulation: something wrote outside of a piece of %zu bytes of device memory\n", bytes);
            abort();
        }
    taken -= (bytes + 255) / 256 * 256;
    pieces.erase(piece);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*out)
        return emulated_fail(cudaErrorMemoryAllocation);
    memset(*out, FILL, bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *at)
{
    free(at);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned flags)
{
    (void)flags;
    *out = host;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *all)
{
    *available = MEMORY_BYTES - taken;
    *all = MEMORY_BYTES;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind != cudaMemcpyDefault && (!(to_device ? emulated_on_device(to, bytes) : emulated_on_host(to, bytes)) ||
                                      !(from_device ? emulated_on_device(from, bytes) : emulated_on_host(from, bytes))))
        return emulated_fail(cudaErrorInvalidValue);
    emulated_enqueue(stream, [=] { memmove(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
    if (!emulated_on_device(at, bytes))
        return emulated_fail(cudaErrorInvalidValue);
    emulated_enqueue(stream, [=] { memset(at, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}

cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
    return cudaMemsetAsync(at, value, bytes, NULL);
}
}
