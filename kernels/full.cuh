/* SPDX-License-Identifier: MIT */
/* The three operations of a fully connected layer as matrix products: what they multiply, by panels of product.cuh or
 * by loaders of FFMA tiles, and what becomes of the sums. */
#ifndef KERNELS_FULL_CUH
#define KERNELS_FULL_CUH

#include "kernels/product.cuh"

/* The four (or one) values of neighbouring columns to a row of `length` floats; aligned where the row is. */
template <int N> __device__ __forceinline__ void put_row(float *to, int column, int length, const float (&values)[N])
{
    if (N == 4 && length % 4 == 0) {
        if (column < length)
            *(float4 *)(to + column) = make_float4(values[0], values[1], values[2], values[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        if (column + i < length)
            to[column + i] = values[i];
}

/* What each operation multiplies and where its sums go; the panels are those of a tile T of product.cuh. */
template <int PRODUCTS> struct full_forward {
    template <class T> using A = rows_panel<T::BM, T::THREADS>;
    template <class T> using B = rows_panel<T::BN, T::THREADS>;

    template <class PA, class PB>
    __device__ static void start(const direct_args &a, PA &images, PB &weights, int row, int column)
    {
        images.start(a.x, a.s.reduction, row, a.images);
        weights.start(a.s.dense, a.s.reduction, column, a.s.out_maps);
    }

    __device__ static void terms(const direct_args &a, int, int *begin, int *end)
    {
        *begin = 0;
        *end = a.s.reduction;
    }

    __device__ static bool wide(const direct_args &a)
    {
        return a.s.out_maps % 4 == 0;
    }

    template <int N>
    __device__ static void put(const direct_args &a, int, long long image, int unit, const float (&sums)[N])
    {
        float values[N];
        int length = a.s.reduction;
        if (image >= a.images || unit >= a.s.out_maps)
            return;
#pragma unroll
        for (int i = 0; i < N; i++) {
            int at = min(unit + i, a.s.out_maps - 1);
            float sum = sums[i];
            if (PRODUCTS == 3 && !isfinite(sum))
                sum = repair_product(a.x + image * length, 1, a.s.dense + (long long)at * length, 1, length);
            values[i] = activate(a.s.activation, sum + a.bias[at]);
        }
        put_row(a.y + image * a.s.out_maps, unit, a.s.out_maps, values);
    }
};

template <int PRODUCTS> struct full_backward_data {
    template <class T> using A = rows_panel<T::BM, T::THREADS>;
    template <class T> using B = columns_panel<T::BN, T::THREADS, false>;

    template <class PA, class PB>
    __device__ static void start(const direct_args &a, PA &deltas, PB &weights, int row, int column)
    {
        deltas.start(a.dy, a.s.out_maps, row, a.images);
        weights.start(a.s.dense, a.s.reduction, column, a.s.reduction);
    }

    __device__ static void terms(const direct_args &a, int, int *begin, int *end)
    {
        *begin = 0;
        *end = a.s.out_maps;
    }

    __device__ static bool wide(const direct_args &a)
    {
        return a.s.reduction % 4 == 0;
    }

    template <int N>
    __device__ static void put(const direct_args &a, int, long long image, int input, const float (&sums)[N])
    {
        float values[N];
        int length = a.s.reduction;
        if (image >= a.images || input >= length)
            return;
#pragma unroll
        for (int i = 0; i < N; i++) {
            int at = min(input + i, length - 1);
            values[i] = sums[i];
            if (PRODUCTS == 3 && !isfinite(sums[i]))
                values[i] = repair_product(a.dy + image * a.s.out_maps, 1, a.s.dense + at, length, a.s.out_maps);
            if (a.below != CNN_LINEAR)
                values[i] *= slope_of(a.below, a.x[image * length + at]);
        }
        put_row(a.dx + image * length, input, length, values);
    }
};

template <int PRODUCTS> struct full_backward_weights {
    template <class T> using A = columns_panel<T::BM, T::THREADS, false>;
    template <class T> using B = columns_panel<T::BN, T::THREADS, true>;

    template <class PA, class PB>
    __device__ static void start(const direct_args &a, PA &deltas, PB &inputs, int row, int column)
    {
        deltas.start(a.dy, a.s.out_maps, row, a.s.out_maps);
        inputs.start(a.x, a.s.reduction, column, a.s.reduction);
    }

    /* The images of a slice. */
    __device__ static void terms(const direct_args &a, int slice, int *begin, int *end)
    {
        int images = (int)a.images, each = (images + a.s.slices - 1) / a.s.slices;
        *begin = min(slice * each, images);
        *end = min(*begin + each, images);
    }

    __device__ static bool wide(const direct_args &a)
    {
        return (a.s.reduction + 1) % 4 == 0;
    }

    template <int N>
    __device__ static void put(const direct_args &a, int slice, long long unit, int input, const float (&sums)[N])
    {
        float values[N];
        int length = a.s.reduction + 1, units = a.s.out_maps;
        if (unit >= units || input >= length)
            return;
#pragma unroll
        for (int i = 0; i < N; i++) {
            values[i] = sums[i];
            if (PRODUCTS == 3 && !isfinite(sums[i]))
                values[i] = repair(a, slice, unit, min(input + i, length - 1));
        }
        put_row(a.s.partial + (slice * (long long)units + unit) * length, input, length, values);
    }

    __device__ static float repair(const direct_args &a, int slice, long long unit, int input)
    {
        int begin, end, length = a.s.reduction;
        terms(a, slice, &begin, &end);
        const float *x = input < length ? a.x + (long long)begin * length + input : NULL;
        return repair_product(a.dy + (long long)begin * a.s.out_maps + unit, a.s.out_maps, x, length, end - begin);
    }
};

/* The same with FFMA tiles. */
template <class T> struct plain_forward {
    __device__ static void run(const direct_args &a, float *memory)
    {
        rows_of_matrix<T, T::BM> images;
        rows_of_matrix<T, T::BN> weights;
        int tile = blockIdx.x / a.split, row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        full_forward<0>::start(a, images, weights, row, column);
        direct_tile<T>(a, images, weights, a.s.reduction, memory, [&](int r, int c, const auto &values) {
            full_forward<0>::put(a, 0, row + r, column + c, values);
        });
    }
};

template <class T> struct plain_backward_data {
    __device__ static void run(const direct_args &a, float *memory)
    {
        rows_of_matrix<T, T::BM> deltas;
        columns_of_matrix<T, T::BN, false> weights;
        int tile = blockIdx.x / a.split, row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        deltas.start(a.dy, a.s.out_maps, row, a.images);
        weights.start(a.s.dense, a.s.reduction, column);
        direct_tile<T>(a, deltas, weights, a.s.out_maps, memory, [&](int r, int c, const auto &values) {
            full_backward_data<0>::put(a, 0, row + r, column + c, values);
        });
    }
};

template <class T> struct plain_backward_weights {
    __device__ static void run(const direct_args &a, float *memory)
    {
        columns_of_matrix<T, T::BM, false> deltas;
        columns_of_matrix<T, T::BN, true> inputs;
        int slice = (int)(blockIdx.x % a.s.slices), tile = (int)(blockIdx.x / a.s.slices), begin, end;
        int row = tile % a.row_tiles * T::BM, column = tile / a.row_tiles * T::BN;
        full_backward_weights<0>::terms(a, slice, &begin, &end);
        deltas.start(a.dy + (long long)begin * a.s.out_maps, a.s.out_maps, row);
        inputs.start(a.x + (long long)begin * a.s.reduction, a.s.reduction, column);
        tile_product<T>(deltas, inputs, 0, end - begin, memory, [&](int r, int c, const auto &values) {
            full_backward_weights<0>::put(a, slice, row + r, column + c, values);
        });
    }
};

#endif
