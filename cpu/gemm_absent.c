/* SPDX-License-Identifier: MIT */
/* Algorithm `gemm` in a build without a CBLAS: nothing to list, and a sentence for whoever asks. */
#include "cpu/gemm_list.h"

const struct cpu_kernel *const cpu_gemm_kernels[] = { NULL };

int cpu_gemm_check(int threads, struct cnn_error *error)
{
    (void)threads;
    return cnn_error_set(error, CNN_UNAVAILABLE,
                         "algorithm gemm: this build has no CBLAS: install OpenBLAS (libopenblas-dev) and build again "
                         "with -Dblas=enabled");
}

void cpu_gemm_multiply(int side, const float *a, const float *b, float *c)
{
    (void)side;
    (void)a;
    (void)b;
    (void)c;
}
