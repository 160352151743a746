/* SPDX-License-Identifier: MIT */
/* Division of numbers below 2^31 by a number that is known before the launch: a multiplication and a shift instead of
 * twenty instructions. (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994.) */
#ifndef KERNELS_DIVISOR_CUH
#define KERNELS_DIVISOR_CUH

struct divisor {
    unsigned by, factor, shift;

    divisor() = default;

    /* by: at least 1 */
    explicit divisor(int by_) : by((unsigned)by_), factor(0), shift(0)
    {
        unsigned log = 0;
        while (1ull << log < by)
            log++;
        if (by > 1) {
            factor = (unsigned)(((1ull << (31 + log)) + by - 1) / by);
            shift = log - 1;
        }
    }

    __device__ __forceinline__ int quotient(int a) const
    {
        return by == 1 ? a : (int)(__umulhi((unsigned)a, factor) >> shift);
    }

    __device__ __forceinline__ int split(int a, int *remainder) const
    {
        int q = quotient(a);
        *remainder = a - q * (int)by;
        return q;
    }
};

#endif
