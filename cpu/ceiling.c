/* SPDX-License-Identifier: MIT */
/* What the processor can do at most with the device's threads: multiply-adds of every instruction set, a library's
 * matrix product, reading from every level of memory, and one pass with nothing in it. Loops run as passes of the
 * device, a tile for each thread, so that they meet the threads that the kernels meet. */
#include "cpu/ceiling_loops.h"
#include "cpu/gemm_list.h"
#include "cpu/program.h"

#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 5
#define TRIES_MOST 60
#define PARTS_MOST 30    /* of the time of one run: more is not waited for */
#define PRODUCT_SIDE 384 /* three matrices of 576 KiB */
#define EMPTY_PASSES 200
#define MEMORY_LEAST ((int64_t)64 << 20) /* bytes; beyond any L2 and most L3 */
#define MEMORY_MOST ((int64_t)1 << 30)

/* A loop on its way through device->run(): the job comes first, so that a pass finds the rest behind it. */
struct loop {
    struct cpu_job job;
    const struct cpu_ceiling_loops *loops;
    int threads;
    int64_t rounds;
    float *memory;  /* of thread t: memory + t * floats */
    int64_t floats; /* of a thread, a multiple of CEILING_READ_FLOATS */
    float *answers; /* [threads * CEILING_READ_FLOATS]: apart, so that no two threads share a line */
};

struct meter {
    struct cnn_device *device;
    double (*clock)(void);
    double seconds;
    struct cnn_ceiling *out;
    int capacity, count;
    hwloc_topology_t topology; /* NULL: not known */
};

static const struct loop *loop_of(const struct cpu_job *job)
{
    return (const struct loop *)(const void *)job;
}

static int64_t a_tile_each(const struct cpu_job *job, const struct cpu_batch *batch)
{
    (void)batch;
    return loop_of(job)->threads;
}

static void run_fma(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct loop *loop = loop_of(job);
    (void)batch;
    for (int64_t tile = begin; tile < end; tile++)
        loop->answers[tile * CEILING_READ_FLOATS] = loop->loops->fma(loop->rounds, 0.999f, 0.001f);
}

static void run_read(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct loop *loop = loop_of(job);
    (void)batch;
    for (int64_t tile = begin; tile < end; tile++)
        for (int64_t round = 0; round < loop->rounds; round++)
            loop->answers[tile * CEILING_READ_FLOATS] +=
                loop->loops->read(loop->memory + tile * loop->floats, loop->floats);
}

/* Three matrices of a thread lie one behind the other. */
static void run_product(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct loop *loop = loop_of(job);
    int64_t size = PRODUCT_SIDE * PRODUCT_SIDE;
    (void)batch;
    for (int64_t tile = begin; tile < end; tile++)
        for (int64_t round = 0; round < loop->rounds; round++) {
            float *a = loop->memory + tile * loop->floats;
            cpu_gemm_multiply(PRODUCT_SIDE, a, a + size, a + 2 * size);
        }
}

/* Every thread writes its own memory first, so that it lies near it. */
static void run_fill(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    const struct loop *loop = loop_of(job);
    (void)batch;
    for (int64_t at = begin * loop->floats; at < end * loop->floats; at++)
        loop->memory[at] = 1e-3f;
}

static void run_nothing(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end)
{
    (void)job;
    (void)batch;
    (void)begin;
    (void)end;
}

/* ---- the clock ---- */

typedef void (*pass_run)(const struct cpu_job *job, const struct cpu_batch *batch, int64_t begin, int64_t end);

static double time_once(const struct meter *meter, const struct loop *loop, pass_run run)
{
    struct cpu_batch batch = { .count = 1 };
    struct cpu_step step = { &loop->job, { a_tile_each, run }, true };
    double start = meter->clock();
    meter->device->run(loop->threads, &step, 1, &batch);
    return meter->clock() - start;
}

/* The least of some tries. On a busy machine most are interrupted, so that every try that is clearly better than those
 * before it buys as many again. */
static double time_best(const struct meter *meter, const struct loop *loop, pass_run run)
{
    double best = time_once(meter, loop, run);
    for (int left = TRIES, all = 0; left > 0 && all < TRIES_MOST; left--, all++) {
        double taken = time_once(meter, loop, run);
        left = taken < 0.98 * best ? TRIES : left;
        best = fmin(best, taken);
    }
    return best;
}

/* Seconds of one round. Rounds grow until a run is as long as its part of the time allows, and twice the rounds take
 * nearly twice as long: before that it is the waking of threads and interruptions that take the time. */
static double time_rounds(const struct meter *meter, struct loop *loop, pass_run run)
{
    double part = meter->seconds / (4 * TRIES), before = INFINITY, best = 0;
    for (loop->rounds = 1; loop->rounds < INT64_MAX / 8; loop->rounds *= best < part / 16 ? 8 : 2) {
        best = time_best(meter, loop, run);
        if (best > 1.7 * before || best > PARTS_MOST * part)
            break;
        before = best < part / 2 ? INFINITY : best;
    }
    return best / (double)loop->rounds;
}

static void tell(struct meter *meter, enum cnn_ceiling_kind kind, const char *of, int64_t bytes, double value)
{
    if (meter->count < meter->capacity) {
        struct cnn_ceiling *ceiling = &meter->out[meter->count];
        *ceiling = (struct cnn_ceiling){ .kind = kind, .precision = CNN_FP32, .bytes = bytes, .value = value };
        snprintf(ceiling->of, sizeof ceiling->of, "%s", of);
    }
    meter->count++;
}

/* ---- what is measured ---- */

static const struct cpu_ceiling_loops *loops_of(enum cpu_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case CPU_AVX2:
        return &cpu_ceiling_loops_avx2;
    case CPU_AVX512:
        return &cpu_ceiling_loops_avx512;
#elif defined(__aarch64__)
    case CPU_NEON:
        return &cpu_ceiling_loops_neon;
#endif
    default:
        return &cpu_ceiling_loops_scalar;
    }
}

static void measure_fma(struct meter *meter, struct loop *loop)
{
    for (enum cpu_isa isa = CPU_SCALAR; isa < CPU_ISA_COUNT; isa++) {
        if (!cpu_isa_usable(isa))
            continue;
        loop->loops = loops_of(isa);
        double flops = (double)loop->loops->flops_of_round * loop->threads;
        tell(meter, CNN_CEILING_FMA, cpu_isa_name(isa), 0, flops / time_rounds(meter, loop, run_fma));
    }
}

static void measure_passes(struct meter *meter, const struct loop *loop)
{
    struct cpu_step steps[EMPTY_PASSES];
    struct cpu_batch batch = { .count = 1 };
    double best = INFINITY;
    for (int i = 0; i < EMPTY_PASSES; i++)
        steps[i] = (struct cpu_step){ &loop->job, { a_tile_each, run_nothing }, true };
    for (int i = 0; i < 2 * TRIES; i++) {
        double start = meter->clock();
        meter->device->run(loop->threads, steps, EMPTY_PASSES, &batch);
        best = fmin(best, (meter->clock() - start) / EMPTY_PASSES);
    }
    tell(meter, CNN_CEILING_STEP, "pass", 0, best);
}

/* false: no memory. `floats` is of each thread. */
static bool take(struct meter *meter, struct loop *loop, int64_t floats)
{
    loop->floats = (floats + CEILING_READ_FLOATS - 1) / CEILING_READ_FLOATS * CEILING_READ_FLOATS;
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (size_t)(loop->floats * loop->threads) * sizeof(float)))
        return false;
    loop->memory = memory;
    loop->rounds = 1;
    time_once(meter, loop, run_fill);
    return true;
}

static bool measure_product(struct meter *meter, struct loop *loop)
{
    double flops = 2.0 * PRODUCT_SIDE * PRODUCT_SIDE * PRODUCT_SIDE * loop->threads;
    if (cpu_gemm_check(loop->threads, NULL))
        return true;
    if (!take(meter, loop, 3 * PRODUCT_SIDE * PRODUCT_SIDE))
        return false;
    tell(meter, CNN_CEILING_PRODUCT, "BLAS", 0, flops / time_rounds(meter, loop, run_product));
    free(loop->memory);
    return true;
}

/* `bytes` is the largest set that the level holds for all threads; half of it is read, so that it surely lies there. */
static bool measure_reading(struct meter *meter, struct loop *loop, const char *of, int64_t bytes, int64_t read)
{
    loop->loops = loops_of(cpu_isa_best());
    if (!take(meter, loop, read / loop->threads / (int64_t)sizeof(float)))
        return false;
    double all = (double)loop->floats * sizeof(float) * loop->threads;
    tell(meter, CNN_CEILING_MEMORY, of, bytes, all / time_rounds(meter, loop, run_read));
    free(loop->memory);
    return true;
}

/* Bytes of a cache level that the threads reach together, 0: not known. As many caches of a level serve as there are
 * threads, at most all. */
static int64_t cache_bytes(const struct meter *meter, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = meter->topology ? hwloc_get_obj_by_type(meter->topology, type, 0) : NULL;
    if (!cache)
        return 0;
    int count = hwloc_get_nbobjs_by_type(meter->topology, type), threads = meter->device->threads;
    return (int64_t)cache->attr->cache.size * (count < threads ? count : threads);
}

/* A set that no cache holds: four times the largest, within limits and a quarter of the memory that is free. */
static int64_t memory_bytes(int64_t largest)
{
    int64_t bytes = 4 * largest, room = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE) / 4;
    bytes = bytes < MEMORY_LEAST ? MEMORY_LEAST : bytes > MEMORY_MOST ? MEMORY_MOST : bytes;
    return bytes < room ? bytes : room;
}

static bool measure_memory(struct meter *meter, struct loop *loop)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = { { HWLOC_OBJ_L1CACHE, "L1" }, { HWLOC_OBJ_L2CACHE, "L2" }, { HWLOC_OBJ_L3CACHE, "L3" } };
    int64_t largest = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < sizeof levels / sizeof *levels; i++) {
        int64_t bytes = cache_bytes(meter, levels[i].type);
        if (bytes / 2 <= largest) /* half of it lies in the level below */
            continue;
        largest = bytes;
        fine = measure_reading(meter, loop, levels[i].name, bytes, bytes / 2);
    }
    return fine && measure_reading(meter, loop, "memory", INT64_MAX, memory_bytes(largest));
}

int cpu_ceiling(struct cnn_device *device, double (*clock)(void), double seconds, struct cnn_ceiling *out, int capacity,
                int *count, struct cnn_error *error)
{
    struct meter meter = { device, clock, seconds, out, capacity, 0, NULL };
    struct loop loop = { .threads = device->threads };
    *count = 0;
    loop.answers = calloc((size_t)device->threads * CEILING_READ_FLOATS, sizeof *loop.answers);
    if (hwloc_topology_init(&meter.topology))
        meter.topology = NULL;
    if (meter.topology && hwloc_topology_load(meter.topology)) {
        hwloc_topology_destroy(meter.topology);
        meter.topology = NULL;
    }
    bool fine = loop.answers != NULL;
    if (fine) {
        measure_passes(&meter, &loop); /* first: it wakes the threads */
        measure_fma(&meter, &loop);
        fine = measure_product(&meter, &loop) && measure_memory(&meter, &loop);
    }
    if (meter.topology)
        hwloc_topology_destroy(meter.topology);
    free(loop.answers);
    *count = meter.count;
    return fine ? CNN_OK : cnn_error_set(error, CNN_OOM, "ceilings of %d threads: not enough memory", device->threads);
}
