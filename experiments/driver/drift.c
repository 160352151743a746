/* SPDX-License-Identifier: MIT */
/* The fastest of several repetitions is what the machine can do now; a neighbour's short burst does not show in it. A
 * quiet machine has shown it after a few, and is not asked for more. */
#include "experiments/driver/drift.h"
#include "experiments/driver/clock.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define REPETITIONS 20
#define PATIENCE 5        /* repetitions in a row that were no faster */
#define FASTER 0.995      /* of the fastest so far */
#define CHAINS 8          /* independent ones, so that latency is hidden */
#define STEPS 250000      /* of each chain: about a millisecond, shorter than a slice of the scheduler */
#define FLOATS (4u << 20) /* of each of three arrays: 16 MiB */

/* A result that is used cannot be optimised away. */
static volatile double sink;

static void multiply_add(void)
{
    double chain[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        chain[c] = c;
    for (int step = 0; step < STEPS; step++)
        for (int c = 0; c < CHAINS; c++)
            chain[c] = chain[c] * 0.999 + 0.5;
    for (int c = 0; c < CHAINS; c++)
        sink += chain[c];
}

static void triad(float *arrays)
{
    float *out = arrays, *a = arrays + FLOATS, *b = arrays + 2 * (size_t)FLOATS;
    for (size_t i = 0; i < FLOATS; i++)
        out[i] = a[i] + 0.5f * b[i];
    sink += (double)out[FLOATS / 2];
}

/* Begins to count idle repetitions anew where this one was clearly faster. */
static void keep_fastest(double *fastest, double seconds, int *idle)
{
    if (seconds < FASTER * *fastest)
        *idle = -1;
    *fastest = fmin(*fastest, seconds);
}

void drift_probe(struct drift_probe *out)
{
    float *arrays = malloc(3 * (size_t)FLOATS * sizeof *arrays);
    *out = (struct drift_probe){ INFINITY, arrays ? INFINITY : NAN };
    for (size_t i = 0; arrays && i < 3 * (size_t)FLOATS; i++)
        arrays[i] = 1;
    for (int i = 0, idle = 0; i < REPETITIONS && idle < PATIENCE; i++, idle++) {
        double start = clock_seconds();
        multiply_add();
        double middle = clock_seconds();
        keep_fastest(&out->compute, middle - start, &idle);
        if (!arrays)
            continue;
        triad(arrays);
        keep_fastest(&out->memory, clock_seconds() - middle, &idle);
    }
    free(arrays);
}

double drift_change(const struct drift_probe *start, const struct drift_probe *end)
{
    double compute = end->compute / start->compute - 1, memory = end->memory / start->memory - 1;
    if (!isfinite(compute) || !isfinite(memory))
        return isfinite(compute) ? compute : isfinite(memory) ? memory : NAN;
    return fabs(compute) > fabs(memory) ? compute : memory;
}
