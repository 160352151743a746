/* SPDX-License-Identifier: MIT */
/* Every backend there is, whether this build has it or not. The only file of the driver that knows a concrete one. */
#include "experiments/driver/backends.h"
#include "cpu/cpu.h"
#include "experiments/driver/backends_built.h"
#include "experiments/driver/sources_hash.h"
#include "experiments/driver/suggest.h"

#include <string.h>

#define BACKEND_COUNT 3

static const struct backend_entry entries[BACKEND_COUNT + 1] = {
    { .name = "cpu",
      .label = "CPU, 1 thread",
      .backend = &cnn_cpu_backend,
      .sources = SOURCES_CPU,
      .isa = true,
      .optional = "gemm" },
    { .name = "omp",
      .label = "CPU, N threads",
      .backend = BUILT_OMP,
      .sources = SOURCES_CPU,
      .missing = "this build has no OpenMP: install its development package (libgomp comes with gcc, clang needs "
                 "libomp-dev) and build again with -Dopenmp=enabled",
      .threads = true,
      .isa = true,
      .optional = "gemm" },
    { .name = "cuda",
      .label = "GPU",
      .backend = BUILT_CUDA,
      .sources = SOURCES_CUDA,
      .archs = BUILT_CUDA_ARCHS,
      .missing = "this build has no CUDA backend: install the CUDA toolkit (nvcc, cudart, cuBLAS) and build again with "
                 "-Dcuda=enabled, or run the series of cpu and omp",
      .launch = true },
    { .name = NULL },
};

const struct backend_entry *backend_entries(void)
{
    return entries;
}

const struct backend_entry *backend_entry(const char *name)
{
    for (const struct backend_entry *entry = entries; entry->name; entry++)
        if (!strcmp(entry->name, name))
            return entry;
    return NULL;
}

const struct cnn_backend *const *backends(void)
{
    static const struct cnn_backend *built[BACKEND_COUNT + 1];
    int count = 0;
    for (const struct backend_entry *entry = entries; entry->name; entry++)
        if (entry->backend)
            built[count++] = entry->backend;
    built[count] = NULL;
    return built;
}

const struct cnn_backend *backend_find(const char *name, struct cnn_error *error)
{
    const struct backend_entry *entry = backend_entry(name);
    if (entry && entry->backend)
        return entry->backend;
    if (entry) {
        cnn_error_set(error, CNN_UNAVAILABLE, "%s: %s", name, entry->missing);
        return NULL;
    }
    const char *names[BACKEND_COUNT];
    char list[80], meant[80];
    for (int i = 0; i < BACKEND_COUNT; i++)
        names[i] = entries[i].name;
    suggest_list(list, sizeof list, names, BACKEND_COUNT);
    suggest_text(meant, sizeof meant, name, names, BACKEND_COUNT);
    cnn_error_set(error, CNN_INVALID, "\"%.40s\" is no backend: expected %s%s", name, list, meant);
    return NULL;
}
