/* SPDX-License-Identifier: MIT */
/* Launches that begin before their predecessor on the stream has ended (programmatic dependent launch, from sm_90 on):
 * the start of one kernel hides behind the end of the other. */
#ifndef KERNELS_DEPENDENT_CUH
#define KERNELS_DEPENDENT_CUH

#include <cuda_runtime.h>

/* Every thread of a kernel that launch_after() starts calls this, once, before it writes anything and before it reads
 * what the predecessor wrote. Before it, a kernel may read what kernels before its predecessor wrote: a successor is
 * let go only here, when this kernel's own predecessor has ended. */
__device__ __forceinline__ void await_predecessor()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* name<<<blocks, threads, 0, stream>>>(arguments), that may begin early where `early`: on GPUs from sm_90 on. */
template <class... P, class... A>
static cudaError_t launch_after(int early, void (*kernel)(P...), unsigned blocks, unsigned threads, cudaStream_t stream,
                                const A &...arguments)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

#endif
