/* SPDX-License-Identifier: MIT */
/* The block at work, as the parts of the scheduler share it. */
#ifndef EMULATION_STATE_H
#define EMULATION_STATE_H

#include "tests/emulation/block.h"
#include "tests/emulation/fiber.h"

#include <vector>

#define WARP 32
#define THREADS_MOST 1024

enum thread_state { UNBORN, READY, AT_BARRIER, IN_WARP, WAITING, ENDED };

struct product {
    alignas(16) char operands[EMULATED_PRODUCT_BYTES];
};

struct copy {
    void *to;
    const void *from; /* NULL: zeros */
    size_t bytes;
};

/* What a thread has under way, in groups of which the last is open. */
template <class T> struct groups {
    std::vector<T> list;
    std::vector<size_t> ends; /* of the closed groups */
    size_t done, finished;    /* how many of each are no longer under way */

    void clear()
    {
        list.clear();
        ends.clear();
        done = finished = 0;
    }

    void add(const T &one)
    {
        if (done == list.size() && finished == ends.size())
            clear();
        list.push_back(one);
    }

    void commit()
    {
        ends.push_back(list.size());
    }

    /* The next to be done so that at most `most` groups are left under way (-1: nothing at all); NULL: none. */
    T *take(int most)
    {
        size_t closed = ends.size() - finished;
        size_t until = most < 0 ? list.size() : closed > (size_t)most ? ends[ends.size() - 1 - (size_t)most] : 0;
        T *next = done < until ? &list[done++] : NULL;
        while (finished < ends.size() && ends[finished] <= done)
            finished++;
        return next;
    }
};

struct thread {
    enum thread_state state;
    uint3 index;
    struct fiber *fiber;
    const char *file; /* of the barrier, */
    int line;
    const char *what; /* or of what it waits for */
    const std::function<bool()> *done;
    struct groups<struct copy> copies;
    struct groups<struct product> products;
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

struct block {
    const char *kernel; /* NULL: none is at work */
    const std::function<void()> *run;
    int count, warp_count, left;
    size_t shared;
    std::vector<char> memory; /* of dynamic shared memory, with red zones and room to align */
    char *dynamic;
    std::vector<struct variable> variables;
    std::vector<struct pending> pending;
};

extern struct block emulated_block;
extern struct thread emulated_threads[THREADS_MOST];
extern struct warp emulated_warps[THREADS_MOST / WARP];
extern struct thread *emulated_now; /* the thread that runs; NULL: the scheduler */

/* The order in which `count` things have their turns; valid until the next call with the same list. */
const int *emulated_turns(int count, std::vector<int> *list);

/* From now on, an address that is not there ends the program with a sentence. */
void emulated_watch_crashes(void);

#endif
