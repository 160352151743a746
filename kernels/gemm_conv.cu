/* SPDX-License-Identifier: MIT */
/* Convolution as the first paper did it: the input unfolded into a matrix with a column per output pixel, one product
 * by cuBLAS, the result folded back. Tables of connections become zeros in a dense weight matrix (the work executed is
 * that of all pairs). With batch 1 it is one pattern at a time; larger batches stand side by side in the matrix, in
 * chunks of at most CHUNK_FLOATS. Unfolding writes each input value kernel-area times: memory, not arithmetic, bounds
 * the small layers.
 *
 * tf32 asks cuBLAS for its tf32 kernels, fp32 for plain ones. */
#include "kernels/blas.h"
#include "kernels/exact.cuh"

#define THREADS 256
#define CHUNK_FLOATS ((int64_t)64 << 20)

struct chunk {
    long long first, images, columns; /* images of the batch from `first` on; columns = images * output pixels */
};

/* columns[reduction][columns] */
__global__ static void __launch_bounds__(THREADS)
    unfold_kernel(const __grid_constant__ cuda_layer s, const float *x, chunk c, float *columns)
{
    int plane = s.out_rows * s.out_cols, in_plane = s.in_rows * s.in_cols;
    FOR_EACH_ELEMENT(i, c.columns * s.reduction)
    {
        long long k = i / c.columns, column = i - k * c.columns, image;
        int pixel, map = (int)k / s.taps, tap = (int)k % s.taps;
        divide(column, plane, &image, &pixel);
        int row = pixel / s.out_cols * s.stride - s.pad + tap / s.kernel_cols;
        int col = pixel % s.out_cols * s.stride - s.pad + tap % s.kernel_cols;
        bool inside = row >= 0 && row < s.in_rows && col >= 0 && col < s.in_cols;
        const float *in = x + ((c.first + image) * s.in_maps + map) * in_plane;
        columns[i] = inside ? in[row * s.in_cols + col] : 0;
    }
}

/* y = f(product[out_maps][columns] + bias), from matrix to tensor order. */
__global__ static void __launch_bounds__(THREADS)
    finish_forward_kernel(const __grid_constant__ cuda_layer s, const float *product, const float *weights,
                          const float *bias, const float *x, float *y, chunk c)
{
    int plane = s.out_rows * s.out_cols;
    FOR_EACH_ELEMENT(i, c.columns * s.out_maps)
    {
        long long map_of_all, image;
        int pixel, map;
        divide(i, plane, &map_of_all, &pixel);
        divide(map_of_all, s.out_maps, &image, &map);
        float sum = product[map * c.columns + image * plane + pixel] + bias[map];
        if (s.first && !isfinite(sum))
            sum = repair_output(s, weights, bias[map], x + (c.first + image) * s.in_maps * s.in_rows * s.in_cols, map,
                                pixel);
        y[c.first * s.out_maps * plane + i] = activate(s.activation, sum);
    }
}

/* delta from tensor to matrix order: out[out_maps][columns] */
__global__ static void __launch_bounds__(THREADS)
    spread_kernel(const __grid_constant__ cuda_layer s, const float *dy, chunk c, float *out)
{
    int plane = s.out_rows * s.out_cols;
    FOR_EACH_ELEMENT(i, c.columns * s.out_maps)
    {
        long long map = i / c.columns, column = i - map * c.columns, image;
        int pixel;
        divide(column, plane, &image, &pixel);
        out[i] = dy[((c.first + image) * s.out_maps + map) * plane + pixel];
    }
}

/* Each input pixel gathers what its taps say, so that nothing is scattered; then the slope of the layer below. */
__global__ static void __launch_bounds__(THREADS)
    fold_kernel(const __grid_constant__ cuda_layer s, const float *columns, const float *weights, const float *dy,
                const float *x, int below, float *dx, chunk c)
{
    int plane = s.out_rows * s.out_cols, in_plane = s.in_rows * s.in_cols;
    FOR_EACH_ELEMENT(i, c.images * s.in_maps * in_plane)
    {
        long long map_of_all, image, at = c.first * s.in_maps * in_plane + i;
        int pixel, map;
        divide(i, in_plane, &map_of_all, &pixel);
        divide(map_of_all, s.in_maps, &image, &map);
        float sum = 0;
        for (int tap = 0; tap < s.taps; tap++) {
            int r = pixel / s.in_cols + s.pad - tap / s.kernel_cols,
                q = pixel % s.in_cols + s.pad - tap % s.kernel_cols;
            if (r < 0 || q < 0 || r % s.stride || q % s.stride || r / s.stride >= s.out_rows ||
                q / s.stride >= s.out_cols)
                continue;
            long long row = (long long)map * s.taps + tap;
            sum += columns[row * c.columns + image * plane + r / s.stride * s.out_cols + q / s.stride];
        }
        if (s.first && !isfinite(sum))
            sum = repair_gradient(s, weights, dy + (c.first + image) * s.out_maps * plane, map, pixel);
        dx[at] = below == CNN_LINEAR ? sum : sum * slope_of(below, x[at]);
    }
}

/* One block per map, in a fixed tree. */
__global__ static void __launch_bounds__(THREADS)
    bias_kernel(const __grid_constant__ cuda_layer s, const float *dy, long long images)
{
    __shared__ float sums[THREADS];
    int plane = s.out_rows * s.out_cols;
    float sum = 0;
    for (long long i = threadIdx.x; i < images * plane; i += THREADS) {
        long long image;
        int pixel;
        divide(i, plane, &image, &pixel);
        sum += dy[(image * s.out_maps + blockIdx.x) * plane + pixel];
    }
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        s.partial[(long long)blockIdx.x * (s.reduction + 1) + s.reduction] = sums[0];
}

/* In place: y = f(y + bias) of a fully connected layer. */
__global__ static void __launch_bounds__(THREADS)
    bias_activate_kernel(const __grid_constant__ cuda_layer s, const float *bias, float *y, long long count)
{
    FOR_EACH_ELEMENT(i, count)
    {
        y[i] = activate(s.activation, y[i] + bias[i % s.out_maps]);
    }
}

__global__ static void __launch_bounds__(THREADS) slope_kernel(int below, const float *x, float *dx, long long count)
{
    FOR_EACH_ELEMENT(i, count)
    {
        dx[i] *= slope_of(below, x[i]);
    }
}

static int64_t chunk_images(const cuda_job *job)
{
    int64_t plane = (int64_t)job->shape->out_rows * job->shape->out_cols;
    int64_t images = CHUNK_FLOATS / (plane * ((int64_t)job->shape->reduction + job->shape->out_maps));
    return images < 1 ? 1 : images > job->batch ? job->batch : images;
}

static int64_t column_floats(const cuda_job *job)
{
    return chunk_images(job) * job->shape->out_rows * job->shape->out_cols * job->shape->reduction;
}

static void prepare(cuda_job *job)
{
    int64_t plane = (int64_t)job->shape->out_rows * job->shape->out_cols;
    job->executed_macs = (double)job->layer->macs_dense;
    if (!job->shape->full)
        job->workspace_size = column_floats(job) + chunk_images(job) * plane * job->shape->out_maps;
}

static void prepare_weights(cuda_job *job)
{
    prepare(job);
    job->shape->slices = 1;
}

static chunk chunk_of(const cuda_job *job, const cuda_batch *batch, long long first)
{
    long long images = chunk_images(job);
    images = batch->count - first < images ? batch->count - first : images;
    return chunk{ first, images, images * job->shape->out_rows * job->shape->out_cols };
}

#define LAUNCH(kernel, count, ...)                                                \
    kernel<<<stride_blocks((count), THREADS), THREADS, 0, stream>>>(__VA_ARGS__); \
    if (cudaError_t code = cudaGetLastError())                                    \
    return code

static cudaError_t conv_forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer &s = *job->shape;
    const float *x = cuda_job_input(job, batch);
    float *columns = job->workspace, *product = columns + column_floats(job);
    for (long long first = 0; first < batch->count; first += chunk_images(job)) {
        chunk c = chunk_of(job, batch, first);
        LAUNCH(unfold_kernel, c.columns * s.reduction, s, x, c, columns);
        cuda_product p = { s.out_maps, c.columns,   s.reduction, s.dense,   columns, product,           0,
                           0,          s.reduction, c.columns,   c.columns, 0,       job->tensor_cores, 0 };
        if (cudaError_t code = cuda_blas_multiply((cuda_blas *)job->library, &p, stream))
            return code;
        LAUNCH(finish_forward_kernel, c.columns * s.out_maps, s, product, job->weights, job->bias, x, job->y, c);
    }
    return cudaSuccess;
}

static cudaError_t conv_backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer &s = *job->shape;
    const float *x = cuda_job_input(job, batch);
    float *columns = job->workspace, *delta = columns + column_floats(job);
    for (long long first = 0; first < batch->count; first += chunk_images(job)) {
        chunk c = chunk_of(job, batch, first);
        LAUNCH(spread_kernel, c.columns * s.out_maps, s, job->dy, c, delta);
        cuda_product p = { s.reduction, c.columns,   s.out_maps, s.dense,   delta, columns,           1,
                           0,           s.reduction, c.columns,  c.columns, 0,     job->tensor_cores, 0 };
        if (cudaError_t code = cuda_blas_multiply((cuda_blas *)job->library, &p, stream))
            return code;
        LAUNCH(fold_kernel, c.images * s.in_maps * s.in_rows * s.in_cols, s, columns, job->weights, job->dy, x,
               (int)job->below, job->dx, c);
    }
    return cudaSuccess;
}

static cudaError_t conv_backward_weights(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer &s = *job->shape;
    const float *x = cuda_job_input(job, batch);
    float *columns = job->workspace, *delta = columns + column_floats(job);
    for (long long first = 0; first < batch->count; first += chunk_images(job)) {
        chunk c = chunk_of(job, batch, first);
        LAUNCH(unfold_kernel, c.columns * s.reduction, s, x, c, columns);
        LAUNCH(spread_kernel, c.columns * s.out_maps, s, job->dy, c, delta);
        cuda_product p = {
            s.out_maps, s.reduction, c.columns, delta,           columns,          s.partial,         0,
            1,          c.columns,   c.columns, s.reduction + 1, first ? 1.0f : 0, job->tensor_cores, 1
        };
        if (cudaError_t code = cuda_blas_multiply((cuda_blas *)job->library, &p, stream))
            return code;
    }
    bias_kernel<<<(unsigned)s.out_maps, THREADS, 0, stream>>>(s, job->dy, batch->count);
    return cudaGetLastError();
}

/* Fully connected: no unfolding, the tensors are the matrices. */
static cudaError_t full_forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer &s = *job->shape;
    cuda_product p = {
        batch->count, s.out_maps, s.reduction, cuda_job_input(job, batch), s.dense, job->y, 0, 1, s.reduction,
        s.reduction,  s.out_maps, 0,           job->tensor_cores,          0
    };
    if (cudaError_t code = cuda_blas_multiply((cuda_blas *)job->library, &p, stream))
        return code;
    LAUNCH(bias_activate_kernel, (long long)batch->count * s.out_maps, s, job->bias, job->y,
           (long long)batch->count * s.out_maps);
    return cudaSuccess;
}

static cudaError_t full_backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer &s = *job->shape;
    cuda_product p = { batch->count, s.reduction, s.out_maps,  job->dy, s.dense,           job->dx, 0, 0,
                       s.out_maps,   s.reduction, s.reduction, 0,       job->tensor_cores, 0 };
    if (cudaError_t code = cuda_blas_multiply((cuda_blas *)job->library, &p, stream))
        return code;
    if (job->below == CNN_LINEAR)
        return cudaSuccess;
    LAUNCH(slope_kernel, (long long)batch->count * s.reduction, (int)job->below, cuda_job_input(job, batch), job->dx,
           (long long)batch->count * s.reduction);
    return cudaSuccess;
}

static cudaError_t full_backward_weights(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer &s = *job->shape;
    cuda_product p = { s.out_maps, s.reduction, batch->count,    job->dy, cuda_job_input(job, batch), s.partial, 1, 0,
                       s.out_maps, s.reduction, s.reduction + 1, 0,       job->tensor_cores,          1 };
    if (cudaError_t code = cuda_blas_multiply((cuda_blas *)job->library, &p, stream))
        return code;
    bias_kernel<<<(unsigned)s.out_maps, THREADS, 0, stream>>>(s, job->dy, batch->count);
    return cudaGetLastError();
}

#undef LAUNCH

static int is_full(const cuda_job *job)
{
    return job->shape->full;
}

static int is_conv(const cuda_job *job)
{
    return !job->shape->full;
}

#define GEMM(symbol, operation, supports_function, prepare_function, launch_function)                            \
    extern "C" const cuda_kernel CUDA_KERNEL(symbol) = {                                                         \
        #symbol, "gemm", "kernels/gemm_conv.cu", operation, supports_function, prepare_function, launch_function \
    };

GEMM(gemm_conv_forward, CNN_OP_CONV_FORWARD, is_conv, prepare, conv_forward)
GEMM(gemm_whole_forward, CNN_OP_CONV_FORWARD, is_full, prepare, full_forward)
GEMM(gemm_full_forward, CNN_OP_FULL_FORWARD, NULL, prepare, full_forward)
GEMM(gemm_conv_backward_data, CNN_OP_CONV_BACKWARD_DATA, is_conv, prepare, conv_backward_data)
GEMM(gemm_whole_backward_data, CNN_OP_CONV_BACKWARD_DATA, is_full, prepare, full_backward_data)
GEMM(gemm_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, NULL, prepare, full_backward_data)
GEMM(gemm_conv_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, is_conv, prepare_weights, conv_backward_weights)
GEMM(gemm_whole_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, is_full, prepare_weights, full_backward_weights)
GEMM(gemm_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, NULL, prepare_weights, full_backward_weights)
