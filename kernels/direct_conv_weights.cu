/* SPDX-License-Identifier: MIT */
/* Weight gradient of a convolution as a product without unfolding: rows are output maps, columns taps of all input maps
 * and one more of constant ones for the bias, terms the output pixels of all images. The terms are dealt to slices, so
 * that small layers fill the GPU too; each slice writes its sums, and the update adds the slices up in order. */
#include "kernels/direct.cuh"

static constexpr tile_choice plain_choices[] = { choice_of<tile_square>(0.70f), choice_of<tile_64>(0.65f),
                                                 choice_of<tile_tall>(0.55f),   choice_of<tile_flat>(0.50f),
                                                 choice_of<tile_few>(0.40f),    choice_of<tile_thin>(0.30f) };
static constexpr tile_choice tensor_choices[] = { choice_of<tensor_square>(2.0f), choice_of<tensor_64>(1.7f),
                                                  choice_of<tensor_32>(1.3f) };

static long long columns_of(const cuda_layer &s)
{
    return (long long)s.reduction + 1;
}

template <class T> struct conv_backward_weights {
    template <int N>
    __device__ static void put(float *to, int map, long long tap, const float (&values)[N], const cuda_layer &s)
    {
        if (map >= s.out_maps)
            return;
#pragma unroll
        for (int i = 0; i < N; i++)
            if (tap + i <= s.reduction)
                to[(long long)map * (s.reduction + 1) + tap + i] = values[i];
    }

    __device__ static void run(const direct_args &a, float *memory)
    {
        deltas_of_maps<T, T::BM> deltas;
        inputs_of_taps<T, T::BN> inputs;
        const cuda_layer &s = a.s;
        int slice = (int)(blockIdx.x % s.slices), tile = (int)(blockIdx.x / s.slices);
        int row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        long long each = (a.pixels + s.slices - 1) / s.slices, begin = min(slice * each, a.pixels);
        long long end = min(begin + each, a.pixels);
        float *to = s.partial + slice * (long long)s.out_maps * (s.reduction + 1);
        deltas.start(s, a.dy, row, begin);
        inputs.start(s, a.x, column, begin);
        tile_product<T>(deltas, inputs, 0, (int)(end - begin), memory,
                        [&](int r, int c, const auto &values) { put(to, row + r, column + c, values, s); });
    }
};

static int supports(const cuda_job *job)
{
    return !job->shape->full && direct_takes(job);
}

/* The tile of least padding and best speed, since slices fill the GPU whatever the tile; then enough slices for about
 * three blocks on each multiprocessor. */
static void prepare(cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    bool tensor = direct_uses_tensor_cores(job);
    int multiprocessors = job->multiprocessors;
    job->executed_macs = (double)job->layer->macs_dense;
    job->multiprocessors = 1;
    if (tensor)
        choose_tile(job, tensor_choices, s.out_maps, columns_of(s), 1);
    else
        choose_tile(job, plain_choices, s.out_maps, columns_of(s), 1);
    job->multiprocessors = multiprocessors;
    tile_choice tile = tensor ? tensor_choices[job->tile] : plain_choices[job->tile];
    long long tiles = ((s.out_maps + tile.rows - 1) / tile.rows) * ((columns_of(s) + tile.columns - 1) / tile.columns);
    long long terms = (long long)job->batch * s.out_rows * s.out_cols;
    long long slices = (long long)tile.resident * job->multiprocessors / tiles,
              most = (terms + SLICE_TERMS - 1) / SLICE_TERMS;
    slices = slices < 1 ? 1 : slices;
    slices = slices < most ? slices : most;
    most = SLICE_FLOATS / (s.out_maps * columns_of(s));
    slices = slices < most ? slices : most;
    slices = slices < SLICES_MOST ? slices : SLICES_MOST;
    long long least = terms / 0x3fffffff + 1; /* a slice's terms are counted in 32 bits */
    job->shape->slices = (int)(slices > least ? slices : least);
}

static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    long long rows = a.s.out_maps, columns = columns_of(a.s);
    int slices = a.s.slices;
    a.pixels = a.images * a.s.out_rows * a.s.out_cols;
    if (direct_uses_tensor_cores(job))
        switch (job->tile) {
        case 0:
            return launch_tiles<conv_backward_weights, tensor_square>(a, rows, columns, slices, stream);
        case 1:
            return launch_tiles<conv_backward_weights, tensor_64>(a, rows, columns, slices, stream);
        default:
            return launch_tiles<conv_backward_weights, tensor_32>(a, rows, columns, slices, stream);
        }
    switch (job->tile) {
    case 0:
        return launch_tiles<conv_backward_weights, tile_square>(a, rows, columns, slices, stream);
    case 1:
        return launch_tiles<conv_backward_weights, tile_64>(a, rows, columns, slices, stream);
    case 2:
        return launch_tiles<conv_backward_weights, tile_tall>(a, rows, columns, slices, stream);
    case 3:
        return launch_tiles<conv_backward_weights, tile_flat>(a, rows, columns, slices, stream);
    case 4:
        return launch_tiles<conv_backward_weights, tile_few>(a, rows, columns, slices, stream);
    default:
        return launch_tiles<conv_backward_weights, tile_thin>(a, rows, columns, slices, stream);
    }
}

extern "C" const cuda_kernel CUDA_KERNEL(direct_conv_backward_weights) = { "direct_conv_backward_weights",
                                                                           "direct",
                                                                           "kernels/direct_conv_weights.cu",
                                                                           CNN_OP_CONV_BACKWARD_WEIGHTS,
                                                                           supports,
                                                                           prepare,
                                                                           launch };
