/* SPDX-License-Identifier: MIT */
/* Which algorithm does which operation of a program, and whether there is such an algorithm: the same for all backends.
 */
#ifndef CNN_LIB_ALGORITHMS_H
#define CNN_LIB_ALGORITHMS_H

#include "lib/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program's own copy of what its options chose. */
struct cnn_algorithms {
    char whole[32];             /* for every operation without a choice; "direct" unless told */
    struct cnn_choice *choices; /* malloc'd */
    int choice_count;
};

/* False without memory. Freed in any case; a zeroed one is fine. */
bool cnn_algorithms_take(struct cnn_algorithms *out, const struct cnn_program_options *options);
void cnn_algorithms_free(struct cnn_algorithms *algorithms);

/* The last choice that fits the operation, else that of the whole program. */
const char *cnn_algorithms_of(const struct cnn_algorithms *algorithms, const struct cnn_operation *operation);

/* CNN_INVALID where a chosen name is none of `names` (NULL-terminated), which `whose` ("the CPU backends") has. */
int cnn_algorithms_check(const struct cnn_algorithms *algorithms, const char *const *names, const char *whose,
                         struct cnn_error *error);

/* Whether an operation has kernels of its own here: a layer's activation goes with the layer, the label with the loss,
 * and loss and copies are the program's. */
bool cnn_operation_is_computed(enum cnn_operation_kind kind);

/* Puts a name behind the others, unless it is empty or among them. Room for one more and NULL is the caller's. */
void cnn_algorithm_add(const char **names, int *count, const char *name);

#ifdef __cplusplus
}
#endif
#endif
