/* SPDX-License-Identifier: MIT */
/* cuBLAS, loaded with the first program that uses it: every other program starts without its hundred megabytes. */
#ifndef KERNELS_BLAS_H
#define KERNELS_BLAS_H

#include "lib/status.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_blas;

/* CNN_UNAVAILABLE where the library is not there. Takes a workspace of its own on the device. */
int cuda_blas_open(struct cuda_blas **out, struct cnn_error *error);
void cuda_blas_close(struct cuda_blas *blas); /* NULL is fine */

/* "cuBLAS 13.1.0", or why there is none. */
void cuda_blas_version(char *text, size_t size);

/* Row-major c[rows][cols] (row length ldc) = a b + beta c in fp32 or, where asked, tf32, with a[rows][inner] or its
 * transpose a[inner][rows], b[inner][cols] or b[cols][inner]. Sums in an order that is fixed for a shape. */
struct cuda_product {
    int64_t rows, cols, inner;
    const float *a, *b;
    float *c;
    int a_transposed, b_transposed;
    int64_t lda, ldb, ldc;
    float beta;
    int tf32;
    int beside; /* a recording may run it beside one that is not: its workspace is another */
};
cudaError_t cuda_blas_multiply(struct cuda_blas *blas, const struct cuda_product *product, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
