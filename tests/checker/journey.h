/* SPDX-License-Identifier: MIT */
/* A whole network over several training steps as the oracle goes, and how far from there a backend may be. */
#ifndef TESTS_CHECKER_JOURNEY_H
#define TESTS_CHECKER_JOURNEY_H

#include "lib/backend.h"

#define JOURNEY_STEPS 5
#define JOURNEY_BATCH 3
#define JOURNEY_SHORT 2 /* images of the last batch */

struct journey_spec {
    const char *name; /* built-in */
    int image, width, depth;
    bool peer;
};

struct journey {
    struct cnn_network *network;
    struct cnn_rates rates;
    float *start; /* parameters */
    float *images;
    int32_t labels[JOURNEY_STEPS][JOURNEY_BATCH];
    /* of the oracle, in and after each step; rooms are what a backend may differ by */
    double *outputs[JOURNEY_STEPS], *output_room[JOURNEY_STEPS];
    double *parameters[JOURNEY_STEPS], *parameter_room[JOURNEY_STEPS]; /* room: of each layer */
};

/* The oracle runs twice, once with every weight moved by one unit in the last place of fp32. A backend may differ from
 * the first run by at most 8 times what the second does at the same step, and by the bounds of the steps themselves. */
int journey_create(struct journey **out, const struct journey_spec *spec, uint64_t seed, struct cnn_error *error);
void journey_destroy(struct journey *journey);

int journey_count(int step); /* images of a step */
const float *journey_images(const struct journey *journey, int step);

#endif
