/* SPDX-License-Identifier: MIT */
/* cuBLAS through the dynamic loader. */
#include "kernels/blas.h"
#include "kernels/build_archs.h"
#include "kernels/fault.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKSPACE_BYTES ((size_t)32 << 20) /* what its documentation recommends for Hopper */
#define STRING(x) #x
#define TEXT(x) STRING(x)
#define LIBRARY "libcublas.so." TEXT(CUBLAS_VER_MAJOR)

struct cuda_blas {
    cublasHandle_t handle;
    void *workspace; /* two, for products that run side by side */
};

typedef cublasStatus_t (*create_function)(cublasHandle_t *handle);
typedef cublasStatus_t (*destroy_function)(cublasHandle_t handle);
typedef cublasStatus_t (*stream_function)(cublasHandle_t handle, cudaStream_t stream);
typedef cublasStatus_t (*workspace_function)(cublasHandle_t handle, void *workspace, size_t size);
typedef cublasStatus_t (*property_function)(libraryPropertyType type, int *value);
typedef cublasStatus_t (*multiply_function)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                            int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                                            cudaDataType type_a, int64_t lda, const void *b, cudaDataType type_b,
                                            int64_t ldb, const void *beta, void *c, cudaDataType type_c, int64_t ldc,
                                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

static struct {
    void *library;
    create_function create;
    destroy_function destroy;
    stream_function set_stream;
    workspace_function set_workspace;
    property_function property;
    multiply_function multiply;
} cublas;

/* ISO C has no conversion from an object pointer to a function's; POSIX makes this one work. */
#define FIND(member, name) (*(void **)&cublas.member = dlsym(cublas.library, name))

static int load(void)
{
    if (cublas.library)
        return 1;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(CUDA_LIBRARY_FOLDER "/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
    cublas.library = library;
    if (FIND(create, "cublasCreate_v2") && FIND(destroy, "cublasDestroy_v2") &&
        FIND(set_stream, "cublasSetStream_v2") && FIND(set_workspace, "cublasSetWorkspace_v2") &&
        FIND(property, "cublasGetProperty") && FIND(multiply, "cublasGemmEx_64"))
        return 1;
    dlclose(library);
    cublas.library = NULL;
    return 0;
}

void cuda_blas_version(char *text, size_t size)
{
    if (cublas.library) {
        int major = 0, minor = 0, patch = 0;
        cublas.property(MAJOR_VERSION, &major);
        cublas.property(MINOR_VERSION, &minor);
        cublas.property(PATCH_LEVEL, &patch);
        snprintf(text, size, "cuBLAS %d.%d.%d", major, minor, patch);
    } else {
        snprintf(text, size, "cuBLAS %d.%d not loaded", CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR);
    }
}

int cuda_blas_open(struct cuda_blas **out, struct cnn_error *error)
{
    if (!load())
        return cnn_error_set(error, CNN_UNAVAILABLE,
                             "algorithm gemm needs %s, which is not to be found: install cuBLAS or name its folder in "
                             "LD_LIBRARY_PATH",
                             LIBRARY);
    struct cuda_blas *blas = calloc(1, sizeof *blas);
    if (!blas)
        return cnn_error_set(error, CNN_OOM, "no memory for cuBLAS");
    if (cuda_check(cudaMalloc(&blas->workspace, 2 * WORKSPACE_BYTES), error, "the workspace of cuBLAS"))
        goto fail;
    cublasStatus_t status = cublas.create(&blas->handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        blas->handle = NULL;
        cnn_error_set(error, status == CUBLAS_STATUS_ALLOC_FAILED ? CNN_OOM : CNN_UNAVAILABLE,
                      "cuBLAS does not start on this GPU (status %d)", (int)status);
        goto fail;
    }
    *out = blas;
    return CNN_OK;
fail:
    cuda_blas_close(blas);
    return error ? (int)error->status : CNN_ERROR;
}

void cuda_blas_close(struct cuda_blas *blas)
{
    if (!blas)
        return;
    if (blas->handle)
        cublas.destroy(blas->handle);
    cudaFree(blas->workspace);
    free(blas);
}

/* cuBLAS is column-major: it is asked for the transpose of c, which is b's transpose times a's. */
cudaError_t cuda_blas_multiply(struct cuda_blas *blas, const struct cuda_product *p, cudaStream_t stream)
{
    const float one = 1;
    void *workspace = (char *)blas->workspace + (p->beside ? WORKSPACE_BYTES : 0);
    cublasComputeType_t compute = p->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (cublas.set_stream(blas->handle, stream) || /* it forgets the workspace: name it again */
        cublas.set_workspace(blas->handle, workspace, WORKSPACE_BYTES) ||
        cublas.multiply(blas->handle, p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                        p->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, p->cols, p->rows, p->inner, &one, p->b, CUDA_R_32F,
                        p->ldb, p->a, CUDA_R_32F, p->lda, &p->beta, p->c, CUDA_R_32F, p->ldc, compute,
                        CUBLAS_GEMM_DEFAULT))
        return cudaErrorLaunchFailure;
    return cudaSuccess;
}
