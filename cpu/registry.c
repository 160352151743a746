/* SPDX-License-Identifier: MIT */
/* Every kernel of the CPU backends, as cpu/meson.build lists them: kernel_list.h is made from it. What an algorithm
 * has no way of its own for is done by its `rest`, as --list and the README say. */
#include "cpu/registry.h"

#include "cpu/gemm_list.h"
#include "cpu/kernel_list.h"
#include "lib/algorithms.h"

#include <string.h>

#define DECLARE(name) extern const struct cpu_kernel name##_scalar, name##_avx2, name##_avx512, name##_neon;
CPU_KERNELS(DECLARE)

#define SCALAR(name) &name##_scalar,
static const struct cpu_kernel *const SCALAR_KERNELS[] = { CPU_KERNELS(SCALAR) NULL };
#if defined(__x86_64__)
#define AVX2(name) &name##_avx2,
#define AVX512(name) &name##_avx512,
static const struct cpu_kernel *const AVX2_KERNELS[] = { CPU_KERNELS(AVX2) NULL };
static const struct cpu_kernel *const AVX512_KERNELS[] = { CPU_KERNELS(AVX512) NULL };
#elif defined(__aarch64__)
#define NEON(name) &name##_neon,
static const struct cpu_kernel *const NEON_KERNELS[] = { CPU_KERNELS(NEON) NULL };
#endif

const struct cpu_kernel *const *cpu_kernels(enum cpu_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case CPU_AVX2:
        return AVX2_KERNELS;
    case CPU_AVX512:
        return AVX512_KERNELS;
#elif defined(__aarch64__)
    case CPU_NEON:
        return NEON_KERNELS;
#endif
    default:
        return SCALAR_KERNELS;
    }
}

static const struct cpu_kernel *find_in(const struct cpu_kernel *const *list, const char *algorithm,
                                        enum cnn_operation_kind kind, const struct cnn_layer *layer, int lanes)
{
    for (const struct cpu_kernel *const *k = list; *k; k++)
        if ((*k)->kind == kind && (!*(*k)->algorithm || !strcmp((*k)->algorithm, algorithm)) &&
            (!(*k)->supports || (*k)->supports(layer, lanes)))
            return *k;
    return NULL;
}

static const struct cpu_kernel *find_own(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind,
                                         const struct cnn_layer *layer, int lanes)
{
    const struct cpu_kernel *kernel = find_in(cpu_kernels(isa), algorithm, kind, layer, lanes);
    return kernel ? kernel : find_in(cpu_gemm_kernels, algorithm, kind, layer, lanes);
}

/* Pooling is done in plain loops beside gemm, and all but 3x3 convolutions as `direct` does them beside winograd; an
 * algorithm of your own has `direct` do the operations that it has no kernel for. */
static const char *rest_of(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind)
{
    if (!strcmp(algorithm, "naive") || !strcmp(algorithm, "direct"))
        return NULL;
    if (!strcmp(algorithm, "gemm"))
        return "naive";
    for (const struct cpu_kernel *const *k = cpu_kernels(isa); *k && strcmp(algorithm, "winograd"); k++)
        if ((*k)->kind == kind && !strcmp((*k)->algorithm, algorithm))
            return NULL;
    return "direct";
}

const char *cpu_algorithm_rest(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind,
                               const struct cnn_layer *layer)
{
    if (find_own(isa, algorithm, kind, layer, 1) || find_own(isa, algorithm, kind, layer, CPU_LANES_MAX))
        return NULL;
    return rest_of(isa, algorithm, kind);
}

const struct cpu_kernel *cpu_kernel_find(enum cpu_isa isa, const char *algorithm, enum cnn_operation_kind kind,
                                         const struct cnn_layer *layer, int lanes)
{
    const char *rest = cpu_algorithm_rest(isa, algorithm, kind, layer);
    return find_own(isa, rest ? rest : algorithm, kind, layer, lanes);
}

const char *const *cpu_algorithms(void)
{
    static const char *names[sizeof SCALAR_KERNELS / sizeof *SCALAR_KERNELS + 1];
    int count = 0;
    for (const struct cpu_kernel *const *k = SCALAR_KERNELS; *k; k++)
        cnn_algorithm_add(names, &count, (*k)->algorithm);
    for (const struct cpu_kernel *const *k = cpu_gemm_kernels; *k; k++)
        cnn_algorithm_add(names, &count, (*k)->algorithm);
    return names;
}
