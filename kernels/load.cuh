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

/* matrix[row][term], rows of length `length`. */
template <class T, int ROWS> struct rows_of_matrix : by_term<T, ROWS> {
    const float *from;
    long long length;
    int rows; /* of the matrix, from the tile's first on */

    __device__ void start(const float *matrix, long long length_, long long first, long long all)
    {
        from = matrix + first * length_ + this->term();
        length = length_;
        rows = (int)min(all - first, (long long)ROWS);
    }

    __device__ void fetch(int begin, int terms)
    {
#pragma unroll
        for (int i = 0; i < this->COUNT; i++)
            this->value[i] =
                begin + this->term() < terms && this->row(i) < rows ? from[this->row(i) * length + begin] : 0;
    }
};

/* matrix[term][row]; with ONES, one more row behind the last is all ones (the bias, as a weight of a constant input).
 */
template <class T, int ROWS, bool ONES> struct columns_of_matrix : by_row<T, ROWS> {
    const float *from;
    long long length;
    int rows;

    __device__ void start(const float *matrix, long long length_, int first)
    {
        from = matrix + first;
        length = length_;
        rows = (int)length_ - first;
    }

    __device__ void fetch(int begin, int terms)
    {
#pragma unroll
        for (int i = 0; i < this->COUNT; i++) {
            int term = begin + this->term(i), row = this->row(this->own(i));
            float one = ONES && row == rows && term < terms ? 1.0f : 0.0f;
            this->value[i] = term < terms && row < rows ? from[term * length + row] : one;
        }
    }
};

/* Rows are output pixels of all images, terms the taps of their windows: x unfolded, never in memory. */
template <class T, int ROWS> struct windows : by_row<T, ROWS> {
    static constexpr int OWN = by_row<T, ROWS>::OWN;
    const float *from[OWN]; /* NULL: no such pixel */
    int top[OWN], left[OWN];
    const cuda_tap *taps;
    int padded, in_rows, in_cols;

    __device__ void start(const cuda_layer &s, const float *x, long long first, long long all)
    {
        taps = s.forward;
        padded = s.padded;
        in_rows = s.in_rows;
        in_cols = s.in_cols;
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            long long image, pixel_of_all = first + this->row(own);
            int pixel;
            divide(pixel_of_all < all ? pixel_of_all : 0, s.out_rows * s.out_cols, &image, &pixel);
            top[own] = pixel / s.out_cols * s.stride - s.pad;
            left[own] = pixel % s.out_cols * s.stride - s.pad;
            from[own] = pixel_of_all < all
                            ? x + image * s.in_maps * s.in_rows * s.in_cols + (top[own] * s.in_cols + left[own])
                            : NULL;
        }
    }

    __device__ void fetch(int begin, int terms)
    {
#pragma unroll
        for (int i = 0; i < this->COUNT; i++) {
            int term = begin + this->term(i), own = this->own(i);
            this->value[i] = 0;
            if (term < terms && from[own]) {
                cuda_tap tap = taps[term];
                if (!padded || ((unsigned)(top[own] + tap.row) < (unsigned)in_rows &&
                                (unsigned)(left[own] + tap.col) < (unsigned)in_cols))
                    this->value[i] = from[own][tap.offset];
            }
        }
    }
};

/* Rows are input pixels of all images, terms (output map, tap): the deltas that reach a pixel. */
template <class T, int ROWS> struct deltas_at_pixels : by_row<T, ROWS> {
    static constexpr int OWN = by_row<T, ROWS>::OWN;
    const float *from[OWN];
    int top[OWN], left[OWN];
    const cuda_tap *taps;
    int stride, out_rows, out_cols;

    __device__ void start(const cuda_layer &s, const float *dy, long long first, long long all)
    {
        taps = s.backward;
        stride = s.stride;
        out_rows = s.out_rows;
        out_cols = s.out_cols;
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            long long image, pixel_of_all = first + this->row(own);
            int pixel;
            divide(pixel_of_all < all ? pixel_of_all : 0, s.in_rows * s.in_cols, &image, &pixel);
            top[own] = pixel / s.in_cols + s.pad;
            left[own] = pixel % s.in_cols + s.pad;
            from[own] = pixel_of_all < all ? dy + image * s.out_maps * s.out_rows * s.out_cols : NULL;
            if (from[own] && stride == 1)
                from[own] += top[own] * s.out_cols + left[own];
        }
    }

    __device__ float strided(int own, const cuda_tap &tap)
    {
        int row = top[own] - tap.row, col = left[own] - tap.col;
        if (row < 0 || col < 0 || row % stride || col % stride || row / stride >= out_rows || col / stride >= out_cols)
            return 0;
        return from[own][tap.offset + row / stride * out_cols + col / stride];
    }

    __device__ void fetch(int begin, int terms)
    {
#pragma unroll
        for (int i = 0; i < this->COUNT; i++) {
            int term = begin + this->term(i), own = this->own(i);
            this->value[i] = 0;
            if (term < terms && from[own]) {
                cuda_tap tap = taps[term];
                if (stride > 1)
                    this->value[i] = strided(own, tap);
                else if ((unsigned)(top[own] - tap.row) < (unsigned)out_rows &&
                         (unsigned)(left[own] - tap.col) < (unsigned)out_cols)
                    this->value[i] = from[own][tap.offset];
            }
        }
    }
};

/* Rows are input maps, terms (output map, tap): the weights as backward reads them. */
template <class T, int ROWS> struct transposed_weights : by_term<T, ROWS> {
    const float *from;
    const int32_t *places;
    int taps, rows;

    __device__ void start(const cuda_layer &s, int first)
    {
        from = s.dense + (long long)first * s.taps;
        places = s.transposed;
        taps = s.taps;
        rows = s.in_maps - first;
    }

    __device__ void fetch(int begin, int terms)
    {
        int term = begin + this->term(), place = term < terms ? places[term] : 0;
#pragma unroll
        for (int i = 0; i < this->COUNT; i++)
            this->value[i] = term < terms && this->row(i) < rows ? from[place + this->row(i) * taps] : 0;
    }
};

/* Rows are output maps, terms output pixels of all images: deltas for a weight gradient. */
template <class T, int ROWS> struct deltas_of_maps : by_term<T, ROWS> {
    const float *from;
    long long begin_at;
    int plane, maps, rows;

    __device__ void start(const cuda_layer &s, const float *dy, int first, long long begin)
    {
        plane = s.out_rows * s.out_cols;
        maps = s.out_maps;
        rows = maps - first;
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
            this->value[i] = term < terms && this->row(i) < rows ? at[(long long)this->row(i) * plane] : 0;
    }
};

/* Rows are taps (input map, kernel row, kernel column) and, behind the last, a constant one for the bias; terms output
 * pixels of all images: the inputs that a weight met. */
template <class T, int ROWS> struct inputs_of_taps : by_term<T, ROWS> {
    static constexpr int COUNT = by_term<T, ROWS>::COUNT;
    const float *from;
    long long begin_at;
    cuda_tap taps[COUNT];
    int rows, out_cols, plane, stride, pad, padded, in_rows, in_cols, in_size;

    __device__ void start(const cuda_layer &s, const float *x, int first, long long begin)
    {
        rows = s.reduction - first;
        out_cols = s.out_cols;
        plane = s.out_rows * s.out_cols;
        stride = s.stride;
        pad = s.pad;
        padded = s.padded;
        in_rows = s.in_rows;
        in_cols = s.in_cols;
        in_size = s.in_maps * s.in_rows * s.in_cols;
        from = x;
        begin_at = begin;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            taps[i] = this->row(i) < rows ? s.forward[first + this->row(i)] : cuda_tap{ 0, 0, 0 };
    }

    __device__ void fetch(int begin, int terms)
    {
        long long image;
        int pixel, term = begin + this->term();
        divide(begin_at + (term < terms ? term : 0), plane, &image, &pixel);
        int top = pixel / out_cols * stride - pad, left = pixel % out_cols * stride - pad;
        const float *at = from + image * in_size + (top * in_cols + left);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            this->value[i] = term < terms && this->row(i) == rows ? 1.0f : 0.0f;
            if (term < terms && this->row(i) < rows &&
                (!padded || ((unsigned)(top + taps[i].row) < (unsigned)in_rows &&
                             (unsigned)(left + taps[i].col) < (unsigned)in_cols)))
                this->value[i] = at[taps[i].offset];
        }
    }
};

#endif
