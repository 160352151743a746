/* SPDX-License-Identifier: MIT */
/* Convolutions of stride 1 over many images on Hopper's tensor cores, forward and backward through the data. Rows of
 * the product are images: a block has P neighbouring output pixels of a row of a map, for 64 or 128 images and all the
 * maps of a tile. An input pixel is then a piece of memory of its own, [images][16 maps], which the copy engine brings
 * once, which each warp takes into registers once, and which meets the weights of every tap that reaches one of the P
 * outputs from there: up to KERNEL products for each. Pixels beside the map are never touched, so that backward through
 * the data, where half of all taps are, costs what forward does.
 *
 * Tensors are packed for it first, [16 maps][row][col][images][16 maps], and weights as products take them.
 *
 * Bound: the tensor cores, N / 2 clocks for 64 images x N maps x 8 terms; shared memory gives the weights in N / 4. L2
 * gives (P + KERNEL - 1) pixels and the weights of a kernel's row for P x KERNEL products: 24 bytes per clock at 5
 * pixels x 128 maps and 5 x 5, near what it has; fewer maps or pixels are bound by that. On an H200 the tensor cores
 * are at work for half of the time in tf32 and for 0.6 of it in fp32 (LeNet-5, width 32): a piece is few products,
 * after which a group waits for them.
 *
 * fp32: values are split into high and low halves in registers, weights lie as both; sums of 16 terms are added up in
 * fp32 registers. */
#ifndef KERNELS_WGMMA_IMAGES_CUH
#define KERNELS_WGMMA_IMAGES_CUH

#include "kernels/images_pack.cuh"
#include "kernels/tensor.cuh"
#include "kernels/wgmma.cuh"

#define MULTIPLIERS 256 /* threads: two groups of four warps */
#define THREADS 384     /* and one group that has the copy engine bring what they need */

/* A block's tile: two groups of four warps. Where they share the maps (SHARED) each has its own 64 of 128 images;
 * otherwise both have the same 64, and N maps each. */
template <int KERNEL_, int N_, int P_, bool SHARED_, int PRODUCTS_> struct images_tile {
    static constexpr int KERNEL = KERNEL_, N = N_, P = P_, PRODUCTS = PRODUCTS_;
    static constexpr bool SHARED = SHARED_;
    static constexpr int IMAGES = SHARED ? 128 : 64, MAPS = SHARED ? N : 2 * N;
    static constexpr int PARTS = PRODUCTS == 3 ? 2 : 1, PIECE = IMAGES * DEPTH;
    static constexpr int STEP = PARTS * MAPS * 8, ROW = KERNEL * 2 * STEP; /* words: of a step, of a kernel's row */
    static constexpr int STAGE = 16 * 8 * P;                               /* a warp's outputs on their way out */
    static constexpr int SLOTS = 8, ROW_SLOTS = PRODUCTS == 3 ? 2 : 3;
    static constexpr int WORDS = SLOTS * PIECE + ROW_SLOTS * ROW + MULTIPLIERS / 32 * STAGE;
    static constexpr size_t BYTES = WORDS * sizeof(float) + 2 * (SLOTS + ROW_SLOTS) * sizeof(long long);
};

/* Rows and columns of the input that a block's outputs reach, and its images and maps. */
template <class T> struct images_place {
    int row, left, image_block, map_block, row0, rows, col0, cols; /* row0: of the kernel; col0: of the strip's reach */

    __device__ __forceinline__ images_place(const images_args &a)
    {
        int rest = (int)blockIdx.x;
        map_block = rest % a.map_blocks;
        rest /= a.map_blocks;
        left = rest % a.strips * T::P;
        rest /= a.strips;
        row = rest % a.to_rows;
        image_block = rest / a.to_rows;
        row0 = max(0, a.pad - row);
        rows = min(T::KERNEL, a.from_rows + a.pad - row) - row0;
        col0 = max(0, a.pad - left);
        cols = min(T::P + T::KERNEL - 1, a.from_cols + a.pad - left) - col0;
    }
};

/* Pieces and rows of weights on their way to shared memory, by the copy engine: a barrier for each place that is
 * filled, and one for each that all warps have done with. */
template <class T> struct images_supply {
    float *slots, *row_slots;
    unsigned long long *filled, *emptied, *row_filled, *row_emptied;

    __device__ __forceinline__ images_supply(float *memory)
    {
        slots = memory;
        row_slots = memory + T::SLOTS * T::PIECE;
        filled = (unsigned long long *)(memory + T::WORDS);
        emptied = filled + T::SLOTS;
        row_filled = emptied + T::SLOTS;
        row_emptied = row_filled + T::ROW_SLOTS;
    }

    __device__ __forceinline__ void start()
    {
        for (int i = 0; i < T::SLOTS; i++) {
            barrier_init(filled + i, 1);
            barrier_init(emptied + i, MULTIPLIERS / 32);
        }
        for (int i = 0; i < T::ROW_SLOTS; i++) {
            barrier_init(row_filled + i, 1);
            barrier_init(row_emptied + i, MULTIPLIERS / 32);
        }
        barrier_fence();
    }

    /* One thread brings everything, in the order in which it is used, as places become free. */
    __device__ __forceinline__ void bring(const images_args &a, const images_place<T> &p)
    {
        long long plane = (long long)a.from_rows * a.from_cols;
        int slot = 0, round = 0, row_slot = 0, row_round = 0;
        for (int chunk = 0; chunk < a.chunks; chunk++) {
            long long first = ((long long)p.image_block * a.chunks + chunk) * plane +
                              (p.row - a.pad + p.row0) * a.from_cols + p.left - a.pad + p.col0;
            const float *piece = a.pieces + first * T::PIECE;
            const float *weights =
                a.weights + (((long long)p.map_block * a.chunks + chunk) * T::KERNEL + p.row0) * T::ROW;
            for (int row = 0; row < p.rows; row++, weights += T::ROW, piece += (a.from_cols - p.cols) * T::PIECE) {
                if (row_round > 0)
                    barrier_wait(row_emptied + row_slot, (row_round - 1) % 2);
                bulk_copy(row_slots + row_slot * T::ROW, weights, T::ROW * 4, row_filled + row_slot);
                row_slot = row_slot + 1 < T::ROW_SLOTS ? row_slot + 1 : 0;
                row_round += row_slot == 0;
                for (int col = 0; col < p.cols; col++, piece += T::PIECE) {
                    if (round > 0)
                        barrier_wait(emptied + slot, (round - 1) % 2);
                    bulk_copy(slots + slot * T::PIECE, piece, T::PIECE * 4, filled + slot);
                    slot = slot + 1 < T::SLOTS ? slot + 1 : 0;
                    round += slot == 0;
                }
            }
        }
    }

    /* A thread's values of a piece: images lane / 4 and 8 on of its warp's 16, terms lane % 4 and 4 on, of two steps.
     */
    __device__ __forceinline__ void take(int piece, float (&values)[2][4])
    {
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slot = piece % T::SLOTS;
        const float *at = slots + slot * T::PIECE + (T::SHARED ? warp : warp % 4) * 128 + lane;
        barrier_wait(filled + slot, piece / T::SLOTS % 2);
#pragma unroll
        for (int step = 0; step < 2; step++)
#pragma unroll
            for (int i = 0; i < 4; i++) /* [8 images][half][8][4] */
                values[step][i] = at[step * (T::IMAGES * 8) + i % 2 * 64 + i / 2 * 32];
        __syncwarp();
        if (lane == 0)
            barrier_arrive(emptied + slot);
    }
};

/* A warp's sums of 16 images, 8 maps and P pixels leave by way of shared memory, so that lanes write neighbours: V
 * pixels each. */
template <class T, int V>
__device__ __forceinline__ void put_maps(const images_args &a, const images_place<T> &p, const float *stage, int image0,
                                         int map0)
{
    constexpr int ROUNDS = T::P / V; /* for 4 images x 8 maps */
    const direct_args &d = a.d;
    int lane = threadIdx.x % 32, plane = a.to_rows * a.to_cols;
    long long places[ROUNDS];
    float bias[ROUNDS];
    int images[ROUNDS], maps[ROUNDS];
    bool inside[ROUNDS];
#pragma unroll
    for (int u = 0; u < ROUNDS; u++) {
        int i = u * 32 + lane, run = i / ROUNDS, pixel = i % ROUNDS * V;
        images[u] = image0 + run / 8;
        maps[u] = map0 + run % 8;
        inside[u] = maps[u] < a.to_maps && p.left + pixel < a.to_cols;
        places[u] = ((long long)images[u] * a.to_maps + maps[u]) * plane + p.row * a.to_cols + p.left + pixel;
        bias[u] = !a.back && inside[u] ? d.bias[maps[u]] : 0;
    }
    float *to = a.back ? d.dx : d.y;
#pragma unroll 1
    for (int four = 0; four < 4; four++, stage += 32 * T::P) {
        float value[ROUNDS][V], y[ROUNDS][V];
#pragma unroll
        for (int u = 0; u < ROUNDS; u++) {
            bool there = inside[u] && images[u] + four * 4 < d.images;
            long long at = places[u] + (long long)four * 4 * a.to_maps * plane;
#pragma unroll
            for (int v = 0; v < V; v++) {
                value[u][v] = stage[(u * 32 + lane) * V + v] + bias[u];
                y[u][v] = 0;
            }
            if (!a.back || d.below == CNN_LINEAR || !there)
                continue;
            if constexpr (V == 4) {
                float4 below = *(const float4 *)(d.x + at);
                y[u][0] = below.x;
                y[u][1] = below.y;
                y[u][2] = below.z;
                y[u][3] = below.w;
            } else {
                y[u][0] = d.x[at];
            }
        }
#pragma unroll
        for (int u = 0; u < ROUNDS; u++) {
            int image = images[u] + four * 4;
            bool there = inside[u] && image < d.images;
            long long at = places[u] + (long long)four * 4 * a.to_maps * plane;
#pragma unroll
            for (int v = 0; v < V; v++)
                if ((T::PRODUCTS == 3 || d.s.first) && there && !isfinite(value[u][v])) {
                    int pixel = (int)((at + v) % plane);
                    const float *from = a.from + (long long)image * a.from_maps * a.from_rows * a.from_cols;
                    value[u][v] = a.back ? repair_gradient(d.s, d.weights, from, maps[u], pixel)
                                         : repair_output(d.s, d.weights, bias[u], from, maps[u], pixel);
                }
            if (!a.back)
                activate_all(d.s.activation, value[u]);
            else if (d.below != CNN_LINEAR)
#pragma unroll
                for (int v = 0; v < V; v++)
                    value[u][v] *= slope_of(d.below, y[u][v]);
            if (!there)
                continue;
            if constexpr (V == 4)
                *(float4 *)(to + at) = make_float4(value[u][0], value[u][1], value[u][2], value[u][3]);
            else
                to[at] = value[u][0];
        }
    }
}

template <class T> struct images_sums {
    float sum[T::P][T::N / 2];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int p = 0; p < T::P; p++)
#pragma unroll
            for (int i = 0; i < T::N / 2; i++)
                sum[p][i] = 0;
    }

    /* A piece, `reach` columns from the strip's first tap, meets the weights of a kernel's row. `meanwhile` runs while
     * the tensor cores do. */
    template <class DO>
    __device__ __forceinline__ void add(const float (&values)[2][4], const float *weights, int reach, DO meanwhile)
    {
        tensor_operand<T::PRODUCTS, 4> a[2];
        bool first = true;
        a[0].take(values[0]);
        a[1].take(values[1]);
        if constexpr (T::PRODUCTS == 1) {
            wgmma_fence();
#pragma unroll
            for (int p = 0; p < T::P; p++)
                if (reach - p >= 0 && reach - p < T::KERNEL)
#pragma unroll
                    for (int step = 0; step < 2; step++)
                        wgmma<T::N>::multiply(sum[p], a[step].high, weights + ((reach - p) * 2 + step) * T::STEP, true);
            wgmma_commit();
            meanwhile();
            wgmma_wait<0>();
#pragma unroll
            for (int p = 0; p < T::P; p++)
                wgmma_hold(sum[p]);
        } else {
#pragma unroll
            for (int p = 0; p < T::P; p++) {
                if (reach - p < 0 || reach - p >= T::KERNEL)
                    continue;
                float part[T::N / 2];
                wgmma_fence();
#pragma unroll
                for (int step = 0; step < 2; step++) {
                    const float *high = weights + ((reach - p) * 2 + step) * T::STEP, *low = high + T::MAPS * 8;
                    wgmma<T::N>::multiply(part, a[step].low, high, step > 0);
                    wgmma<T::N>::multiply(part, a[step].high, low, true);
                    wgmma<T::N>::multiply(part, a[step].high, high, true);
                }
                wgmma_commit();
                if (first)
                    meanwhile();
                first = false;
                wgmma_wait<0>();
                wgmma_hold(part);
#pragma unroll
                for (int i = 0; i < T::N / 2; i++)
                    sum[p][i] += part[i];
            }
        }
    }
};

template <class T>
__global__ static void __launch_bounds__(THREADS, 1) images_kernel(const __grid_constant__ images_args a)
{
    extern __shared__ __align__(128) float memory[];
    const images_place<T> p(a);
    images_supply<T> supply(memory);
    if (threadIdx.x == 0)
        supply.start();
    __syncthreads();
    if (threadIdx.x >= MULTIPLIERS) {
        registers_fewer();
        if (threadIdx.x == MULTIPLIERS)
            supply.bring(a, p);
        return;
    }
    registers_more();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rows = a.chunks * p.rows, pieces = rows * p.cols, piece = 0;
    int own_maps = T::SHARED ? 0 : warp / 4 * T::N;
    images_sums<T> sums;
    float values[2][4];
    sums.clear();
    if (pieces > 0)
        supply.take(0, values);
    for (int row = 0; row < rows; row++) {
        int slot = row % T::ROW_SLOTS;
        const float *weights = supply.row_slots + slot * T::ROW + own_maps * 8;
        barrier_wait(supply.row_filled + slot, row / T::ROW_SLOTS % 2);
#pragma unroll
        for (int reach = 0; reach < T::P + T::KERNEL - 1; reach++) {
            if (reach < p.col0 || reach >= p.col0 + p.cols)
                continue;
            piece++;
            sums.add(values, weights, reach, [&] {
                if (piece < pieces)
                    supply.take(piece, values);
            });
        }
        if (lane == 0)
            barrier_arrive(supply.row_emptied + slot);
    }
    int image0 = p.image_block * T::IMAGES + (T::SHARED ? warp : warp % 4) * 16;
    int map0 = p.map_block * T::MAPS + own_maps;
    float *stage = memory + T::SLOTS * T::PIECE + T::ROW_SLOTS * T::ROW + warp * T::STAGE;
#pragma unroll 1
    for (int j = 0; j < T::N / 8 && map0 + j * 8 < a.to_maps; j++) { /* a loop: unrolled it would be all of the code */
        __syncwarp();
#pragma unroll
        for (int its = 0; its < T::N / 8; its++)
            if (its == j)
#pragma unroll
                for (int i = 0; i < 4 * T::P; i++)
                    stage[((lane / 4 + i % 4 / 2 * 8) * 8 + lane % 4 * 2 + i % 2) * T::P + i / 4] =
                        sums.sum[i / 4][its * 4 + i % 4];
        __syncwarp();
        if (T::P % 4 == 0 && a.whole_fours)
            put_maps<T, T::P % 4 ? 1 : 4>(a, p, stage, image0, map0 + j * 8);
        else
            put_maps<T, 1>(a, p, stage, image0, map0 + j * 8);
    }
}

#endif
