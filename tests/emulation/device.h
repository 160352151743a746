/* SPDX-License-Identifier: MIT */
/* CUDA C++ as an ordinary compiler sees it in the emulation: the words of the language, the built-in variables, and the
 * functions of a device that kernels use. Comes before everything else of a translated kernel, translate.py. */
#ifndef EMULATION_DEVICE_H
#define EMULATION_DEVICE_H

#include "tests/emulation/block.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <utility>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#define __CUDA_RUNTIME_H__ /* this file takes the place of cuda_runtime.h */

#undef __host__
#undef __device__
#undef __global__
#undef __shared__ /* translate.py sees to it */
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __align__
#define __host__
#define __device__
#define __global__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))

/* ---- launches ---- */

void emulated_enqueue_grid(const char *kernel, const void *function, dim3 grid, dim3 block, size_t shared,
                           cudaStream_t stream, std::function<void()> thread);

template <class T> struct emulated_same {
    using type = T;
};

template <class... P>
void emulated_launch(const char *kernel, void (*function)(P...), dim3 grid, dim3 block, size_t shared,
                     cudaStream_t stream, typename emulated_same<P>::type... arguments)
{
    emulated_enqueue_grid(kernel, (const void *)function, grid, block, shared, stream, [=] { function(arguments...); });
}

/* Attributes tell when a grid may begin before its predecessor ends: here it never does. */
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*function)(P...), A &&...arguments)
{
    emulated_launch("a kernel", function, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream,
                    typename emulated_same<P>::type(arguments)...);
    return cudaPeekAtLastError();
}

template <class T> cudaError_t cudaFuncSetAttribute(T *function, cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute((const void *)function, attribute, value);
}

template <class T> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *function)
{
    return ::cudaFuncGetAttributes(attributes, (const void *)function);
}

/* ---- a block's threads ---- */

#define __syncthreads() emulated_barrier(__FILE__, __LINE__)
#define __trap() emulated_stop("it trapped")

/* What each lane of a mask gives, to the lane that asks for it. Lanes are counted in sections of `width`, and a lane
 * that asks beyond its section gets its own (SOURCE::of() < 0 or >= width). */
template <class SOURCE, class T> T emulated_exchange(const char *what, unsigned mask, T value, int operand, int width)
{
    struct question {
        T value, answer;
        int operand, width;
    } own = { value, value, operand, width };
    emulated_collective(what, mask, &own, [](void *const *lanes) {
        for (int lane = 0; lane < 32; lane++) {
            question *q = (question *)lanes[lane];
            if (!q)
                continue;
            int in_section = SOURCE::of(lane % q->width, q->operand, q->width);
            int from = in_section < 0 || in_section >= q->width ? lane : lane / q->width * q->width + in_section;
            if (!lanes[from])
                emulated_stop("it shuffles from a lane that takes no part");
            q->answer = ((question *)lanes[from])->value;
        }
    });
    return own.answer;
}

#define EMULATED_SHUFFLE(name, operand, lane)                                         \
    struct emulated##name {                                                           \
        static int of(int own, int operand, int width)                                \
        {                                                                             \
            (void)own;                                                                \
            (void)width;                                                              \
            return lane;                                                              \
        }                                                                             \
    };                                                                                \
    template <class T> T name(unsigned mask, T value, int operand, int width = 32)    \
    {                                                                                 \
        return emulated_exchange<emulated##name>(#name, mask, value, operand, width); \
    }
EMULATED_SHUFFLE(__shfl_sync, from, from &(width - 1))
EMULATED_SHUFFLE(__shfl_xor_sync, bits, own ^ bits)
EMULATED_SHUFFLE(__shfl_down_sync, delta, own + delta)
EMULATED_SHUFFLE(__shfl_up_sync, delta, own - delta)
#undef EMULATED_SHUFFLE

inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    struct question {
        int predicate;
        unsigned answer;
    } own = { predicate, 0 };
    emulated_collective("__ballot_sync", mask, &own, [](void *const *lanes) {
        unsigned all = 0;
        for (int lane = 0; lane < 32; lane++)
            all |= lanes[lane] && ((question *)lanes[lane])->predicate ? 1u << lane : 0;
        for (int lane = 0; lane < 32; lane++)
            if (lanes[lane])
                ((question *)lanes[lane])->answer = all;
    });
    return own.answer;
}

inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    emulated_collective("__syncwarp", mask, &mask, [](void *const *) {});
}

/* ---- memory ---- */

inline void __threadfence()
{
}

inline void __threadfence_system()
{
}

inline void __threadfence_block()
{
}

template <class T> T __ldg(const T *from)
{
    return *from;
}

template <class T> T __ldcg(const T *from)
{
    return *from;
}

template <class T> T __ldcs(const T *from)
{
    return *from;
}

template <class T> void __stcg(T *to, T value)
{
    *to = value;
}

template <class T> void __stcs(T *to, T value)
{
    *to = value;
}

/* One thread runs at a time, so these are atomic. */
template <class T> T atomicAdd(T *at, typename emulated_same<T>::type value)
{
    T old = *at;
    *at = old + value;
    return old;
}

template <class T> T atomicMin(T *at, typename emulated_same<T>::type value)
{
    T old = *at;
    *at = value < old ? value : old;
    return old;
}

template <class T> T atomicMax(T *at, typename emulated_same<T>::type value)
{
    T old = *at;
    *at = value > old ? value : old;
    return old;
}

template <class T> T atomicExch(T *at, typename emulated_same<T>::type value)
{
    return std::exchange(*at, value);
}

inline unsigned atomicInc(unsigned *at, unsigned last)
{
    unsigned old = *at;
    *at = old >= last ? 0 : old + 1;
    return old;
}

/* ---- numbers ---- */

inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float __uint_as_float(unsigned bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline int __float_as_int(float value)
{
    return (int)__float_as_uint(value);
}

inline float __int_as_float(int bits)
{
    return __uint_as_float((unsigned)bits);
}

inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}

inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

inline int __clz(int bits)
{
    return bits ? __builtin_clz((unsigned)bits) : 32;
}

inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

/* The product is exact in double, so this differs from the real one only where the sum in double lies halfway between
 * two floats; it takes no call. */
inline float emulated_fmaf(float a, float b, float c)
{
    return (float)((double)a * b + c);
}
#define fmaf emulated_fmaf
#define __fmaf_rn emulated_fmaf
#define __expf expf

#define EMULATED_LEAST(A, B, R)           \
    inline R min(A a, B b)                \
    {                                     \
        return (R)a < (R)b ? (R)a : (R)b; \
    }                                     \
    inline R max(A a, B b)                \
    {                                     \
        return (R)a < (R)b ? (R)b : (R)a; \
    }
EMULATED_LEAST(int, int, int)
EMULATED_LEAST(unsigned, unsigned, unsigned)
EMULATED_LEAST(int, unsigned, unsigned)
EMULATED_LEAST(unsigned, int, unsigned)
EMULATED_LEAST(long, long, long)
EMULATED_LEAST(unsigned long, unsigned long, unsigned long)
EMULATED_LEAST(long long, long long, long long)
EMULATED_LEAST(unsigned long long, unsigned long long, unsigned long long)
#undef EMULATED_LEAST

/* Of a number and a NaN, CUDA's take the number. */
inline float min(float a, float b)
{
    return fminf(a, b);
}

inline float max(float a, float b)
{
    return fmaxf(a, b);
}

inline double min(double a, double b)
{
    return fmin(a, b);
}

inline double max(double a, double b)
{
    return fmax(a, b);
}

#endif
