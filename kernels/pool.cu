/* SPDX-License-Identifier: MIT */
/* Sub-sampling (LeCun et al. 1998, section II.B), max- and average-pooling: one thread per output forward, per input
 * pixel backward, so that nothing is scattered; gains and biases by one block per map and range of images. Floor
 * division: last rows and columns that no window reaches are never read, and their gradient is written as 0. A step at
 * memory speed: each tensor is read or written once, windows overlap in the caches alone. Shared by all algorithms. */
#include "kernels/pool_pairs.cuh"
#include "kernels/pool_window.cuh"

#define THREADS 256

struct pool_args {
    cuda_layer s;
    int below;
    const float *x, *gain, *bias;
    float *y, *dx;
    const float *dy;
    long long images;
};

template <int KIND>
__global__ static void __launch_bounds__(THREADS) forward_kernel(const __grid_constant__ pool_args a)
{
    const cuda_layer &s = a.s;
    int plane = s.out_rows * s.out_cols;
    FOR_EACH_ELEMENT(i, a.images * s.out_maps * plane)
    {
        long long map_of_all, image;
        int pixel, map;
        divide(i, plane, &map_of_all, &pixel);
        divide(map_of_all, s.out_maps, &image, &map);
        const float *in = a.x + map_of_all * s.in_rows * s.in_cols + pixel / s.out_cols * s.stride * s.in_cols +
                          pixel % s.out_cols * s.stride;
        float value;
        if (KIND == CNN_SUBSAMPLE)
            value = a.gain[map] * window_sum(s, in) + a.bias[map];
        else if (KIND == CNN_AVGPOOL)
            value = window_sum(s, in) / (float)(s.kernel_rows * s.kernel_cols);
        else
            value = in[window_maximum(s, in)];
        a.y[i] = activate(s.activation, value);
    }
}

/* The windows that reach a pixel: those with corner (r, c) * stride at most `kernel - 1` before it. */
template <int KIND>
__device__ static float gather(const cuda_layer &s, const float *in, const float *delta, int row, int col)
{
    int low_r = row < s.kernel_rows ? 0 : (row - s.kernel_rows) / s.stride + 1;
    int low_c = col < s.kernel_cols ? 0 : (col - s.kernel_cols) / s.stride + 1;
    float sum = 0;
    for (int r = low_r; r <= row / s.stride && r < s.out_rows; r++)
        for (int c = low_c; c <= col / s.stride && c < s.out_cols; c++) {
            int corner = r * s.stride * s.in_cols + c * s.stride;
            if (KIND != CNN_MAXPOOL || corner + window_maximum(s, in + corner) == row * s.in_cols + col)
                sum += delta[r * s.out_cols + c];
        }
    return sum;
}

template <int KIND>
__global__ static void __launch_bounds__(THREADS) backward_data_kernel(const __grid_constant__ pool_args a)
{
    const cuda_layer &s = a.s;
    int plane = s.in_rows * s.in_cols;
    FOR_EACH_ELEMENT(i, a.images * s.in_maps * plane)
    {
        long long map_of_all, image;
        int pixel, map;
        divide(i, plane, &map_of_all, &pixel);
        divide(map_of_all, s.in_maps, &image, &map);
        float sum = gather<KIND>(s, a.x + map_of_all * plane, a.dy + map_of_all * s.out_rows * s.out_cols,
                                 pixel / s.in_cols, pixel % s.in_cols);
        if (KIND == CNN_SUBSAMPLE)
            sum *= a.gain[map];
        else if (KIND == CNN_AVGPOOL)
            sum /= (float)(s.kernel_rows * s.kernel_cols);
        a.dx[i] = a.below == CNN_LINEAR ? sum : sum * slope_of(a.below, a.x[i]);
    }
}

/* Windows that do not overlap: one thread per cell of stride x stride pixels, which holds at most one window. */
template <int KIND> __global__ static void __launch_bounds__(THREADS) cells_kernel(const __grid_constant__ pool_args a)
{
    const cuda_layer &s = a.s;
    int cell_cols = (s.in_cols + s.stride - 1) / s.stride, cells = (s.in_rows + s.stride - 1) / s.stride * cell_cols;
    FOR_EACH_ELEMENT(i, a.images * s.in_maps * cells)
    {
        long long map_of_all;
        int cell, map = 0;
        divide(i, cells, &map_of_all, &cell);
        int r = cell / cell_cols, c = cell % cell_cols, rows = min(s.stride, s.in_rows - r * s.stride);
        int cols = min(s.stride, s.in_cols - c * s.stride), top = 0;
        long long corner = map_of_all * s.in_rows * s.in_cols + r * s.stride * s.in_cols + c * s.stride;
        bool window = r < s.out_rows && c < s.out_cols;
        float delta = window ? a.dy[map_of_all * s.out_rows * s.out_cols + r * s.out_cols + c] : 0;
        if (KIND == CNN_SUBSAMPLE) {
            map = (int)(map_of_all % s.in_maps);
            delta *= a.gain[map];
        } else if (KIND == CNN_AVGPOOL) {
            delta /= (float)(s.kernel_rows * s.kernel_cols);
        } else if (window) {
            top = window_maximum(s, a.x + corner);
        }
        for (int row = 0; row < rows; row++)
            for (int col = 0; col < cols; col++) {
                int at = row * s.in_cols + col;
                bool reached = window && row < s.kernel_rows && col < s.kernel_cols;
                float value = reached && (KIND != CNN_MAXPOOL || at == top) ? delta : 0;
                a.dx[corner + at] = a.below == CNN_LINEAR ? value : value * slope_of(a.below, a.x[corner + at]);
            }
    }
}

/* One block: one map, one slice of the batch. Sums in a fixed tree. */
__global__ static void __launch_bounds__(THREADS) backward_gains_kernel(const __grid_constant__ pool_args a)
{
    __shared__ float gains[THREADS], biases[THREADS];
    const cuda_layer &s = a.s;
    int map = blockIdx.x % s.out_maps, slice = blockIdx.x / s.out_maps, plane = s.out_rows * s.out_cols;
    long long begin = a.images * slice / s.slices, end = a.images * (slice + 1) / s.slices;
    float gain = 0, bias = 0;
    for (long long i = begin * plane + threadIdx.x; i < end * plane; i += THREADS) {
        long long image;
        int pixel;
        divide(i, plane, &image, &pixel);
        const float *in = a.x + (image * s.in_maps + map) * s.in_rows * s.in_cols +
                          pixel / s.out_cols * s.stride * s.in_cols + pixel % s.out_cols * s.stride;
        float delta = a.dy[(image * s.out_maps + map) * plane + pixel];
        gain += delta * window_sum(s, in);
        bias += delta;
    }
    gains[threadIdx.x] = gain;
    biases[threadIdx.x] = bias;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            gains[threadIdx.x] += gains[threadIdx.x + half];
            biases[threadIdx.x] += biases[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        float *to = s.partial + ((long long)slice * s.out_maps + map) * 2;
        to[0] = gains[0];
        to[1] = biases[0];
    }
}

static pool_args args_of(const cuda_job *job, const cuda_batch *batch)
{
    return pool_args{ *job->shape,  (int)job->below, cuda_job_input(job, batch),
                      job->weights, job->bias,       job->y,
                      job->dx,      job->dy,         batch->count };
}

static pair_args pair_args_of(const cuda_job *job, const cuda_batch *batch)
{
    const cuda_layer &s = *job->shape;
    pair_args a = {};
    a.below = (int)job->below;
    a.activation = (int)s.activation;
    a.maps = s.out_maps;
    a.images = batch->count;
    a.cols = s.out_cols;
    a.pixels = batch->count * s.out_maps * s.out_rows * s.out_cols;
    a.by_cols = divisor(s.out_cols);
    a.by_rows = divisor(s.out_rows);
    a.by_maps = divisor(s.out_maps);
    a.by_plane = divisor(s.out_rows * s.out_cols);
    a.x = cuda_job_input(job, batch);
    a.gain = job->weights;
    a.bias = job->bias;
    a.dy = job->dy;
    a.y = job->y;
    a.dx = job->dx;
    a.partial = s.partial;
    a.slices = s.slices;
    return a;
}

template <int KIND> static cudaError_t forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    if (has_pairs(*job->shape, job->batch)) {
        pair_args a = pair_args_of(job, batch);
        if (a.pixels < PAIR_MANY)
            pair_forward_kernel<KIND, 1><<<pair_blocks(a, 1), PAIR_THREADS, 0, stream>>>(a);
        else
            pair_forward_kernel<KIND, PAIR_EACH><<<pair_blocks(a, PAIR_EACH), PAIR_THREADS, 0, stream>>>(a);
        return cudaGetLastError();
    }
    long long count = cnn_shape_size(job->layer->out) * batch->count;
    forward_kernel<KIND><<<stride_blocks(count, THREADS), THREADS, 0, stream>>>(args_of(job, batch));
    return cudaGetLastError();
}

template <int KIND> static cudaError_t backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer *s = job->shape;
    if (has_pairs(*s, job->batch)) {
        pair_args a = pair_args_of(job, batch);
        if (a.pixels < PAIR_MANY)
            pair_backward_kernel<KIND, 1><<<pair_blocks(a, 1), PAIR_THREADS, 0, stream>>>(a);
        else
            pair_backward_kernel<KIND, PAIR_EACH><<<pair_blocks(a, PAIR_EACH), PAIR_THREADS, 0, stream>>>(a);
        return cudaGetLastError();
    }
    long long count = cnn_shape_size(job->layer->in) * batch->count;
    if (s->kernel_rows <= s->stride && s->kernel_cols <= s->stride) {
        count = (long long)batch->count * s->in_maps * ((s->in_rows + s->stride - 1) / s->stride) *
                ((s->in_cols + s->stride - 1) / s->stride);
        cells_kernel<KIND><<<stride_blocks(count, THREADS), THREADS, 0, stream>>>(args_of(job, batch));
        return cudaGetLastError();
    }
    backward_data_kernel<KIND><<<stride_blocks(count, THREADS), THREADS, 0, stream>>>(args_of(job, batch));
    return cudaGetLastError();
}

/* Slices so that about two blocks stand on each multiprocessor; at most one per image and 64 in all. */
static void prepare_gains(cuda_job *job)
{
    int slices = (2 * job->multiprocessors + job->shape->out_maps - 1) / job->shape->out_maps;
    slices = slices > 64 ? 64 : slices;
    job->shape->slices = slices > job->batch ? job->batch : slices;
}

static cudaError_t backward_gains(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    if (has_pairs(*job->shape, job->batch)) {
        pair_args a = pair_args_of(job, batch);
        pair_gains_kernel<<<(unsigned)(a.maps * a.slices), PAIR_THREADS, 0, stream>>>(a);
        return cudaGetLastError();
    }
    backward_gains_kernel<<<(unsigned)(job->shape->out_maps * job->shape->slices), THREADS, 0, stream>>>(
        args_of(job, batch));
    return cudaGetLastError();
}

#define POOL(symbol, operation, prepare_function, launch_function) \
    extern "C" const cuda_kernel CUDA_KERNEL(                      \
        symbol) = { #symbol, "", "kernels/pool.cu", operation, NULL, prepare_function, launch_function };

POOL(shared_subsample_forward, CNN_OP_SUBSAMPLE_FORWARD, NULL, forward<CNN_SUBSAMPLE>)
POOL(shared_maxpool_forward, CNN_OP_MAXPOOL_FORWARD, NULL, forward<CNN_MAXPOOL>)
POOL(shared_avgpool_forward, CNN_OP_AVGPOOL_FORWARD, NULL, forward<CNN_AVGPOOL>)
POOL(shared_subsample_backward_data, CNN_OP_SUBSAMPLE_BACKWARD_DATA, NULL, backward_data<CNN_SUBSAMPLE>)
POOL(shared_maxpool_backward, CNN_OP_MAXPOOL_BACKWARD, NULL, backward_data<CNN_MAXPOOL>)
POOL(shared_avgpool_backward, CNN_OP_AVGPOOL_BACKWARD, NULL, backward_data<CNN_AVGPOOL>)
POOL(shared_subsample_backward_weights, CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS, prepare_gains, backward_gains)
