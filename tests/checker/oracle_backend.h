/* SPDX-License-Identifier: MIT */
/* The oracle behind the seam, rounded to fp32 where values leave it, in precision tf32 also where tensor cores round: a
 * backend that must pass the checker, and the one whose deliberate faults must not. */
#ifndef TESTS_CHECKER_ORACLE_BACKEND_H
#define TESTS_CHECKER_ORACLE_BACKEND_H

#include "lib/reference.h"

extern const struct cnn_backend check_oracle_backend;

/* oracle_tf32.c: the last forward, backward of the oracle once more, as tf32 has them. Returns the sum of the losses.
 */
double check_tf32_forward(struct cnn_reference *reference);
void check_tf32_backward(struct cnn_reference *reference);

/* What a faulty backend does wrong. */
enum check_fault {
    FAULT_NONE,
    FAULT_OUTPUT,            /* one output element is off by a thousandth */
    FAULT_DELTA,             /* one delta likewise */
    FAULT_GRADIENT,          /* one parameter gradient likewise */
    FAULT_INPUT_GRADIENT,    /* one element of it likewise */
    FAULT_NAN,               /* one output element is NaN */
    FAULT_UNWRITTEN,         /* one delta element is never written */
    FAULT_BEYOND_TENSOR,     /* inspect() writes one float too many */
    FAULT_BEYOND_LABELS,     /* fetch() writes one label too many */
    FAULT_LABEL,             /* one predicted label is another class */
    FAULT_LOSS,              /* the loss sum is off by a hundredth of a per cent */
    FAULT_CORRECT,           /* one more is called correct */
    FAULT_IMAGES,            /* sums count the full batch where it was short */
    FAULT_MOMENTUM,          /* momentum is forgotten */
    FAULT_DECAY,             /* decay is forgotten */
    FAULT_VELOCITY,          /* writing parameters keeps velocities */
    FAULT_PARAMETER,         /* one parameter is written back wrong */
    FAULT_LAST_BIT,          /* every second program trains to another last bit */
    FAULT_ROTATION,          /* steps stay on slot 0 */
    FAULT_KEEPS_HOST_MEMORY, /* load() keeps the caller's pointer */
    FAULT_SYNC,              /* sync() reports a fault */
    FAULT_PLAN,              /* the plan's classes do not add up */
    FAULT_COUNT
};

/* The oracle backend with one fault, and its name. One at a time. */
const struct cnn_backend *check_faulty_backend(enum check_fault fault);
const char *check_fault_name(enum check_fault fault);

#endif
