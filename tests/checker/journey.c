/* SPDX-License-Identifier: MIT */
/* The oracle's two runs through a whole network, and the room between them. */
#include "tests/checker/journey.h"

#include "lib/parameters.h"
#include "lib/random.h"
#include "lib/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED 8.0
#define U 0x1p-24

int journey_count(int step)
{
    return step == JOURNEY_STEPS - 1 ? JOURNEY_SHORT : JOURNEY_BATCH;
}

const float *journey_images(const struct journey *journey, int step)
{
    return journey->images + step * JOURNEY_BATCH * cnn_shape_size(journey->network->input);
}

static int make_network(struct journey *journey, const struct journey_spec *spec, struct cnn_error *error)
{
    struct cnn_network_spec built;
    int status = cnn_builtin_spec(&built, spec->name, spec->image, error);
    if (status)
        return status;
    if (spec->peer)
        cnn_spec_peer_preset(&built);
    built.width = spec->width;
    built.depth = spec->depth;
    return cnn_network_create(&journey->network, &built, error);
}

static bool take_memory(struct journey *journey)
{
    const struct cnn_network *network = journey->network;
    size_t parameters = (size_t)network->parameters, outputs = (size_t)network->classes * JOURNEY_BATCH;
    journey->start = calloc(parameters, sizeof(float));
    journey->images = calloc((size_t)cnn_shape_size(network->input) * JOURNEY_BATCH * JOURNEY_STEPS, sizeof(float));
    bool all = journey->start && journey->images;
    for (int step = 0; step < JOURNEY_STEPS; step++) {
        journey->outputs[step] = calloc(outputs, sizeof(double));
        journey->output_room[step] = calloc(outputs, sizeof(double));
        journey->parameters[step] = calloc(parameters, sizeof(double));
        journey->parameter_room[step] = calloc((size_t)network->layer_count, sizeof(double));
        all = all && journey->outputs[step] && journey->output_room[step] && journey->parameters[step] &&
              journey->parameter_room[step];
    }
    return all;
}

void journey_destroy(struct journey *journey)
{
    if (!journey)
        return;
    for (int step = 0; step < JOURNEY_STEPS; step++) {
        free(journey->outputs[step]);
        free(journey->output_room[step]);
        free(journey->parameters[step]);
        free(journey->parameter_room[step]);
    }
    free(journey->images);
    free(journey->start);
    cnn_network_destroy(journey->network);
    free(journey);
}

static void draw_data(struct journey *journey, uint64_t seed)
{
    struct cnn_random random;
    const struct cnn_network *network = journey->network;
    cnn_parameters_init(network, journey->start);
    cnn_random_init(&random, seed, CNN_STREAM_TEST, 0);
    for (int64_t i = 0; i < cnn_shape_size(network->input) * JOURNEY_BATCH * JOURNEY_STEPS; i++)
        journey->images[i] = (float)cnn_random_normal(&random);
    for (int step = 0; step < JOURNEY_STEPS; step++)
        for (int i = 0; i < JOURNEY_BATCH; i++)
            journey->labels[step][i] = (int32_t)cnn_random_below(&random, (uint32_t)network->label_count);
}

/* NaN where any difference is. */
static double distance(const double *a, const double *b, int64_t count)
{
    double largest = 0.0;
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= largest))
            largest = fabs(a[i] - b[i]);
    return largest;
}

static double magnitude(const double *a, int64_t count)
{
    double largest = 0.0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(a[i]));
    return largest;
}

static void keep_outputs(struct journey *journey, int step, const struct cnn_reference *straight,
                         const struct cnn_reference *moved)
{
    int last = journey->network->layer_count - 1;
    int64_t count = (int64_t)journey_count(step) * journey->network->classes;
    const double *outputs = cnn_reference_output(straight, last);
    double divergence = distance(outputs, cnn_reference_output(moved, last), count);
    for (int64_t i = 0; i < count; i++) {
        journey->outputs[step][i] = outputs[i];
        journey->output_room[step][i] = ALLOWED * divergence + cnn_reference_output_bound(straight, last)[i];
    }
}

/* Before the update: `floors` gathers, for each layer, what the gradients' own bounds may have moved its parameters by.
 * A gradient's error goes on through the velocity, 1 / (1 - momentum) of it in all, and every store rounds. */
static void keep_parameters(struct journey *journey, int step, struct cnn_reference *straight,
                            struct cnn_reference *moved, double *floors)
{
    const struct cnn_network *network = journey->network;
    memcpy(journey->parameters[step], cnn_reference_parameters(straight), (size_t)network->parameters * sizeof(double));
    for (int i = 0; i < network->layer_count; i++) {
        const struct cnn_layer *layer = &network->layers[i];
        const double *at = cnn_reference_parameters(straight) + layer->weight_at;
        int64_t count = layer->weights + layer->biases;
        double bound = magnitude(cnn_reference_gradient_bound(straight) + layer->weight_at, count);
        floors[i] += (double)journey->rates.rate / (1.0 - (double)journey->rates.momentum) * bound +
                     2.0 * U * magnitude(at, count);
        journey->parameter_room[step][i] =
            ALLOWED * distance(at, cnn_reference_parameters(moved) + layer->weight_at, count) + floors[i];
    }
}

static void walk(struct journey *journey, struct cnn_reference *oracles[2], double *floors)
{
    for (int step = 0; step < JOURNEY_STEPS; step++) {
        for (int i = 0; i < 2; i++) {
            cnn_reference_forward(oracles[i], journey_images(journey, step), journey->labels[step], NULL,
                                  journey_count(step));
            cnn_reference_backward(oracles[i]);
            cnn_reference_update(oracles[i], (double)journey->rates.rate, (double)journey->rates.momentum,
                                 (double)journey->rates.decay);
        }
        keep_outputs(journey, step, oracles[0], oracles[1]);
        keep_parameters(journey, step, oracles[0], oracles[1], floors);
    }
}

/* One unit in the last place, up or down. */
static void move_weights(const struct journey *journey, double *parameters, uint64_t seed)
{
    struct cnn_random random;
    cnn_random_init(&random, seed, CNN_STREAM_TEST, 1);
    for (int64_t i = 0; i < journey->network->parameters; i++)
        if (journey->start[i] != 0.0f)
            parameters[i] = (double)nextafterf(journey->start[i], cnn_random_word(&random) % 2 ? INFINITY : -INFINITY);
}

static int run_oracles(struct journey *journey, uint64_t seed, struct cnn_error *error)
{
    struct cnn_reference *oracles[2] = { NULL, NULL };
    double *floors = calloc((size_t)journey->network->layer_count, sizeof *floors);
    int status = floors ? CNN_OK : cnn_error_set(error, CNN_OOM, "journey: no memory");
    for (int i = 0; i < 2 && !status; i++) {
        status = cnn_reference_create(&oracles[i], journey->network, JOURNEY_BATCH, error);
        if (!status)
            cnn_reference_write_parameters(oracles[i], journey->start);
    }
    if (!status) {
        move_weights(journey, cnn_reference_parameters(oracles[1]), seed);
        walk(journey, oracles, floors);
    }
    cnn_reference_destroy(oracles[0]);
    cnn_reference_destroy(oracles[1]);
    free(floors);
    return status;
}

int journey_create(struct journey **out, const struct journey_spec *spec, uint64_t seed, struct cnn_error *error)
{
    struct journey *journey = calloc(1, sizeof *journey);
    if (!journey)
        return cnn_error_set(error, CNN_OOM, "journey: no memory");
    journey->rates = (struct cnn_rates){ 0.02f, 0.9f, 0.001f };
    int status = make_network(journey, spec, error);
    if (!status && !take_memory(journey))
        status = cnn_error_set(error, CNN_OOM, "journey: no memory for %s", spec->name);
    if (!status) {
        draw_data(journey, seed);
        status = run_oracles(journey, seed, error);
    }
    if (status)
        journey_destroy(journey);
    else
        *out = journey;
    return status;
}
