/* SPDX-License-Identifier: MIT */
/* Fully connected layers over few images (at most FEW_IMAGES): each weight is read once and meets all images on the
 * spot, so the matrix streams through at memory speed, and with one image the latency of one short sum is all there is.
 * Forward: a warp per unit. Backward: 32 inputs per block, warps share the units. Gradient: a thread per weight. In
 * fp32 whatever the precision asked for: there is nothing for tensor cores to win. */
#include "kernels/direct.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)

__global__ static void __launch_bounds__(THREADS) forward_kernel(const __grid_constant__ direct_args a)
{
    int unit = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32, length = a.s.reduction;
    if (unit >= a.s.out_maps)
        return;
    const float *weights = a.s.dense + (long long)unit * length;
    float sums[FEW_IMAGES] = { 0 };
#pragma unroll 4
    for (int i = lane; i < length; i += 32) {
        float weight = weights[i];
#pragma unroll
        for (int image = 0; image < FEW_IMAGES; image++)
            if (image < a.images)
                sums[image] = fmaf(weight, a.x[(long long)image * length + i], sums[image]);
    }
#pragma unroll
    for (int image = 0; image < FEW_IMAGES; image++) {
        if (image >= a.images)
            break;
        for (int step = 16; step; step /= 2)
            sums[image] += __shfl_xor_sync(0xffffffffu, sums[image], step);
        if (lane == 0)
            a.y[(long long)image * a.s.out_maps + unit] = activate(a.s.activation, sums[image] + a.bias[unit]);
    }
}

__global__ static void __launch_bounds__(THREADS) backward_data_kernel(const __grid_constant__ direct_args a)
{
    __shared__ float shared[WARPS][FEW_IMAGES][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, length = a.s.reduction, units = a.s.out_maps;
    long long input = (long long)blockIdx.x * 32 + lane;
    float sums[FEW_IMAGES] = { 0 };
#pragma unroll 4
    for (int unit = warp; input < length && unit < units; unit += WARPS) {
        float weight = a.s.dense[(long long)unit * length + input];
#pragma unroll
        for (int image = 0; image < FEW_IMAGES; image++)
            if (image < a.images)
                sums[image] = fmaf(weight, a.dy[(long long)image * units + unit], sums[image]);
    }
    for (int image = 0; image < FEW_IMAGES; image++)
        shared[warp][image][lane] = sums[image];
    __syncthreads();
    for (int image = warp; image < a.images && input < length; image += WARPS) {
        float sum = 0;
        for (int from = 0; from < WARPS; from++)
            sum += shared[from][image][lane];
        long long at = (long long)image * length + input;
        a.dx[at] = a.below == CNN_LINEAR ? sum : sum * slope_of(a.below, a.x[at]);
    }
}

__global__ static void __launch_bounds__(THREADS) backward_weights_kernel(const __grid_constant__ direct_args a)
{
    int width = a.s.reduction + 1;
    FOR_EACH_ELEMENT(i, (long long)a.s.out_maps * width)
    {
        long long unit;
        int input;
        divide(i, width, &unit, &input);
        float sum = 0;
        for (int image = 0; image < a.images; image++) {
            float x = input < a.s.reduction ? a.x[(long long)image * a.s.reduction + input] : 1;
            sum = fmaf(a.dy[(long long)image * a.s.out_maps + unit], x, sum);
        }
        a.s.partial[i] = sum;
    }
}

static cudaError_t forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    unsigned blocks = (unsigned)((job->shape->out_maps + WARPS - 1) / WARPS);
    forward_kernel<<<blocks, THREADS, 0, stream>>>(direct_args_of(job, batch));
    return cudaGetLastError();
}

static cudaError_t backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    unsigned blocks = (unsigned)((job->shape->reduction + 31) / 32);
    backward_data_kernel<<<blocks, THREADS, 0, stream>>>(direct_args_of(job, batch));
    return cudaGetLastError();
}

static cudaError_t backward_weights(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    long long count = (long long)job->shape->out_maps * (job->shape->reduction + 1);
    backward_weights_kernel<<<stride_blocks(count, THREADS), THREADS, 0, stream>>>(direct_args_of(job, batch));
    return cudaGetLastError();
}

static int is_few(const cuda_job *job)
{
    return job->shape->full && job->batch <= FEW_IMAGES;
}

/* A unit's sum is one warp's: of very many inputs it would be the whole step's time. */
static int is_few_and_short(const cuda_job *job)
{
    return is_few(job) && job->shape->reduction <= FEW_INPUTS;
}

static void prepare(cuda_job *job)
{
    job->executed_macs = (double)job->layer->macs_dense;
}

static void prepare_weights(cuda_job *job)
{
    prepare(job);
    job->shape->slices = 1;
}

#define FEW(symbol, operation, supports_function, prepare_function, launch_function)                                 \
    extern "C" const cuda_kernel CUDA_KERNEL(symbol) = { #symbol,        "direct",          "kernels/direct_few.cu", \
                                                         operation,      supports_function, prepare_function,        \
                                                         launch_function };

FEW(few_whole_forward, CNN_OP_CONV_FORWARD, is_few_and_short, prepare, forward)
FEW(few_full_forward, CNN_OP_FULL_FORWARD, is_few_and_short, prepare, forward)
FEW(few_whole_backward_data, CNN_OP_CONV_BACKWARD_DATA, is_few, prepare, backward_data)
FEW(few_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, is_few, prepare, backward_data)
FEW(few_whole_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, is_few, prepare_weights, backward_weights)
FEW(few_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, is_few, prepare_weights, backward_weights)
