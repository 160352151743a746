/* SPDX-License-Identifier: MIT */
/* In place of kernels/ptx.cuh: asynchronous copies, done at once or when they are waited for, emulated_late(). */
#ifndef KERNELS_PTX_CUH
#define KERNELS_PTX_CUH

#define HAS_COPY_ASYNC 1

template <int BYTES> inline void copy_async(float *shared, const float *from, bool there = true)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "the sizes that the instruction has");
    if ((uintptr_t)shared % BYTES || (uintptr_t)from % BYTES)
        emulated_stop("it copies %d bytes from %p to %p in shared memory, which must be multiples of that", BYTES,
                      (const void *)from, (void *)shared);
    emulated_copy(shared, there ? from : NULL, BYTES);
}

inline void copy_async_commit()
{
    emulated_commit_copies();
}

template <int GROUPS> inline void copy_async_wait()
{
    emulated_finish_copies(GROUPS);
}

#endif
