/* SPDX-License-Identifier: MIT */
/* The seam between the shared core and a backend: one table of functions, every pointer set. Whoever calls sees
 * canonical layouts only (NCHW images and activations, the arena order of parameters.h); what a backend keeps inside is
 * its own.
 *
 * Rules for every function: failure is a status other than CNN_OK with a sentence in *error; nothing runs elsewhere
 * unasked; nothing allocates after compile(). A program is used by one thread at a time. */
#ifndef CNN_LIB_BACKEND_H
#define CNN_LIB_BACKEND_H

#include "lib/network.h"
#include "lib/operations.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cnn_precision { CNN_FP32, CNN_TF32, CNN_PRECISION_COUNT };
enum cnn_copies { CNN_COPIES_NONE, CNN_COPIES_ANSWER, CNN_COPIES_PAPER, CNN_COPIES_PIPELINED, CNN_COPIES_COUNT };
enum cnn_launch { CNN_LAUNCH_GRAPH, CNN_LAUNCH_STREAM, CNN_LAUNCH_COUNT };

const char *cnn_precision_name(enum cnn_precision precision); /* "fp32", "tf32" */
const char *cnn_copies_name(enum cnn_copies copies);          /* "none", "answer", "paper", "pipelined" */
const char *cnn_launch_name(enum cnn_launch launch);          /* "graph", "stream" */
bool cnn_precision_parse(const char *word, enum cnn_precision *out);
bool cnn_copies_parse(const char *word, enum cnn_copies *out);
bool cnn_launch_parse(const char *word, enum cnn_launch *out);

struct cnn_device;  /* a backend's own: threads, or a GPU */
struct cnn_program; /* a network made ready on a device */

struct cnn_device_options {
    int index;   /* which GPU; 0 elsewhere */
    int threads; /* omp: asked-for threads, 0: as many as affinity and quota allow. cpu has one */
    bool pin;    /* omp: every thread keeps to a processor of its own, where that is permitted */
};

/* What describe() tells. Text is UTF-8, empty where unknown. */
struct cnn_device_info {
    char name[128];   /* "AMD EPYC ...", "NVIDIA H200" */
    char detail[256]; /* versions, UUID, PCI id, runtime */
    char pci[32];     /* a GPU's address, "0000:3b:00.0"; empty for a CPU */
    int threads;      /* that will run; 1 for cpu, 0 for a GPU */
    char pinned[256]; /* processors that threads keep to, in the order of threads: "0,2,4"; empty: none do */
    int64_t memory;   /* bytes in all, 0: unknown */
    char isas[64];    /* instruction sets that can run here, best last, blank between: "scalar avx2" */
};

/* An algorithm that can do an operation. */
struct cnn_candidate {
    const char *algorithm; /* "naive", "direct", ... static storage */
    const char *file;      /* source file of its kernel, for --explain */
    int64_t workspace;     /* bytes beyond tensors, for the whole batch */
};

/* The algorithm of one operation kind, over the program's algorithm: `conv_forward = mine`. layer -1: every layer. */
struct cnn_choice {
    enum cnn_operation_kind kind;
    int layer;
    const char *algorithm;
};

struct cnn_program_options {
    int batch;             /* largest number of images of a step, >= 1; any smaller one works too */
    int slots;             /* batches resident on the device, >= 1; steps rotate over them */
    unsigned phases;       /* bits of enum cnn_phase that will be run */
    const char *algorithm; /* of the whole network */
    const struct cnn_choice *choices;
    int choice_count;
    const char *isa; /* CPU: instruction set, NULL: the best that runs here */
    enum cnn_precision precision;
    enum cnn_copies copies;
    enum cnn_launch launch; /* CPU: no difference */
    bool momentum;          /* velocities are kept (rate or momentum may still change) */
    bool inspectable;       /* inspect() works: nothing is fused away or overwritten */
    bool guarded;           /* tests: tensors start as NaN between canaries, sync() names one that was written over */
};

/* Bytes on the device (CPU: of the process) by class, known before anything is allocated. */
struct cnn_plan {
    int64_t parameters;  /* and packed copies of them */
    int64_t gradients;   /* of parameters, and velocities */
    int64_t activations; /* outputs, their gradients, workspaces that live with them */
    int64_t workspace;
    int64_t batches; /* the resident images and labels */
    int64_t total;
    int threads; /* that will run: fewer than the device has where a step is too small for more; 0 for a GPU */
    int64_t flops_executed_train, flops_executed_forward; /* of a full batch, as the chosen algorithms do it */
    const char *isa; /* instruction set that will run, static storage; NULL where there is no choice of them */
    int layout; /* how tensors lie inside (CPU: images innermost). Plans of one network and batch with the same number
              may mix their algorithms operation by operation without changing it */
};

/* What one operation took in a profiled step. Text is static storage or lives as long as the program. */
struct cnn_profile_entry {
    enum cnn_operation_kind kind;
    int layer;             /* of the loss: the last */
    const char *algorithm; /* "" where every algorithm shares the kernel */
    const char *file;
    int64_t flops_executed; /* of this step's images, as the algorithm does it; 0 for what has no MACs */
    double seconds; /* with what it needs before and after: transposed copies, sums, packing for the next step */
};

/* What the device itself counted. */
struct cnn_counters {
    double
        event_seconds; /* of the last train(), classify() or evaluate(), from its first step's start to its last one's
                          end by the device's own clock; NAN where it has none, or copies stand between the steps */
    int64_t device_bytes; /* of a device's own memory, taken since it was opened: all programs on it, libraries'
                             workspaces too; -1 where memory is the host's, or another process may have taken it */
};

/* Kinds of measured limits, with the unit of their value. */
enum cnn_ceiling_kind {
    CNN_CEILING_FMA,        /* FLOP/s of multiply-adds in registers, two each */
    CNN_CEILING_PRODUCT,    /* FLOP/s of a library's matrix product: what is reached in practice */
    CNN_CEILING_MEMORY,     /* bytes/s, read */
    CNN_CEILING_COPY,       /* bytes/s from the host's memory to the device's */
    CNN_CEILING_STEP,       /* seconds: one operation that waits for the one before it, work left out */
    CNN_CEILING_GRAPH_STEP, /* the same in a recorded graph */
    CNN_CEILING_COPY_STEP,  /* seconds: the smallest copy to the device and the wait for it */
    CNN_CEILING_KIND_COUNT
};

const char *cnn_ceiling_name(enum cnn_ceiling_kind kind); /* "fma", "matrix product", "memory", ... */
bool cnn_ceiling_parse(const char *word, enum cnn_ceiling_kind *out);

/* One measured limit of a device, by all of its threads together. */
struct cnn_ceiling {
    enum cnn_ceiling_kind kind;
    char of[24];                  /* instruction set ("avx2", "ffma", "tf32") or place ("L1", "L2", "L3", "memory") */
    enum cnn_precision precision; /* FMA and PRODUCT: what it computes for */
    int64_t bytes;                /* MEMORY: the largest working set that lies there; INT64_MAX: any */
    double value;
};

struct cnn_rates {
    float rate, momentum, decay; /* v = momentum v + g + decay w (weights only); w -= rate v */
};

/* What came back. Sums run from the previous fetch (or compile) to this one; labels and outputs are of the last step.
 */
struct cnn_answer {
    double loss_sum; /* sum over images of their losses, as they were before each update; train and evaluate */
    int64_t correct; /* train and evaluate */
    int64_t images;  /* over which the sums run */
    int32_t *labels; /* caller's, [batch], or NULL: predicted labels of the last step, in any phase */
    float *outputs;  /* caller's, [batch][classes], or NULL */
};

enum cnn_inspection {
    CNN_INSPECT_OUTPUT, /* layer's output, [count][maps][rows][cols] */
    CNN_INSPECT_DELTA,  /* gradient of the mean loss by the layer's weighted sum, before its activation (of a
                           layer without activation: by its output), same shape */
    CNN_INSPECT_PARAMETER_GRADIENT, /* of the mean loss, without decay: weights then biases of the layer */
    CNN_INSPECT_INPUT_GRADIENT /* of the network's input, [count][channels][side][side]; spec.input_gradient only */
};

struct cnn_backend {
    const char *name;  /* "cpu", "omp", "cuda": the word of a study */
    const char *label; /* "CPU, 1 thread", "CPU, N threads", "GPU": the words of a figure */

    /* Opens a device. CNN_UNAVAILABLE with what is missing and what to do. The caller closes it after its programs. */
    int (*open)(struct cnn_device **out, const struct cnn_device_options *options, struct cnn_error *error);
    void (*close)(struct cnn_device *device); /* NULL is fine */
    int (*describe)(struct cnn_device *device, struct cnn_device_info *info, struct cnn_error *error);

    /* Every algorithm name, NULL-terminated, static storage; for --list and messages. */
    const char *const *(*algorithms)(void);

    /* The algorithms that can do `operation` with these options, best guess first. Writes at most `capacity` and
     * returns their number (0: none); never fails. */
    int (*candidates)(struct cnn_device *device, const struct cnn_network *network,
                      const struct cnn_operation *operation, const struct cnn_program_options *options,
                      struct cnn_candidate *out, int capacity);

    /* What compile() would take, without taking it. CNN_INVALID where an algorithm does not support a shape. */
    int (*plan)(struct cnn_device *device, const struct cnn_network *network, const struct cnn_program_options *options,
                struct cnn_plan *out, struct cnn_error *error);

    /* Makes the network ready: all memory, packed weights, recorded graphs. The network must outlive the program;
     * options are copied. Parameters start at zero: write them. Rates start at 0. CNN_OOM leaves the device as it was.
     */
    int (*compile)(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                   const struct cnn_program_options *options, struct cnn_error *error);
    void (*release)(struct cnn_program *program); /* NULL is fine */

    /* The whole arena in canonical order; blocking. Writing also clears velocities. */
    int (*write_parameters)(struct cnn_program *program, const float *parameters, struct cnn_error *error);
    int (*read_parameters)(struct cnn_program *program, float *parameters, struct cnn_error *error);

    /* Takes effect with the next training step; records nothing anew. */
    int (*set_rates)(struct cnn_program *program, const struct cnn_rates *rates, struct cnn_error *error);

    /* Puts a batch of 1..batch images, fp32 NCHW, and their labels (NULL where only classify runs) into a slot. The
     * host memory may be reused on return. Labels are checked: 0..label_count-1, else CNN_INVALID with index and value.
     */
    int (*load)(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
                struct cnn_error *error);

    /* Run `steps` steps over the loaded slots in rotation, starting with slot 0; each may return before the device is
     * done. train: forward, loss, backward, update in place. classify: forward and labels. evaluate: forward, loss,
     * labels and number correct. CNN_INVALID where no slot is loaded or the phase was not compiled. */
    int (*train)(struct cnn_program *program, int steps, struct cnn_error *error);
    int (*classify)(struct cnn_program *program, int steps, struct cnn_error *error);
    int (*evaluate)(struct cnn_program *program, int steps, struct cnn_error *error);

    /* Waits, brings the answer back and starts the sums anew. Before the first step the sums are 0, and labels or
     * outputs are CNN_INVALID. */
    int (*fetch)(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error);

    /* Waits, and returns the first fault since the last sync. */
    int (*sync)(struct cnn_program *program, struct cnn_error *error);

    /* Any layer's tensor of the last step in canonical order, blocking; program compiled `inspectable` only. `capacity`
     * in floats must be at least the tensor's size. */
    int (*inspect)(struct cnn_program *program, enum cnn_inspection what, int layer, float *out, int64_t capacity,
                   struct cnn_error *error);

    /* Runs one step of a phase over slot 0, operation by operation, each done on the device before the next begins, and
     * tells what each took, in the order in which they ran. Otherwise a step as train(), classify() and evaluate() run
     * it: parameters move, sums grow. A backend has no clock of its own: `clock` is the caller's and returns seconds
     * that never go back; it is called before the first operation and when each is done, so that what the seconds mean
     * is settled in one place for all backends. Fused operations are one entry, that of the first. The sum is more than
     * a step takes in a row: every entry waits for the device. Blocking; writes at most `capacity` entries and sets
     * *count to how many there are. CNN_INVALID as train() and the others. */
    int (*profile)(struct cnn_program *program, enum cnn_phase phase, double (*clock)(void),
                   struct cnn_profile_entry *out, int capacity, int *count, struct cnn_error *error);

    /* Waits for the steps and tells what the device counted. What it does not count is NAN or -1 and no failure. */
    int (*counters)(struct cnn_program *program, struct cnn_counters *out, struct cnn_error *error);

    /* Measures what this device can do at most, for `seconds` at most of each limit: every instruction set, memory
     * level and latency that the backend has, each the best of several tries. `clock` as in profile(). Writes at most
     * `capacity` ceilings and sets *count to how many there are. May allocate and frees it again; no program of the
     * device may run meanwhile. */
    int (*ceiling)(struct cnn_device *device, double (*clock)(void), double seconds, struct cnn_ceiling *out,
                   int capacity, int *count, struct cnn_error *error);

    /* Tells a profiler of this device that it is about what runs from here on (`on`), or that this has ended. In
     * between every operation that is launched by itself is a range of its name. Nothing where such a device has none.
     */
    void (*watch)(struct cnn_program *program, bool on);
};

#ifdef __cplusplus
}
#endif
#endif
