/* SPDX-License-Identifier: MIT */
/* The words that a study may use where a word from a list is expected. */
#ifndef DRIVER_STUDY_WORDS_H
#define DRIVER_STUDY_WORDS_H

#include "lib/operations.h"

#include <stdbool.h>
#include <stddef.h>

#define WORDS_MAX 64

enum vocabulary {
    WORDS_AXES,
    WORDS_NETWORKS,
    WORDS_PHASES,
    WORDS_PRECISIONS,
    WORDS_ISAS,
    WORDS_COPIES,
    WORDS_LAUNCHES,
    WORDS_BACKENDS,
    WORDS_OPERATIONS, /* those that can be chosen; no values of an enum */
    WORDS_LAYERS,
    WORDS_PADDINGS,
    WORDS_ACTIVATIONS,
    WORDS_LOSSES,
    WORDS_DATA,
    WORDS_FITS,
    WORDS_PIXELS,
    WORDS_PRESETS,
    WORDS_ORDERS,
    WORDS_FIGURES
};

/* list[i] is the word of the value i, where the words are names of an enum. */
struct words {
    int count;
    const char *list[WORDS_MAX];
};

void words_fill(struct words *words, enum vocabulary vocabulary);

/* The place of `word`, or -1 with CNN_INVALID and `"word": expected "a", "b" or "c" (did you mean ...)`. "linear" is
 * "none", "auto" among instruction sets is "best". */
int words_find(enum vocabulary vocabulary, const char *word, struct cnn_error *error);

/* Operations whose algorithm a study can choose by a key of their name. Copies have none, and `loss` is the key of the
 * loss itself. */
bool words_choosable(enum cnn_operation_kind kind);

#endif
