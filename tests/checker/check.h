/* SPDX-License-Identifier: MIT */
/* The backend checker, in the manner of dav1d's checkasm: random odd networks, run through the seam of lib/backend.h by
 * any backend and compared with the oracle, every value within its bound. What its files share. */
#ifndef TESTS_CHECKER_CHECK_H
#define TESTS_CHECKER_CHECK_H

#include "lib/backend.h"
#include "lib/reference.h"

#include <stdint.h>
#include <stdio.h>

#define CHECK_BATCHES 2 /* different batches of a case, of different sizes */
#define CHECK_TEXT 4096 /* a case as text */
#define CHECK_THREADS_MAX 3
#define CHECK_ORACLES 32

/* What the pixels are: N(0,1); N(0,1) in steps of a half, so that maxima tie; N(0,1) with NaN in the first image of
 * each batch, then only classified and evaluated. */
enum check_data { CHECK_NORMAL, CHECK_STEPS, CHECK_NAN, CHECK_DATA_COUNT };

/* One network, its batches and its rates: everything is drawn from a seed and an index, or read from text. */
struct check_case {
    struct cnn_network_spec spec; /* its seed is the case's: parameters, images, labels */
    int batch;                    /* of the program */
    int counts[CHECK_BATCHES];    /* images of each batch, 1..batch */
    struct cnn_rates rates;
    enum check_data data;
    enum cnn_copies copies; /* of the ordinary program; not pipelined */
    int mix;                /* > 0: a program more, whose operations draw their algorithms from this number */
};

/* cases.c: draws until the network exists and is cheap enough. Low indices are tiny. */
void check_case_draw(uint64_t seed, int index, struct check_case *out);

/* case_text.c: one line that check_case_parse() reads back. Parsing complains on stderr and returns false. */
void check_case_format(const struct check_case *c, char text[CHECK_TEXT]);
bool check_case_parse(const char *text, struct check_case *out);

/* What one case needs, made once and shared by all that is run on it. */
struct check_material {
    struct check_case c;
    struct cnn_network *network;
    struct cnn_operations *operations;
    float *parameters;
    float *images[CHECK_BATCHES];
    int32_t *labels[CHECK_BATCHES];
    struct check_oracle { /* the oracle on one batch at some parameters: many targets pass through the same bits */
        struct cnn_reference *reference;
        float *parameters;
        enum cnn_precision precision; /* that its bounds allow */
        int b;                        /* -1: unused */
        bool backward;
        double loss;
    } oracles[CHECK_ORACLES];
    int next_oracle;      /* the one to be given up next */
    int64_t largest;      /* floats of the largest tensor that inspect() may return */
    int first_with_delta; /* lower layers need no delta */
    struct check_record { /* parameters after both steps, by whoever came first */
        const char *group, *algorithm;
        char isa[16];
        uint64_t checksum;
    } records[64];
    int record_count;
};

int check_material_create(struct check_material **out, const struct check_case *c, struct cnn_error *error);
void check_material_destroy(struct check_material *material);

/* The oracle after forward, and where asked for backward, of batch `b` at these parameters, with the bounds of a
 * precision. Valid until CHECK_ORACLES - 1 others were asked for. NULL without memory. */
const struct check_oracle *check_material_oracle(struct check_material *material, int b, const float *parameters,
                                                 enum cnn_precision precision, bool backward);

/* Floats between canaries that start as NaN. */
struct check_buffer {
    float *memory, *data;
    int64_t count;
};
bool check_buffer_create(struct check_buffer *buffer, int64_t capacity);
void check_buffer_reset(struct check_buffer *buffer, int64_t count); /* poison, canary right behind `count` */
bool check_buffer_intact(const struct check_buffer *buffer);
void check_buffer_destroy(struct check_buffer *buffer);

/* Who is checked, and how. */
struct check_target {
    const struct cnn_backend *backend;
    struct cnn_device *device;
    const char *group; /* backends that promise the same bits */
    const char *algorithm;
    const char *isa; /* NULL where the backend has none */
    int threads;     /* asked for; 0 where there is no choice */
};

struct check_report {
    char text[2048];     /* of the first failure */
    double worst;        /* largest |error| / bound so far */
    char worst_what[64]; /* where that was */
    int64_t values;      /* compared */
};

enum check_verdict { CHECK_PASSED, CHECK_FAILED, CHECK_UNSUPPORTED };

/* Puts a sentence into the report, once; returns false. */
bool check_fail(struct check_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `count` images (or parameter sets) of `shape` against the oracle. */
bool check_values(struct check_report *report, const char *what, struct cnn_shape shape, const float *got,
                  const double *expected, const double *bound, int64_t images, bool nan_allowed);
/* One number. */
bool check_number(struct check_report *report, const char *what, double got, double expected, double bound);
/* A layer's parameters, arena order; values from layer->weight_at on. */
bool check_parameters(struct check_report *report, const char *what, const struct cnn_layer *layer, const float *got,
                      const double *expected, const double *bound);

/* run_case.c: everything about one case on one target. */
enum check_verdict check_run(const struct check_target *target, struct check_material *material,
                             struct check_report *report);

/* contract.c: what the seam promises apart from numbers. Returns the number of broken promises, each printed. */
int check_contract(const struct cnn_backend *backend, struct cnn_device *device, const char *algorithm);

/* self_test.c: deliberately wrong backends must be caught, a right one must pass. Returns the number of surprises. */
int check_self_test(uint64_t seed);

/* bench.c: ns and GFLOP/s of each kind of layer at fixed shapes. Returns 0, or 1 where something failed. */
int check_bench(const struct check_target *target);

#endif
