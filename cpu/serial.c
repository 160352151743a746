/* SPDX-License-Identifier: MIT */
/* The `cpu` backend: every pass runs on the calling thread, and on no other. */
#include "cpu/cpu.h"
#include "cpu/device.h"
#include "cpu/program.h"

#include <stdlib.h>

static void run_serial(int threads, const struct cpu_step *steps, int count, const struct cpu_batch *batch)
{
    (void)threads;
    unsigned mode = cpu_flush_subnormals();
    for (int i = 0; i < count; i++)
        steps[i].pass.run(steps[i].job, batch, 0, steps[i].pass.tiles(steps[i].job, batch));
    cpu_restore_subnormals(mode);
}

static int open_serial(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error)
{
    if (options->threads > 1)
        return cnn_error_set(error, CNN_INVALID, "backend cpu has one thread, %d were asked for: use omp",
                             options->threads);
    struct cnn_device *device = calloc(1, sizeof *device);
    if (!device)
        return cnn_error_set(error, CNN_OOM, "backend cpu: no memory for its head");
    *device = (struct cnn_device){ .run = run_serial, .threads = 1, .asked = 1, .allowed = cpu_allowed_threads() };
    *out = device;
    return CNN_OK;
}

const struct cnn_backend cnn_cpu_backend = {
    .name = "cpu",
    .label = "CPU, 1 thread",
    .open = open_serial,
    CPU_BACKEND_FUNCTIONS,
};
