/* SPDX-License-Identifier: MIT */
/* The turns of a block's threads. A thread runs until it waits: at the block's barrier, for the lanes of its warp, or
 * for a condition. When no thread can go on, either all that are left stand at one barrier, which opens, or the kernel
 * hangs. */
#include "tests/emulation/state.h"

#include <map>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define RED_ZONE 256 /* bytes around dynamic shared memory */
#define RED 0xa5
#define POISON 0xff /* makes NaN of floats */

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

struct block emulated_block;
struct thread emulated_threads[THREADS_MOST];
struct warp emulated_warps[THREADS_MOST / WARP];
struct thread *emulated_now;
static std::vector<struct fiber *> idle; /* fibers that run no thread */
static size_t fiber_count;

static void run_thread(void)
{
    (*emulated_block.run)();
    emulated_finish_copies(-1);
    if (emulated_now->products.take(-1))
        emulated_stop("it ends with products under way that it never waits for");
    emulated_now->state = ENDED;
}

static void resume(struct thread *t)
{
    if (t->state == UNBORN) {
        if (idle.empty())
            idle.push_back(fiber_create(fiber_count++, run_thread));
        t->fiber = idle.back();
        idle.pop_back();
    }
    t->state = READY;
    emulated_now = t;
    threadIdx = t->index;
    fiber_enter(t->fiber);
    emulated_now = NULL;
    if (t->state != ENDED)
        return;
    idle.push_back(t->fiber);
    emulated_block.left--;
}

static bool can_run(const struct thread *t)
{
    return t->state == UNBORN || t->state == READY || (t->state == WAITING && (*t->done)());
}

/* A warp's lanes until none can go on; whether any did. */
static bool run_warp(int warp)
{
    static std::vector<int> lists[WARP + 1];
    int lanes = emulated_block.count - warp * WARP;
    bool any = false;
    lanes = lanes < WARP ? lanes : WARP;
    for (bool again = true; again;) {
        const int *order = emulated_turns(lanes, &lists[lanes]);
        again = false;
        for (int i = 0; i < lanes; i++) {
            struct thread *t = &emulated_threads[warp * WARP + order[i]];
            if (!can_run(t))
                continue;
            resume(t);
            again = any = true;
        }
    }
    return any;
}

static const char *describe(const struct thread *t, char *text, size_t size)
{
    if (t->state == AT_BARRIER)
        snprintf(text, size, "at the barrier of %s:%d", t->file, t->line);
    else
        snprintf(text, size, "at %s", t->what);
    return text;
}

/* All that are left must stand at the same barrier. */
static void open_barrier(void)
{
    struct thread *first = NULL;
    for (int i = 0; i < emulated_block.count; i++) {
        struct thread *t = &emulated_threads[i];
        if (t->state == ENDED)
            continue;
        if (!first)
            first = t;
        if (t->state != AT_BARRIER || first->state != AT_BARRIER || t->line != first->line ||
            strcmp(t->file, first->file)) {
            char one[256], other[256];
            emulated_now = t;
            emulated_stop("it waits %s, while thread %d of the block waits %s: they never meet",
                          describe(t, one, sizeof one), (int)(first - emulated_threads),
                          describe(first, other, sizeof other));
        }
    }
    for (int i = 0; i < emulated_block.count; i++)
        if (emulated_threads[i].state == AT_BARRIER)
            emulated_threads[i].state = READY;
}

static void begin_block(void)
{
    size_t room = emulated_block.shared + 2 * RED_ZONE + 1024;
    if (emulated_block.memory.size() < room)
        emulated_block.memory.resize(room);
    emulated_block.dynamic = (char *)(((uintptr_t)emulated_block.memory.data() + RED_ZONE + 1023) / 1024 * 1024);
    memset(emulated_block.dynamic - RED_ZONE, RED, RED_ZONE);
    memset(emulated_block.dynamic, POISON, emulated_block.shared);
    memset(emulated_block.dynamic + emulated_block.shared, RED, RED_ZONE);
    emulated_block.variables.clear();
    emulated_block.left = emulated_block.count;
    for (int i = 0; i < emulated_block.count; i++) {
        unsigned x = (unsigned)i % blockDim.x, y = (unsigned)i / blockDim.x;
        emulated_threads[i].state = UNBORN;
        emulated_threads[i].index = { x, y % blockDim.y, y / blockDim.y };
        emulated_threads[i].copies.clear();
        emulated_threads[i].products.clear();
    }
    for (int i = 0; i < emulated_block.warp_count; i++)
        emulated_warps[i].arrived = 0;
}

static void end_block(void)
{
    while (!emulated_block.pending.empty())
        emulated_finish_for(emulated_block.pending.front().barrier);
    for (int i = 0; i < RED_ZONE; i++)
        if ((unsigned char)emulated_block.dynamic[i - RED_ZONE] != RED ||
            (unsigned char)emulated_block.dynamic[emulated_block.shared + (size_t)i] != RED)
            emulated_stop("the block wrote outside of its %zu bytes of shared memory", emulated_block.shared);
}

static void run_block(void)
{
    static std::vector<int> list;
    begin_block();
    while (emulated_block.left > 0) {
        const int *order = emulated_turns(emulated_block.warp_count, &list);
        bool any = false;
        for (int i = 0; i < emulated_block.warp_count; i++)
            any = run_warp(order[i]) || any;
        if (!any)
            open_barrier();
    }
    end_block();
}

static unsigned flush_denormals(void)
{
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* results and operands, as -ftz=true */
    return before;
#else
    return 0;
#endif
}

static void restore_denormals(unsigned before)
{
#if defined(__x86_64__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

static std::map<std::string, long> launches;

static void tell_launches(void)
{
    for (const auto &kernel : launches)
        fprintf(stderr, "emulation: %ld of %s\n", kernel.second, kernel.first.c_str());
}

static void count_launch(const char *kernel)
{
    static const bool wanted = getenv("EMULATED_TELL") != NULL;
    if (!wanted)
        return;
    if (launches.empty())
        atexit(tell_launches);
    launches[kernel]++;
}

void emulated_grid(const char *kernel, dim3 grid, dim3 threads_of, size_t shared, const std::function<void()> &thread)
{
    static std::vector<int> list;
    unsigned before = flush_denormals();
    emulated_watch_crashes();
    count_launch(kernel);
    emulated_block.kernel = kernel;
    emulated_block.run = &thread;
    emulated_block.count = (int)(threads_of.x * threads_of.y * threads_of.z);
    emulated_block.warp_count = (emulated_block.count + WARP - 1) / WARP;
    emulated_block.shared = shared;
    gridDim = grid;
    blockDim = threads_of;
    list.clear();
    const int *order = emulated_turns((int)(grid.x * grid.y * grid.z), &list);
    for (int i = 0, count = (int)list.size(); i < count; i++) {
        unsigned at = (unsigned)order[i];
        blockIdx = { at % grid.x, at / grid.x % grid.y, at / grid.x / grid.y };
        run_block();
    }
    emulated_block.kernel = NULL;
    restore_denormals(before);
}
