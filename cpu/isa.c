/* SPDX-License-Identifier: MIT */
/* Run-time choice of the instruction set: the same program runs on an older processor, with fewer of them. */
#include "cpu/isa.h"

#include <string.h>

static const char *const NAMES[CPU_ISA_COUNT] = { "scalar", "avx2", "avx512", "neon" };
static const int WIDTHS[CPU_ISA_COUNT] = { 1, 8, 16, 4 };

const char *cpu_isa_name(enum cpu_isa isa)
{
    return NAMES[isa];
}

int cpu_isa_width(enum cpu_isa isa)
{
    return WIDTHS[isa];
}

bool cpu_isa_usable(enum cpu_isa isa)
{
    switch (isa) {
    case CPU_SCALAR:
        return true;
#if defined(__x86_64__)
    case CPU_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case CPU_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
    case CPU_NEON:
        return true; /* part of the base architecture */
#endif
    default:
        return false;
    }
}

enum cpu_isa cpu_isa_best(void)
{
    enum cpu_isa best = CPU_SCALAR;
    for (enum cpu_isa isa = CPU_SCALAR; isa < CPU_ISA_COUNT; isa++)
        if (cpu_isa_usable(isa))
            best = isa;
    return best;
}

bool cpu_isa_parse(const char *name, enum cpu_isa *out, bool *known)
{
    *known = false;
    for (enum cpu_isa isa = CPU_SCALAR; isa < CPU_ISA_COUNT; isa++)
        if (!strcmp(name, NAMES[isa])) {
            *known = true;
            *out = isa;
            return cpu_isa_usable(isa);
        }
    return false;
}
