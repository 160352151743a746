/* SPDX-License-Identifier: MIT */
/* The `omp` backend: every pass is dealt to all threads in equal contiguous ranges of tiles. One parallel region per
 * step of the network, a barrier between passes: opening a region for each pass costs several times as much. */
#include "cpu/cpu.h"
#include "cpu/device.h"
#include "cpu/program.h"

#include <omp.h>
#include <stdlib.h>

#define THREADS_MAX 4096

static bool any_pinned; /* a device has left threads pinned; devices are opened by one thread at a time */

static void run_openmp(int threads, const struct cpu_step *steps, int count, const struct cpu_batch *batch)
{
#pragma omp parallel num_threads(threads)
    {
        unsigned mode = cpu_flush_subnormals();
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        for (int i = 0; i < count; i++) {
            int64_t tiles = steps[i].pass.tiles(steps[i].job, batch);
            int64_t begin = tiles * me / team, end = tiles * (me + 1) / team;
            if (begin < end)
                steps[i].pass.run(steps[i].job, batch, begin, end);
            if (steps[i].barrier) {
#pragma omp barrier
            }
        }
        cpu_restore_subnormals(mode);
    }
}

/* Binds the runtime's threads, which stay the same from one parallel region to the next. The calling thread is one of
 * them until the device is closed. Threads that an earlier device had pinned are let go where this one pins none. */
static void pin_threads(struct cnn_device *device, bool wanted)
{
    bool bound = true;
    device->pins = wanted ? cpu_pins_create(device->threads, &device->not_pinned) : NULL;
    if (!device->pins && !any_pinned)
        return;
#pragma omp parallel num_threads(device->threads) reduction(&& : bound)
    {
        if (device->pins)
            bound = cpu_pins_bind(device->pins, omp_get_thread_num());
        else
            cpu_unpin();
    }
    any_pinned = device->pins != NULL;
    if (bound)
        return;
    cpu_pins_free(device->pins);
    device->pins = NULL;
    device->not_pinned = "the system does not permit it";
#pragma omp parallel num_threads(device->threads)
    cpu_unpin();
}

static int open_openmp(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error)
{
    if (options->threads < 0 || options->threads > THREADS_MAX)
        return cnn_error_set(error, CNN_INVALID,
                             "backend omp: %d threads asked for, expected 1 to %d, or 0 for automatic",
                             options->threads, THREADS_MAX);
    struct cnn_device *device = calloc(1, sizeof *device);
    if (!device)
        return cnn_error_set(error, CNN_OOM, "backend omp: no memory for its head");
    int allowed = cpu_allowed_threads();
    *device = (struct cnn_device){ .run = run_openmp,
                                   .threads = options->threads ? options->threads : allowed,
                                   .asked = options->threads,
                                   .allowed = allowed };
    omp_set_dynamic(0); /* a team smaller than asked for would change what is measured */
    pin_threads(device, options->pin);
    *out = device;
    return CNN_OK;
}

const struct cnn_backend cnn_omp_backend = {
    .name = "omp",
    .label = "CPU, N threads",
    .open = open_openmp,
    CPU_BACKEND_FUNCTIONS,
};
