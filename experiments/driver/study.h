/* SPDX-License-Identifier: MIT */
/* A study: a checked .cfg file. It has series (the lines of a figure), axes that cross with them, and what is to be
 * made of the answers. study_read() checks everything that can be known without building a network; study_expand()
 * turns it into points. Only study*.c know libconfig. */
#ifndef DRIVER_STUDY_H
#define DRIVER_STUDY_H

#include "experiments/driver/points.h"

#define STUDY_WORD 48           /* bytes of an axis value as text */
#define STUDY_VALUES_MAX 10000  /* of one axis */
#define STUDY_POINTS_MAX 100000 /* of one study */
#define STUDY_FIGURES_MAX 16
#define STUDY_PAIRS_MAX 16

/* In the order in which they nest: the first changes slowest, series change fastest of all. */
enum study_axis {
    AXIS_NETWORK,
    AXIS_PHASE,
    AXIS_CONNECTIONS,
    AXIS_PRECISION,
    AXIS_ISA,
    AXIS_COPIES,
    AXIS_LAUNCH,
    AXIS_WIDTH,
    AXIS_DEPTH,
    AXIS_IMAGE,
    AXIS_BATCH,
    AXIS_THREADS,
    AXIS_SEED,
    STUDY_AXIS_COUNT
};

/* One value of an axis. `word` is always there; `number` is the size, or the place of the word in its list (for
 * networks: in study.networks). */
struct study_value {
    int number;
    char word[STUDY_WORD];
};

struct study_values {
    int count; /* 0: not given, the default holds */
    struct study_value *list;
    int line;
};

/* A line of every figure, a column of every table. What it fixes for itself replaces the study's axis. */
struct study_series {
    char id[32];
    char label[POINT_TEXT];
    char backend[16];
    char algorithm[32];
    int device;    /* index, of backends that have several */
    bool required; /* unavailable is a failure */
    bool left_out; /* no points: the user asked for other backends */
    struct study_values fixed[STUDY_AXIS_COUNT];
    struct point_choice choices[POINT_CHOICES_MAX];
    int choice_count;
    int line;
};

/* Places in study.series. */
struct study_pair {
    int base, other;
};

/* "2 to 24 times faster" over pairs of series. A high end of 0 is open: "100.." means at least 100. */
struct study_claim {
    char text[160];
    double low, high; /* of the ratio; low 0: the claim is about growth alone */
    bool growth;      /* the ratio grows with the network */
    struct study_pair pairs[STUDY_PAIRS_MAX];
    int pair_count;
};

/* A number typed from a paper: an open marker over our figures, in no ratio of ours. */
struct study_published {
    char label[64], phase[16], axis[16], quantity[24]; /* quantity: the y column of the figures that it belongs to */
    double at, value;
};

/* Points whose every named key matches are left out. */
struct study_exclusion {
    struct study_values values[STUDY_AXIS_COUNT];
    int *series; /* places in study.series */
    int series_count;
};

/* What holds for every point. */
struct study_measure {
    double min_time, warmup, max_time, interval, timeout; /* timeout -1: by the estimate */
    int min_samples, max_samples;
};

struct study {
    char *path;      /* as the user named it */
    char name[64];   /* file name without folder and ".cfg": the folder of its results */
    char title[160]; /* the name where the file gives none */
    char *text;      /* the file with its includes put in, no BOM, line ends LF: reads as the same study on its own */

    int series_count;
    struct study_series *series;
    int base; /* place in `series`: speed-ups are over it */
    struct study_values axes[STUDY_AXIS_COUNT];
    int zip[STUDY_AXIS_COUNT]; /* axes with the same number > 0 walk together; 0: crosses with all */
    int exclusion_count;
    struct study_exclusion *exclusions;
    int claim_count;
    struct study_claim *claims;
    char published_file[64], *published_text; /* as it lay beside the study; empty and NULL: none */
    struct study_published *published;
    int published_count;
    int figure_count; /* 0: the charts that fit the phases */
    char figures[STUDY_FIGURES_MAX][16];

    int network_count;
    struct cnn_network_spec *networks; /* written out ones; a built-in one has layer_count 0 and its name */
    bool peer;                         /* preset = "peer" */
    int output, loss, classes;         /* over what the network says; -1, -1, 0: not given */
    bool input_gradient;
    uint64_t seed; /* the first of the axis: of the order of points */
    struct study_measure measure;
    char data[32]; /* empty: "normal" for timed phases, "digits" for accuracy */
    char data_folder[POINT_FOLDER];
    enum cnn_fit fit;
    enum cnn_pixels pixels;
    char distort[POINT_TEXT]; /* as cnn_distortion_parse() reads it */
    int epochs, train_limit, test_limit;
    double target; /* test accuracy, 0..1; 0: none */
    struct cnn_rates rates;
    float rate_decay;
    bool pin;      /* omp: threads keep to processors of their own */
    bool shuffled; /* order = "random": points run in seeded random order; "as-written" ("listed"): as expanded */
    bool required;
    bool slow; /* points estimated above a minute run, too */
    struct point_choice choices[POINT_CHOICES_MAX];
    int choice_count;
};

/* Reads and checks a file. CNN_ERROR where it cannot be read, else CNN_INVALID with "file:line: ..."; *out is then
 * empty. */
int study_read(struct study *out, const char *path, struct cnn_error *error);

/* The same from text; `path` is for messages and the folder of includes. */
int study_read_text(struct study *out, const char *path, const char *text, struct cnn_error *error);

/* Overrides one key: "width=1,2,4", "image=32..104 step 8", "epochs=2". Any top-level key that is no list of groups. */
int study_set(struct study *study, const char *assignment, struct cnn_error *error);

/* Leaves out the series of all other backends and makes these required. CNN_SKIPPED where none is left,
 * CNN_INVALID for a word that is no backend. */
int study_keep_backends(struct study *study, const char *const *names, int count, struct cnn_error *error);

/* All points, without repetition: axes that a backend does not take (threads for one thread, say) do not multiply its
 * points. Points that cannot exist are in the list; building them says why. The caller frees *out. */
int study_expand(const struct study *study, struct point **out, int *count, struct cnn_error *error);

void study_free(struct study *study); /* a zeroed study is fine */

/* "network", "width", ...; and back, STUDY_AXIS_COUNT where it is none. */
const char *study_axis_name(enum study_axis axis);
enum study_axis study_axis_parse(const char *word);

/* "paper", "full", "fan-in 8", "density 0.2": the connections of a whole network as text, and back. */
void study_connections_text(const struct cnn_network_connections *connections, char out[STUDY_WORD]);
int study_connections_parse(struct cnn_network_connections *out, const char *text, struct cnn_error *error);

/* The value of an axis at a point, as a study would write it. */
void study_axis_of_point(enum study_axis axis, const struct point *point, char out[STUDY_WORD]);

/* Whether the point stands for all values of the axis. Only how something is computed can be so; another network or
 * size is another row. */
bool study_axis_is_any(const struct study *study, const struct point *point, enum study_axis axis);

#endif
