/* SPDX-License-Identifier: MIT */
/* A program at work on one case: what run_steps.c offers to run_case.c. Every function that returns bool has put a
 * sentence into the report when it returns false. */
#ifndef TESTS_CHECKER_RUN_H
#define TESTS_CHECKER_RUN_H

#include "tests/checker/check.h"

struct run {
    const struct check_target *target;
    struct check_material *material;
    struct check_report *report;
    enum cnn_precision precision;
    struct cnn_program *program;
    struct check_buffer tensor, before, after, outputs, staging;
    int32_t *labels;
    double *velocity, *velocity_bound, *expected, *bound; /* arena order */
    int64_t correct[CHECK_BATCHES];                       /* of the last evaluation of each batch */
};

bool run_start(struct run *run);
void run_finish(struct run *run);
bool run_worked(const struct run *run, int status, const char *what, const struct cnn_error *error);
bool run_intact(const struct run *run, const struct check_buffer *buffer, const char *what);
bool run_synchronised(const struct run *run, const char *what);

/* Batch `b` into a slot. The host memory is the caller's again on return, so it is spoilt at once. */
bool run_load(struct run *run, int slot, int b, bool labelled);

/* Every layer's output, delta and parameter gradient, and the input's gradient, against the oracle. */
bool run_inspect_all(struct run *run, const struct cnn_reference *oracle, int b);

/* The oracle at the program's parameters. */
const struct check_oracle *run_oracle(struct run *run, int b, bool backward);

/* Fetches after one step over batch `b`; `summed` where the phase has loss and number correct. */
bool run_fetch(struct run *run, const struct check_oracle *oracle, const char *what, int b, bool summed);

/* Writes the case's parameters and, where it will train, rates; reads the same bits back into `before`, and forgets
 * velocities. */
bool run_write_parameters(struct run *run, bool rates);
bool run_read_parameters(struct run *run, struct check_buffer *buffer);

/* Compares the parameters with what they should be after a step from `before`, and moves them there. */
bool run_check_update(struct run *run, const struct cnn_reference *oracle);

#endif
