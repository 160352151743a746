/* SPDX-License-Identifier: MIT */
/* What this machine can do at most, as each backend measures it: kept beside the machine's results for one build, and
 * what every row is held against. */
#ifndef DRIVER_CEILINGS_H
#define DRIVER_CEILINGS_H

#include "lib/backend.h"

#include <stdio.h>

#define CEILINGS_FILE "ceilings.json"
#define CEILINGS_MAX 32 /* of one device */

/* The limits of one device with so many threads. */
struct ceiling_set {
    char backend[16], device[128];
    int index, threads; /* threads: 0 for a GPU */
    int count;
    struct cnn_ceiling list[CEILINGS_MAX];
};

struct ceilings {
    char machine[64], build[64], measured[32]; /* when: UTC, 2010-09-15T12:00:00Z */
    int count;
    struct ceiling_set *list;
};

/* Measures every device of this build in this process: cpu, omp with 1, 2, 4, ... and all threads, each GPU. What is
 * not here is left out and told on `log`, which may be NULL. Some seconds. */
int ceilings_measure(struct ceilings *out, FILE *log, struct cnn_error *error);
void ceilings_free(struct ceilings *ceilings);

/* JSON text, malloc'd, and back. A text that is none is CNN_INVALID. */
char *ceilings_to_json(const struct ceilings *ceilings);
int ceilings_from_json(struct ceilings *out, const char *json, struct cnn_error *error);

/* Reads the file; CNN_UNAVAILABLE where there is none, or one of another build, which is then to be measured anew. */
int ceilings_read(struct ceilings *out, const char *path, const char *build, struct cnn_error *error);

/* Reads ROOT/<machine>/ceilings.json; where it is not there or of another build this program measures in a process of
 * its own, said on `log` (which may be NULL) - unless the variable CONVSCALE_CEILINGS is "off". *out stays empty, said
 * on stderr, where that fails: a sweep goes on without. */
void ceilings_learn(struct ceilings *out, const char *root, const char *argv0, FILE *log);

/* Writes that file. */
int ceilings_keep(const struct ceilings *ceilings, const char *root, struct cnn_error *error);

/* The set of a device that ran so many threads: that of as many or, where those were not measured, of the next more; of
 * all where none has more. NULL where the device was not measured. */
const struct ceiling_set *ceilings_find(const struct ceilings *ceilings, const char *backend, int index, int threads);

/* A table for people, or the JSON. */
void ceilings_print(FILE *out, const struct ceilings *ceilings, bool json);

#endif
