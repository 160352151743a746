/* SPDX-License-Identifier: MIT */
/* The parts of auto.c and auto_time.c. */
#ifndef DRIVER_AUTO_SEARCH_H
#define DRIVER_AUTO_SEARCH_H

#include "experiments/driver/batches.h"
#include "experiments/driver/measure.h"

#define HOPELESS 4.0 /* times as slow as the best: not looked at further */

/* A program that was timed. */
struct timed {
    struct cnn_profile_entry *entry; /* [count]: least seconds of each operation */
    int count;
    double seconds; /* of all; INFINITY: could not run, or hopeless */
    int layout;
};

struct search {
    const struct bench *bench;
    const struct cnn_device_info *info;
    double (*clock)(void);
    struct cnn_operations *operations;
    struct batches batches;
    struct cnn_profile_entry *scratch; /* [operations->count + 1] */
    struct cnn_choice *mixed;          /* [operations->count + fixed choices]: of the program being timed */
    double best;                       /* of whole programs so far, seconds */
};

/* The bench's options with this algorithm and choices; what the study has fixed comes last and so wins. */
struct cnn_program_options auto_options(struct search *search, const char *algorithm, const struct cnn_choice *choices,
                                        int count);

/* Times a program; timed->seconds stays INFINITY where it cannot be made or is hopeless. With `screened_only` all that
 * is looked at is what a few images say, whatever that is. Rates are 0, so parameters stay what they are. A failure of
 * a program that was made is one of the point. */
int auto_time(struct search *search, const struct cnn_program_options *options, bool screened_only, struct timed *timed,
              struct cnn_error *error);
void auto_timed_free(struct timed *timed);

#endif
