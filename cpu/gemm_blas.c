/* SPDX-License-Identifier: MIT */
/* Algorithm `gemm`: unfolding and matrix products of a CBLAS, as Chellapilla, Puri and Simard (2006) proposed and the
 * first paper's CPU side did. This file alone knows the BLAS.
 *
 * Each call runs on the thread that makes it; threads come from dealing tiles, as with every other kernel. A threaded
 * OpenBLAS is set to one thread. A serial one keeps no lock around its buffers: two calls at once may get the same
 * buffer and return wrong products (seen with 0.3.21), so more than one thread of ours is refused with it. The BLAS
 * chooses its instructions by the processor; `isa` names those of our own loops and does not reach it. */
#include "cpu/gemm.h"
#include "cpu/gemm_list.h"

#include <cblas.h>
#include <limits.h>

/* Not declared by every cblas.h; absent from a BLAS that is not OpenBLAS. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));
#pragma GCC diagnostic pop

int cpu_gemm_check(int threads, struct cnn_error *error)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    if (threads > 1 && openblas_get_parallel && openblas_get_parallel() == 0)
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "algorithm gemm on %d threads: the OpenBLAS here is the serial one, which gives wrong "
                             "products when called from several threads: install libopenblas0-pthread (it will run "
                             "one thread for each call), or use backend cpu",
                             threads);
    return CNN_OK;
}

bool gemm_supports(const struct cnn_layer *layer, int lanes)
{
    int64_t terms = layer->in.maps * gemm_taps(layer);
    return lanes == 1 && terms <= INT_MAX;
}

bool gemm_full_supports(const struct cnn_layer *layer, int lanes)
{
    return cpu_layer_is_full(layer) && gemm_supports(layer, lanes);
}

static void product(CBLAS_TRANSPOSE a_order, CBLAS_TRANSPOSE b_order, int64_t m, int64_t n, int64_t k, const float *a,
                    int64_t a_row, const float *b, int64_t b_row, bool add, float *c, int64_t c_row)
{
    float beta = add ? 1.0f : 0.0f;
    if (m == 1 && a_order == CblasNoTrans) /* one image: the weights are read once and need no packing */
        cblas_sgemv(CblasRowMajor, b_order == CblasTrans ? CblasNoTrans : CblasTrans,
                    (int)(b_order == CblasTrans ? n : k), (int)(b_order == CblasTrans ? k : n), 1.0f, b, (int)b_row, a,
                    1, beta, c, 1);
    else
        cblas_sgemm(CblasRowMajor, a_order, b_order, (int)m, (int)n, (int)k, 1.0f, a, (int)a_row, b, (int)b_row, beta,
                    c, (int)c_row);
}

void gemm_product(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, const float *b, int64_t b_row,
                  bool add, float *c, int64_t c_row)
{
    product(CblasNoTrans, CblasNoTrans, m, n, k, a, a_row, b, b_row, add, c, c_row);
}

void gemm_product_ta(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, const float *b, int64_t b_row,
                     bool add, float *c, int64_t c_row)
{
    product(CblasTrans, CblasNoTrans, m, n, k, a, a_row, b, b_row, add, c, c_row);
}

void gemm_product_tb(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, const float *b, int64_t b_row,
                     bool add, float *c, int64_t c_row)
{
    product(CblasNoTrans, CblasTrans, m, n, k, a, a_row, b, b_row, add, c, c_row);
}

void cpu_gemm_multiply(int side, const float *a, const float *b, float *c)
{
    gemm_product(side, side, side, a, side, b, side, false, c, side);
}

const struct cpu_kernel *const cpu_gemm_kernels[] = {
    &gemm_whole_forward,          &gemm_conv_forward,
    &gemm_full_forward,           &gemm_whole_backward_data,
    &gemm_conv_backward_data,     &gemm_full_backward_data,
    &gemm_whole_backward_weights, &gemm_conv_backward_weights,
    &gemm_full_backward_weights,  NULL,
};
