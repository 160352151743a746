/* SPDX-License-Identifier: MIT */
/* Panels: an operand of a matrix product in shared memory, PANEL_TERMS terms of ROWS rows at a time, copied there
 * asynchronously and read from there as fragments for tensor cores.
 *
 * A fragment is 16 rows by 8 terms; a lane (high = lane / 4, low = lane % 4) takes two rows and the terms 2 low and
 * 2 low + 1 in two loads of 8 bytes. Which of the 16 rows, and that the terms are not low and low + 4 as the manual has
 * them, is up to a panel: terms may be added in any order as long as both operands have the same, and rows come out as
 * they went in. Both kinds of panels give lane low the columns 4 low to 4 low + 3 of 16 when they are operand b, in the
 * order that order() tells. Loads are free of bank conflicts: the half-warp of high 0 to 3 meets 32 banks once each. */
#ifndef KERNELS_PANEL_CUH
#define KERNELS_PANEL_CUH

#include "kernels/ptx.cuh"

#define PANEL_TERMS 32
#define PANEL_STEPS (PANEL_TERMS / 8) /* tensor cores take 8 terms at a time */

/* Four neighbours, of which `left` exist and the others are zero. `valid` is any address that may be read. */
__device__ __forceinline__ void copy_four(float *to, const float *from, int left, bool aligned, const float *valid)
{
    if (aligned) {
        copy_async<16>(to, left > 0 ? from : valid, left > 0);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        copy_async<4>(to + i, i < left ? from + i : valid, i < left);
}

/* matrix[row][term], rows of `length` terms. In shared memory [row][PANEL_TERMS], eights of terms exchanged by row. */
template <int ROWS_, int THREADS> struct rows_panel {
    static constexpr int ROWS = ROWS_, SIZE = ROWS * PANEL_TERMS;
    static constexpr int STEP = THREADS * 4 / PANEL_TERMS, EACH = ROWS / STEP; /* rows that the block copies at once */
    static_assert(STEP % 8 == 0 && ROWS % STEP == 0, "a thread's rows are exchanged alike");
    const float *matrix, *from; /* this thread's first piece */
    long long step;
    int there, to;      /* how many of its rows exist; where it goes */
    bool aligned, full; /* full: all rows of the panel exist */

    __device__ static int exchange(int row)
    {
        return ((row & 1) | (row >> 1 & 2)) * 8;
    }

    __device__ void start(const float *matrix_, int length, long long first, long long all)
    {
        int row = threadIdx.x / (PANEL_TERMS / 4), term = threadIdx.x % (PANEL_TERMS / 4) * 4;
        long long rows = all - first - row;
        matrix = matrix_;
        from = matrix + (first + row) * length + term;
        step = (long long)STEP * length;
        there = rows > 0 ? (int)((min(rows, (long long)ROWS) + STEP - 1) / STEP) : 0;
        to = row * PANEL_TERMS + (term ^ exchange(row));
        aligned = length % 4 == 0 && (unsigned long long)matrix % 16 == 0;
        full = aligned && all - first >= ROWS;
    }

    /* Terms [begin, end), of which PANEL_TERMS are copied. */
    __device__ void copy(float *memory, int begin, int end) const
    {
        const float *at = from + begin;
        int left = end - begin - (int)(threadIdx.x % (PANEL_TERMS / 4) * 4);
        if (full && end - begin >= PANEL_TERMS) {
#pragma unroll
            for (int i = 0; i < EACH; i++, at += step)
                copy_async<16>(memory + to + i * (STEP * PANEL_TERMS), at);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < EACH; i++, at += step)
            copy_four(memory + to + i * (STEP * PANEL_TERMS), at, i < there ? left : 0, aligned, matrix);
    }

    /* values[row of this lane][term of this lane]; rows in 16 from `row` on. */
    __device__ static void load(const float *memory, int row, int step, float (&values)[2][2])
    {
        int high = threadIdx.x % 32 / 4, low = threadIdx.x % 4, place = (8 * step) ^ ((high & 3) * 8);
        const float *at = memory + (row + high / 2 * 4 + high % 2) * PANEL_TERMS + place + 2 * low;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float2 two = *(const float2 *)(at + i * (2 * PANEL_TERMS));
            values[i][0] = two.x;
            values[i][1] = two.y;
        }
    }

    /* Of 16: the lane's i-th row. */
    __device__ static int row_of(int i)
    {
        int high = threadIdx.x % 32 / 4;
        return high / 2 * 4 + high % 2 + 2 * i;
    }

    /* Column c of the lane's four columns: in which half (eight columns of an operand b) it is, and which of two. */
    __device__ static constexpr int half_of(int c)
    {
        return c / 2;
    }

    __device__ static constexpr int side_of(int c)
    {
        return c % 2;
    }
};

/* matrix[term][row], `length` rows; with ONES, one more row behind the last is all ones (the bias, as a weight of a
 * constant input). In shared memory [term][ROWS + 4]. */
template <int ROWS_, int THREADS, bool ONES> struct columns_panel {
    static constexpr int ROWS = ROWS_, SIZE = (ROWS + 4) * PANEL_TERMS;
    static constexpr int STEP = THREADS * 4 / ROWS, EACH = PANEL_TERMS / STEP; /* terms that the block copies at once */
    static_assert(THREADS * 4 % ROWS == 0 && PANEL_TERMS % STEP == 0 && ROWS % 16 == 0, "");
    const float *matrix, *from;
    long long length;
    int left;           /* rows from this thread's first on; at most 0: none of its own exists */
    bool aligned, full; /* full: all rows of the panel exist */

    __device__ void start(const float *matrix_, int length_, long long first, long long all)
    {
        int row = threadIdx.x % (ROWS / 4) * 4, term = threadIdx.x / (ROWS / 4);
        matrix = matrix_;
        length = length_;
        from = matrix + first + row + term * length;
        left = (int)(all - first) - row;
        aligned = length % 4 == 0 && (unsigned long long)matrix % 16 == 0;
        full = aligned && all - first >= ROWS;
    }

    __device__ void copy(float *memory, int begin, int end) const
    {
        int term = threadIdx.x / (ROWS / 4), row = threadIdx.x % (ROWS / 4) * 4;
        const float *at = from + begin * length;
        float *to = memory + term * (ROWS + 4) + row;
        if (full && end - begin >= PANEL_TERMS) {
#pragma unroll
            for (int i = 0; i < EACH; i++, at += STEP * length)
                copy_async<16>(to + i * (STEP * (ROWS + 4)), at);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < EACH; i++, at += STEP * length, to += STEP * (ROWS + 4)) {
            bool there = begin + term + i * STEP < end;
            if (ONES && left >= 0 && left < 4)
                copy_last(to, at, there);
            else
                copy_four(to, at, there ? left : 0, aligned, matrix);
        }
    }

    /* The four among which the row of ones is. */
    __device__ void copy_last(float *to, const float *at, bool there) const
    {
        for (int i = 0; i < 4; i++)
            if (there && i < left)
                copy_async<4>(to + i, at + i);
            else
                to[i] = there && i == left ? 1 : 0;
    }

    __device__ static void load(const float *memory, int row, int step, float (&values)[2][2])
    {
        int high = threadIdx.x % 32 / 4, low = threadIdx.x % 4;
        const float *at = memory + (8 * step + 2 * low) * (ROWS + 4) + row + 2 * high;
#pragma unroll
        for (int term = 0; term < 2; term++) {
            float2 two = *(const float2 *)(at + term * (ROWS + 4));
            values[0][term] = two.x;
            values[1][term] = two.y;
        }
    }

    __device__ static int row_of(int i)
    {
        return threadIdx.x % 32 / 4 * 2 + i;
    }

    __device__ static constexpr int half_of(int c)
    {
        return c % 2;
    }

    __device__ static constexpr int side_of(int c)
    {
        return c / 2;
    }
};

#endif
