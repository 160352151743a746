/* SPDX-License-Identifier: MIT */
/* Every kernel of the CUDA backend, as kernels/meson.build lists them: kernel_list.h is made from it. */
#include "kernels/registry.h"
#include "kernels/kernel_list.h"
#include "lib/algorithms.h"

#include <string.h>

#define DECLARE(name) extern const struct cuda_kernel CUDA_KERNEL(name);
CUDA_KERNELS(DECLARE)

#define ADDRESS(name) &CUDA_KERNEL(name),
static const struct cuda_kernel *const KERNELS[] = { CUDA_KERNELS(ADDRESS) NULL };

static const struct cuda_kernel *find(const char *algorithm, enum cnn_operation_kind kind, const struct cuda_job *job)
{
    for (const struct cuda_kernel *const *k = KERNELS; *k; k++)
        if ((*k)->kind == kind && (!*(*k)->algorithm || !strcmp((*k)->algorithm, algorithm)) &&
            (!(*k)->supports || (*k)->supports(job)))
            return *k;
    return NULL;
}

/* What an algorithm of your own has no kernel for, `direct` does. */
const struct cuda_kernel *cuda_kernel_find(const char *algorithm, enum cnn_operation_kind kind,
                                           const struct cuda_job *job)
{
    for (const struct cuda_kernel *const *k = KERNELS; *k; k++)
        if ((*k)->kind == kind && !strcmp((*k)->algorithm, algorithm))
            return find(algorithm, kind, job);
    return find("direct", kind, job);
}

const char *const *cuda_algorithms(void)
{
    static const char *names[sizeof KERNELS / sizeof *KERNELS + 1];
    int count = 0;
    for (const struct cuda_kernel *const *k = KERNELS; *k; k++)
        cnn_algorithm_add(names, &count, (*k)->algorithm);
    return names;
}
