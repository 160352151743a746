/* SPDX-License-Identifier: MIT */
/* Loss, its gradient and the predicted label, one warp per image. The block that finishes last adds up the batch, so
 * the sum has one order whatever the schedule. */
#include "kernels/loss.cuh"

#define WARPS 8

/* Over the batch in a fixed order: each thread its images, then the tree. */
__device__ static void add_up(const cuda_loss &loss, const int32_t *labels, int count)
{
    __shared__ double sums[32 * WARPS];
    __shared__ int corrects[32 * WARPS];
    double sum = 0;
    int correct = 0;
    for (int i = threadIdx.x; i < count; i += 32 * WARPS) {
        sum += __ldcg(&loss.losses[i]);
        correct += __ldcg(&loss.predicted[i]) == labels[i];
    }
    sums[threadIdx.x] = sum;
    corrects[threadIdx.x] = correct;
    for (int half = 16 * WARPS; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            corrects[threadIdx.x] += corrects[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        loss.answer->loss_sum += sums[0];
        loss.answer->correct += corrects[0];
        loss.answer->blocks_done = 0;
    }
}

__global__ static void __launch_bounds__(32 * WARPS)
    loss_kernel(cuda_loss loss, const float *__restrict__ outputs, const int32_t *__restrict__ labels, float *deltas,
                int count)
{
    __shared__ bool last;
    int image = blockIdx.x * WARPS + threadIdx.x / 32;
    if (image < count) {
        const float *y = outputs + (long long)image * loss.classes;
        float *delta = deltas ? deltas + (long long)image * loss.classes : NULL;
        image_loss(loss, y, labels, delta, image, count);
    }
    if (!labels)
        return;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&loss.answer->blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last)
        add_up(loss, labels, count);
}

cudaError_t cuda_loss_launch(const cuda_loss *loss, const float *outputs, const int32_t *labels, float *delta,
                             int count, cudaStream_t stream)
{
    loss_kernel<<<(count + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*loss, outputs, labels, delta, count);
    return cudaGetLastError();
}
