/* SPDX-License-Identifier: MIT */
/* Loaders: how a tile's operand [terms][rows] comes out of a tensor. fetch() brings BK terms into registers, store()
 * puts them into shared memory, term by term. Neighbouring threads take neighbouring addresses: along the terms
 * (by_term) or along the rows (by_row), whichever is contiguous in the tensor. What lies outside is zero. */
#ifndef KERNELS_LOAD_CUH
#define KERNELS_LOAD_CUH

#include "kernels/math.cuh"

template <class T, int ROWS> struct by_term {
    static constexpr int STEP = T::THREADS / T::BK; /* rows that the block takes at once */
    static constexpr int COUNT = STEP > ROWS ? 1 : ROWS / STEP;
    static_assert(T::THREADS % T::BK == 0 && (STEP > ROWS || ROWS % STEP == 0), "");
    float value[COUNT];

    __device__ static int term()
    {
        return threadIdx.x % T::BK;
    }

    __device__ static int row(int i)
    {
        return threadIdx.x / T::BK + i * STEP;
    }

    __device__ void store(float *memory)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (STEP <= ROWS || row(i) < ROWS)
                memory[term() * (ROWS + T::PAD) + row(i)] = T::convert(value[i]);
    }
};

template <class T, int ROWS> struct by_row {
    static constexpr int COUNT = T::BK * ROWS / T::THREADS;
    static constexpr int OWN = ROWS > T::THREADS ? ROWS / T::THREADS : 1; /* different rows of a thread */
    static_assert(COUNT >= 1 && COUNT * T::THREADS == T::BK * ROWS, "");
    static_assert(ROWS >= T::THREADS ? ROWS % T::THREADS == 0 : T::THREADS % ROWS == 0, "");
    float value[COUNT];

    __device__ static int row(int own)
    {
        return ROWS >= T::THREADS ? threadIdx.x + own * T::THREADS : threadIdx.x % ROWS;
    }

    __device__ static int own(int i)
    {
        return i % OWN;
    }

    __device__ static int term(int i)
    {
        return ROWS >= T::THREADS ? i / OWN : threadIdx.x / ROWS + i * (T::THREADS / ROWS);
    }

    __device__ void store(float *memory)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            memory[term(i) * (ROWS + T::PAD) + row(own(i))] = T::convert(value[i]);
    }
};

/* Rows beyond the last and columns beyond the last are fetched from the last one: their outputs are never written.
 * Terms beyond the last are zero in both operands. */

/* matrix[row][term], rows of length `length`. */
template <class T, int ROWS> struct rows_of_matrix : by_term<T, ROWS> {
    const float *from;
    int length, last; /* the last row, counted from the tile's first */

    __device__ void start(const float *matrix, int length_, long long first, long long all)
    {
        from = matrix + first * length_ + this->term();
        length = length_;
        last = (int)min(all - first, (long long)ROWS) - 1;
    }

    __device__ void fetch(int begin, int terms)
    {
        bool there = begin + this->term() < terms;
#pragma unroll
        for (int i = 0; i < this->COUNT; i++)
            this->value[i] = there ? from[(long long)min(this->row(i), last) * length + begin] : 0;
    }
};

/* matrix[term][row]; with ONES, one more row behind the last is all ones (the bias, as a weight of a constant input).
 */
template <class T, int ROWS, bool ONES> struct columns_of_matrix : by_row<T, ROWS> {
    const float *from;
    int length, rows;

    __device__ void start(const float *matrix, int length_, int first)
    {
        from = matrix + first;
        length = length_;
        rows = length_ - first;
    }

    __device__ void fetch(int begin, int terms)
    {
#pragma unroll
        for (int i = 0; i < this->COUNT; i++) {
            int term = begin + this->term(i), row = this->row(this->own(i));
            bool there = term < terms && row < rows;
            float other = ONES && row == rows && term < terms ? 1.0f : 0.0f;
            this->value[i] = there ? from[(long long)term * length + row] : other;
        }
    }
};

/* Bits of the taps 0..kernel-1 that meet a pixel: `at` is the first tap's place, forward; or the last one's, where taps
 * step back and only every `stride`-th meets a pixel. Bit 31 is never set: it belongs to the taps that fill a table up.
 */
__device__ __forceinline__ unsigned bits_forward(int at, int kernel, int side)
{
    int low = max(0, -at), high = min(kernel, side - at);
    return high > low ? (1u << high) - (1u << low) : 0;
}

__device__ __forceinline__ unsigned bits_backward(int at, int kernel, int side, int stride)
{
    unsigned bits = 0;
    for (int tap = at % stride; tap < kernel && tap <= at; tap += stride)
        bits |= (at - tap) / stride < side ? 1u << tap : 0;
    return bits;
}

__device__ __forceinline__ bool meets(unsigned row_bits, unsigned col_bits, const cuda_tap &tap)
{
    return (row_bits >> tap.row) & (col_bits >> tap.col) & 1;
}

/* What an output or input pixel meets through a table of taps: rows are pixels, terms taps. */
template <class T, int ROWS> struct pixels_by_taps : by_row<T, ROWS> {
    static constexpr int OWN = by_row<T, ROWS>::OWN;
    const float *from[OWN];
    unsigned row_bits[OWN], col_bits[OWN];
    const cuda_tap *taps;

    __device__ void fetch(int begin, int)
    {
#pragma unroll
        for (int i = 0; i < this->COUNT; i++) {
            int own = this->own(i);
            cuda_tap tap = taps[begin + this->term(i)];
            this->value[i] = meets(row_bits[own], col_bits[own], tap) ? from[own][tap.offset] : 0;
        }
    }
};

/* Rows are output pixels of all images, terms the taps of their windows: x unfolded, never in memory. */
template <class T, int ROWS> struct windows : pixels_by_taps<T, ROWS> {
    __device__ void start(const cuda_layer &s, const float *x, long long first, long long all)
    {
        this->taps = s.forward;
#pragma unroll
        for (int own = 0; own < this->OWN; own++) {
            long long image;
            int pixel;
            divide(min(first + this->row(own), all - 1), s.out_rows * s.out_cols, &image, &pixel);
            int top = pixel / s.out_cols * s.stride - s.pad, left = pixel % s.out_cols * s.stride - s.pad;
            this->row_bits[own] = bits_forward(top, s.kernel_rows, s.in_rows);
            this->col_bits[own] = bits_forward(left, s.kernel_cols, s.in_cols);
            this->from[own] = x + image * s.in_maps * s.in_rows * s.in_cols + (top * s.in_cols + left);
        }
    }
};

/* Rows are input pixels of all images, terms (output map, tap): the deltas that reach a pixel. */
template <class T, int ROWS> struct deltas_at_pixels : pixels_by_taps<T, ROWS> {
    __device__ void start(const cuda_layer &s, const float *dy, long long first, long long all)
    {
        this->taps = s.backward;
#pragma unroll
        for (int own = 0; own < this->OWN; own++) {
            long long image;
            int pixel;
            divide(min(first + this->row(own), all - 1), s.in_rows * s.in_cols, &image, &pixel);
            int bottom = pixel / s.in_cols + s.pad, right = pixel % s.in_cols + s.pad;
            this->row_bits[own] = bits_backward(bottom, s.kernel_rows, s.out_rows, s.stride);
            this->col_bits[own] = bits_backward(right, s.kernel_cols, s.out_cols, s.stride);
            this->from[own] =
                dy + image * s.out_maps * s.out_rows * s.out_cols + (bottom / s.stride * s.out_cols + right / s.stride);
        }
    }
};

/* Rows are input maps, terms (output map, tap): the weights as backward reads them. */
template <class T, int ROWS> struct transposed_weights : by_term<T, ROWS> {
    const float *from;
    const int32_t *places;
    int taps, last;

    __device__ void start(const cuda_layer &s, int first)
    {
        from = s.dense + (long long)first * s.taps;
        places = s.transposed;
        taps = s.taps;
        last = min(s.in_maps - first, ROWS) - 1;
    }

    __device__ void fetch(int begin, int terms)
    {
        int term = begin + this->term(), place = term < terms ? places[term] : 0;
#pragma unroll
        for (int i = 0; i < this->COUNT; i++)
            this->value[i] = term < terms ? from[place + min(this->row(i), last) * taps] : 0;
    }
};

/* Rows are output maps, terms output pixels of all images: deltas for a weight gradient. */
template <class T, int ROWS> struct deltas_of_maps : by_term<T, ROWS> {
    const float *from;
    long long begin_at;
    int plane, maps, last;

    __device__ void start(const cuda_layer &s, const float *dy, int first, long long begin)
    {
        plane = s.out_rows * s.out_cols;
        maps = s.out_maps;
        last = min(maps - first, ROWS) - 1;
        from = dy + (long long)first * plane;
        begin_at = begin;
    }

    __device__ void fetch(int begin, int terms)
    {
        long long image;
        int pixel, term = begin + this->term();
        divide(begin_at + (term < terms ? term : 0), plane, &image, &pixel);
        const float *at = from + image * maps * plane + pixel;
#pragma unroll
        for (int i = 0; i < this->COUNT; i++)
            this->value[i] = term < terms ? at[min(this->row(i), last) * plane] : 0;
    }
};

/* Rows are taps (input map, kernel row, kernel column) and, behind the last, a constant one for the bias; terms output
 * pixels of all images: the inputs that a weight met. */
template <class T, int ROWS> struct inputs_of_taps : by_term<T, ROWS> {
    static constexpr int COUNT = by_term<T, ROWS>::COUNT;
    const float *from;
    long long begin_at;
    cuda_tap taps[COUNT];
    int bias_row, plane, out_cols, stride, pad, kernel_rows, kernel_cols, in_rows, in_cols, in_size;

    __device__ void start(const cuda_layer &s, const float *x, int first, long long begin)
    {
        bias_row = s.reduction - first;
        plane = s.out_rows * s.out_cols;
        out_cols = s.out_cols;
        stride = s.stride;
        pad = s.pad;
        kernel_rows = s.kernel_rows;
        kernel_cols = s.kernel_cols;
        in_rows = s.in_rows;
        in_cols = s.in_cols;
        in_size = s.in_maps * s.in_rows * s.in_cols;
        from = x;
        begin_at = begin;
#pragma unroll
        for (int i = 0; i < COUNT; i++) /* the table is filled up with taps that meet nothing */
            taps[i] = s.forward[min(first + this->row(i), s.reduction)];
    }

    __device__ void fetch(int begin, int terms)
    {
        long long image;
        int pixel, term = begin + this->term();
        bool there = term < terms;
        divide(begin_at + (there ? term : 0), plane, &image, &pixel);
        int top = pixel / out_cols * stride - pad, left = pixel % out_cols * stride - pad;
        unsigned row_bits = there ? bits_forward(top, kernel_rows, in_rows) : 0;
        unsigned col_bits = bits_forward(left, kernel_cols, in_cols);
        const float *at = from + image * in_size + (top * in_cols + left);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            float other = there && this->row(i) == bias_row ? 1.0f : 0.0f;
            this->value[i] = meets(row_bits, col_bits, taps[i]) ? at[taps[i].offset] : other;
        }
    }
};

#endif
