/* SPDX-License-Identifier: MIT */
/* What a profiler is told: when to record, and by NVTX ranges which operation a kernel belongs to. NVTX 3 is headers
 * alone; without a profiler a range costs a test of a pointer, and only a watched program makes any. */
#include "kernels/program.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

void cuda_watch(struct cnn_program *p, bool on)
{
    p->watched = on;
    if (on)
        cudaProfilerStart();
    else
        cudaProfilerStop();
}

void cuda_range_begin(const struct cnn_program *p, enum cnn_operation_kind kind, int layer)
{
    char name[64];
    if (!p->watched)
        return;
    snprintf(name, sizeof name, "%s %s", cnn_operation_kind_name(kind), p->network->layers[layer].name);
    nvtxRangePushA(name);
}

void cuda_range_end(const struct cnn_program *p)
{
    if (p->watched)
        nvtxRangePop();
}
