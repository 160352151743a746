/* SPDX-License-Identifier: MIT */
/* Instructions that CUDA C++ has no plain word for. Asynchronous copies are made from sm_80 on; code for older ones
 * copies at once, which is as right. */
#ifndef KERNELS_PTX_CUH
#define KERNELS_PTX_CUH

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define HAS_COPY_ASYNC 0
#else
#define HAS_COPY_ASYNC 1
#endif

/* BYTES (4, 8 or 16) from global to shared memory, both aligned to them; complete for this thread after
 * copy_async_wait(), for others after a barrier behind it. Where not `there`, zeros, and `from` is not read (but must
 * be a valid address). */
template <int BYTES> __device__ __forceinline__ void copy_async(float *shared, const float *from, bool there = true)
{
#if HAS_COPY_ASYNC
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    int bytes = there ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES), "r"(bytes)
                     : "memory");
#else
    for (int i = 0; i < BYTES / 4; i++)
        shared[i] = there ? from[i] : 0;
#endif
}

/* Closes a group of copies. */
__device__ __forceinline__ void copy_async_commit()
{
#if HAS_COPY_ASYNC
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most GROUPS of this thread's groups are on their way. */
template <int GROUPS> __device__ __forceinline__ void copy_async_wait()
{
#if HAS_COPY_ASYNC
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}

#endif
