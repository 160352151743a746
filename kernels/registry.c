/* SPDX-License-Identifier: MIT */
/* Every kernel of the CUDA backend, one line each; among those of one algorithm for one operation the first that
 * supports a layer is taken. */
#include "kernels/registry.h"

#include <string.h>

#define CUDA_KERNELS(K)               \
    K(naive_conv_forward)             \
    K(naive_full_forward)             \
    K(naive_conv_backward_data)       \
    K(naive_full_backward_data)       \
    K(naive_conv_backward_weights)    \
    K(naive_full_backward_weights)    \
    K(gemm_whole_forward)             \
    K(gemm_conv_forward)              \
    K(gemm_full_forward)              \
    K(gemm_whole_backward_data)       \
    K(gemm_conv_backward_data)        \
    K(gemm_full_backward_data)        \
    K(gemm_whole_backward_weights)    \
    K(gemm_conv_backward_weights)     \
    K(gemm_full_backward_weights)     \
    K(few_whole_forward)              \
    K(few_full_forward)               \
    K(few_whole_backward_data)        \
    K(few_full_backward_data)         \
    K(few_whole_backward_weights)     \
    K(few_full_backward_weights)      \
    K(strip_conv_forward)             \
    K(strip_conv_backward_data)       \
    K(direct_whole_forward)           \
    K(direct_conv_forward)            \
    K(direct_full_forward)            \
    K(direct_whole_backward_data)     \
    K(direct_conv_backward_data)      \
    K(direct_full_backward_data)      \
    K(direct_whole_backward_weights)  \
    K(direct_conv_backward_weights)   \
    K(direct_full_backward_weights)   \
    K(plain_conv_forward)             \
    K(plain_conv_backward_data)       \
    K(plain_conv_backward_weights)    \
    K(shared_subsample_forward)       \
    K(shared_maxpool_forward)         \
    K(shared_avgpool_forward)         \
    K(shared_subsample_backward_data) \
    K(shared_maxpool_backward)        \
    K(shared_avgpool_backward)        \
    K(shared_subsample_backward_weights)

#define DECLARE(name) extern const struct cuda_kernel CUDA_KERNEL(name);
CUDA_KERNELS(DECLARE)

#define ADDRESS(name) &CUDA_KERNEL(name),
static const struct cuda_kernel *const KERNELS[] = { CUDA_KERNELS(ADDRESS) NULL };

const struct cuda_kernel *cuda_kernel_find(const char *algorithm, enum cnn_operation_kind kind,
                                           const struct cuda_job *job)
{
    for (const struct cuda_kernel *const *k = KERNELS; *k; k++)
        if ((*k)->kind == kind && (!*(*k)->algorithm || !strcmp((*k)->algorithm, algorithm)) &&
            (!(*k)->supports || (*k)->supports(job)))
            return *k;
    return NULL;
}

const char *const *cuda_algorithms(void)
{
    static const char *const names[] = { "naive", "gemm", "direct", NULL };
    return names;
}

bool cuda_algorithm_known(const char *name)
{
    for (const char *const *a = cuda_algorithms(); *a; a++)
        if (!strcmp(*a, name))
            return true;
    return false;
}
