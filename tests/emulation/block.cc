/* SPDX-License-Identifier: MIT */
/* The turns of a block's threads. A thread runs until it waits: at the block's barrier, for the lanes of its warp, or
 * for a condition. When no thread can go on, either all that are left stand at one barrier, which opens, or the kernel
 * hangs. */
#include "tests/emulation/block.h"
#include "tests/emulation/fiber.h"

#include <deque>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define WARP 32
#define RED_ZONE 256 /* bytes around dynamic shared memory */
#define RED 0xa5
#define POISON 0xff /* makes NaN of floats */
#define THREADS_MOST 1024

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

enum state { UNBORN, READY, AT_BARRIER, IN_WARP, WAITING, ENDED };

struct product {
    alignas(16) char operands[EMULATED_PRODUCT_BYTES];
};

struct thread {
    enum state state;
    uint3 index;
    struct fiber *fiber;
    const char *file; /* of the barrier, */
    int line;
    const char *what; /* or of what it waits for */
    const std::function<bool()> *done;
    std::deque<std::vector<std::function<void()>>> groups; /* under way; the last is open */
    std::deque<std::vector<struct product>> products;      /* likewise */
    struct product taken;
};

struct warp {
    unsigned arrived, mask; /* lanes at a collective, and those it is for */
    const char *what;
    void *lanes[WARP];
};

struct variable {
    void *at;
    size_t size;
};

struct pending {
    const void *barrier;
    std::function<void()> work;
};

static struct {
    const char *kernel;
    const std::function<void()> *run;
    int count, warp_count, left;
    size_t shared;
    std::vector<char> memory; /* of dynamic shared memory, with red zones and room to align */
    char *dynamic;
    std::vector<struct variable> variables;
    std::vector<struct pending> pending;
} block;

static struct thread threads[THREADS_MOST];
static struct warp warps[THREADS_MOST / WARP];
static struct thread *now;
static std::vector<struct fiber *> idle; /* fibers that run no thread */
static size_t fiber_count;

/* ---- order ---- */

static struct {
    bool known;
    enum emulated_order order;
    uint64_t random;
} turns;

static void know_turns(void)
{
    const char *text = getenv("EMULATED_ORDER");
    if (turns.known)
        return;
    turns.known = true;
    turns.order = EMULATED_ASCENDING;
    if (!text || !strcmp(text, "ascending"))
        return;
    turns.order = strcmp(text, "descending") ? EMULATED_SHUFFLED : EMULATED_DESCENDING;
    turns.random = 2 * strtoull(text, NULL, 10) + 1;
    if (turns.order == EMULATED_SHUFFLED && turns.random == 1) {
        fprintf(stderr, "EMULATED_ORDER=%s: expected ascending, descending or a number from 1 on\n", text);
        exit(2);
    }
}

enum emulated_order emulated_order(void)
{
    know_turns();
    return turns.order;
}

bool emulated_late(void)
{
    return emulated_order() != EMULATED_ASCENDING;
}

unsigned emulated_random(unsigned below)
{
    turns.random = turns.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((turns.random >> 33) % below);
}

/* The order in which `count` things have their turns. */
static const int *order_of(int count, std::vector<int> *list)
{
    enum emulated_order order = emulated_order();
    if ((int)list->size() == count && order != EMULATED_SHUFFLED)
        return list->data();
    list->resize((size_t)count);
    for (int i = 0; i < count; i++)
        (*list)[(size_t)i] = order == EMULATED_DESCENDING ? count - 1 - i : i;
    for (int i = count - 1; order == EMULATED_SHUFFLED && i > 0; i--)
        std::swap((*list)[(size_t)i], (*list)[emulated_random((unsigned)i + 1)]);
    return list->data();
}

/* ---- trouble ---- */

static void tell_place(void)
{
    fprintf(stderr, "emulation: kernel %s, block (%u, %u, %u) of (%u, %u, %u)", block.kernel, blockIdx.x, blockIdx.y,
            blockIdx.z, gridDim.x, gridDim.y, gridDim.z);
    if (now)
        fprintf(stderr, ", thread (%u, %u, %u) of (%u, %u, %u)", now->index.x, now->index.y, now->index.z, blockDim.x,
                blockDim.y, blockDim.z);
    fputs(": ", stderr);
}

void emulated_stop(const char *format, ...)
{
    va_list list;
    fflush(stdout);
    tell_place();
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    abort();
}

/* A kernel that reads or writes where nothing is: say which. */
static void tell_crash(int number)
{
    signal(number, SIG_DFL);
    if (block.kernel) {
        tell_place();
        fprintf(stderr, "signal %d: an address that is not there, or not aligned for its type\n", number);
    }
    raise(number);
}

static void watch_crashes(void)
{
    static char stack[64 << 10]; /* of its own: the cause may be a stack that is too small */
    static bool watching;
    if (watching)
        return;
    watching = true;
    stack_t other = {};
    struct sigaction action = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    action.sa_handler = tell_crash;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* ---- what threads call ---- */

static void leave(enum state state)
{
    now->state = state;
    fiber_leave(now->fiber);
}

void emulated_barrier(const char *file, int line)
{
    now->file = file;
    now->line = line;
    leave(AT_BARRIER);
}

static unsigned lanes_there(int warp)
{
    int lanes = block.count - warp * WARP;
    return lanes >= WARP ? 0xffffffffu : (1u << lanes) - 1;
}

void emulated_collective(const char *what, unsigned mask, void *own, void (*act)(void *const *lanes))
{
    int index = (int)(now - threads), lane = index % WARP;
    struct warp *warp = &warps[index / WARP];
    mask &= lanes_there(index / WARP);
    if (!(mask >> lane & 1))
        emulated_stop("%s with a mask without its own lane", what);
    if (warp->arrived && (strcmp(warp->what, what) || warp->mask != mask))
        emulated_stop("%s with mask %08x, where other lanes of its warp are at %s with mask %08x", what, mask,
                      warp->what, warp->mask);
    if (!warp->arrived)
        memset(warp->lanes, 0, sizeof warp->lanes);
    warp->what = now->what = what;
    warp->mask = mask;
    warp->lanes[lane] = own;
    warp->arrived |= 1u << lane;
    if (warp->arrived != mask) {
        leave(IN_WARP);
        return;
    }
    warp->arrived = 0;
    act(warp->lanes);
    for (int i = 0; i < WARP; i++)
        if (i != lane && (mask >> i & 1))
            threads[index - lane + i].state = READY;
}

void emulated_wait(const char *what, const std::function<bool()> &done)
{
    if (done())
        return;
    now->what = what;
    now->done = &done;
    leave(WAITING);
}

void *emulated_dynamic_shared(void)
{
    return block.dynamic;
}

void emulated_static_shared(void *variable, size_t size)
{
    for (const struct variable &v : block.variables)
        if (v.at == variable)
            return;
    memset(variable, POISON, size);
    block.variables.push_back({ variable, size });
}

void emulated_defer(std::function<void()> work)
{
    if (now->groups.empty())
        now->groups.emplace_back();
    now->groups.back().push_back(std::move(work));
}

void emulated_commit(void)
{
    if (now->groups.empty())
        now->groups.emplace_back();
    now->groups.emplace_back();
}

void emulated_finish(int groups)
{
    while ((int)now->groups.size() > groups + 1) {
        for (const std::function<void()> &work : now->groups.front())
            work();
        now->groups.pop_front();
    }
}

void emulated_defer_product(const void *operands, size_t size)
{
    if (now->products.empty())
        now->products.emplace_back();
    now->products.back().emplace_back();
    memcpy(now->products.back().back().operands, operands, size);
}

void emulated_commit_products(void)
{
    if (now->products.empty())
        now->products.emplace_back();
    now->products.emplace_back();
}

const void *emulated_take_product(int groups)
{
    while ((int)now->products.size() > groups + 1) {
        std::vector<struct product> *oldest = &now->products.front();
        if (oldest->empty()) {
            now->products.pop_front();
            continue;
        }
        now->taken = oldest->front();
        oldest->erase(oldest->begin());
        return now->taken.operands;
    }
    return NULL;
}

void emulated_defer_for(const void *barrier, std::function<void()> work)
{
    block.pending.push_back({ barrier, std::move(work) });
}

void emulated_finish_for(const void *barrier)
{
    for (size_t i = 0; i < block.pending.size();)
        if (block.pending[i].barrier == barrier) {
            std::function<void()> work = std::move(block.pending[i].work);
            block.pending.erase(block.pending.begin() + (long)i);
            work();
        } else {
            i++;
        }
}

/* ---- the scheduler ---- */

static void run_thread(void)
{
    (*block.run)();
    emulated_finish(-1);
    for (const std::vector<struct product> &group : now->products)
        if (!group.empty())
            emulated_stop("it ends with products under way that it never waits for");
    now->state = ENDED;
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
    now = t;
    threadIdx = t->index;
    fiber_enter(t->fiber);
    now = NULL;
    if (t->state != ENDED)
        return;
    idle.push_back(t->fiber);
    block.left--;
}

static bool can_run(const struct thread *t)
{
    return t->state == UNBORN || t->state == READY || (t->state == WAITING && (*t->done)());
}

/* A warp's lanes until none can go on; whether any did. */
static bool run_warp(int warp)
{
    static std::vector<int> lists[WARP + 1];
    int lanes = block.count - warp * WARP;
    bool any = false;
    lanes = lanes < WARP ? lanes : WARP;
    for (bool again = true; again;) {
        const int *order = order_of(lanes, &lists[lanes]);
        again = false;
        for (int i = 0; i < lanes; i++) {
            struct thread *t = &threads[warp * WARP + order[i]];
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
    for (int i = 0; i < block.count; i++) {
        struct thread *t = &threads[i];
        if (t->state == ENDED)
            continue;
        if (!first)
            first = t;
        if (t->state != AT_BARRIER || first->state != AT_BARRIER || t->line != first->line ||
            strcmp(t->file, first->file)) {
            char one[256], other[256];
            now = t;
            emulated_stop("it waits %s, while thread %d of the block waits %s: they never meet",
                          describe(t, one, sizeof one), (int)(first - threads), describe(first, other, sizeof other));
        }
    }
    for (int i = 0; i < block.count; i++)
        if (threads[i].state == AT_BARRIER)
            threads[i].state = READY;
}

static void begin_block(void)
{
    size_t room = block.shared + 2 * RED_ZONE + 1024;
    if (block.memory.size() < room)
        block.memory.resize(room);
    block.dynamic = (char *)(((uintptr_t)block.memory.data() + RED_ZONE + 1023) / 1024 * 1024);
    memset(block.dynamic - RED_ZONE, RED, RED_ZONE);
    memset(block.dynamic, POISON, block.shared);
    memset(block.dynamic + block.shared, RED, RED_ZONE);
    block.variables.clear();
    block.left = block.count;
    for (int i = 0; i < block.count; i++) {
        unsigned x = (unsigned)i % blockDim.x, y = (unsigned)i / blockDim.x;
        threads[i].state = UNBORN;
        threads[i].index = { x, y % blockDim.y, y / blockDim.y };
        threads[i].groups.clear();
        threads[i].products.clear();
    }
    for (int i = 0; i < block.warp_count; i++)
        warps[i].arrived = 0;
}

static void end_block(void)
{
    while (!block.pending.empty())
        emulated_finish_for(block.pending.front().barrier);
    for (int i = 0; i < RED_ZONE; i++)
        if ((unsigned char)block.dynamic[i - RED_ZONE] != RED ||
            (unsigned char)block.dynamic[block.shared + (size_t)i] != RED)
            emulated_stop("the block wrote outside of its %zu bytes of shared memory", block.shared);
}

static void run_block(void)
{
    static std::vector<int> list;
    begin_block();
    while (block.left > 0) {
        const int *order = order_of(block.warp_count, &list);
        bool any = false;
        for (int i = 0; i < block.warp_count; i++)
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

void emulated_grid(const char *kernel, dim3 grid, dim3 threads_of, size_t shared, const std::function<void()> &thread)
{
    static std::vector<int> list;
    unsigned before = flush_denormals();
    watch_crashes();
    block.kernel = kernel;
    block.run = &thread;
    block.count = (int)(threads_of.x * threads_of.y * threads_of.z);
    block.warp_count = (block.count + WARP - 1) / WARP;
    block.shared = shared;
    gridDim = grid;
    blockDim = threads_of;
    list.clear();
    const int *order = order_of((int)(grid.x * grid.y * grid.z), &list);
    for (int i = 0, count = (int)list.size(); i < count; i++) {
        unsigned at = (unsigned)order[i];
        blockIdx = { at % grid.x, at / grid.x % grid.y, at / grid.x / grid.y };
        run_block();
    }
    block.kernel = NULL;
    restore_denormals(before);
}
