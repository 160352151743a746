/* SPDX-License-Identifier: MIT */
/* The `cuda` backend: its table. */
#include "kernels/cuda.h"
#include "kernels/device.h"
#include "kernels/program.h"
#include "kernels/registry.h"

const struct cnn_backend cnn_cuda_backend = {
    .name = "cuda",
    .label = "GPU",
    .open = cuda_device_open,
    .close = cuda_device_close,
    .describe = cuda_device_describe,
    .algorithms = cuda_algorithms,
    .candidates = cuda_candidates,
    .plan = cuda_plan,
    .compile = cuda_compile,
    .release = cuda_release,
    .write_parameters = cuda_write_parameters,
    .read_parameters = cuda_read_parameters,
    .set_rates = cuda_set_rates,
    .load = cuda_load,
    .train = cuda_train,
    .classify = cuda_classify,
    .evaluate = cuda_evaluate,
    .fetch = cuda_fetch,
    .sync = cuda_sync,
    .inspect = cuda_inspect,
    .profile = cuda_profile,
    .counters = cuda_counters,
    .ceiling = cuda_ceiling,
    .watch = cuda_watch,
};
