/* SPDX-License-Identifier: MIT */
/* Convolution and fully connected layers as a first CUDA program of 2010 has them: one thread per output (forward), per
 * input pixel (backward) and per weight (gradient), plain loops in the order of the formula, everything from global
 * memory. Only connected pairs are touched, so the work is exactly 2 * MACs. Nothing is reused but by chance of the
 * caches, and a weight's thread walks over all images alone: that is what the later kernels are measured against. */
#include "kernels/exact.cuh"

#define THREADS 256

struct naive_args {
    cuda_layer s;
    int below;
    const float *x, *weights, *bias;
    float *y, *dx;
    const float *dy;
    long long images;
};

__global__ static void __launch_bounds__(THREADS) forward_kernel(const __grid_constant__ naive_args a)
{
    const cuda_layer &s = a.s;
    int plane = s.out_rows * s.out_cols, in_plane = s.in_rows * s.in_cols;
    FOR_EACH_ELEMENT(i, a.images * s.out_maps * plane)
    {
        long long image, map_pixel;
        int map, pixel;
        divide(i, plane, &map_pixel, &pixel);
        divide(map_pixel, s.out_maps, &image, &map);
        a.y[i] = activate(s.activation,
                          exact_output(s, a.weights, a.bias[map], a.x + image * s.in_maps * in_plane, map, pixel));
    }
}

__global__ static void __launch_bounds__(THREADS) backward_data_kernel(const __grid_constant__ naive_args a)
{
    const cuda_layer &s = a.s;
    int plane = s.in_rows * s.in_cols, out_plane = s.out_rows * s.out_cols;
    FOR_EACH_ELEMENT(i, a.images * s.in_maps * plane)
    {
        long long image, map_pixel;
        int map, pixel;
        divide(i, plane, &map_pixel, &pixel);
        divide(map_pixel, s.in_maps, &image, &map);
        float sum = exact_gradient(s, a.weights, a.dy + image * s.out_maps * out_plane, map, pixel);
        a.dx[i] = a.below == CNN_LINEAR ? sum : sum * slope_of(a.below, a.x[i]);
    }
}

/* Images are summed in index order, each one's sum on its own first: shorter chains round less. */
__global__ static void __launch_bounds__(THREADS)
    backward_weights_kernel(const __grid_constant__ naive_args a, long long pairs)
{
    const cuda_layer &s = a.s;
    int plane = s.in_rows * s.in_cols, out_plane = s.out_rows * s.out_cols;
    FOR_EACH_ELEMENT(i, pairs * s.taps)
    {
        long long pair, image;
        int tap, map, in_map;
        divide(i, s.taps, &pair, &tap);
        map = s.first ? s.pair_out[pair] : (int)pair / s.in_maps;
        in_map = s.first ? s.source[pair] : (int)pair % s.in_maps;
        int tap_row = tap / s.kernel_cols - s.pad, tap_col = tap % s.kernel_cols - s.pad;
        float sum = 0;
        for (image = 0; image < a.images; image++) {
            const float *delta = a.dy + (image * s.out_maps + map) * out_plane;
            const float *in = a.x + (image * s.in_maps + in_map) * plane;
            float part = 0;
            for (int row = 0; row < s.out_rows; row++)
                for (int col = 0; col < s.out_cols; col++) {
                    int r = row * s.stride + tap_row, c = col * s.stride + tap_col;
                    if (r >= 0 && r < s.in_rows && c >= 0 && c < s.in_cols)
                        part += delta[row * s.out_cols + col] * in[r * s.in_cols + c];
                }
            sum += part;
        }
        s.partial[(long long)map * (s.reduction + 1) + (long long)in_map * s.taps + tap] = sum;
    }
}

__global__ static void __launch_bounds__(THREADS) backward_bias_kernel(const __grid_constant__ naive_args a)
{
    const cuda_layer &s = a.s;
    int out_plane = s.out_rows * s.out_cols;
    FOR_EACH_ELEMENT(map, (long long)s.out_maps)
    {
        float sum = 0;
        for (long long image = 0; image < a.images; image++) {
            float part = 0;
            for (int pixel = 0; pixel < out_plane; pixel++)
                part += a.dy[(image * s.out_maps + map) * out_plane + pixel];
            sum += part;
        }
        s.partial[map * (s.reduction + 1) + s.reduction] = sum;
    }
}

static naive_args args_of(const cuda_job *job, const cuda_batch *batch)
{
    return naive_args{ *job->shape,  (int)job->below, cuda_job_input(job, batch),
                       job->weights, job->bias,       job->y,
                       job->dx,      job->dy,         batch->count };
}

static void prepare(cuda_job *job)
{
    job->executed_macs = (double)job->layer->macs;
}

static void prepare_weights(cuda_job *job)
{
    job->executed_macs = (double)job->layer->macs;
    job->shape->slices = 1;
}

static cudaError_t forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    long long count = cnn_shape_size(job->layer->out) * batch->count;
    forward_kernel<<<stride_blocks(count, THREADS), THREADS, 0, stream>>>(args_of(job, batch));
    return cudaGetLastError();
}

static cudaError_t backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    long long count = cnn_shape_size(job->layer->in) * batch->count;
    backward_data_kernel<<<stride_blocks(count, THREADS), THREADS, 0, stream>>>(args_of(job, batch));
    return cudaGetLastError();
}

static cudaError_t backward_weights(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_layer *s = job->shape;
    long long pairs = s->connected ? (long long)s->in_maps * s->out_maps : job->layer->pairs;
    backward_weights_kernel<<<stride_blocks(pairs * s->taps, THREADS), THREADS, 0, stream>>>(args_of(job, batch),
                                                                                             pairs);
    cudaError_t code = cudaGetLastError();
    if (code)
        return code;
    backward_bias_kernel<<<stride_blocks(s->out_maps, THREADS), THREADS, 0, stream>>>(args_of(job, batch));
    return cudaGetLastError();
}

#define NAIVE(symbol, operation, prepare_function, launch_function) \
    extern "C" const cuda_kernel CUDA_KERNEL(                       \
        symbol) = { #symbol, "naive", "kernels/naive_conv.cu", operation, NULL, prepare_function, launch_function };

NAIVE(naive_conv_forward, CNN_OP_CONV_FORWARD, prepare, forward)
NAIVE(naive_full_forward, CNN_OP_FULL_FORWARD, prepare, forward)
NAIVE(naive_conv_backward_data, CNN_OP_CONV_BACKWARD_DATA, prepare, backward_data)
NAIVE(naive_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, prepare, backward_data)
NAIVE(naive_conv_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, prepare_weights, backward_weights)
NAIVE(naive_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, prepare_weights, backward_weights)

/* Kernels that the tiles of `direct` do not take: larger than 31 on a side, of convolutions that are no matrix product.
 */
#define PLAIN(symbol, operation, prepare_function, launch_function) \
    extern "C" const cuda_kernel CUDA_KERNEL(                       \
        symbol) = { #symbol, "direct", "kernels/naive_conv.cu", operation, NULL, prepare_function, launch_function };

PLAIN(plain_conv_forward, CNN_OP_CONV_FORWARD, prepare, forward)
PLAIN(plain_conv_backward_data, CNN_OP_CONV_BACKWARD_DATA, prepare, backward_data)
PLAIN(plain_conv_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, prepare_weights, backward_weights)
