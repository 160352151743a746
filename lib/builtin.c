/* SPDX-License-Identifier: MIT */
/* The built-in networks. What is known of the papers' topologies and what is this project's own choice stands beside
 * each; sides, parameters and multiply-accumulates of all of them are test values. */
#include "lib/names.h"
#include "lib/network.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_SEED 2010

static struct cnn_layer_spec *add(struct cnn_network_spec *spec, enum cnn_layer_kind kind, const char *name, int maps,
                                  int kernel, int stride)
{
    struct cnn_layer_spec *layer = &spec->layers[spec->layer_count++];
    *layer = (struct cnn_layer_spec){
        .kind = kind, .maps = maps, .kernel = kernel, .stride = stride, .activation = CNN_TANH
    };
    snprintf(layer->name, sizeof layer->name, "%s", name);
    return layer;
}

static struct cnn_layer_spec *conv(struct cnn_network_spec *spec, const char *name, int maps, int kernel)
{
    return add(spec, CNN_CONV, name, maps, kernel, 1);
}

static void connect(struct cnn_layer_spec *layer, enum cnn_connection_kind kind, double density)
{
    layer->connections = (struct cnn_connection_spec){ .kind = kind, .density = density };
}

static struct cnn_layer_spec *full(struct cnn_network_spec *spec, const char *name, int units)
{
    return add(spec, CNN_FULL, name, units, 0, 0);
}

static struct cnn_layer_spec *pool(struct cnn_network_spec *spec, enum cnn_layer_kind kind, const char *name)
{
    struct cnn_layer_spec *layer = add(spec, kind, name, 0, 2, 2);
    if (kind != CNN_SUBSAMPLE) /* sub-sampling has a tanh of its own, pooling follows one */
        layer->activation = CNN_LINEAR;
    return layer;
}

/* LeCun, Bottou, Bengio and Haffner 1998; layers and table as Strigl et al. 2010 benchmarked them. Depth is ours. */
static void lenet5(struct cnn_network_spec *spec)
{
    conv(spec, "C1", 6, 5);
    pool(spec, CNN_SUBSAMPLE, "S2");
    connect(conv(spec, "C3", 16, 5), CNN_CONNECT_LECUN, 0);
    struct cnn_layer_spec *deeper = conv(spec, "C3", 16, 5);
    deeper->padding = CNN_SAME;
    deeper->repeat = CNN_DEPTH_LESS_ONE_TIMES;
    pool(spec, CNN_SUBSAMPLE, "S4");
    conv(spec, "C5", 120, 5);
    full(spec, "F6", 0);
}

/* Simard, Steinkraus and Platt 2003; sizes known, cross-entropy on linear outputs. */
static void simard(struct cnn_network_spec *spec)
{
    conv(spec, "C1", 5, 5)->stride = 2;
    conv(spec, "C2", 50, 5)->stride = 2;
    full(spec, "F3", 100);
    full(spec, "F4", 0)->activation = CNN_LINEAR;
    spec->loss = CNN_SOFTMAX;
}

/* Garcia and Delakis 2004: face or not, one output. */
static void garcia(struct cnn_network_spec *spec)
{
    spec->classes = 1;
    conv(spec, "C1", 4, 5);
    pool(spec, CNN_SUBSAMPLE, "S2");
    connect(conv(spec, "C3", 14, 3), CNN_CONNECT_GARCIA, 0);
    pool(spec, CNN_SUBSAMPLE, "S4");
    connect(conv(spec, "C5", 14, 3), CNN_CONNECT_ONE_TO_ONE, 0);
    full(spec, "F6", 0);
}

/* The densities are known, which pairs they drew is not: ours are seeded. */
static void jahrer(struct cnn_network_spec *spec)
{
    conv(spec, "C1", 20, 5);
    pool(spec, CNN_SUBSAMPLE, "S2");
    connect(conv(spec, "C3", 80, 5), CNN_CONNECT_DENSITY, 0.14);
    pool(spec, CNN_SUBSAMPLE, "S4");
    connect(conv(spec, "C5", 350, 4), CNN_CONNECT_DENSITY, 0.20);
    full(spec, "F6", 0);
}

static void mlp(struct cnn_network_spec *spec)
{
    full(spec, "F1", 500);
    full(spec, "F2", 150)->repeat = CNN_DEPTH_TIMES;
    full(spec, "F3", 0);
}

/* Ours: the plainest network that depth can grow without changing its sides. */
static void stack(struct cnn_network_spec *spec)
{
    struct cnn_layer_spec *layer = conv(spec, "C1", 32, 3);
    layer->padding = CNN_SAME;
    layer->repeat = CNN_DEPTH_TIMES;
    pool(spec, CNN_MAXPOOL, "P2");
    full(spec, "F3", 0)->activation = CNN_LINEAR;
    spec->loss = CNN_SOFTMAX;
}

/* Ours, after what is remembered of Scherer, Schulz and Behnke 2010: two channels (a stereo pair), as many stages as
 * the side needs. Width leaves the 100 units alone, as the peers do, so that both compute the same. */
static void large(struct cnn_network_spec *spec)
{
    spec->channels = 2;
    for (int side = spec->image; side >= 12; side = (side - 4) / 2) {
        char name[CNN_NAME_MAX];
        snprintf(name, sizeof name, "C%d", spec->layer_count + 1);
        conv(spec, name, 16, 5);
        snprintf(name, sizeof name, "P%d", spec->layer_count + 1);
        pool(spec, CNN_MAXPOOL, name);
    }
    char name[CNN_NAME_MAX];
    snprintf(name, sizeof name, "F%d", spec->layer_count + 1);
    full(spec, name, 100)->fixed = true;
    snprintf(name, sizeof name, "F%d", spec->layer_count + 1);
    full(spec, name, 0)->activation = CNN_LINEAR;
    spec->loss = CNN_SOFTMAX;
}

static const char *const names[] = { "lenet5", "simard", "garcia", "jahrer", "mlp", "stack", "large", NULL };
#define NAME_COUNT ((int)(sizeof names / sizeof *names) - 1)

static const struct builtin {
    void (*build)(struct cnn_network_spec *spec);
    int image, smallest; /* default side, and the least that the description makes sense for */
    const char *summary;
} builtins[] = {
    { lenet5, 32, 1,
      "C5x5 6, S2, C5x5 16 (LeCun's table), S2, C5x5 120, F10; depth adds padded 5x5 convolutions after C3" },
    { simard, 29, 1, "C5x5 step 2 of 5 maps, C5x5 step 2 of 50, F100, F10; softmax" },
    { garcia, 20, 1, "C5x5 4, S2, C3x3 14 (20 connections), S2, C3x3 14 one-to-one, F1: a face detector, two classes" },
    { jahrer, 28, 1, "C5x5 20, S2, C5x5 80 (14 % of connections), S2, C4x4 350 (20 %), F10" },
    { mlp, 28, 1, "fully connected: 500, 150, 10 units; depth repeats the middle layer" },
    { stack, 32, 1, "padded 3x3 convolutions of 32 maps, repeated by depth, 2x2 max-pool, F10; softmax" },
    { large, 64, 12,
      "two channels; 5x5 convolution of 16 maps and 2x2 max-pool until the side is under 12, F100 (the same at "
      "every width), F10; softmax" },
};

const char *const *cnn_builtin_names(void)
{
    return names;
}

const char *cnn_builtin_summary(const char *name)
{
    int at = cnn_name_find(names, NAME_COUNT, name);
    return at < NAME_COUNT ? builtins[at].summary : "";
}

static int unknown_name(const char *name, struct cnn_error *error)
{
    char known[128] = "";
    for (int i = 0; i < NAME_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    }
    return cnn_error_set(error, CNN_INVALID, "network \"%s\" is not built in: expected one of %s", name ? name : "",
                         known);
}

int cnn_builtin_spec(struct cnn_network_spec *spec, const char *name, int image, struct cnn_error *error)
{
    int at = cnn_name_find(names, NAME_COUNT, name);
    if (at == NAME_COUNT)
        return unknown_name(name, error);
    const struct builtin *builtin = &builtins[at];
    if (image == 0)
        image = builtin->image;
    if (image < builtin->smallest || image > CNN_SIDE_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s: image side %d: expected %d to %d", name, image, builtin->smallest,
                             CNN_SIDE_MAX);
    *spec = (struct cnn_network_spec){
        .channels = 1,
        .image = image,
        .classes = 10,
        .width = 1,
        .depth = 1,
        .loss = CNN_MSE,
        .connections = { .paper = true },
        .seed = DEFAULT_SEED,
    };
    snprintf(spec->name, sizeof spec->name, "%s", name);
    builtin->build(spec);
    return CNN_OK;
}

void cnn_spec_set_output(struct cnn_network_spec *spec, enum cnn_activation activation)
{
    if (spec->layer_count > 0)
        spec->layers[spec->layer_count - 1].activation = activation;
}

void cnn_spec_peer_preset(struct cnn_network_spec *spec)
{
    spec->connections = (struct cnn_network_connections){ .paper = false, .all = { .kind = CNN_CONNECT_FULL } };
    cnn_spec_set_output(spec, CNN_LINEAR);
    spec->loss = CNN_SOFTMAX;
}
