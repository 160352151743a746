/* SPDX-License-Identifier: MIT */
/* Backward through a convolution as a product without unfolding: rows are input maps, columns input pixels of all
 * images, terms (output map, tap). Each pixel gathers, so nothing is scattered and the order is fixed; the slope of the
 * layer below on the way out. With a stride most terms of a pixel are empty and are fetched as zeros. */
#include "kernels/direct.cuh"

static constexpr tile_choice plain_choices[] = { choice_of<tile_square>(0.75f), choice_of<tile_64>(0.70f),
                                                 choice_of<tile_32>(0.60f),     choice_of<tile_16>(0.45f),
                                                 choice_of<tile_8>(0.30f),      choice_of<tile_few>(0.40f, true) };
static constexpr tile_choice tensor_choices[] = { choice_of<tensor_square>(2.0f), choice_of<tensor_64>(1.7f),
                                                  choice_of<tensor_32>(1.3f) };

template <class T> struct conv_backward_data {
    template <int N>
    __device__ static void put(const direct_args &a, int map, long long pixel_of_all, const float (&values)[N])
    {
        const cuda_layer &s = a.s;
        if (map >= s.in_maps || pixel_of_all >= a.pixels)
            return;
        int plane = s.in_rows * s.in_cols, pixel;
        long long image;
        divide(pixel_of_all, plane, &image, &pixel);
        int count = (int)min((long long)N, a.pixels - pixel_of_all);
        long long at = (image * s.in_maps + map) * plane + pixel;
#pragma unroll
        for (int i = 0; i < N; i++) {
            float sum = values[i];
            if (i < count) {
                if (s.first && !isfinite(sum))
                    sum =
                        repair_gradient(s, a.weights, a.dy + image * s.out_maps * s.out_rows * s.out_cols, map, pixel);
                a.dx[at] = a.below == CNN_LINEAR ? sum : sum * slope_of(a.below, a.x[at]);
            }
            pixel++;
            at++;
            if (pixel == plane) {
                pixel = 0;
                image++;
                at += (long long)(s.in_maps - 1) * plane;
            }
        }
    }

    __device__ static void run(const direct_args &a, float *memory)
    {
        transposed_weights<T, T::BM> weights;
        deltas_at_pixels<T, T::BN> deltas;
        int tile = blockIdx.x / a.split, row = tile % a.row_tiles * T::BM;
        long long column = (long long)(tile / a.row_tiles) * T::BN;
        weights.start(a.s, row);
        deltas.start(a.s, a.dy, column, a.pixels);
        direct_tile<T>(a, weights, deltas, a.s.out_maps * a.s.taps, memory,
                       [&](int r, int c, const auto &values) { put(a, row + r, column + c, values); });
    }
};

static int supports(const cuda_job *job)
{
    return !job->shape->full && direct_takes(job);
}

static bool on_tensor_cores(const cuda_job *job)
{
    return direct_uses_tensor_cores(job) && job->shape->in_maps >= TENSOR_MAPS;
}

static void prepare(cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    long long columns = (long long)job->batch * s.in_rows * s.in_cols, terms = (long long)s.out_maps * s.taps;
    job->executed_macs = (double)job->layer->macs_dense;
    if (on_tensor_cores(job))
        choose_tile(job, tensor_choices, s.in_maps, columns, terms);
    else
        choose_tile(job, plain_choices, s.in_maps, columns, terms);
}

static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    long long rows = a.s.in_maps, columns = a.pixels = a.images * a.s.in_rows * a.s.in_cols;
    if (on_tensor_cores(job))
        switch (job->tile) {
        case 0:
            return launch_tiles<conv_backward_data, tensor_square>(a, rows, columns, 1, stream);
        case 1:
            return launch_tiles<conv_backward_data, tensor_64>(a, rows, columns, 1, stream);
        default:
            return launch_tiles<conv_backward_data, tensor_32>(a, rows, columns, 1, stream);
        }
    switch (job->tile) {
    case 0:
        return launch_tiles<conv_backward_data, tile_square>(a, rows, columns, 1, stream);
    case 1:
        return launch_tiles<conv_backward_data, tile_64>(a, rows, columns, 1, stream);
    case 2:
        return launch_tiles<conv_backward_data, tile_32>(a, rows, columns, 1, stream);
    case 3:
        return launch_tiles<conv_backward_data, tile_16>(a, rows, columns, 1, stream);
    case 4:
        return launch_tiles<conv_backward_data, tile_8>(a, rows, columns, 1, stream);
    default:
        return launch_tiles<conv_backward_data, tile_few>(a, rows, columns, 1, stream);
    }
}

extern "C" const cuda_kernel CUDA_KERNEL(direct_conv_backward_data) = { "direct_conv_backward_data",
                                                                        "direct",
                                                                        "kernels/direct_conv_data.cu",
                                                                        CNN_OP_CONV_BACKWARD_DATA,
                                                                        supports,
                                                                        prepare,
                                                                        launch };
