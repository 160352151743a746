/* SPDX-License-Identifier: MIT */
/* What the tests of the core share: cmocka in its order of headers, and networks in one line. */
#ifndef TESTS_UNIT_CORE_H
#define TESTS_UNIT_CORE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/network.h"

#include <stdio.h>
#include <string.h>

static inline struct cnn_network_spec core_spec(const char *name, int image, int width, int depth)
{
    struct cnn_network_spec spec;
    struct cnn_error error;
    assert_int_equal(cnn_builtin_spec(&spec, name, image, &error), CNN_OK);
    spec.width = width;
    spec.depth = depth;
    return spec;
}

static inline struct cnn_network *core_create(const struct cnn_network_spec *spec)
{
    struct cnn_network *network = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_network_create(&network, spec, &error) != CNN_OK)
        fail_msg("%s", error.text);
    return network;
}

static inline struct cnn_network *core_network(const char *name, int image, int width, int depth)
{
    struct cnn_network_spec spec = core_spec(name, image, width, depth);
    return core_create(&spec);
}

/* The network cannot be built, and its sentence is this one. */
static inline void core_assert_invalid(const struct cnn_network_spec *spec, const char *sentence)
{
    struct cnn_network *network = NULL;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_equal(cnn_network_create(&network, spec, &error), CNN_INVALID);
    assert_int_equal(error.status, CNN_INVALID);
    assert_null(network);
    assert_string_equal(error.text, sentence);
}

/* A description with no layers yet: 1 channel, `image` pixels a side, 3 classes. */
static inline struct cnn_network_spec core_empty(int image)
{
    return (struct cnn_network_spec){ .name = "net",
                                      .channels = 1,
                                      .image = image,
                                      .classes = 3,
                                      .width = 1,
                                      .depth = 1,
                                      .loss = CNN_MSE,
                                      .connections = { .paper = true },
                                      .seed = 1 };
}

static inline struct cnn_layer_spec *core_add(struct cnn_network_spec *spec, enum cnn_layer_kind kind, int maps,
                                              int kernel, int stride)
{
    struct cnn_layer_spec *layer = &spec->layers[spec->layer_count++];
    *layer = (struct cnn_layer_spec){ .kind = kind, .maps = maps, .kernel = kernel, .stride = stride };
    return layer;
}

#endif
