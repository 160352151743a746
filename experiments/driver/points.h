/* SPDX-License-Identifier: MIT */
/* A point: one thing to measure, fully resolved. A study expands into a list of them; each is run in a process of its
 * own. */
#ifndef DRIVER_POINTS_H
#define DRIVER_POINTS_H

#include "lib/backend.h"
#include "lib/dataset.h"
#include "lib/network.h"

#define POINT_TEXT 96
#define POINT_FOLDER 512
#define POINT_CHOICES_MAX 16
#define POINT_NETWORK_KEY 512

/* What a point measures. The first three are timed step by step; `accuracy` trains for epochs on a data set. */
enum point_phase { POINT_TRAIN, POINT_CLASSIFY, POINT_EVALUATE, POINT_ACCURACY, POINT_PHASE_COUNT };

struct point_choice {
    enum cnn_operation_kind kind;
    int layer; /* -1: every layer */
    char algorithm[32];
};

struct point {
    struct cnn_network_spec spec; /* width, depth, image, connections, loss, seed inside */
    enum point_phase phase;
    int batch;
    enum cnn_copies copies;
    enum cnn_launch launch;
    enum cnn_precision precision;
    int threads;     /* omp: asked for, 0 automatic; else 0 */
    int device;      /* cuda: index */
    char series[32]; /* id, in file and column names */
    char label[POINT_TEXT];
    char backend[16];
    char algorithm[32];
    char isa[16]; /* empty: the best that runs here */
    struct point_choice choices[POINT_CHOICES_MAX];
    int choice_count;
    const char *replay; /* algorithm "auto": what another run chose, as choices.h writes it; NULL: to be chosen. Not
                           owned; malloc'd in a point that came as JSON */
    bool pin;           /* omp: threads keep to processors of their own */
    bool layers;        /* the time of every operation as well, in a pass of its own */
    bool required;      /* unavailable is then a failure */
    /* measuring */
    double min_time; /* seconds a sample lasts at least */
    double warmup;   /* seconds */
    double max_time; /* seconds of samples at most */
    int min_samples, max_samples;
    double planted;  /* extra steps inside a sample's clock, as a share of those it counts: a slowdown of known size */
    double interval; /* stop when the relative half-width of the 95 % interval of the median is within this */
    double timeout;  /* seconds for the whole child; 0: none; negative: by the estimate */
    char answers[512]; /* folder where points of a run share what the oracle said; empty: none is shared */
    /* accuracy */
    char data[32]; /* "digits", "mnist"; timed phases: "normal" is seeded N(0,1) */
    enum cnn_fit fit;
    enum cnn_pixels pixels;
    char distort[POINT_TEXT]; /* of training images, as cnn_distortion_parse() reads it */
    char data_folder[POINT_FOLDER];
    double target;                       /* test accuracy, 0..1, that the time to is told; 0: none */
    int epochs, train_limit, test_limit; /* limits 0: all images */
    struct cnn_rates rates;
    float rate_decay;
};

/* "train", "classify", "evaluate", "accuracy" */
const char *point_phase_name(enum point_phase phase);
bool point_phase_parse(const char *word, enum point_phase *out);

/* A stable text that tells a point from every other: all parameters that can change its number, in a fixed order. */
void point_key(const struct point *point, char *out, size_t size);

/* The part of it that names the network alone, seed included. */
void point_network_key(const struct cnn_network_spec *spec, char *out, size_t size);

/* A short text for a person: "lenet5 width 4 image 32 batch 128 train, CPU, 1 thread". */
void point_title(const struct point *point, char *out, size_t size);

/* The whole point as JSON text and back; how a parent tells its child what to do. malloc'd; NULL without memory. */
char *point_to_json(const struct point *point);
int point_from_json(struct point *out, const char *json, struct cnn_error *error);

#endif
