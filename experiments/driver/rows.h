/* SPDX-License-Identifier: MIT */
/* The CSV of results: one fixed header, one row for every point, on disk before the next point starts. Tables, charts
 * and claims are made from these rows alone. A cell without a number is empty. */
#ifndef DRIVER_ROWS_H
#define DRIVER_ROWS_H

#include "experiments/driver/points.h"
#include "experiments/driver/result.h"
#include "lib/network.h"

#include <stdio.h>

#define ROWS_SCHEMA 2 /* goes up with every change of the columns */

/* Columns in their order in the file: first what a person reads, then what tells points apart, then the rest. The names
 * are in rows_columns.c, one for each; units stand in the names. */
enum row_column {
    ROW_STUDY,
    ROW_SERIES,
    ROW_LABEL,
    ROW_NETWORK,
    ROW_WIDTH,
    ROW_DEPTH,
    ROW_IMAGE,
    ROW_BATCH,
    ROW_THREADS, /* that ran; 0 for a GPU */
    ROW_PHASE,
    ROW_STATUS,
    ROW_REASON,
    ROW_SECONDS_PER_STEP, /* median; a step is one batch. Empty for accuracy */
    ROW_INTERVAL_LOW_SECONDS,
    ROW_INTERVAL_HIGH_SECONDS,
    ROW_IMAGES_PER_SECOND,
    ROW_USEFUL_GFLOP_PER_SECOND,
    ROW_EXECUTED_GFLOP_PER_SECOND,
    ROW_SHARE_OF_LIMIT,    /* of what this device can do at most, 0 to 1 */
    ROW_BOUND,             /* what limits it: "compute", "memory", "latency", "copies" */
    ROW_SECONDS_PER_EPOCH, /* training of one epoch, median; accuracy only */
    ROW_TRAIN_LOSS,        /* of the last epoch; accuracy only, as the three below */
    ROW_TRAIN_ACCURACY,
    ROW_TEST_LOSS,
    ROW_TEST_ACCURACY,
    ROW_EPOCHS,
    ROW_TARGET_ACCURACY,                /* of the test images; as the next three only where a study names one */
    ROW_EPOCHS_TO_TARGET,               /* empty where no epoch reached it */
    ROW_SECONDS_TO_TARGET,              /* of training */
    ROW_SECONDS_TO_TARGET_WITH_LOADING, /* of training, reading the data set and making batches of it */
    ROW_LOADING_SECONDS,                /* reading the data set, and making batches of it in all epochs */
    ROW_PARAMETERS,
    ROW_MACS_PER_IMAGE, /* forward, connected pairs */
    ROW_USEFUL_FLOP_PER_STEP,
    ROW_EXECUTED_FLOP_PER_STEP,
    ROW_COMPUTE_LIMIT_SECONDS, /* the least that each of the device's limits alone leaves a step */
    ROW_MEMORY_LIMIT_SECONDS,
    ROW_LATENCY_LIMIT_SECONDS,
    ROW_COPIES_LIMIT_SECONDS,
    ROW_BYTES_PER_STEP, /* each tensor of an operation once; what may stay inside a kernel not at all */
    ROW_BACKEND,
    ROW_ALGORITHM,
    ROW_CHOICES,
    ROW_ISA,
    ROW_PRECISION,
    ROW_COPIES,
    ROW_LAUNCH,
    ROW_THREADS_ASKED, /* 0: automatic */
    ROW_DEVICE_INDEX,
    ROW_DEVICE,
    ROW_CHANNELS,
    ROW_CLASSES,
    ROW_CONNECTIONS,
    ROW_OUTPUT,
    ROW_LOSS,
    ROW_INPUT_GRADIENT,
    ROW_DATA,
    ROW_FIT,
    ROW_PIXELS,
    ROW_PIXEL_MEAN,
    ROW_PIXEL_DEVIATION,
    ROW_DISTORT,
    ROW_TRAIN_IMAGES,
    ROW_TEST_IMAGES,
    ROW_RATE,
    ROW_MOMENTUM,
    ROW_DECAY,
    ROW_RATE_DECAY,
    ROW_SEED,
    ROW_PARAMETERS_CHECKSUM, /* of the initial values */
    ROW_SAMPLES,
    ROW_STEPS_PER_SAMPLE,
    ROW_STOP, /* "interval", "time", "samples" */
    ROW_MEAN_SECONDS,
    ROW_LOWER_QUARTILE_SECONDS,
    ROW_UPPER_QUARTILE_SECONDS,
    ROW_MINIMUM_SECONDS,
    ROW_EVENT_SECONDS_PER_STEP, /* by the device's own clock */
    ROW_COPY_SECONDS_PER_STEP,  /* one batch into the device, mean of a pass of its own */
    ROW_PROCESS_SECONDS,        /* of the whole process, start to end; all below are parts of it */
    ROW_STARTUP_SECONDS,        /* until the process has read its point and opened its device */
    ROW_SETUP_SECONDS,
    ROW_COMPILE_SECONDS,
    ROW_VERIFY_SECONDS,
    ROW_WARMUP_SECONDS,
    ROW_VERIFIED_ERROR_OVER_BOUND,
    ROW_VERIFIED_BY, /* "oracle", or "oracle, naive" where plain loops stood in for its gradient */
    ROW_CLOCK_MHZ_LOW,
    ROW_CLOCK_MHZ_HIGH,
    ROW_THROTTLED, /* why the device held back while it was timed */
    ROW_POWER_WATTS,
    ROW_ENERGY_JOULE_PER_IMAGE,
    ROW_PLANNED_BYTES,
    ROW_PEAK_BYTES,
    ROW_PEAK_DEVICE_BYTES,
    ROW_MACHINE,
    ROW_BUILD,        /* commit, "-dirty" behind one with changes */
    ROW_SOURCES_HASH, /* of the backend's own sources and the core */
    ROW_STARTED,      /* of the point, UTC, 2010-09-15T12:00:00Z */
    ROW_KEY,          /* point_key() */
    ROW_SCHEMA,
    ROW_COLUMN_COUNT
};

const char *row_column_name(enum row_column column); /* "seconds_per_step", ... */
bool row_column_is_text(enum row_column column);     /* words, even where they look like a number */
enum row_column row_column_find(const char *name);   /* ROW_COLUMN_COUNT: none of that name */

/* What a row says beyond point and result. */
struct row_context {
    const char *study, *machine, *build, *started;
    const char *sources; /* backend_entry's; NULL: unknown */
};

/* A run's folder with its files open for appending. */
struct rows_writer;

/* Makes ROOT/<machine>/<study>/<YYYYMMDD-HHMMSS>/ (UTC; a suffix -2, -3, ... where it exists: nothing is overwritten)
 * with rows.csv, samples.csv and epochs.csv, writes their headers to disk and so shows that the place can be written
 * before anything long runs. */
int rows_open(struct rows_writer **out, const char *root, const char *machine, const char *study,
              struct cnn_error *error);

/* Opens a run's folder again to add rows behind those it has. What a crash left without its row is cut off first: a
 * torn last line, samples and epochs of a point that has no row. CNN_INVALID where the rows are not of this schema, and
 * while another process writes there. */
int rows_reopen(struct rows_writer **out, const char *folder, struct cnn_error *error);

const char *rows_folder(const struct rows_writer *writer);

/* Writes one row (and its samples or epochs) and syncs it to disk. CNN_ERROR when any byte is not there: a row is whole
 * or absent. `network` NULL: it could not be built. */
int rows_append(struct rows_writer *writer, const struct row_context *context, const struct point *point,
                const struct cnn_network *network, const struct result *result, struct cnn_error *error);

/* Writes a whole text file of the run's folder (the record, the study), over an older one at once or not at all. */
int rows_write_file(struct rows_writer *writer, const char *name, const char *text, size_t size,
                    struct cnn_error *error);

/* Points ROOT/<machine>/<study>/latest at this run, atomically. */
int rows_point_latest(struct rows_writer *writer, struct cnn_error *error);
int rows_close(struct rows_writer *writer, struct cnn_error *error); /* NULL is fine */

/* The header and one row as CSV text with a line end, malloc'd; NULL without memory. */
char *rows_header_text(void);
char *rows_row_text(const struct row_context *context, const struct point *point, const struct cnn_network *network,
                    const struct result *result);

/* ---- a run that broke off ---- */

/* Cuts off what a crash left behind the last whole row of a folder, in all its files, and counts the rows. Nobody may
 * be writing there. rows_reopen() does it. */
int rows_mend(const char *folder, int64_t *count, struct cnn_error *error);

/* Writes the rows of one run, with their samples, epochs and layers, and its choices, over those of another, which
 * nobody may have open. Rows with a status of the bits 1 << status in `leave` stay behind. Both runs are of this
 * schema. */
int rows_copy(const char *from, const char *to, unsigned leave, struct cnn_error *error);

/* Columns of the two files beside rows.csv, with the line's end. */
extern const char rows_samples_header[], rows_epochs_header[], rows_layers_header[];

/* One cell of CSV, quoted where RFC 4180 wants it; NULL is an empty one. */
void row_print_cell(FILE *out, const char *text);

/* ---- reading ---- */

struct row {
    const char *cell[ROW_COLUMN_COUNT]; /* never NULL; "" is an empty cell */
};

struct rows {
    int count;
    struct row *list;
    char *text;    /* owns the cells */
    bool torn;     /* the last line was cut short (a crash or a full disk) and left out */
    int64_t whole; /* bytes of the file that are whole lines */
};

/* Reads a rows.csv of this schema or an older one: columns are found by their names, one that the file lacks has empty
 * cells. CNN_ERROR where it cannot be read, CNN_INVALID where it is no rows.csv or a later program's. */
int rows_read(struct rows *out, const char *path, struct cnn_error *error);
void rows_free(struct rows *rows);

double row_number(const struct row *row, enum row_column column);   /* NAN where empty */
int64_t row_integer(const struct row *row, enum row_column column); /* -1 where empty */
enum cnn_status row_status(const struct row *row);

#endif
