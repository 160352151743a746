/* SPDX-License-Identifier: MIT */
/* Random cases. Tiny and odd ones come first: single pixels, kernels as large as their input, strides that crop, counts
 * that are no multiple of anything. */
#include "lib/random.h"
#include "tests/checker/check.h"

#include <string.h>

#define TINY 96       /* cases with sides up to 4 */
#define CHEAP 400000  /* multiply-accumulates of a batch */
#define HEAVY 4000000 /* of every 16th case: enough to be dealt to several threads */
#define HEAVY_LEAST 1500000

static int between(struct cnn_random *random, int low, int high)
{
    return low + (int)cnn_random_below(random, (uint32_t)(high - low + 1));
}

static bool one_in(struct cnn_random *random, int n)
{
    return cnn_random_below(random, (uint32_t)n) == 0;
}

static int pick(struct cnn_random *random, const int *values, int count)
{
    return values[cnn_random_below(random, (uint32_t)count)];
}

static int draw_maps(struct cnn_random *random, bool heavy)
{
    static const int odd[] = { 1, 1, 2, 3, 4, 5, 6, 6, 7, 9, 11, 13, 17 };
    return heavy ? between(random, 3, 40) : pick(random, odd, sizeof odd / sizeof *odd);
}

/* Kernel side over an input of `side` pixels: often 1, often the whole input. */
static int draw_kernel(struct cnn_random *random, int side, bool same)
{
    if (one_in(random, 4))
        return side;
    if (one_in(random, 6))
        return 1;
    int limit = same ? side + 2 : side;
    return between(random, 1, limit < 7 ? limit : 7);
}

/* A table that joins `in` maps to some number of maps, or any. */
static void draw_connections(struct cnn_random *random, int in, struct cnn_layer_spec *layer)
{
    layer->connections = (struct cnn_connection_spec){ .kind = CNN_CONNECT_FULL };
    switch (between(random, 0, 7)) {
    case 0:
        layer->connections.kind = CNN_CONNECT_ONE_TO_ONE;
        layer->maps = in;
        break;
    case 1:
        layer->connections.kind = CNN_CONNECT_FAN_IN;
        layer->connections.fan_in = between(random, 1, in < 8 ? in : 8);
        break;
    case 2:
        layer->connections.kind = CNN_CONNECT_DENSITY;
        layer->connections.density = between(random, 10, 100) / 100.0;
        break;
    case 3:
    case 4:
        if (in == 6 || in == 12) {
            layer->connections.kind = CNN_CONNECT_LECUN;
            layer->maps = in / 6 * 16;
        } else if (in == 4 || in == 8) {
            layer->connections.kind = CNN_CONNECT_GARCIA;
            layer->maps = in / 4 * 14;
        }
        break;
    default:
        break;
    }
}

static enum cnn_activation draw_activation(struct cnn_random *random)
{
    return (enum cnn_activation)between(random, 0, CNN_ACTIVATION_COUNT - 1);
}

/* A layer over `maps` maps of `side` pixels, which become those of its output; side 0: impossible. */
static void draw_layer(struct cnn_random *random, struct cnn_layer_spec *layer, int *maps, int *side, bool heavy)
{
    static const enum cnn_layer_kind kinds[] = { CNN_CONV,      CNN_CONV,    CNN_CONV,    CNN_CONV,
                                                 CNN_SUBSAMPLE, CNN_MAXPOOL, CNN_AVGPOOL, CNN_FULL };
    int pad_before;
    *layer = (struct cnn_layer_spec){ .kind = kinds[cnn_random_below(random, sizeof kinds / sizeof *kinds)] };
    layer->activation = draw_activation(random);
    layer->maps = draw_maps(random, heavy);
    if (layer->kind == CNN_FULL) {
        *side = 1;
    } else {
        bool conv = layer->kind == CNN_CONV;
        layer->padding = conv && one_in(random, 3) ? CNN_SAME : CNN_VALID;
        layer->kernel = draw_kernel(random, *side, layer->padding == CNN_SAME);
        layer->stride = between(random, conv ? 1 : 0, 3);
        if (conv && one_in(random, 2))
            layer->stride = 1;
        if (conv)
            draw_connections(random, *maps, layer);
        *side = cnn_output_side(*side, layer->kernel, layer->stride ? layer->stride : layer->kernel, layer->padding,
                                &pad_before);
    }
    *maps = layer->kind == CNN_CONV || layer->kind == CNN_FULL ? layer->maps : *maps;
}

/* The last layer has one pixel per class: fully connected, or a window over all that is left. */
static void draw_last(struct cnn_random *random, struct cnn_network_spec *spec, int maps, int side)
{
    struct cnn_layer_spec *layer = &spec->layers[spec->layer_count++];
    static const enum cnn_layer_kind kinds[] = { CNN_FULL, CNN_FULL,    CNN_FULL,    CNN_CONV,
                                                 CNN_CONV, CNN_MAXPOOL, CNN_AVGPOOL, CNN_SUBSAMPLE };
    *layer = (struct cnn_layer_spec){ .kind = kinds[cnn_random_below(random, sizeof kinds / sizeof *kinds)] };
    layer->activation = draw_activation(random);
    layer->kernel = side;
    layer->stride = 1;
    if (layer->kind != CNN_CONV && layer->kind != CNN_FULL)
        spec->classes = maps;
}

static void draw_network(struct cnn_random *random, struct cnn_network_spec *spec, bool tiny, bool heavy)
{
    int layers = between(random, 1, 4);
    *spec = (struct cnn_network_spec){ .name = "case", .width = 1, .depth = 1, .connections.paper = true };
    spec->seed = cnn_random_word(random);
    spec->channels = between(random, 1, 5);
    if (one_in(random, 4))
        spec->channels = one_in(random, 2) ? 4 : 6; /* what the tables take */
    spec->image = tiny ? between(random, 1, 4) : heavy ? between(random, 9, 24) : between(random, 1, 13);
    spec->classes = between(random, 1, 11);
    spec->loss = (enum cnn_loss)between(random, 0, CNN_LOSS_COUNT - 1);
    spec->input_gradient = one_in(random, 2);
    int maps = spec->channels, side = spec->image;
    for (int i = 0; i < layers - 1 && side > 0; i++)
        draw_layer(random, &spec->layers[spec->layer_count++], &maps, &side, heavy);
    draw_last(random, spec, maps, side);
}

static void draw_batch(struct cnn_random *random, struct check_case *c)
{
    static const int odd[] = { 1, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33, 40 };
    static const float momenta[] = { 0.0f, 0.0f, 0.5f, 0.9f }, decays[] = { 0.0f, 0.0f, 0.01f, 0.25f };
    c->batch = pick(random, odd, sizeof odd / sizeof *odd);
    for (int b = 0; b < CHECK_BATCHES; b++)
        c->counts[b] = b == 0 && one_in(random, 2) ? c->batch : between(random, 1, c->batch);
    c->rates.rate = 0.0625f * (float)between(random, 1, 8);
    c->rates.momentum = momenta[cnn_random_below(random, 4)];
    c->rates.decay = decays[cnn_random_below(random, 4)];
    c->copies = one_in(random, 2) ? CNN_COPIES_NONE : one_in(random, 2) ? CNN_COPIES_ANSWER : CNN_COPIES_PAPER;
    c->mix = one_in(random, 3) ? between(random, 1, 1000) : 0;
    c->data = one_in(random, 4) ? CHECK_STEPS : one_in(random, 12) ? CHECK_NAN : CHECK_NORMAL;
}

static bool fits(const struct check_case *c, bool heavy)
{
    struct cnn_network *network = NULL;
    struct cnn_error error;
    if (cnn_network_create(&network, &c->spec, &error))
        return false;
    int64_t macs = network->macs * c->batch;
    cnn_network_destroy(network);
    return heavy ? macs >= HEAVY_LEAST && macs <= HEAVY : macs <= CHEAP;
}

/* An algorithm may do a connection table as masked dense work, where 0 times NaN spreads to maps that the table keeps
 * apart. */
static bool has_table(const struct cnn_network_spec *spec)
{
    for (int i = 0; i < spec->layer_count; i++)
        if (spec->layers[i].kind == CNN_CONV && spec->layers[i].connections.kind != CNN_CONNECT_FULL)
            return true;
    return false;
}

void check_case_draw(uint64_t seed, int index, struct check_case *out)
{
    struct cnn_random random;
    bool tiny = index < TINY, heavy = index % 16 == 15;
    cnn_random_init(&random, seed, CNN_STREAM_TEST, (uint32_t)index);
    do {
        memset(out, 0, sizeof *out);
        draw_batch(&random, out);
        draw_network(&random, &out->spec, tiny && !heavy, heavy);
        if (out->data == CHECK_NAN && has_table(&out->spec))
            out->data = CHECK_NORMAL;
    } while (!fits(out, heavy));
}
