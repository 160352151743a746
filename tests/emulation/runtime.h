/* SPDX-License-Identifier: MIT */
/* What the parts of the emulated runtime share. */
#ifndef EMULATION_RUNTIME_H
#define EMULATION_RUNTIME_H

#include <functional>

#include <cuda_runtime_api.h>

/* Notes an error as this thread's last, and returns it. */
cudaError_t emulated_fail(cudaError_t code);

/* Does work in the order of a stream: at once, or it becomes a part of what the stream records. */
void emulated_enqueue(cudaStream_t stream, std::function<void()> work);
bool emulated_records(cudaStream_t stream);

/* Whether [at, at + bytes) lies in one piece of device memory; whether it touches none. */
bool emulated_on_device(const void *at, size_t bytes);
bool emulated_on_host(const void *at, size_t bytes);

#endif
