/* SPDX-License-Identifier: MIT */
/* Which tile a matrix product on tensor cores gets, and among how many blocks the terms of its last tiles are dealt, by
 * estimated cycles of a multiprocessor. */
#ifndef KERNELS_PRODUCT_PLAN_CUH
#define KERNELS_PRODUCT_PLAN_CUH

#include "kernels/product.cuh"

struct product_choice {
    int rows, columns, resident, bytes; /* a tile's sides; its blocks on a multiprocessor; their shared memory */
    double busy,
        alone; /* cycles of a round of terms: of each block where they fill a multiprocessor, of a single one */
};

/* How a product is dealt to blocks: `whole` tiles have a block each, the `tail` behind them has `split` each, whose
 * partial sums are joined. */
struct product_plan {
    int choice, split;
    long long whole, tail;
    double cycles;
};

/* `share`: of the limit of tensor cores, where the multiprocessor is full. */
template <class T> static constexpr product_choice choice_of_product(double share, double alone)
{
    return product_choice{
        T::BM, T::BN, T::BLOCKS, T::BYTES, (double)T::BM * T::BN * PANEL_TERMS * T::PRODUCTS / (TENSOR_CYCLE * share),
        alone
    };
}

static inline double product_cycles(const product_choice &c, long long blocks, long long rounds, int multiprocessors)
{
    double each = (double)((blocks + multiprocessors - 1) / multiprocessors);
    double waves = (double)(((long long)each + c.resident - 1) / c.resident);
    double busy = each * c.busy, alone = waves * c.alone;
    return (busy > alone ? busy : alone) * (double)rounds + waves * (PRODUCT_START + c.rows * c.columns / PRODUCT_PUT);
}

static inline long long product_rounds(long long terms)
{
    return (terms + PANEL_TERMS - 1) / PANEL_TERMS;
}

static inline long long product_tiles(const product_choice &c, long long rows, long long columns)
{
    return (rows + c.rows - 1) / c.rows * ((columns + c.columns - 1) / c.columns);
}

/* Waves that fill the GPU are whole; what is left over after them has its terms dealt, where that is faster. */
static inline product_plan product_split(const cuda_job *job, const product_choice &c, int split, long long tiles,
                                         long long terms)
{
    long long wave = (long long)job->multiprocessors * c.resident, rounds = product_rounds(terms);
    product_plan plan = { 0, split, tiles, 0, 0 };
    if (split > 1) {
        plan.whole = tiles / wave * wave;
        plan.tail = tiles - plan.whole;
        plan.cycles = product_cycles(c, plan.tail * split, (rounds + split - 1) / split, job->multiprocessors) +
                      PRODUCT_JOIN + (double)split * c.rows * c.columns / PRODUCT_JOIN_FLOATS;
    }
    plan.cycles += product_cycles(c, plan.whole, rounds, job->multiprocessors);
    return plan;
}

/* Of C[rows][columns] over `terms`; a tile that needs more shared memory than there is is left out (the last of the
 * choices never does). */
template <int COUNT>
static product_plan plan_product(const cuda_job *job, const product_choice (&choices)[COUNT], long long rows,
                                 long long columns, long long terms)
{
    product_plan best = { -1, 1, 0, 0, 0 };
    for (int i = 0; i < COUNT; i++) {
        if (choices[i].bytes > job->shared_bytes && i < COUNT - 1)
            continue;
        long long tiles = product_tiles(choices[i], rows, columns);
        for (int split = 1; split <= SPLIT_MOST && (split == 1 || product_rounds(terms) >= SPLIT_ROUNDS * split);
             split++) {
            product_plan plan = product_split(job, choices[i], split, tiles, terms);
            if (best.choice >= 0 && plan.cycles >= best.cycles)
                continue;
            best = plan;
            best.choice = i;
        }
    }
    return best;
}

/* The same where blocks leave sums of their own for the update to add up: `split` slices of the terms of all tiles. */
template <int COUNT>
static product_plan plan_slices(const cuda_job *job, const product_choice (&choices)[COUNT], long long rows,
                                long long columns, long long terms)
{
    product_plan best = { -1, 1, 0, 0, 0 };
    for (int i = 0; i < COUNT; i++) {
        if (choices[i].bytes > job->shared_bytes && i < COUNT - 1)
            continue;
        long long tiles = product_tiles(choices[i], rows, columns);
        for (int slices = 1; slices == 1 || (slices <= SLICES_MOST && terms >= (long long)SLICE_TERMS * slices &&
                                             rows * columns * slices <= SLICE_FLOATS);
             slices++) {
            double cycles = product_cycles(choices[i], tiles * slices, product_rounds((terms + slices - 1) / slices),
                                           job->multiprocessors) +
                            (double)slices * rows * columns / SLICE_PUT;
            if (best.choice < 0 || cycles < best.cycles)
                best = { i, slices, tiles, 0, cycles };
        }
    }
    return best;
}

#endif
