/* SPDX-License-Identifier: MIT */
/* A tile of a matrix product C[rows][columns] = sum over terms of A[row][term] B[column][term] on tensor cores, of one
 * product (tf32) or three (fp32 by split tf32, tensor.cuh).
 *
 * Panels (panel.cuh) of the next STAGES - 1 rounds of PANEL_TERMS terms are on their way while one is multiplied; a
 * barrier per round, and the fragments of a step are read while the one before is multiplied, across the barrier too. A
 * warp computes WM x WN outputs; GROUPS groups of warps share the steps of a round where tiles are small, and their
 * sums are added in group order. Per 8 terms a warp of 64 x 64 reads 32 words of a lane from shared memory for 32
 * products of tensor cores (of tf32; a quarter of a cycle for each word, 6.3 cycles for each product, so 64 % of what
 * shared memory gives); one of 64 x 32 with three products 24 words for 48. From L2 a tile of 128 x 256 needs 1 float
 * per 85 multiply-adds, one of 128 x 128 per 64, of 64 x 64 per 32: at mma.sync's limit of 155 million million
 * multiply-adds a second 7.3, 9.7 and 19 TB/s in tf32, which is more than L2 gives, a third of that in fp32. */
#ifndef KERNELS_PRODUCT_CUH
#define KERNELS_PRODUCT_CUH

#include "kernels/direct.cuh"
#include "kernels/panel.cuh"
#include "kernels/tensor.cuh"

template <int PRODUCTS_, int BM_, int BN_, int WM_, int WN_, int GROUPS_, int STAGES_, int BLOCKS_>
struct product_tile {
    static constexpr int PRODUCTS = PRODUCTS_, BM = BM_, BN = BN_, WM = WM_, WN = WN_, GROUPS = GROUPS_;
    static constexpr int STAGES = STAGES_, BLOCKS = BLOCKS_; /* resident ones of a multiprocessor */
    static constexpr int WARPS_X = BN / WN, WARPS = WARPS_X * (BM / WM), THREADS = WARPS * 32 * GROUPS;
    static constexpr int OUT = BN + 8; /* floats of a row of sums on its way out */
    /* Panels by columns are the larger ones. */
    static constexpr int PANELS = STAGES * PANEL_TERMS * (BM + 4 + BN + 4), SUMS = GROUPS * BM * OUT;
    static constexpr int BYTES = (PANELS > SUMS ? PANELS : SUMS) * (int)sizeof(float);
    static_assert(PANEL_STEPS % GROUPS == 0 && WM % 16 == 0 && WN % 16 == 0, "");
};

/* In fp32 the sums of tensor cores are so many steps long, since they are truncated as they grow. */
#define FLUSH_STEPS 2

/* A warp's sums. */
template <class T, class A, class B> struct product_sums {
    static constexpr int STEPS = PANEL_STEPS / T::GROUPS;
    static constexpr int ROWS = T::WM / 16, COLUMNS = T::WN / 8;
    float sum[ROWS][COLUMNS][4], total[ROWS][COLUMNS][4];
    int row, column, group;

    __device__ void start()
    {
        int warp = threadIdx.x / 32;
        group = warp / T::WARPS;
        row = warp % T::WARPS / T::WARPS_X * T::WM;
        column = warp % T::WARPS_X * T::WN;
#pragma unroll
        for (int i = 0; i < ROWS * COLUMNS * 4; i++)
            (&sum[0][0][0])[i] = (&total[0][0][0])[i] = 0;
    }

    __device__ void flush()
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    total[i][j][v] += sum[i][j][v];
                    sum[i][j][v] = 0;
                }
    }

    /* A step's fragments as they lie. */
    struct fragments {
        float a[ROWS][2][2], b[COLUMNS / 2][2][2];
    };

    __device__ void load(fragments &to, const float *as, const float *bs, int step) const
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            A::load(as, row + 16 * i, group * STEPS + step, to.a[i]);
#pragma unroll
        for (int j = 0; j < COLUMNS / 2; j++)
            B::load(bs, column + 16 * j, group * STEPS + step, to.b[j]);
    }

    __device__ void multiply(const fragments &from)
    {
        tensor_operand<T::PRODUCTS, 4> a[ROWS];
        tensor_operand<T::PRODUCTS, 2> b[COLUMNS];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            a[i].take({ from.a[i][0][0], from.a[i][1][0], from.a[i][0][1], from.a[i][1][1] });
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            b[j].take(from.b[j / 2][j % 2]);
        /* Sums take turns, so that no product waits for the one before it. */
        if constexpr (T::PRODUCTS == 3) {
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    tf32_multiply_add(sum[i][j], a[i].low, b[j].high);
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    tf32_multiply_add(sum[i][j], a[i].high, b[j].low);
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                tf32_multiply_add(sum[i][j], a[i].high, b[j].high);
    }

    /* To shared memory, [group][BM][OUT]. */
    __device__ void put(float *memory)
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int lower = 0; lower < 2; lower++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j += 2) {
                    float *to = memory + (group * T::BM + row + 16 * i + A::row_of(lower)) * T::OUT + column + 8 * j +
                                threadIdx.x % 4 * 4;
                    float four[4];
#pragma unroll
                    for (int c = 0; c < 4; c++) {
                        int half = B::half_of(c), v = 2 * lower + B::side_of(c);
                        four[c] = T::PRODUCTS == 3 ? total[i][j + half][v] : sum[i][j + half][v];
                    }
                    *(float4 *)to = *(float4 *)four;
                }
    }
};

/* Terms [begin, end) of a tile whose panels have started; the sums are in shared memory then. */
template <class T, class A, class B>
__device__ __forceinline__ void product_run(const A &a, const B &b, int begin, int end, float *memory)
{
    using SUMS = product_sums<T, A, B>;
    constexpr int SIZE = A::SIZE + B::SIZE, AHEAD = T::STAGES - 1, STEPS = SUMS::STEPS;
    constexpr int COPY_STEP = STEPS == 1 ? 0 : 1; /* behind the first products, so that these need not wait */
    SUMS sums;
    auto copy = [&](int stage, int term) {
        if (term < end) {
            a.copy(memory + stage * SIZE, term, end);
            b.copy(memory + stage * SIZE + A::SIZE, term, end);
        }
        copy_async_commit();
    };
    sums.start();
#pragma unroll
    for (int stage = 0; stage < AHEAD; stage++)
        copy(stage, begin + stage * PANEL_TERMS);
    copy_async_wait<AHEAD - 1>();
    __syncthreads();
    int now = 0, next = AHEAD;
    typename SUMS::fragments these, those;
    sums.load(these, memory, memory + A::SIZE, 0);
    for (int term = begin; term < end; term += PANEL_TERMS)
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            if (step == COPY_STEP) {
                copy(next, term + AHEAD * PANEL_TERMS);
                next = next == T::STAGES - 1 ? 0 : next + 1;
            }
            if (step == STEPS - 1) { /* the next round: what everybody copied is there, this one has been read */
                copy_async_wait<AHEAD - 1>();
                __syncthreads();
                now = now == T::STAGES - 1 ? 0 : now + 1;
            }
            sums.load(those, memory + now * SIZE, memory + now * SIZE + A::SIZE, (step + 1) % STEPS);
            sums.multiply(these);
            these = those;
            if (T::PRODUCTS == 3 && (step % FLUSH_STEPS == FLUSH_STEPS - 1 || step == STEPS - 1))
                sums.flush();
        }
    __syncthreads();
    sums.put(memory);
    __syncthreads();
}

/* WIDTH neighbours of a row of sums at a time, consecutive threads consecutive ones, to put(row, column, values). */
template <class T, int WIDTH, class PUT>
__device__ __forceinline__ void product_put(const float *memory, int groups, PUT put)
{
    for (int i = threadIdx.x * WIDTH; i < T::BM * T::BN; i += T::THREADS * WIDTH) {
        const float *from = memory + i / T::BN * T::OUT + i % T::BN;
        float values[WIDTH];
#pragma unroll
        for (int v = 0; v < WIDTH; v++) {
            values[v] = from[v];
            for (int group = 1; group < groups; group++)
                values[v] += from[group * T::BM * T::OUT + v];
        }
        put(i / T::BN, i % T::BN, values);
    }
}

/* A block's share of a tile's terms goes to `partial` ([slice][BM][BN]); the block that finishes last adds the slices
 * up in their order, so that sums never depend on the schedule, into shared memory, as one group. Tickets are zero
 * before and after. False: this block was not the last. */
template <class T>
__device__ __forceinline__ bool product_join(float *memory, float *partial, unsigned *ticket, int slice, int slices)
{
    int *order = (int *)memory; /* how many came before; the block's own sums are not needed any more */
    float *own = partial + (long long)slice * (T::BM * T::BN);
    product_put<T, 4>(memory, T::GROUPS, [&](int row, int column, const float(&values)[4]) {
        *(float4 *)(own + row * T::BN + column) = *(const float4 *)values;
    });
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        *order = (int)atomicAdd(ticket, 1u);
    __syncthreads();
    bool last = *order == slices - 1;
    __syncthreads();
    if (!last)
        return false;
    __threadfence();
    for (int i = threadIdx.x * 4; i < T::BM * T::BN; i += T::THREADS * 4) {
        float4 sum = { 0, 0, 0, 0 };
#pragma unroll 4
        for (int from = 0; from < slices; from++) {
            float4 part = __ldcg((const float4 *)(partial + (long long)from * (T::BM * T::BN) + i));
            sum.x += part.x;
            sum.y += part.y;
            sum.z += part.z;
            sum.w += part.w;
        }
        *(float4 *)(memory + i / T::BN * T::OUT + i % T::BN) = sum;
    }
    if (threadIdx.x == 0)
        *ticket = 0;
    __syncthreads();
    return true;
}

#endif
