/* SPDX-License-Identifier: MIT */
/* What came of a point: the answer of a child, later a row. Numbers that are not there are NAN or -1 and become empty
 * cells. */
#ifndef DRIVER_RESULT_H
#define DRIVER_RESULT_H

#include "lib/status.h"

#include <stdbool.h>
#include <stdint.h>

struct epoch_result {
    int epoch;
    double train_loss, train_accuracy, test_loss, test_accuracy;
    double load_seconds, train_seconds, test_seconds; /* this epoch's; loading is within training where steps copy */
};

/* One operation of a step, as profile() took it apart. */
struct operation_result {
    char operation[32]; /* "conv_forward" */
    int layer;
    char name[32];                       /* the layer's: "C1" */
    char algorithm[32];                  /* empty: every algorithm shares the kernel */
    char file[64];                       /* of the kernel */
    double seconds;                      /* median over the passes */
    double flops_useful, flops_executed; /* of a step; 0 for what has no MACs */
    double bytes;                        /* of a step: its tensors, each once */
};

/* The least seconds that each limit of the device alone leaves a step; bounds.h. */
struct limit_seconds {
    double compute, memory, latency, copies;
};

struct result {
    enum cnn_status status;
    char reason[512]; /* why it is not ok; or a remark on an ok row ("ran 1 thread: too small for more") */
    char isa[16];     /* actual */
    char device[128];
    char detail[256];             /* of the device: versions, UUID, PCI address, pinning. In no row */
    int threads;                  /* actual; -1 */
    int64_t parameters, macs;     /* forward, one image, connected */
    uint64_t parameters_checksum; /* initial values */
    /* seconds per step (a batch): of samples of `steps_per_sample` steps */
    int samples, steps_per_sample;
    double median, low, high; /* 95 % interval of the median */
    double mean, q1, q3, min;
    char stop[24];                       /* "interval", "time", "samples" */
    double flops_useful, flops_executed; /* per step */
    double event_seconds;                /* per step by the device's clock, median */
    double copy_seconds;                 /* of one batch into the device, mean */
    double opened_at;       /* clock_seconds() when the device was open; one clock for all processes. In no row */
    double startup_seconds; /* until the point's process runs and has its device open */
    double process_seconds; /* of the whole process */
    double setup_seconds, compile_seconds, verify_seconds, warmup_seconds; /* outside every clock of a sample */
    struct limit_seconds limit_seconds;
    double bytes_per_step;                /* that operations read and write, see bounds.h */
    double share_of_limit;                /* speed over the most that this device's limits allow, 0 to 1 */
    char bound[16];                       /* which limit: "compute", "memory", "latency", "copies" */
    double clock_mhz_low, clock_mhz_high; /* seen while it was timed */
    double power_watts, energy_per_image; /* mean over the samples; joule */
    char throttled[128];                  /* why the device held back, as it says */
    int64_t plan_bytes, peak_bytes;       /* planned; peak resident set of the child, gate included */
    int64_t peak_device_bytes;            /* of a device with memory of its own */
    double verified_error;                /* largest |error| / bound that the gate saw; must be <= 1 */
    char
        verified_by[24]; /* "oracle"; "oracle, naive": plain loops stood in for its gradient; "oracle, outputs alone" */
    char *choices;       /* algorithm "auto": what was chosen, as choices.h writes it; malloc'd, or NULL */
    char pinned[256];    /* processors that threads keep to, in the order of threads: "0,2,4"; or empty */
    /* accuracy: median, quartiles and the rest above are of the training seconds of an epoch */
    int64_t train_images, test_images;  /* of an epoch; -1 */
    double pixel_mean, pixel_deviation; /* value = (pixel / 255 - mean) / deviation */
    double data_seconds;                /* to read the data set */
    int epochs;
    struct epoch_result *epoch;         /* malloc'd list of `epochs`, or NULL */
    int operations;                     /* of a point that asks for its layers; 0 */
    struct operation_result *operation; /* malloc'd list, or NULL */
    double *sample;                     /* malloc'd list of `samples`: seconds per step, in the order taken; or NULL */
    double *event;                      /* the same by the device's own clock; or NULL */
};

void result_init(struct result *result);                   /* NAN and -1 everywhere, status CNN_ERROR */
double result_operations_sum(const struct result *result); /* seconds */
void result_free(struct result *result);                   /* the lists */

/* Status and reason in one statement; returns `status`. */
int result_set(struct result *result, enum cnn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a remark behind what the reason already says. */
void result_remark(struct result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first epoch that reached `target`, a test accuracy: its number; 0: none did. *train: seconds of training until
 * then; *loading: of reading the data set and making batches of it, those within training left out (`copies`). */
int result_target(const struct result *result, double target, bool copies, double *train, double *loading);

/* JSON text and back: how a child answers. malloc'd, NULL without memory; a text that is no result is CNN_INVALID. */
char *result_to_json(const struct result *result);
int result_from_json(struct result *out, const char *json, struct cnn_error *error);

#endif
