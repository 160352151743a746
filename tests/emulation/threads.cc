/* SPDX-License-Identifier: MIT */
/* What the threads of a block call: to wait for each other, and for work that is under way. */
#include "tests/emulation/state.h"

#include <string.h>

#define POISON 0xff /* makes NaN of floats */

static void leave(enum thread_state state)
{
    emulated_now->state = state;
    fiber_leave(emulated_now->fiber);
}

void emulated_barrier(const char *file, int line)
{
    emulated_now->file = file;
    emulated_now->line = line;
    leave(AT_BARRIER);
}

static unsigned lanes_there(int warp)
{
    int lanes = emulated_block.count - warp * WARP;
    return lanes >= WARP ? 0xffffffffu : (1u << lanes) - 1;
}

void emulated_collective(const char *what, unsigned mask, void *own, void (*act)(void *const *lanes))
{
    int index = (int)(emulated_now - emulated_threads), lane = index % WARP;
    struct warp *warp = &emulated_warps[index / WARP];
    mask &= lanes_there(index / WARP);
    if (!(mask >> lane & 1))
        emulated_stop("%s with a mask without its own lane", what);
    if (warp->arrived && (strcmp(warp->what, what) || warp->mask != mask))
        emulated_stop("%s with mask %08x, where other lanes of its warp are at %s with mask %08x", what, mask,
                      warp->what, warp->mask);
    if (!warp->arrived)
        memset(warp->lanes, 0, sizeof warp->lanes);
    warp->what = emulated_now->what = what;
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
            emulated_threads[index - lane + i].state = READY;
}

void emulated_wait(const char *what, const std::function<bool()> &done)
{
    if (done())
        return;
    emulated_now->what = what;
    emulated_now->done = &done;
    leave(WAITING);
}

void *emulated_dynamic_shared(void)
{
    return emulated_block.dynamic;
}

void emulated_static_shared(void *variable, size_t size)
{
    for (const struct variable &v : emulated_block.variables)
        if (v.at == variable)
            return;
    memset(variable, POISON, size);
    emulated_block.variables.push_back({ variable, size });
}

void emulated_copy(void *to, const void *from, size_t bytes)
{
    emulated_now->copies.add({ to, from, bytes });
    if (!emulated_late())
        emulated_finish_copies(-1);
}

void emulated_commit_copies(void)
{
    emulated_now->copies.commit();
}

void emulated_finish_copies(int groups)
{
    while (struct copy *copy = emulated_now->copies.take(groups)) {
        if (copy->from)
            memcpy(copy->to, copy->from, copy->bytes);
        else
            memset(copy->to, 0, copy->bytes);
    }
}

void emulated_defer_product(const void *operands, size_t size)
{
    struct product product;
    memcpy(product.operands, operands, size);
    emulated_now->products.add(product);
}

void emulated_commit_products(void)
{
    emulated_now->products.commit();
}

void *emulated_take_product(int groups)
{
    return emulated_now->products.take(groups);
}

void emulated_defer_for(const void *barrier, std::function<void()> work)
{
    emulated_block.pending.push_back({ barrier, std::move(work) });
}

void emulated_finish_for(const void *barrier)
{
    for (size_t i = 0; i < emulated_block.pending.size();)
        if (emulated_block.pending[i].barrier == barrier) {
            std::function<void()> work = std::move(emulated_block.pending[i].work);
            emulated_block.pending.erase(emulated_block.pending.begin() + (long)i);
            work();
        } else {
            i++;
        }
}
