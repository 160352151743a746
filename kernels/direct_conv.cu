/* SPDX-License-Identifier: MIT */
/* Forward convolution as a product without unfolding: rows are output maps, columns output pixels of all images, terms
 * the taps of all input maps. Bias and activation on the way out. Unconnected pairs are multiplied as zeros. Every
 * input value is fetched once per tile of maps and tap, mostly from L1; TM x TN FMAs per thread and term hide it. */
#include "kernels/direct.cuh"

static constexpr tile_choice plain_choices[] = { choice_of<tile_square>(0.75f), choice_of<tile_64>(0.70f),
                                                 choice_of<tile_32>(0.65f),     choice_of<tile_16>(0.50f),
                                                 choice_of<tile_8>(0.35f),      choice_of<tile_few>(0.40f, true) };
static constexpr tile_choice tensor_choices[] = { choice_of<tensor_square>(2.0f), choice_of<tensor_64>(1.7f),
                                                  choice_of<tensor_32>(1.3f) };

template <class T> struct conv_forward {
    template <int N>
    __device__ static void put(const direct_args &a, int map, long long pixel_of_all, const float (&values)[N])
    {
        const cuda_layer &s = a.s;
        if (map >= s.out_maps || pixel_of_all >= a.pixels)
            return;
        int plane = s.out_rows * s.out_cols, pixel;
        long long image;
        float out[N], bias = a.bias[map];
        divide(pixel_of_all, plane, &image, &pixel);
        int count = (int)min((long long)N, a.pixels - pixel_of_all);
        float *to = a.y + (image * s.out_maps + map) * plane + pixel;
        bool together = N > 1 && plane % N == 0; /* neighbours lie in one image, and aligned */
#pragma unroll
        for (int i = 0; i < N; i++) {
            float sum = values[i] + bias;
            if (i < count && s.first && !isfinite(sum))
                sum = repair_output(s, a.weights, bias, a.x + image * s.in_maps * s.in_rows * s.in_cols, map, pixel);
            out[i] = activate(s.activation, sum);
            if (!together && i < count)
                *to = out[i];
            pixel++;
            to++;
            if (pixel == plane) { /* on to the next image's map */
                pixel = 0;
                image++;
                to += (long long)(s.out_maps - 1) * plane;
            }
        }
        to = a.y + (pixel_of_all / plane * s.out_maps + map) * plane + pixel_of_all % plane;
        if constexpr (N == 4) {
            if (together)
                *(float4 *)to = make_float4(out[0], out[1], out[2], out[3]);
        } else if constexpr (N == 2) {
            if (together)
                *(float2 *)to = make_float2(out[0], out[1]);
        }
    }

    __device__ static void run(const direct_args &a, float *memory)
    {
        rows_of_matrix<T, T::BM> weights;
        windows<T, T::BN> inputs;
        int tile = blockIdx.x / a.split, row = tile % a.row_tiles * T::BM;
        long long column = (long long)(tile / a.row_tiles) * T::BN;
        weights.start(a.s.dense, a.s.reduction, row, a.s.out_maps);
        inputs.start(a.s, a.x, column, a.pixels);
        direct_tile<T>(a, weights, inputs, a.s.reduction, memory,
                       [&](int r, int c, const auto &values) { put(a, row + r, column + c, values); });
    }
};

static int supports(const cuda_job *job)
{
    return !job->shape->full && direct_takes(job);
}

static void prepare(cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    long long columns = (long long)job->batch * s.out_rows * s.out_cols;
    job->executed_macs = (double)job->layer->macs_dense;
    if (direct_uses_tensor_cores(job))
        choose_tile(job, tensor_choices, s.out_maps, columns, s.reduction);
    else
        choose_tile(job, plain_choices, s.out_maps, columns, s.reduction);
}

static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    long long rows = a.s.out_maps, columns = a.pixels = a.images * a.s.out_rows * a.s.out_cols;
    if (direct_uses_tensor_cores(job))
        switch (job->tile) {
        case 0:
            return launch_tiles<conv_forward, tensor_square>(a, rows, columns, 1, stream);
        case 1:
            return launch_tiles<conv_forward, tensor_64>(a, rows, columns, 1, stream);
        default:
            return launch_tiles<conv_forward, tensor_32>(a, rows, columns, 1, stream);
        }
    switch (job->tile) {
    case 0:
        return launch_tiles<conv_forward, tile_square>(a, rows, columns, 1, stream);
    case 1:
        return launch_tiles<conv_forward, tile_64>(a, rows, columns, 1, stream);
    case 2:
        return launch_tiles<conv_forward, tile_32>(a, rows, columns, 1, stream);
    case 3:
        return launch_tiles<conv_forward, tile_16>(a, rows, columns, 1, stream);
    case 4:
        return launch_tiles<conv_forward, tile_8>(a, rows, columns, 1, stream);
    default:
        return launch_tiles<conv_forward, tile_few>(a, rows, columns, 1, stream);
    }
}

extern "C" const cuda_kernel CUDA_KERNEL(direct_conv_forward) = {
    "direct_conv_forward", "direct", "kernels/direct_conv.cu", CNN_OP_CONV_FORWARD, supports, prepare, launch
};
