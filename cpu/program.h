/* SPDX-License-Identifier: MIT */
/* A network compiled for the CPU: tensors in one layout, a job for each operation, lists of passes for each phase. */
#ifndef CPU_PROGRAM_H
#define CPU_PROGRAM_H

#include "cpu/device.h"
#include "cpu/isa.h"
#include "cpu/kernel.h"
#include "lib/algorithms.h"

/* Floats behind a tensor's last pixel that column-mode vectors may read; zero. */
#define CPU_TENSOR_SLACK 128

/* A named stretch of an allocation, for the canaries of a guarded program. */
struct cpu_region {
    float *data;  /* NULL while sizes are being added up */
    int64_t size; /* floats */
    char name[48];
};

/* One allocation per class of memory, carved twice: first to add up the sizes, then for real. */
enum cpu_class { CPU_PARAMETERS, CPU_GRADIENTS, CPU_ACTIVATIONS, CPU_WORKSPACE, CPU_BATCHES, CPU_CLASS_COUNT };

struct cpu_memory {
    float *base[CPU_CLASS_COUNT];
    int64_t size[CPU_CLASS_COUNT]; /* floats */
    bool guarded, overflow;
    struct cpu_region *regions; /* guarded only */
    int region_count, region_capacity;
};

/* A tensor on its way to a place: it must keep its values from one job to another, as numbered in the order of a
 * training step. */
struct cpu_share {
    struct cpu_tensor *tensor;
    int64_t size, at; /* floats; offset in the common stretch, -1 while it has none */
    int birth, death; /* inclusive */
    const char *name;
    int layer;
};

/* What a program is and would take; built without memory by plan(), completed by compile(). */
struct cnn_program {
    struct cnn_device *device;
    const struct cnn_network *network;
    struct cnn_program_options options;
    struct cnn_algorithms algorithms;
    struct cnn_operations *operations;
    enum cpu_isa isa;
    int lanes, max_blocks, threads;
    struct cpu_memory memory;

    struct cpu_tensor *slots;   /* [options.slots]: images */
    struct cpu_tensor *outputs; /* [layers] */
    struct cpu_tensor *deltas;  /* [layers]: gradient by the weighted sum; absent ones have maps == 0 */
    struct cpu_tensor input_gradient;
    struct cpu_share *shares;       /* [2 layers + 1], for share.c */
    struct cpu_share **share_order; /* twice as many */
    float *parameters, *gradient, *velocity;

    struct cpu_job *jobs; /* one for each operation that has a kernel */
    int job_count;
    struct cpu_step *steps; /* three lists in one array: forward with loss, backward with update, packing */
    int forward_count, backward_at, backward_count, pack_at, pack_count;

    int32_t *labels;                                           /* [slot][batch] */
    int *counts;                                               /* [slot]: images, 0 while nothing is loaded */
    bool *labelled;                                            /* [slot] */
    int32_t *predicted;                                        /* [batch], of the last step */
    double *losses;                                            /* [batch] */
    float *host_outputs, *host_gradient, *host_input_gradient; /* copies = paper */
    struct cnn_rates rates;
    double loss_sum;
    int64_t correct, images;
    int last_slot, last_count; /* of the last step; -1 before the first */
};

/* memory.c */
void cpu_memory_begin(struct cpu_memory *memory, bool guarded);
/* Floats of a class, aligned to 64 bytes, zero. Sizes are added up while base[class] is NULL. */
float *cpu_carve(struct cpu_memory *memory, enum cpu_class class, int64_t count, const char *name, int index);
int cpu_memory_take(struct cpu_memory *memory, struct cnn_error *error);
void cpu_memory_free(struct cpu_memory *memory);
/* First region whose canary was written over, or NULL. */
const struct cpu_region *cpu_memory_check(const struct cpu_memory *memory);
/* Shapes a tensor and returns the floats it needs, -1 when that does not fit. */
int64_t cpu_tensor_shape(struct cpu_tensor *t, struct cnn_shape shape, int lanes, int halo, int blocks);
void cpu_tensor_place(struct cpu_tensor *t, float *memory);     /* memory of that many floats, or NULL */
void cpu_tensor_poison(const struct cpu_tensor *t, int blocks); /* interiors become NaN */

/* build.c: everything but memory. */
int cpu_build(struct cnn_program *p, struct cnn_device *device, const struct cnn_network *network,
              const struct cnn_program_options *options, struct cnn_error *error);
/* fuse.c: convolutions take the pooling above them along. */
void cpu_fuse(struct cnn_program *p);
/* Carves every tensor and binds the jobs; called for the sizes and again with memory. */
void cpu_bind(struct cnn_program *p);
void cpu_unbuild(struct cnn_program *p);
/* Gives every tensor between layers its memory: a place of its own, or one shared with tensors that live at other times
 * (share.c). */
void cpu_carve_shared(struct cnn_program *p);
/* Floats of zeros around a layer's output: what the next layer's padding reads. Around its delta: what its
 * backward-data reads. */
int cpu_output_halo(const struct cnn_program *p, int layer);
int cpu_delta_halo(const struct cnn_program *p, int layer);
bool cpu_list_steps(struct cnn_program *p);

/* step.c: a step in parts. check: CNN_INVALID where the phase was not compiled or a slot is missing. */
int cpu_step_check(const struct cnn_program *p, enum cnn_phase phase, int slots, struct cnn_error *error);
struct cpu_batch cpu_step_begin(struct cnn_program *p, enum cnn_phase phase, int slot);
void cpu_step_end(struct cnn_program *p, const struct cpu_batch *batch, int slot);
/* copies = paper: between forward and backward the host computes loss and gradient. */
void cpu_paper_exchange(struct cnn_program *p, const struct cpu_batch *batch);
void cpu_paper_finish(struct cnn_program *p, const struct cpu_batch *batch);

/* The functions of the seam that cpu and omp share. */
const char *const *cpu_algorithms(void);
int cpu_candidates(struct cnn_device *device, const struct cnn_network *network, const struct cnn_operation *operation,
                   const struct cnn_program_options *options, struct cnn_candidate *out, int capacity);
int cpu_plan(struct cnn_device *device, const struct cnn_network *network, const struct cnn_program_options *options,
             struct cnn_plan *out, struct cnn_error *error);
int cpu_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                const struct cnn_program_options *options, struct cnn_error *error);
void cpu_release(struct cnn_program *program);
int cpu_write_parameters(struct cnn_program *program, const float *parameters, struct cnn_error *error);
int cpu_read_parameters(struct cnn_program *program, float *parameters, struct cnn_error *error);
int cpu_set_rates(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error);
int cpu_load(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
             struct cnn_error *error);
int cpu_train(struct cnn_program *program, int steps, struct cnn_error *error);
int cpu_classify(struct cnn_program *program, int steps, struct cnn_error *error);
int cpu_evaluate(struct cnn_program *program, int steps, struct cnn_error *error);
int cpu_fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error);
int cpu_sync(struct cnn_program *program, struct cnn_error *error);
int cpu_inspect(struct cnn_program *program, enum cnn_inspection what, int layer, float *out, int64_t capacity,
                struct cnn_error *error);
int cpu_profile(struct cnn_program *program, enum cnn_phase phase, double (*clock)(void), struct cnn_profile_entry *out,
                int capacity, int *count, struct cnn_error *error);
int cpu_counters(struct cnn_program *program, struct cnn_counters *out, struct cnn_error *error);
int cpu_ceiling(struct cnn_device *device, double (*clock)(void), double seconds, struct cnn_ceiling *out, int capacity,
                int *count, struct cnn_error *error);
void cpu_watch(struct cnn_program *program, bool on);

#define CPU_BACKEND_FUNCTIONS                                                                                     \
    .close = cpu_device_close, .describe = cpu_device_describe, .algorithms = cpu_algorithms,                     \
    .candidates = cpu_candidates, .plan = cpu_plan, .compile = cpu_compile, .release = cpu_release,               \
    .write_parameters = cpu_write_parameters, .read_parameters = cpu_read_parameters, .set_rates = cpu_set_rates, \
    .load = cpu_load, .train = cpu_train, .classify = cpu_classify, .evaluate = cpu_evaluate, .fetch = cpu_fetch, \
    .sync = cpu_sync, .inspect = cpu_inspect, .profile = cpu_profile, .counters = cpu_counters,                   \
    .ceiling = cpu_ceiling, .watch = cpu_watch

#endif
