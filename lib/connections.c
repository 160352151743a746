/* SPDX-License-Identifier: MIT */
/* Connection tables: LeCun's, Garcia's, one-to-one, and two random kinds.
 *
 * A table at width w connects groups: map m belongs to group m / w, and connected groups connect fully. The random
 * kinds are drawn for the multiplied counts instead. */
#include "lib/connections.h"

#include "lib/random.h"

#include <math.h>
#include <stdlib.h>

/* Row = output map (group), bit i = reads input map (group) i. */
#define LECUN_IN 6
#define LECUN_OUT 16
#define LECUN_PAIRS 60
/* C3 of LeNet-5: LeCun, Bottou, Bengio and Haffner 1998, table I. */
static const uint8_t lecun[LECUN_OUT] = {
    0x07 /* 012 */,  0x0e /* 123 */,  0x1c /* 234 */,  0x38 /* 345 */,  0x31 /* 045 */,  0x23 /* 015 */,
    0x0f /* 0123 */, 0x1e /* 1234 */, 0x3c /* 2345 */, 0x39 /* 0345 */, 0x33 /* 0145 */, 0x27 /* 0125 */,
    0x1b /* 0134 */, 0x36 /* 1245 */, 0x2d /* 0235 */, 0x3f /* all */,
};

#define GARCIA_IN 4
#define GARCIA_OUT 14
#define GARCIA_PAIRS 20
/* Garcia and Delakis 2004: each of the 4 maps feeds two maps alone, then each of the 6 pairs of maps feeds one. */
static const uint8_t garcia[GARCIA_OUT] = {
    0x1, 0x1, 0x2, 0x2, 0x4, 0x4, 0x8, 0x8, 0x3, 0x5, 0x9, 0x6, 0xa, 0xc,
};

static int count_groups(const char *name, int in_groups, int out_groups, int group_pairs, int in, int out,
                        const char *where, int64_t *pairs, struct cnn_error *error)
{
    int64_t width = in / in_groups;
    if (in % in_groups != 0 || out != width * out_groups)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: the %s table joins %d maps to %d, or multiples of both; found %d to %d", where, name,
                             in_groups, out_groups, in, out);
    *pairs = group_pairs * width * width; /* width <= 2^31 / 14 */
    return CNN_OK;
}

static int count_density(double density, int in, int out, const char *where, int64_t *pairs, struct cnn_error *error)
{
    int64_t cells = (int64_t)in * out, needed = in > out ? in : out;
    if (cells > CNN_TABLE_CELLS_MAX)
        return cnn_error_set(
            error, CNN_INVALID,
            "%s: a random table of %d x %d maps is too large to draw: expected at most 2^31 pairs in all; "
            "make width smaller or give a fan-in",
            where, in, out);
    *pairs = llround(density * (double)cells);
    if (*pairs < needed)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: density %g of %d x %d maps draws %lld pairs, but %lld are needed to use every map: "
                             "try %.4g or more",
                             where, density, in, out, (long long)*pairs, (long long)needed,
                             ceil(1e4 * (double)needed / (double)cells) / 1e4);
    return CNN_OK;
}

int cnn_connections_count(const struct cnn_connection_spec *spec, int in, int out, const char *where, int64_t *pairs,
                          bool *table, struct cnn_error *error)
{
    int64_t all = (int64_t)in * out;
    int status = CNN_OK;
    *pairs = all;
    switch (spec->kind) {
    case CNN_CONNECT_LECUN:
        status = count_groups("lecun", LECUN_IN, LECUN_OUT, LECUN_PAIRS, in, out, where, pairs, error);
        break;
    case CNN_CONNECT_GARCIA:
        status = count_groups("garcia", GARCIA_IN, GARCIA_OUT, GARCIA_PAIRS, in, out, where, pairs, error);
        break;
    case CNN_CONNECT_ONE_TO_ONE:
        if (in != out)
            return cnn_error_set(error, CNN_INVALID,
                                 "%s: one-to-one connections need as many output maps as input maps; "
                                 "found %d to %d",
                                 where, in, out);
        *pairs = in;
        break;
    case CNN_CONNECT_FAN_IN:
        *pairs = (int64_t)out * (spec->fan_in < in ? spec->fan_in : in);
        break;
    case CNN_CONNECT_DENSITY:
        status = count_density(spec->density, in, out, where, pairs, error);
        break;
    case CNN_CONNECT_FULL:
    case CNN_CONNECTION_KIND_COUNT:
        break;
    }
    *table = *pairs != all;
    return status;
}

static void write_groups(const uint8_t *rows, int in_groups, int in, int out, int32_t *first, int32_t *source)
{
    int width = in / in_groups;
    int32_t used = 0;
    for (int out_map = 0; out_map < out; out_map++) {
        first[out_map] = used;
        for (int in_map = 0; in_map < in; in_map++)
            if (rows[out_map / width] >> (in_map / width) & 1)
                source[used++] = in_map;
    }
    first[out] = used;
}

static void write_one_to_one(int maps, int32_t *first, int32_t *source)
{
    for (int map = 0; map <= maps; map++)
        first[map] = map;
    for (int map = 0; map < maps; map++)
        source[map] = map;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Shuffles the deck of input maps; cards that the hand already holds go to its end. */
static void shuffle_deck(struct cnn_random *random, int32_t *deck, int in, const int32_t *hand, int held, bool *in_hand)
{
    cnn_random_shuffle(random, deck, in);
    for (int k = 0; k < held; k++)
        in_hand[hand[k]] = true;
    int end = in;
    for (int i = in - 1; i >= 0; i--) {
        int32_t card = deck[i];
        if (in_hand[card]) {
            deck[i] = deck[--end];
            deck[end] = card;
        }
    }
    for (int k = 0; k < held; k++)
        in_hand[hand[k]] = false;
}

/* Deals `fan_in` cards to each output map from a shuffled deck of input maps, dealing on from a new one when it runs
 * out: hands have no doubles, every input map is used where out * fan_in allows, and equally often within one. */
static int write_fan_in(int fan_in, int in, int out, struct cnn_random *random, int32_t *first, int32_t *source,
                        struct cnn_error *error)
{
    int32_t *deck = malloc(sizeof *deck * (size_t)in);
    bool *in_hand = calloc((size_t)in, sizeof *in_hand);
    if (!deck || !in_hand) {
        free(deck);
        free(in_hand);
        return cnn_error_set(error, CNN_OOM, "connections: no memory to draw a table of %d input maps", in);
    }
    for (int i = 0; i < in; i++)
        deck[i] = i;
    int dealt = in;
    for (int out_map = 0; out_map < out; out_map++) {
        int32_t *hand = source + (int64_t)out_map * fan_in;
        first[out_map] = out_map * fan_in;
        for (int k = 0; k < fan_in; k++) {
            if (dealt == in) {
                shuffle_deck(random, deck, in, hand, k, in_hand);
                dealt = 0;
            }
            hand[k] = deck[dealt++];
        }
        qsort(hand, (size_t)fan_in, sizeof *hand, ascending);
    }
    first[out] = out * fan_in;
    free(deck);
    free(in_hand);
    return CNN_OK;
}

static bool get(const uint64_t *bits, int64_t at)
{
    return bits[at >> 6] >> (at & 63) & 1;
}

/* Sets `wanted` more random cells of `bits` that are set neither there nor in `also`. */
static void draw_cells(int64_t wanted, int64_t in, int64_t out, struct cnn_random *random, uint64_t *bits,
                       const uint64_t *also)
{
    while (wanted > 0) {
        int64_t out_map = cnn_random_below(random, (uint32_t)out);
        int64_t at = out_map * in + cnn_random_below(random, (uint32_t)in);
        if (!get(bits, at) && !get(also, at)) {
            bits[at >> 6] |= (uint64_t)1 << (at & 63);
            wanted--;
        }
    }
}

/* A cover first: the longer side's maps, each once, against the shorter side's in rotation, both shuffled, so that
 * every map is used. Then the other pairs are drawn until they are new; above half density the unconnected pairs are
 * drawn instead, so that few draws hit a cell that is taken. */
static void draw_density(int64_t pairs, int in, int out, struct cnn_random *random, int32_t *maps, uint64_t *cover,
                         uint64_t *holes, int64_t words)
{
    int32_t *ins = maps, *outs = maps + in;
    for (int i = 0; i < in + out; i++)
        maps[i] = i < in ? i : i - in;
    cnn_random_shuffle(random, ins, in);
    cnn_random_shuffle(random, outs, out);
    int64_t covered = in > out ? in : out, cells = (int64_t)in * out;
    for (int64_t i = 0; i < covered; i++) {
        int64_t at = (int64_t)outs[i % out] * in + ins[i % in];
        cover[at >> 6] |= (uint64_t)1 << (at & 63);
    }
    if (!holes) {
        draw_cells(pairs - covered, in, out, random, cover, cover);
        return;
    }
    draw_cells(cells - pairs, in, out, random, holes, cover);
    for (int64_t i = 0; i < words; i++)
        cover[i] = ~holes[i];
}

static void write_bits(const uint64_t *bits, int in, int out, int32_t *first, int32_t *source)
{
    int32_t used = 0;
    for (int out_map = 0; out_map < out; out_map++) {
        first[out_map] = used;
        for (int in_map = 0; in_map < in; in_map++)
            if (get(bits, (int64_t)out_map * in + in_map))
                source[used++] = in_map;
    }
    first[out] = used;
}

static int write_density(double density, int in, int out, struct cnn_random *random, int32_t *first, int32_t *source,
                         struct cnn_error *error)
{
    int64_t cells = (int64_t)in * out, words = (cells + 63) / 64, pairs = llround(density * (double)cells);
    bool dense = pairs > cells / 2;
    int32_t *maps = malloc(sizeof *maps * ((size_t)in + (size_t)out));
    uint64_t *cover = calloc((size_t)words, sizeof *cover);
    uint64_t *holes = dense ? calloc((size_t)words, sizeof *holes) : NULL;
    int status = CNN_OK;
    if (maps && cover && (holes || !dense)) {
        draw_density(pairs, in, out, random, maps, cover, holes, words);
        write_bits(cover, in, out, first, source);
    } else {
        status = cnn_error_set(error, CNN_OOM, "connections: no memory to draw a table of %d x %d maps", in, out);
    }
    free(maps);
    free(cover);
    free(holes);
    return status;
}

int cnn_connections_write(const struct cnn_connection_spec *spec, int in, int out, uint64_t seed, uint32_t sub,
                          int32_t *first, int32_t *source, struct cnn_error *error)
{
    struct cnn_random random;
    cnn_random_init(&random, seed, CNN_STREAM_CONNECTIONS, sub);
    switch (spec->kind) {
    case CNN_CONNECT_LECUN:
        write_groups(lecun, LECUN_IN, in, out, first, source);
        return CNN_OK;
    case CNN_CONNECT_GARCIA:
        write_groups(garcia, GARCIA_IN, in, out, first, source);
        return CNN_OK;
    case CNN_CONNECT_ONE_TO_ONE:
        write_one_to_one(in, first, source);
        return CNN_OK;
    case CNN_CONNECT_FAN_IN:
        return write_fan_in(spec->fan_in, in, out, &random, first, source, error);
    case CNN_CONNECT_DENSITY:
        return write_density(spec->density, in, out, &random, first, source, error);
    case CNN_CONNECT_FULL:
    case CNN_CONNECTION_KIND_COUNT:
        break;
    }
    return cnn_error_set(error, CNN_ERROR, "connections: \"%s\" has no table to write",
                         cnn_connection_kind_name(spec->kind));
}
