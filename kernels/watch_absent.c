/* SPDX-License-Identifier: MIT */
/* In place of watch.c where the toolkit has no headers of NVTX 3 or of the profiler: a profiler records everything, and
 * without names. */
#include "kernels/program.h"

void cuda_watch(struct cnn_program *p, bool on)
{
    p->watched = on;
}

void cuda_range_begin(const struct cnn_program *p, enum cnn_operation_kind kind, int layer)
{
    (void)p;
    (void)kind;
    (void)layer;
}

void cuda_range_end(const struct cnn_program *p)
{
    (void)p;
}
