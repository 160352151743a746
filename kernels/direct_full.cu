/* SPDX-License-Identifier: MIT */
/* Fully connected layers (and convolutions as large as their input) as products of the tensors as they lie: forward
 * rows are images and columns units; backward rows are images and columns inputs; the weight gradient has a row per
 * unit and a column per input, one more for the bias, images as terms. Bias and activation, or the slope of the layer
 * below, on the way out. */
#include "kernels/direct.cuh"

static constexpr tile_choice plain_choices[] = { choice_of<tile_square>(0.75f), choice_of<tile_64>(0.70f),
                                                 choice_of<tile_few>(0.40f, true) };
static constexpr tile_choice tensor_choices[] = { choice_of<tensor_square>(2.0f), choice_of<tensor_64>(1.7f),
                                                  choice_of<tensor_32>(1.3f) };

template <class T> struct full_forward {
    template <int N>
    __device__ static void put(const direct_args &a, long long image, int unit, const float (&values)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (image < a.images && unit + i < a.s.out_maps)
                a.y[image * a.s.out_maps + unit + i] = activate(a.s.activation, values[i] + a.bias[unit + i]);
    }

    __device__ static void run(const direct_args &a, float *memory)
    {
        rows_of_matrix<T, T::BM> images;
        rows_of_matrix<T, T::BN> weights;
        int tile = blockIdx.x / a.split, row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        images.start(a.x, a.s.reduction, row, a.images);
        weights.start(a.s.dense, a.s.reduction, column, a.s.out_maps);
        direct_tile<T>(a, images, weights, a.s.reduction, memory,
                       [&](int r, int c, const auto &values) { put(a, row + r, column + c, values); });
    }
};

template <class T> struct full_backward_data {
    template <int N>
    __device__ static void put(const direct_args &a, long long image, int input, const float (&values)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (image < a.images && input + i < a.s.reduction) {
                long long at = image * a.s.reduction + input + i;
                a.dx[at] = a.below == CNN_LINEAR ? values[i] : values[i] * slope_of(a.below, a.x[at]);
            }
    }

    __device__ static void run(const direct_args &a, float *memory)
    {
        rows_of_matrix<T, T::BM> deltas;
        columns_of_matrix<T, T::BN, false> weights;
        int tile = blockIdx.x / a.split, row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        deltas.start(a.dy, a.s.out_maps, row, a.images);
        weights.start(a.s.dense, a.s.reduction, column);
        direct_tile<T>(a, deltas, weights, a.s.out_maps, memory,
                       [&](int r, int c, const auto &values) { put(a, row + r, column + c, values); });
    }
};

template <class T> struct full_backward_weights {
    template <int N>
    __device__ static void put(float *to, int unit, int input, const float (&values)[N], const cuda_layer &s)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (unit < s.out_maps && input + i <= s.reduction)
                to[(long long)unit * (s.reduction + 1) + input + i] = values[i];
    }

    __device__ static void run(const direct_args &a, float *memory)
    {
        columns_of_matrix<T, T::BM, false> deltas;
        columns_of_matrix<T, T::BN, true> inputs;
        const cuda_layer &s = a.s;
        int slice = (int)(blockIdx.x % s.slices), tile = (int)(blockIdx.x / s.slices);
        int row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        int each = (int)((a.images + s.slices - 1) / s.slices), begin = min(slice * each, (int)a.images);
        int end = min(begin + each, (int)a.images);
        float *to = s.partial + slice * (long long)s.out_maps * (s.reduction + 1);
        deltas.start(a.dy + (long long)begin * s.out_maps, s.out_maps, row);
        inputs.start(a.x + (long long)begin * s.reduction, s.reduction, column);
        tile_product<T>(deltas, inputs, 0, end - begin, memory,
                        [&](int r, int c, const auto &values) { put(to, row + r, column + c, values, s); });
    }
};

static bool on_tensor_cores(const cuda_job *job)
{
    return direct_uses_tensor_cores(job) && job->batch >= TENSOR_MAPS;
}

template <template <class> class OP>
static cudaError_t launch_product(const cuda_job *job, const direct_args &a, long long rows, long long columns,
                                  int slices, cudaStream_t stream)
{
    if (on_tensor_cores(job))
        switch (job->tile) {
        case 0:
            return launch_tiles<OP, tensor_square>(a, rows, columns, slices, stream);
        case 1:
            return launch_tiles<OP, tensor_64>(a, rows, columns, slices, stream);
        default:
            return launch_tiles<OP, tensor_32>(a, rows, columns, slices, stream);
        }
    switch (job->tile) {
    case 0:
        return launch_tiles<OP, tile_square>(a, rows, columns, slices, stream);
    case 1:
        return launch_tiles<OP, tile_64>(a, rows, columns, slices, stream);
    default:
        return launch_tiles<OP, tile_few>(a, rows, columns, slices, stream);
    }
}

static cudaError_t forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    return launch_product<full_forward>(job, a, a.images, a.s.out_maps, 1, stream);
}

static cudaError_t backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    return launch_product<full_backward_data>(job, a, a.images, a.s.reduction, 1, stream);
}

static cudaError_t backward_weights(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    return launch_product<full_backward_weights>(job, a, a.s.out_maps, (long long)a.s.reduction + 1, a.s.slices,
                                                 stream);
}

static int is_full(const cuda_job *job)
{
    return job->shape->full;
}

static void choose(cuda_job *job, long long rows, long long columns, long long terms)
{
    job->executed_macs = (double)job->layer->macs_dense;
    if (on_tensor_cores(job))
        choose_tile(job, tensor_choices, rows, columns, terms);
    else
        choose_tile(job, plain_choices, rows, columns, terms);
}

static void prepare_forward(cuda_job *job)
{
    choose(job, job->batch, job->shape->out_maps, job->shape->reduction);
}

static void prepare_data(cuda_job *job)
{
    choose(job, job->batch, job->shape->reduction, job->shape->out_maps);
}

/* Slices where the matrix alone does not fill the GPU, of at least SLICE_TERMS images. */
static void prepare_weights(cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    choose(job, s.out_maps, (long long)s.reduction + 1, 1);
    long long size = (long long)s.out_maps * (s.reduction + 1), tiles = (size + 1023) / 1024;
    long long slices = job->multiprocessors / tiles, most = job->batch / SLICE_TERMS;
    slices = slices < most ? slices : most;
    job->shape->slices = (int)(slices < 1 ? 1 : slices);
}

#define FULL(symbol, operation, supports_function, prepare_function, launch_function)                                 \
    extern "C" const cuda_kernel CUDA_KERNEL(symbol) = { #symbol,        "direct",          "kernels/direct_full.cu", \
                                                         operation,      supports_function, prepare_function,         \
                                                         launch_function };

FULL(direct_whole_forward, CNN_OP_CONV_FORWARD, is_full, prepare_forward, forward)
FULL(direct_full_forward, CNN_OP_FULL_FORWARD, NULL, prepare_forward, forward)
FULL(direct_whole_backward_data, CNN_OP_CONV_BACKWARD_DATA, is_full, prepare_data, backward_data)
FULL(direct_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, NULL, prepare_data, backward_data)
FULL(direct_whole_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, is_full, prepare_weights, backward_weights)
FULL(direct_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, NULL, prepare_weights, backward_weights)
