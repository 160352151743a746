/* SPDX-License-Identifier: MIT */
/* What a GPU can do at most: multiply-adds and tensor products in registers, cuBLAS's matrix product, reading from L2
 * and from memory, copies from the host, and the time of a kernel with nothing in it, launched by itself or from a
 * recorded graph. Everything runs in one stream; the caller's clock is read when it is empty. */
#include "kernels/ceiling.h"
#include "kernels/blas.h"
#include "kernels/device.h"
#include "kernels/fault.h"
#include "kernels/program.h"

#include <math.h>
#include <stdio.h>

#define TRIES 5
#define BLOCKS_OF_SM 8 /* of 256 threads: as many as an SM holds */
#define LAUNCHES 1000
#define PRODUCT_SIDE 4096
#define COPY_BYTES ((size_t)64 << 20)
#define MEMORY_BYTES ((size_t)1 << 30) /* far beyond any L2 */

struct meter {
    struct cnn_device *device;
    double (*clock)(void);
    double seconds;
    struct cnn_ceiling *out;
    int capacity, count;
    cudaStream_t stream;
    cudaGraphExec_t graph;
    int blocks;
    float *sink, *memory; /* on the device: a float, and so many for reading and products: */
    size_t bytes;
    void *host;     /* COPY_BYTES, pinned */
    int64_t floats; /* that a round reads */
    int tf32;       /* of a product */
    cudaError_t code;
};

/* Puts `rounds` rounds into the stream. */
typedef cudaError_t (*work)(const struct meter *meter, int64_t rounds);

static double time_once(struct meter *meter, work run, int64_t rounds)
{
    double start = meter->clock();
    if (!meter->code)
        meter->code = run(meter, rounds);
    if (!meter->code)
        meter->code = cudaStreamSynchronize(meter->stream);
    return meter->clock() - start;
}

/* Seconds of one round, the best of TRIES, each as long as its part of the time allows. */
static double time_rounds(struct meter *meter, work run)
{
    double part = meter->seconds / (TRIES + 2), best = INFINITY;
    int64_t rounds = 1;
    time_once(meter, run, 1); /* the first use of a kernel loads it */
    while (!meter->code && rounds < INT64_MAX / 4 && time_once(meter, run, rounds) < part / 2)
        rounds *= 2;
    for (int i = 0; i < TRIES && !meter->code; i++)
        best = fmin(best, time_once(meter, run, rounds) / (double)rounds);
    return best;
}

static void tell(struct meter *meter, enum cnn_ceiling_kind kind, const char *of, enum cnn_precision precision,
                 int64_t bytes, double value)
{
    if (meter->code)
        return;
    if (meter->count < meter->capacity) {
        struct cnn_ceiling *ceiling = &meter->out[meter->count];
        *ceiling = (struct cnn_ceiling){ .kind = kind, .precision = precision, .bytes = bytes, .value = value };
        snprintf(ceiling->of, sizeof ceiling->of, "%s", of);
    }
    meter->count++;
}

/* ---- what a round is ---- */

static cudaError_t run_ffma(const struct meter *meter, int64_t rounds)
{
    return cuda_ceiling_ffma(meter->blocks, rounds, meter->sink, meter->stream);
}

static cudaError_t run_tf32(const struct meter *meter, int64_t rounds)
{
    return cuda_ceiling_tf32(meter->blocks, rounds, meter->sink, meter->stream);
}

static cudaError_t run_read(const struct meter *meter, int64_t rounds)
{
    return cuda_ceiling_read(meter->blocks, rounds, meter->memory, meter->floats, meter->sink, meter->stream);
}

static cudaError_t run_product(const struct meter *meter, int64_t rounds)
{
    int64_t side = PRODUCT_SIDE, size = side * side;
    const struct cuda_product product = { .rows = side,
                                          .cols = side,
                                          .inner = side,
                                          .a = meter->memory,
                                          .b = meter->memory + size,
                                          .c = meter->memory + 2 * size,
                                          .lda = side,
                                          .ldb = side,
                                          .ldc = side,
                                          .tf32 = meter->tf32 };
    cudaError_t code = cudaSuccess;
    for (int64_t i = 0; !code && i < rounds; i++)
        code = cuda_blas_multiply(meter->device->blas, &product, meter->stream);
    return code;
}

static cudaError_t run_launches(const struct meter *meter, int64_t rounds)
{
    cudaError_t code = cudaSuccess;
    for (int64_t i = 0; !code && i < rounds * LAUNCHES; i++)
        code = cuda_ceiling_nothing(meter->stream);
    return code;
}

static cudaError_t run_graph(const struct meter *meter, int64_t rounds)
{
    cudaError_t code = cudaSuccess;
    for (int64_t i = 0; !code && i < rounds; i++)
        code = cudaGraphLaunch(meter->graph, meter->stream);
    return code;
}

static cudaError_t run_copy(const struct meter *meter, int64_t rounds)
{
    cudaError_t code = cudaSuccess;
    for (int64_t i = 0; !code && i < rounds; i++)
        code = cudaMemcpyAsync(meter->memory, meter->host, COPY_BYTES, cudaMemcpyHostToDevice, meter->stream);
    return code;
}

static cudaError_t run_small_copy(const struct meter *meter, int64_t rounds)
{
    cudaError_t code = cudaSuccess;
    for (int64_t i = 0; !code && i < rounds; i++) {
        code = cudaMemcpyAsync(meter->memory, meter->host, sizeof(float), cudaMemcpyHostToDevice, meter->stream);
        if (!code)
            code = cudaStreamSynchronize(meter->stream);
    }
    return code;
}

/* ---- what is measured ---- */

/* LAUNCHES empty kernels, one after the other. */
static cudaError_t record(struct meter *meter)
{
    cudaGraph_t graph = NULL;
    cudaError_t code = cudaStreamBeginCapture(meter->stream, cudaStreamCaptureModeThreadLocal), ended;
    if (code)
        return code;
    code = run_launches(meter, 1);
    ended = cudaStreamEndCapture(meter->stream, &graph); /* also after a failure, or the stream stays in capture */
    code = code ? code : ended;
    if (!code)
        code = cudaGraphInstantiate(&meter->graph, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return code;
}

/* Three tf32 products can make one of fp32: a limit of fp32, too. */
static void measure_compute(struct meter *meter)
{
    double threads = (double)meter->blocks * CUDA_CEILING_THREADS;
    tell(meter, CNN_CEILING_FMA, "ffma", CNN_FP32, 0, threads * CUDA_CEILING_FFMA_FLOPS / time_rounds(meter, run_ffma));
    if (meter->device->architecture < 80) /* no tf32 */
        return;
    double tf32 = threads / 32 * CUDA_CEILING_TF32_FLOPS / time_rounds(meter, run_tf32);
    tell(meter, CNN_CEILING_FMA, "tf32", CNN_TF32, 0, tf32);
    tell(meter, CNN_CEILING_FMA, "tf32 three times", CNN_FP32, 0, tf32 / 3);
}

/* A machine without cuBLAS has no such limit. */
static void measure_products(struct meter *meter)
{
    static const double flops = 2.0 * PRODUCT_SIDE * PRODUCT_SIDE * PRODUCT_SIDE;
    struct cnn_error error;
    if (meter->code || (!meter->device->blas && cuda_blas_open(&meter->device->blas, &error)))
        return;
    for (meter->tf32 = 0; meter->tf32 < (meter->device->architecture < 80 ? 1 : 2); meter->tf32++)
        tell(meter, CNN_CEILING_PRODUCT, meter->tf32 ? "cuBLAS tf32" : "cuBLAS fp32", meter->tf32 ? CNN_TF32 : CNN_FP32,
             0, flops / time_rounds(meter, run_product));
}

static void measure_memory(struct meter *meter)
{
    int l2 = 0;
    if (!meter->code)
        meter->code = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, meter->device->index);
    meter->floats = l2 / 2 / 16 * 4;
    if (meter->floats > 0)
        tell(meter, CNN_CEILING_MEMORY, "L2", CNN_FP32, l2, 4.0 * (double)meter->floats / time_rounds(meter, run_read));
    meter->floats = (int64_t)(meter->bytes / sizeof(float));
    tell(meter, CNN_CEILING_MEMORY, "memory", CNN_FP32, INT64_MAX,
         4.0 * (double)meter->floats / time_rounds(meter, run_read));
}

static void measure_latency(struct meter *meter)
{
    tell(meter, CNN_CEILING_STEP, "launch", CNN_FP32, 0, time_rounds(meter, run_launches) / LAUNCHES);
    if (!meter->code)
        meter->code = record(meter);
    tell(meter, CNN_CEILING_GRAPH_STEP, "graph node", CNN_FP32, 0, time_rounds(meter, run_graph) / LAUNCHES);
    tell(meter, CNN_CEILING_COPY, "host to device", CNN_FP32, 0, (double)COPY_BYTES / time_rounds(meter, run_copy));
    tell(meter, CNN_CEILING_COPY_STEP, "copy and wait", CNN_FP32, 0, time_rounds(meter, run_small_copy));
}

/* MEMORY_BYTES, or half of what is free where that is less. */
static cudaError_t take(struct meter *meter)
{
    size_t free_bytes = 0, all = 0;
    cudaError_t code = cudaMemGetInfo(&free_bytes, &all);
    meter->bytes = free_bytes / 2 < MEMORY_BYTES ? free_bytes / 2 / 16 * 16 : MEMORY_BYTES;
    if (!code && meter->bytes < 3 * sizeof(float) * PRODUCT_SIDE * PRODUCT_SIDE)
        code = cudaErrorMemoryAllocation;
    if (!code)
        code = cudaStreamCreateWithFlags(&meter->stream, cudaStreamNonBlocking);
    if (!code)
        code = cudaMalloc((void **)&meter->sink, sizeof(float));
    if (!code)
        code = cudaMalloc((void **)&meter->memory, meter->bytes);
    if (!code)
        code = cudaMemsetAsync(meter->memory, 0, meter->bytes, meter->stream);
    if (!code)
        code = cudaHostAlloc(&meter->host, COPY_BYTES, cudaHostAllocDefault);
    return code ? code : cudaStreamSynchronize(meter->stream);
}

static void give_back(struct meter *meter)
{
    if (meter->graph)
        cudaGraphExecDestroy(meter->graph);
    cudaFreeHost(meter->host);
    cudaFree(meter->memory);
    cudaFree(meter->sink);
    if (meter->stream)
        cudaStreamDestroy(meter->stream);
}

int cuda_ceiling(struct cnn_device *device, double (*clock)(void), double seconds, struct cnn_ceiling *out,
                 int capacity, int *count, struct cnn_error *error)
{
    struct meter meter = { .device = device,
                           .clock = clock,
                           .seconds = seconds,
                           .out = out,
                           .capacity = capacity,
                           .blocks = BLOCKS_OF_SM * device->multiprocessors };
    *count = 0;
    if (cuda_device_use(device, error))
        return error ? (int)error->status : CNN_ERROR;
    meter.code = take(&meter);
    measure_compute(&meter);
    measure_products(&meter);
    measure_memory(&meter);
    measure_latency(&meter);
    give_back(&meter);
    *count = meter.count;
    return cuda_check(meter.code, error, "measuring what the GPU can do at most");
}
