/* SPDX-License-Identifier: MIT */
/* Hopper's tensor instructions, which four warps issue together: d[64][N] += a[64][8] b[8][N] in tf32, a from registers
 * as tf32_multiply_add() has it (a warp's 16 rows), b from shared memory, and d as rows of 8 columns: d[4 j + v] is row
 * lane / 4 + v / 2 * 8 of the warp's 16, column 8 j + lane % 4 * 2 + v % 2. Only code for sm_90a has them.
 *
 * b lies as [N / 8][2][8 columns][4 terms], blocks of 128 bytes. The copy engine writes it; ordinary
 * stores would need a fence. Operands in registers must be left alone until
 * wgmma_wait(). */
#ifndef KERNELS_WGMMA_CUH
#define KERNELS_WGMMA_CUH

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#else
#define HAS_WGMMA 0
#endif

/* Before the first product, and after registers that a product takes have been written. */
__device__ __forceinline__ void wgmma_fence()
{
#if HAS_WGMMA
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wgmma_commit()
{
#if HAS_WGMMA
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Until at most GROUPS committed groups are at work. */
template <int GROUPS> __device__ __forceinline__ void wgmma_wait()
{
#if HAS_WGMMA
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
#endif
}

/* Registers change hands between groups of four warps of a block of three: two get more than they were started with. */
__device__ __forceinline__ void registers_more()
{
#if HAS_WGMMA
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
#endif
}

__device__ __forceinline__ void registers_fewer()
{
#if HAS_WGMMA
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
#endif
}

/* Barriers in shared memory on which copies by the engine count as arrivals. */
__device__ __forceinline__ void barrier_init(unsigned long long *barrier, int arrivals)
{
#if HAS_WGMMA
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(barrier)),
                 "r"(arrivals)
                 : "memory");
#endif
}

/* After the barriers of a block have been made, before the engine knows of them. */
__device__ __forceinline__ void barrier_fence()
{
#if HAS_WGMMA
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ __forceinline__ void barrier_arrive(unsigned long long *barrier)
{
#if HAS_WGMMA
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"((unsigned)__cvta_generic_to_shared(barrier))
                 : "memory");
#endif
}

/* Until the phase of this parity has ended. */
__device__ __forceinline__ void barrier_wait(unsigned long long *barrier, int parity)
{
#if HAS_WGMMA
    int done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.b32 %0, 1, 0, p;\n}\n"
                     : "=r"(done)
                     : "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(parity)
                     : "memory");
#endif
}

/* `bytes` (a multiple of 16) from global to shared memory by the copy engine, counted on the barrier. */
__device__ __forceinline__ void bulk_copy(float *shared, const float *from, int bytes, unsigned long long *barrier)
{
#if HAS_WGMMA
    unsigned at = (unsigned)__cvta_generic_to_shared(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(from), "r"(bytes), "r"(at)
                 : "memory");
#endif
}

/* Keeps the compiler from moving uses of d over a wait. */
template <int COUNT> __device__ __forceinline__ void wgmma_hold(float (&d)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

#if HAS_WGMMA
/* Where b lies, for the instruction: address, distance of blocks along the terms and along the columns, no swizzle. */
__device__ __forceinline__ unsigned long long wgmma_place(const float *b)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(b);
    return (unsigned long long)(address >> 4 & 0x3fff) | (128ull >> 4) << 16 | (256ull >> 4) << 32;
}
#endif

/* d = a b, or d += a b where `add`. */
template <int N> struct wgmma;

template <> struct wgmma<16> {
    __device__ __forceinline__ static void multiply(float (&d)[8], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, "
                     "{%8, %9, %10, %11}, %12, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

template <> struct wgmma<24> {
    __device__ __forceinline__ static void multiply(float (&d)[12], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %17, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n24k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}, "
                     "{%12, %13, %14, %15}, %16, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

template <> struct wgmma<32> {
    __device__ __forceinline__ static void multiply(float (&d)[16], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                     "{%16, %17, %18, %19}, %20, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                       "+f"(d[15])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

template <> struct wgmma<48> {
    __device__ __forceinline__ static void multiply(float (&d)[24], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %29, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n48k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23}, "
                     "{%24, %25, %26, %27}, %28, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                       "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                       "+f"(d[22]), "+f"(d[23])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

template <> struct wgmma<64> {
    __device__ __forceinline__ static void multiply(float (&d)[32], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                     "{%32, %33, %34, %35}, %36, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                       "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                       "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                       "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

template <> struct wgmma<96> {
    __device__ __forceinline__ static void multiply(float (&d)[48], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %53, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n96k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
                     "{%48, %49, %50, %51}, %52, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                       "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                       "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                       "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                       "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
                       "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

template <> struct wgmma<128> {
    __device__ __forceinline__ static void multiply(float (&d)[64], const unsigned (&a)[4], const float *b, bool add)
    {
#if HAS_WGMMA
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                     "{%64, %65, %66, %67}, %68, p, 1, 1;\n}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                       "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
                       "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
                       "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                       "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
                       "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
                       "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
                       "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(wgmma_place(b)), "r"((int)add));
#else
        __trap();
#endif
    }
};

#endif
