/* SPDX-License-Identifier: MIT */
/* The heart of `direct`: a tile of a matrix product C[rows][columns] = sum over k of A[k][row] B[k][column], whose
 * operands are fetched by loaders (load.cuh) straight from tensors, so that a convolution is never unfolded in memory.
 *
 * A block brings BK terms of both operands to shared memory (two buffers: while one is multiplied, the next is on its
 * way through registers), and each thread multiplies TM x TN outputs in registers: TM + TN shared loads feed TM * TN
 * FMAs. Where a problem has few outputs and long sums, KG groups of threads share the terms of a tile, and join their
 * sums in group order at the end. Bound by FFMA issue for the large tiles; by the latency of a tile's loads where there
 * are few tiles. */
#ifndef KERNELS_TILE_CUH
#define KERNELS_TILE_CUH

#include "kernels/tf32.cuh"

#include <cuda_runtime.h>

/* fp32, plain FMAs. */
template <int BM_, int BN_, int BK_, int TM_, int TN_, int KG_> struct plain_tile {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, KG = KG_;
    static constexpr int TX = BN / TN, TY = BM / TM, LANES = TX * TY, THREADS = LANES * KG;
    static constexpr int BLOCKS = THREADS >= 512 ? 1 : 512 / THREADS; /* per multiprocessor, for 128 registers */
    static constexpr int PAD = 4;
    static constexpr int A_SIZE = BK * (BM + PAD), B_SIZE = BK * (BN + PAD), MEMORY = 2 * (A_SIZE + B_SIZE);
    static_assert(KG == 1 || KG * LANES * TM * TN <= MEMORY, "the groups' sums must fit");
    static_assert(KG == 1 || (TM == 4 && TN == 4 && 16 % KG == 0), "groups share the 16 outputs of a lane");

    __device__ static float convert(float value)
    {
        return value;
    }

    float sum[TM][TN];

    __device__ void clear()
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0;
    }

    __device__ static int lane()
    {
        return threadIdx.x % LANES;
    }

    __device__ static int group()
    {
        return KG == 1 ? 0 : threadIdx.x / LANES;
    }

    /* Four neighbours per 16-byte load; the fours of a thread stand TX (TY) fours apart, which avoids bank conflicts.
     */
    __device__ static int row_of(int lane, int four)
    {
        return four * (BM / (TM / 4)) + lane / TX * 4;
    }

    __device__ static int column_of(int lane, int four)
    {
        return four * (BN / (TN / 4)) + lane % TX * 4;
    }

    __device__ void multiply(const float *as, const float *bs)
    {
        constexpr int TERMS = BK / KG;
        int begin = group() * TERMS;
#pragma unroll
        for (int term = 0; term < TERMS; term++) {
            float a[TM], b[TN];
            const float *arow = as + (begin + term) * (BM + PAD), *brow = bs + (begin + term) * (BN + PAD);
#pragma unroll
            for (int four = 0; four < TM / 4; four++)
                *(float4 *)&a[4 * four] = *(const float4 *)(arow + row_of(lane(), four));
#pragma unroll
            for (int four = 0; four < TN / 4; four++)
                *(float4 *)&b[4 * four] = *(const float4 *)(brow + column_of(lane(), four));
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
        }
    }

    template <class PUT> __device__ void finish_groups(float *memory, PUT put)
    {
        constexpr int EACH = 16 / KG; /* outputs of a lane that a group finishes */
        __syncthreads();
#pragma unroll
        for (int v = 0; v < 16; v++)
            memory[(group() * 16 + v) * LANES + lane()] = sum[v / 4][v % 4];
        __syncthreads();
        float total[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int v = group() * EACH + e;
            total[e] = 0;
#pragma unroll
            for (int g = 0; g < KG; g++)
                total[e] += memory[(g * 16 + v) * LANES + lane()];
        }
        int v = group() * EACH;
        put(row_of(lane(), 0) + v / 4, column_of(lane(), 0) + v % 4, total);
    }

    /* put(row, column, values): neighbours along a row of the tile. */
    template <class PUT> __device__ void finish(float *memory, PUT put)
    {
        if constexpr (KG > 1) {
            finish_groups(memory, put);
        } else {
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int four = 0; four < TN / 4; four++) {
                    float values[4] = { sum[i][4 * four], sum[i][4 * four + 1], sum[i][4 * four + 2],
                                        sum[i][4 * four + 3] };
                    put(row_of(lane(), i / 4) + i % 4, column_of(lane(), four), values);
                }
        }
    }
};

/* tf32 on tensor cores, tf32.cuh. A warp
 * computes WM x WN outputs. The padding of 8 makes fragment loads (8 rows x 4 terms) free of bank conflicts. */
template <int BM_, int BN_, int BK_, int WM_, int WN_> struct tensor_tile {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_;
    static constexpr int WARPS_X = BN / WN, WARPS_Y = BM / WM, THREADS = WARPS_X * WARPS_Y * 32;
    static constexpr int BLOCKS = THREADS >= 512 ? 1 : 512 / THREADS;
    static constexpr int PAD = 8;
    static constexpr int A_SIZE = BK * (BM + PAD), B_SIZE = BK * (BN + PAD), MEMORY = 2 * (A_SIZE + B_SIZE);
    static constexpr int ROWS = WM / 16, COLUMNS = WN / 8;

    __device__ static float convert(float value)
    {
        return tf32_round(value);
    }

    float sum[ROWS][COLUMNS][4];

    __device__ void clear()
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    sum[i][j][v] = 0;
    }

    __device__ void multiply(const float *as, const float *bs)
    {
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32, high = lane / 4, low = lane % 4;
        const float *arow = as + warp / WARPS_X * WM + high, *brow = bs + warp % WARPS_X * WN + high;
#pragma unroll
        for (int term = 0; term < BK; term += 8) {
            unsigned a[ROWS][4], b[COLUMNS][2];
            const float *a0 = arow + (term + low) * (BM + PAD), *b0 = brow + (term + low) * (BN + PAD);
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                a[i][0] = __float_as_uint(a0[16 * i]);
                a[i][1] = __float_as_uint(a0[16 * i + 8]);
                a[i][2] = __float_as_uint(a0[16 * i + 4 * (BM + PAD)]);
                a[i][3] = __float_as_uint(a0[16 * i + 8 + 4 * (BM + PAD)]);
            }
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {
                b[j][0] = __float_as_uint(b0[8 * j]);
                b[j][1] = __float_as_uint(b0[8 * j + 4 * (BN + PAD)]);
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    tf32_multiply_add(sum[i][j], a[i], b[j]);
        }
    }

    template <class PUT> __device__ void finish(float *, PUT put)
    {
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        int row = warp / WARPS_X * WM + lane / 4, column = warp % WARPS_X * WN + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {
                float upper[2] = { sum[i][j][0], sum[i][j][1] }, lower[2] = { sum[i][j][2], sum[i][j][3] };
                put(row + 16 * i, column + 8 * j, upper);
                put(row + 16 * i + 8, column + 8 * j, lower);
            }
    }
};

/* Terms [begin, terms) of a tile, from its loaders to put(). */
template <class T, class A, class B, class PUT>
__device__ __forceinline__ void tile_product(A &a, B &b, int begin, int terms, float *memory, PUT put)
{
    T tile;
    float *as = memory, *bs = memory + 2 * T::A_SIZE; /* two buffers each, told apart by an offset: an array of pointers
                                                         would go to local memory and lose that they are shared */
    int now = 0;
    tile.clear();
    a.fetch(begin, terms);
    b.fetch(begin, terms);
    a.store(as);
    b.store(bs);
    __syncthreads();
    for (int term = begin + T::BK; term < terms; term += T::BK) {
        a.fetch(term, terms);
        b.fetch(term, terms);
        tile.multiply(as + now * T::A_SIZE, bs + now * T::B_SIZE);
        now ^= 1;
        a.store(as + now * T::A_SIZE);
        b.store(bs + now * T::B_SIZE);
        __syncthreads();
    }
    tile.multiply(as + now * T::A_SIZE, bs + now * T::B_SIZE);
    tile.finish(memory, put);
}

/* Where the terms of a tile are dealt to several blocks: each leaves its sums in `partial` ([tile][slice][BM][BN]), and
 * the block that finishes last adds them up in slice order and puts them; so the order never depends on the schedule.
 * Tickets are zero before and after. */
template <class T, class PUT>
__device__ __forceinline__ void join_slices(float *partial, unsigned *ticket, int slices, PUT put)
{
    static_assert(T::THREADS * 4 == T::BM * T::BN, "four outputs per thread");
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(ticket, 1u) == (unsigned)slices - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    float sum[4] = { 0, 0, 0, 0 };
    const float4 *from = (const float4 *)partial + threadIdx.x;
#pragma unroll 4
    for (int slice = 0; slice < slices; slice++) {
        float4 part = __ldcg(from + slice * (T::BM * T::BN / 4));
        sum[0] += part.x;
        sum[1] += part.y;
        sum[2] += part.z;
        sum[3] += part.w;
    }
    put((int)threadIdx.x * 4 / T::BN, (int)threadIdx.x * 4 % T::BN, sum);
    if (threadIdx.x == 0)
        *ticket = 0;
}

#endif
