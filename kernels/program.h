/* SPDX-License-Identifier: MIT */
/* A network compiled for a GPU: tensors, a job for each operation, a recorded graph for each phase and batch buffer. */
#ifndef KERNELS_PROGRAM_H
#define KERNELS_PROGRAM_H

#include "kernels/device.h"
#include "kernels/fused.h"
#include "kernels/kernel.h"
#include "kernels/memory.h"
#include "kernels/shared.h"
#include "lib/algorithms.h"

/* What a step is made of; parts of a training step where copies = paper stops between them. */
enum cuda_part { CUDA_TRAIN, CUDA_CLASSIFY, CUDA_EVALUATE, CUDA_TRAIN_FORWARD, CUDA_TRAIN_BACKWARD, CUDA_PART_COUNT };

/* A batch on the device. */
struct cuda_slot {
    float *images;
    int32_t *labels; /* behind the images, so that one copy brings both */
    float *host;     /* copies other than none: the caller's batch, [images][labels] */
    int count;       /* images, 0 while nothing is loaded */
    bool labelled;
};

struct cnn_program {
    struct cnn_device *device;
    const struct cnn_network *network;
    struct cnn_program_options options;
    struct cnn_algorithms algorithms;
    struct cnn_operations *operations;
    struct cuda_memory memory;
    cudaStream_t stream, side, copying; /* side: weight gradients beside the data's, while recording */
    cudaEvent_t fork, join, copied[2];
    cudaEvent_t begun, ended; /* around the last resident steps */
    bool timed;               /* they were recorded */
    int64_t device_bytes;     /* for cuda_counters(); 0: not asked for yet */
    bool needs_blas;

    struct cuda_layer *layers; /* [layers] */
    float **outputs, **deltas; /* [layers] */
    float *input_gradient;
    float *parameters, *gradient, *velocity;
    struct cuda_job *jobs;
    int job_count;
    struct cuda_update update;
    struct cuda_fusion fusion; /* of few images */
    struct cuda_loss loss;

    struct cuda_slot *slots; /* [options.slots] */
    int buffer_count;        /* batches on the device: slots, or 1 or 2 where every step copies */
    struct cuda_slot *buffers;
    int64_t batch_words;                        /* of a full batch: images and labels */
    cudaGraphExec_t *graphs;                    /* [part][buffer], of a full batch; NULL: not recorded */
    cudaGraphExec_t rotations[CUDA_PART_COUNT]; /* a step over every buffer in turn; NULL: not recorded */

    /* Pinned host memory. */
    float *staging[2];                                         /* a batch, where every step copies */
    struct cuda_answer *answer;                                /* what a step brings back */
    int32_t *answer_labels;                                    /* [batch] */
    float *host_outputs, *host_gradient, *host_input_gradient; /* copies = paper */

    bool mapped; /* copies = answer of small batches: kernels read and write pinned memory, mapped.cu */
    struct cuda_told told;
    unsigned steps_told; /* that the host waits for */

    bool watched;     /* by a profiler */
    double host_loss; /* copies = paper */
    int64_t host_correct, images;
    int last_count; /* of the last step; -1 before the first */
};

/* build.c: everything but memory. */
int cuda_build(struct cnn_program *p, struct cnn_device *device, const struct cnn_network *network,
               const struct cnn_program_options *options, struct cnn_error *error);
void cuda_unbuild(struct cnn_program *p);

/* What a job knows of the device and the options. */
void cuda_job_describe(struct cuda_job *job, const struct cnn_device *device,
                       const struct cnn_program_options *options);

/* bind.c: carves every tensor and binds the jobs; called for the sizes and again with memory. */
void cuda_bind(struct cnn_program *p);

/* layer.c: geometry without memory; tables, filled from the network once there is memory. */
int cuda_layer_shape(struct cuda_layer *out, const struct cnn_layer *layer, struct cnn_error *error);
void cuda_layer_carve(struct cuda_layer *shape, const struct cnn_layer *layer, struct cuda_memory *memory, int index);
int cuda_layer_fill(const struct cuda_layer *shape, const struct cnn_layer *layer, struct cnn_error *error);

/* enqueue.c: puts a part of a step on the stream, kernel by kernel. */
cudaError_t cuda_enqueue(struct cnn_program *p, enum cuda_part part, const struct cuda_slot *buffer, bool fork);

/* record.c */
int cuda_record(struct cnn_program *p, struct cnn_error *error);
void cuda_forget(struct cnn_program *p);
/* Runs a part over a buffer, recorded where it can be; with the copies of copies = answer. */
cudaError_t cuda_run(struct cnn_program *p, enum cuda_part part, int buffer);

/* copies.c: pinned memory to buffer `b` and back; steps with their copies. */
cudaError_t cuda_copy_in(struct cnn_program *p, int b, int count, cudaStream_t stream);
cudaError_t cuda_copy_out(struct cnn_program *p, enum cuda_part part, int count);
cudaError_t cuda_bring(struct cnn_program *p, int slot, int b, cudaStream_t stream); /* a slot to buffer `b` */
cudaError_t cuda_paper_exchange(struct cnn_program *p, unsigned phase, int slot);
cudaError_t cuda_paper_finish(struct cnn_program *p, int count);
int cuda_step_answer(struct cnn_program *p, unsigned phase, int slot, struct cnn_error *error);
int cuda_step_paper(struct cnn_program *p, unsigned phase, int slot, struct cnn_error *error);
int cuda_steps_pipelined(struct cnn_program *p, unsigned phase, int steps, int slots, struct cnn_error *error);

/* step.c: whether the phase can run over this many loaded slots. */
int cuda_step_check(const struct cnn_program *p, unsigned phase, int slots, struct cnn_error *error);

/* The functions of the seam. */
int cuda_candidates(struct cnn_device *device, const struct cnn_network *network, const struct cnn_operation *operation,
                    const struct cnn_program_options *options, struct cnn_candidate *out, int capacity);
int cuda_plan(struct cnn_device *device, const struct cnn_network *network, const struct cnn_program_options *options,
              struct cnn_plan *out, struct cnn_error *error);
int cuda_compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                 const struct cnn_program_options *options, struct cnn_error *error);
void cuda_release(struct cnn_program *program);
int cuda_write_parameters(struct cnn_program *program, const float *parameters, struct cnn_error *error);
int cuda_read_parameters(struct cnn_program *program, float *parameters, struct cnn_error *error);
int cuda_set_rates(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error);
int cuda_load(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
              struct cnn_error *error);
int cuda_train(struct cnn_program *program, int steps, struct cnn_error *error);
int cuda_classify(struct cnn_program *program, int steps, struct cnn_error *error);
int cuda_evaluate(struct cnn_program *program, int steps, struct cnn_error *error);
int cuda_fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error);
int cuda_sync(struct cnn_program *program, struct cnn_error *error);
int cuda_inspect(struct cnn_program *program, enum cnn_inspection what, int layer, float *out, int64_t capacity,
                 struct cnn_error *error);
int cuda_profile(struct cnn_program *program, enum cnn_phase phase, double (*clock)(void),
                 struct cnn_profile_entry *out, int capacity, int *count, struct cnn_error *error);
int cuda_counters(struct cnn_program *program, struct cnn_counters *out, struct cnn_error *error);
int cuda_ceiling(struct cnn_device *device, double (*clock)(void), double seconds, struct cnn_ceiling *out,
                 int capacity, int *count, struct cnn_error *error);
void cuda_watch(struct cnn_program *program, bool on);

/* watch.c: a range of NVTX around what is launched, where the program is watched. */
void cuda_range_begin(const struct cnn_program *p, enum cnn_operation_kind kind, int layer);
void cuda_range_end(const struct cnn_program *p);

#endif
