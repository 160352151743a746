/* SPDX-License-Identifier: MIT */
/* In place of kernels/wgmma.cuh: a warp's share of a product is worked out by the last of its lanes to come; at once,
 * or as late as the wait for it, from shared memory as it is by then, emulated_late(). Barriers in shared memory and
 * copies by the engine likewise. */
#ifndef KERNELS_WGMMA_CUH
#define KERNELS_WGMMA_CUH

#include "kernels/tf32.cuh"

#define HAS_WGMMA 1

inline void wgmma_fence()
{
}

inline void registers_more()
{
}

inline void registers_fewer()
{
}

/* One lane's part in a product. */
struct emulated_wgmma {
    float *d;
    unsigned a[4];
    const float *b;
    int columns;
    bool add;
};

inline void emulated_wgmma_multiply(void *const *lanes)
{
    const emulated_wgmma *own = (const emulated_wgmma *)lanes[0];
    float *d[32], b[8][8];
    const unsigned *a[32];
    for (int lane = 0; lane < 32; lane++) {
        const emulated_wgmma *o = (const emulated_wgmma *)lanes[lane];
        if (!o || o->b != own->b || o->columns != own->columns || o->add != own->add)
            emulated_stop("a product of four warps whose lanes do not agree on it");
        a[lane] = o->a;
    }
    for (int block = 0; block < own->columns / 8; block++) {
        for (int term = 0; term < 8; term++)
            for (int column = 0; column < 8; column++)
                b[term][column] =
                    emulated_tf32(__float_as_uint(own->b[((block * 2 + term / 4) * 8 + column) * 4 + term % 4]));
        for (int lane = 0; lane < 32; lane++)
            d[lane] = ((const emulated_wgmma *)lanes[lane])->d + 4 * block;
        emulated_product(d, a, b, own->add);
    }
}

template <int N> struct wgmma {
    static void multiply(float (&d)[N / 2], const unsigned (&a)[4], const float *b, bool add)
    {
        emulated_wgmma own = { d, { a[0], a[1], a[2], a[3] }, b, N, add };
        if ((uintptr_t)b % 128)
            emulated_stop("the columns of a product lie at %p, no multiple of 128", (const void *)b);
        if (emulated_late())
            emulated_defer_product(&own, sizeof own);
        else
            emulated_collective("wgmma::multiply", 0xffffffffu, &own, emulated_wgmma_multiply);
    }
};

inline void wgmma_commit()
{
    emulated_commit_products();
}

template <int GROUPS> inline void wgmma_wait()
{
    while (void *own = emulated_take_product(GROUPS))
        emulated_collective("wgmma_wait", 0xffffffffu, own, emulated_wgmma_multiply);
}

template <int COUNT> inline void wgmma_hold(float (&)[COUNT])
{
}

/* ---- barriers and the copy engine ---- */

struct emulated_mbarrier {
    unsigned made : 8, phase : 1, expected : 11, missing : 12;
    int bytes; /* on their way */
};
static_assert(sizeof(emulated_mbarrier) == 8, "the size of the real one");
#define EMULATED_MADE 0x5bu

inline emulated_mbarrier emulated_mbarrier_of(const unsigned long long *barrier)
{
    emulated_mbarrier b;
    memcpy(&b, barrier, sizeof b);
    if (b.made != EMULATED_MADE)
        emulated_stop("it uses a barrier in shared memory that nobody has made");
    return b;
}

inline void emulated_mbarrier_put(unsigned long long *barrier, emulated_mbarrier b)
{
    if (b.missing == 0 && b.bytes == 0) {
        b.phase ^= 1;
        b.missing = b.expected;
    }
    memcpy(barrier, &b, sizeof b);
}

inline void barrier_init(unsigned long long *barrier, int arrivals)
{
    emulated_mbarrier b = { EMULATED_MADE, 0, (unsigned)arrivals, (unsigned)arrivals, 0 };
    memcpy(barrier, &b, sizeof b);
}

inline void barrier_fence()
{
}

inline void barrier_arrive(unsigned long long *barrier)
{
    emulated_mbarrier b = emulated_mbarrier_of(barrier);
    b.missing--;
    emulated_mbarrier_put(barrier, b);
}

inline void barrier_wait(unsigned long long *barrier, int parity)
{
    emulated_wait("a barrier in shared memory", [=] {
        emulated_finish_for(barrier);
        return (int)emulated_mbarrier_of(barrier).phase != parity;
    });
}

inline void bulk_copy(float *shared, const float *from, int bytes, unsigned long long *barrier)
{
    emulated_mbarrier b = emulated_mbarrier_of(barrier);
    if ((uintptr_t)shared % 16 || (uintptr_t)from % 16 || bytes % 16 || bytes <= 0)
        emulated_stop("the copy engine is to bring %d bytes from %p to %p: all must be multiples of 16", bytes,
                      (const void *)from, (void *)shared);
    b.missing--;
    b.bytes += bytes;
    emulated_mbarrier_put(barrier, b);
    auto copy = [=] {
        emulated_mbarrier after = emulated_mbarrier_of(barrier);
        memcpy(shared, from, (size_t)bytes);
        after.bytes -= bytes;
        emulated_mbarrier_put(barrier, after);
    };
    if (emulated_late())
        emulated_defer_for(barrier, copy);
    else
        copy();
}

#endif
