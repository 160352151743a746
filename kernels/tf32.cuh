/* SPDX-License-Identifier: MIT */
/* tf32 on tensor cores: operands rounded to 11 bits of mantissa, products and sums in fp32.
 *
 * Tensor cores take tf32 from sm_80 on. Code for older ones is made all the same, since every file is compiled for
 * every architecture, and never launched: build.c refuses the precision there. */
#ifndef KERNELS_TF32_CUH
#define KERNELS_TF32_CUH

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define HAS_TF32 0
#else
#define HAS_TF32 1
#endif

/* To 11 bits, ties away from zero: half a unit of the last of them is added, and tensor cores leave out what is below.
 * As cvt.rna.tf32.f32, which takes more instructions. */
__device__ __forceinline__ static float tf32_round(float value)
{
    return fmaf(__uint_as_float(__float_as_uint(value) & 0xff800000u), 1.0f / 2048, value);
}

/* sum[16][8] += a[16][8] b[8][8], dealt to the lanes of a warp as mma.sync m16n8k8 has them. */
__device__ __forceinline__ static void tf32_multiply_add(float (&sum)[4], const unsigned (&a)[4],
                                                         const unsigned (&b)[2])
{
#if HAS_TF32
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();
#endif
}

#endif
