/* SPDX-License-Identifier: MIT */
/* Small copies by kernels that read and write pinned host memory themselves: a node of a copy engine, and the wait for
 * the stream behind it, take longer than the few kilobytes that one image is. The host looks at a count in its own
 * memory until the step has told that it is done. Bound by the latency of the bus. */
#include "kernels/dependent.cuh"
#include "kernels/math.cuh"
#include "kernels/shared.h"

#define THREADS 256

/* Words [0, images) and [labels_at, labels_at + labels). */
__global__ static void __launch_bounds__(THREADS)
    bring_kernel(float *to, const float *from, int images, int labels_at, int labels)
{
    await_predecessor();
    FOR_EACH_ELEMENT(i, images + labels)
    {
        long long at = i < images ? i : i - images + labels_at;
        to[at] = from[at];
    }
}

__global__ static void __launch_bounds__(THREADS) tell_kernel(cuda_told told, const int32_t *labels, int count)
{
    await_predecessor();
    for (int i = threadIdx.x; i < count; i += THREADS)
        told.labels[i] = labels[i];
    if (threadIdx.x == 0)
        *told.answer = *told.device_answer;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *told.count = ++*told.device_count;
}

cudaError_t cuda_bring_launch(float *to, const float *from, int64_t images, int64_t labels_at, int labels, int early,
                              cudaStream_t stream)
{
    return launch_after(early, bring_kernel, stride_blocks(images + labels, THREADS), THREADS, stream, to, from,
                        (int)images, (int)labels_at, labels);
}

cudaError_t cuda_tell_launch(const cuda_told *told, const int32_t *labels, int count, int early, cudaStream_t stream)
{
    return launch_after(early, tell_kernel, 1, THREADS, stream, *told, labels, count);
}
