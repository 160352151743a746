/* SPDX-License-Identifier: MIT */
/* In place of the dynamic loader for kernels/blas.c: the six functions of cuBLAS that it asks for, in plain loops. */
#include "tests/emulation/runtime.h"

#include <cublas_v2.h>
#include <string.h>

extern "C" {

void *emulated_dlopen(const char *name, int mode);
void *emulated_dlsym(void *library, const char *name);
int emulated_dlclose(void *library);
}

struct cublasContext {
    cudaStream_t stream;
};

static cublasStatus_t create(cublasHandle_t *handle)
{
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t destroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_workspace(cublasHandle_t handle, void *workspace, size_t size)
{
    (void)handle;
    return emulated_on_device(workspace, size) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t get_property(libraryPropertyType type, int *value)
{
    *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
    return CUBLAS_STATUS_SUCCESS;
}

/* Column-major, as its documentation has it. */
static cublasStatus_t multiply(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                               int64_t n, int64_t k, const void *alpha, const void *a, cudaDataType, int64_t lda,
                               const void *b, cudaDataType, int64_t ldb, const void *beta, void *c, cudaDataType,
                               int64_t ldc, cublasComputeType_t, cublasGemmAlgo_t)
{
    float scale = *(const float *)alpha, old = *(const float *)beta;
    const float *left = (const float *)a, *right = (const float *)b;
    float *to = (float *)c;
    int64_t left_row = op_a == CUBLAS_OP_T ? lda : 1, left_term = op_a == CUBLAS_OP_T ? 1 : lda;
    int64_t right_term = op_b == CUBLAS_OP_T ? ldb : 1, right_column = op_b == CUBLAS_OP_T ? 1 : ldb;
    emulated_enqueue(handle->stream, [=] {
        for (int64_t column = 0; column < n; column++)
            for (int64_t row = 0; row < m; row++) {
                float sum = 0, *at = to + column * ldc + row;
                for (int64_t term = 0; term < k; term++)
                    sum += left[row * left_row + term * left_term] * right[term * right_term + column * right_column];
                *at = old == 0.0f ? scale * sum : scale * sum + old * *at;
            }
    });
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" {

void *emulated_dlopen(const char *name, int mode)
{
    static char library;
    (void)mode;
    return strstr(name, "cublas") ? &library : NULL;
}

void *emulated_dlsym(void *library, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        { "cublasCreate_v2", (void *)create },         { "cublasDestroy_v2", (void *)destroy },
        { "cublasSetStream_v2", (void *)set_stream },  { "cublasSetWorkspace_v2", (void *)set_workspace },
        { "cublasGetProperty", (void *)get_property }, { "cublasGemmEx_64", (void *)multiply },
    };
    (void)library;
    for (const auto &f : functions)
        if (!strcmp(f.name, name))
            return f.function;
    return NULL;
}

int emulated_dlclose(void *library)
{
    (void)library;
    return 0;
}
}
