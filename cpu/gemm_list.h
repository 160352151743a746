/* SPDX-License-Identifier: MIT */
/* Algorithm `gemm` as the registry sees it: gemm_blas.c in a build with a CBLAS, gemm_absent.c in one without. */
#ifndef CPU_GEMM_LIST_H
#define CPU_GEMM_LIST_H

#include "cpu/kernel.h"

/* The same for every instruction set, since the BLAS chooses its own; NULL-terminated, empty without a CBLAS. */
extern const struct cpu_kernel *const cpu_gemm_kernels[];

/* Makes the BLAS run each call on the thread that makes it. CNN_UNAVAILABLE where there is no BLAS, or one that cannot
 * be called from so many threads. */
int cpu_gemm_check(int threads, struct cnn_error *error);

/* c = a b of square matrices, for ceiling(); only where cpu_gemm_check() is content. */
void cpu_gemm_multiply(int side, const float *a, const float *b, float *c);

#endif
