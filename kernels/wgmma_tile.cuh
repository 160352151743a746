/* SPDX-License-Identifier: MIT */
/* What convolutions on Hopper's tensor cores are made of: rows that warps take from a patch in shared memory into
 * registers, N columns that the tensor cores read from shared memory themselves, where the copy engine brings them in
 * the order in which they lie in memory. While the tensor cores multiply STEPS steps of 8 terms, the warps fetch the
 * next. */
#ifndef KERNELS_WGMMA_TILE_CUH
#define KERNELS_WGMMA_TILE_CUH

#include "kernels/ptx.cuh"
#include "kernels/tensor.cuh"
#include "kernels/wgmma.cuh"

#define STEPS 4      /* multiplied together */
#define SLOTS 4      /* of STEPS steps of weights in shared memory */
#define STAGES 3     /* of patches: at work, there, on its way */
#define LEAST_TAPS 7 /* so that STEPS steps reach into one chunk of maps more at most */

/* Columns that a tile may have. */
static const int wgmma_columns[] = { 16, 24, 32, 48, 64, 96, 128 };

/* Its ROWS: in fp32, where there are two sets of sums, as many as registers hold; fewer where blocks of few columns are
 * to share a multiprocessor. */
static constexpr int wgmma_rows(int columns, int products)
{
    return products == 3 && (columns < 48 || columns > 64) ? 1 : 2;
}

static constexpr int wgmma_pixels(int columns, int products)
{
    return 2 * 64 * wgmma_rows(columns, products);
}

/* Blocks that a multiprocessor holds. */
static constexpr int wgmma_blocks(int columns, int products)
{
    return wgmma_rows(columns, products) * columns <= (products == 3 ? 32 : 64) ? 2 : 1;
}

/* A block's tile: two groups of four warps, each of ROWS x 64 rows, and N columns. */
template <int N_, int PRODUCTS_> struct wgmma_tile {
    static constexpr int N = N_, PRODUCTS = PRODUCTS_, THREADS = 256;
    static constexpr int ROWS = wgmma_rows(N, PRODUCTS), PIXELS = wgmma_pixels(N, PRODUCTS);
    static constexpr int BLOCKS = wgmma_blocks(N, PRODUCTS);
    static constexpr int PARTS = PRODUCTS == 3 ? 2 : 1;              /* of a column: high and low */
    static constexpr int STEP = PARTS * N * 8, GROUP = STEPS * STEP; /* words of columns */
};

/* Columns on their way to shared memory, by the copy engine: a barrier for each slot that is filled, and one for each
 * that all warps have done with. One thread brings them. */
template <class T> struct weight_ring {
    const float *packed;
    float *slots;
    unsigned long long *filled, *emptied; /* [SLOTS] */
    int groups;

    __device__ __forceinline__ void start()
    {
        if (threadIdx.x == 0) {
            for (int slot = 0; slot < SLOTS; slot++) {
                barrier_init(filled + slot, 1);
                barrier_init(emptied + slot, T::THREADS / 32);
            }
            barrier_fence();
            for (int group = 0; group < 2; group++)
                bring(group);
        }
    }

    __device__ __forceinline__ void bring(int group)
    {
        if (group >= groups)
            return;
        if (group >= SLOTS)
            barrier_wait(emptied + group % SLOTS, (group / SLOTS - 1) % 2);
        bulk_copy(slots + group % SLOTS * T::GROUP, packed + (long long)group * T::GROUP, T::GROUP * 4,
                  filled + group % SLOTS);
    }

    __device__ __forceinline__ const float *take(int group)
    {
        if (threadIdx.x == 0)
            bring(group + 2);
        barrier_wait(filled + group % SLOTS, group / SLOTS % 2);
        return slots + group % SLOTS * T::GROUP;
    }

    __device__ __forceinline__ void done(int group)
    {
        if (threadIdx.x % 32 == 0)
            barrier_arrive(emptied + group % SLOTS);
    }
};

__device__ __forceinline__ float word_at(const float *patches, int bytes)
{
    return *(const float *)((const char *)patches + bytes);
}

/* A thread's values of STEPS steps: pixels lane / 4 and 8 on, terms lane % 4 and 4 on. Places are in bytes. */
template <class T> struct pixel_values {
    float value[STEPS][T::ROWS][4];

    /* Steps [0, count) exist; the last group is filled up with zeros. */
    __device__ __forceinline__ void fetch(const float *patches, const int2 *offsets, const int (&places)[T::ROWS][2],
                                          int count)
    {
        int2 offset[STEPS];
#pragma unroll
        for (int step = 0; step < STEPS; step++)
            offset[step] = offsets[step < count ? step * 4 : 0];
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int row = 0; row < T::ROWS; row++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    value[step][row][half] = word_at(patches, places[row][half] + offset[step].x);
                    value[step][row][2 + half] = word_at(patches, places[row][half] + offset[step].y);
                }
        if (count >= STEPS)
            return;
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int row = 0; row < T::ROWS; row++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    value[step][row][i] = step < count ? value[step][row][i] : 0;
    }
};

template <class T> struct pixel_sums {
    float sum[T::ROWS][T::N / 2];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int row = 0; row < T::ROWS; row++)
#pragma unroll
            for (int i = 0; i < T::N / 2; i++)
                sum[row][i] = 0;
    }

    /* Adds STEPS steps, in three products summed up apart. `meanwhile` runs while the tensor cores do. */
    template <class DO>
    __device__ __forceinline__ void add(const pixel_values<T> &values, const float *weights, DO meanwhile)
    {
        tensor_operand<T::PRODUCTS, 4> a[STEPS][T::ROWS];
        float part[T::PRODUCTS == 3 ? T::ROWS : 1][T::N / 2];
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int row = 0; row < T::ROWS; row++)
                a[step][row].take(values.value[step][row]);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int row = 0; row < T::ROWS; row++) {
                const float *high = weights + step * T::STEP, *low = high + T::N * 8;
                if constexpr (T::PRODUCTS == 3) {
                    wgmma<T::N>::multiply(part[row], a[step][row].low, high, step > 0);
                    wgmma<T::N>::multiply(part[row], a[step][row].high, low, true);
                    wgmma<T::N>::multiply(part[row], a[step][row].high, high, true);
                } else {
                    wgmma<T::N>::multiply(sum[row], a[step][row].high, high, true);
                }
            }
        wgmma_commit();
        meanwhile();
        wgmma_wait<0>();
#pragma unroll
        for (int row = 0; row < T::ROWS; row++) {
            wgmma_hold(T::PRODUCTS == 3 ? part[T::PRODUCTS == 3 ? row : 0] : sum[row]);
#pragma unroll
            for (int i = 0; T::PRODUCTS == 3 && i < T::N / 2; i++)
                sum[row][i] += part[T::PRODUCTS == 3 ? row : 0][i];
        }
    }
};

/* The index of the columns that waste least, with a fixed cost for every block of maps. */
static int choose_columns(int maps)
{
    int best = 0;
    double least = 0;
    for (int i = 0; i < (int)(sizeof wgmma_columns / sizeof *wgmma_columns); i++) {
        int n = wgmma_columns[i];
        double cost = (maps + n - 1) / n * (n + 24.0);
        if (i > 0 && cost > least)
            continue;
        least = cost;
        best = i;
    }
    return best;
}

#endif
