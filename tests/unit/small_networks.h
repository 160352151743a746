/* SPDX-License-Identifier: MIT */
/* Small networks and seeded values for tests that compute everything by hand or by differences. */
#ifndef TESTS_UNIT_SMALL_NETWORKS_H
#define TESTS_UNIT_SMALL_NETWORKS_H

#include "lib/network.h"
#include "lib/random.h"

#include <stdio.h>
#include <stdlib.h>

/* One layer more; returns it for what the defaults (stride 1, valid, full) do not say. */
static inline struct cnn_layer_spec *small_layer(struct cnn_network_spec *spec, enum cnn_layer_kind kind, int maps,
                                                 int kernel, enum cnn_activation activation)
{
    struct cnn_layer_spec *layer = &spec->layers[spec->layer_count++];
    *layer = (struct cnn_layer_spec){ .kind = kind, .maps = maps, .kernel = kernel, .activation = activation };
    layer->stride = kind == CNN_CONV ? 1 : 0;
    return layer;
}

static inline struct cnn_network_spec small_spec(int channels, int image, int classes, enum cnn_loss loss)
{
    return (struct cnn_network_spec){ .name = "small",
                                      .channels = channels,
                                      .image = image,
                                      .classes = classes,
                                      .width = 1,
                                      .depth = 1,
                                      .loss = loss,
                                      .connections.paper = true,
                                      .input_gradient = true,
                                      .seed = 7 };
}

/* NULL, with the reason on stderr, where the description is refused. */
static inline struct cnn_network *small_network(const struct cnn_network_spec *spec)
{
    struct cnn_network *network = NULL;
    struct cnn_error error;
    if (cnn_network_create(&network, spec, &error))
        fprintf(stderr, "%s\n", error.text);
    return network;
}

/* `count` floats of N(0, scale^2), rounded to multiples of 2^-14 so that a step of 2^-20 is exact in fp32. */
static inline float *small_values(uint64_t seed, int64_t count, double scale)
{
    struct cnn_random random;
    float *values = calloc((size_t)count + 1, sizeof *values);
    cnn_random_init(&random, seed, CNN_STREAM_TEST, 0);
    for (int64_t i = 0; values && i < count; i++)
        values[i] = (float)((double)(int64_t)(scale * cnn_random_normal(&random) * 16384.0) / 16384.0);
    return values;
}

#endif
