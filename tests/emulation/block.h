/* SPDX-License-Identifier: MIT */
/* A grid in the emulation: blocks run one after another, a block's threads in turns, each on a stack of its own until
 * it waits for others. What a GPU leaves undefined stops the program with a sentence that names kernel, block and
 * thread. */
#ifndef EMULATION_BLOCK_H
#define EMULATION_BLOCK_H

#include <functional>
#include <stddef.h>

#include <vector_types.h>

/* Of the thread that runs. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

/* In which order blocks, warps and lanes take turns, and when asynchronous copies and products are done: as soon as
 * they can be or as late as they may. From the environment, EMULATED_ORDER: "ascending" and as soon (the default),
 * "descending" and as late, or a number, the seed of a new order at every turn, as late. */
enum emulated_order { EMULATED_ASCENDING, EMULATED_DESCENDING, EMULATED_SHUFFLED };
enum emulated_order emulated_order(void);
bool emulated_late(void);
unsigned emulated_random(unsigned below);

/* A limit below which a kernel is not chosen because it would be slow: 0 where EMULATED_LIMITS=0, so that small cases
 * come to it. */
double emulated_limit(double limit);

/* Runs a grid to its end. With EMULATED_TELL set, the program tells at its end which kernels it ran. */
void emulated_grid(const char *kernel, dim3 grid, dim3 block, size_t shared, const std::function<void()> &thread);

/* Ends the program with a sentence about the thread that runs; `format` tells what it did. */
[[noreturn]] __attribute__((format(printf, 1, 2))) void emulated_stop(const char *format, ...);

/* __syncthreads() of that line: all threads of the block must come to the same. */
void emulated_barrier(const char *file, int line);

/* The lanes of a mask come together; the last of them calls `act` with what each has handed over (NULL: not in the
 * mask, or not there), then all go on. */
void emulated_collective(const char *what, unsigned mask, void *own, void (*act)(void *const *lanes));

/* Lets others run until done() is true. */
void emulated_wait(const char *what, const std::function<bool()> &done);

/* The block's shared memory: what the launch asked for; a variable, poisoned by the block's first thread to come by. */
void *emulated_dynamic_shared(void);
void emulated_static_shared(void *variable, size_t size);

/* Copies of a thread that are under way, in groups (from NULL: zeros): done at once or, emulated_late(), when a thread
 * waits until at most so many groups are left (-1: nothing). */
void emulated_copy(void *to, const void *from, size_t bytes);
void emulated_commit_copies(void);
void emulated_finish_copies(int groups);

/* The same for products of tensor cores, which the lanes of a warp do together: operands are kept, and handed out again
 * one by one until at most `groups` groups are left; then NULL. */
#define EMULATED_PRODUCT_BYTES 64
void emulated_defer_product(const void *operands, size_t size);
void emulated_commit_products(void);
void *emulated_take_product(int groups);

/* Work of the block that is done when a thread waits for what it is counted on. */
void emulated_defer_for(const void *barrier, std::function<void()> work);
void emulated_finish_for(const void *barrier);

#endif
