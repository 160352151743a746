/* SPDX-License-Identifier: MIT */
/* Connection tables: the papers' at width 1 and 2, and the promises of the random ones over many seeds. */
#include "tests/unit/core.h"

#include "lib/connections.h"

#include <math.h>
#include <stdlib.h>

#define MAPS_MAX 400

static struct cnn_connection_spec kind_of(enum cnn_connection_kind kind)
{
    return (struct cnn_connection_spec){ .kind = kind };
}

/* Draws a table into matrix[out_map * in + in_map] and checks what holds for every table: ascending sources within
 * range, as many as counted, no write beyond. Returns the number of pairs. */
static int64_t draw(struct cnn_connection_spec spec, int in, int out, uint64_t seed, uint32_t sub, uint8_t *matrix)
{
    int64_t pairs;
    bool table;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_connections_count(&spec, in, out, "t", &pairs, &table, &error))
        fail_msg("%s", error.text);
    assert_true(table);
    int32_t *first = malloc(sizeof *first * (size_t)(out + 2));
    int32_t *source = malloc(sizeof *source * (size_t)(pairs + 1));
    assert_non_null(first);
    assert_non_null(source);
    first[out + 1] = source[pairs] = 0x7ead;
    assert_int_equal(cnn_connections_write(&spec, in, out, seed, sub, first, source, &error), CNN_OK);
    assert_int_equal(first[out + 1], 0x7ead);
    assert_int_equal(source[pairs], 0x7ead);
    assert_int_equal(first[0], 0);
    assert_int_equal(first[out], pairs);
    memset(matrix, 0, (size_t)in * (size_t)out);
    for (int o = 0; o < out; o++)
        for (int k = first[o]; k < first[o + 1]; k++) {
            assert_in_range(source[k], 0, in - 1);
            assert_true(k == first[o] || source[k - 1] < source[k]);
            matrix[o * in + source[k]] = 1;
        }
    free(first);
    free(source);
    return pairs;
}

/* A table given as text, "012 123 ...", repeated in groups of `width`. */
static void assert_groups(enum cnn_connection_kind kind, const char *text, int in_groups, int out_groups, int width)
{
    static uint8_t matrix[MAPS_MAX * MAPS_MAX];
    int in = in_groups * width, out = out_groups * width;
    draw(kind_of(kind), in, out, 1, 0, matrix);
    for (int group = 0; group < out_groups; group++) {
        bool reads[16] = { false };
        for (; *text && *text != ' '; text++)
            reads[*text - '0'] = true;
        text += *text == ' ';
        for (int o = group * width; o < (group + 1) * width; o++)
            for (int i = 0; i < in; i++)
                assert_int_equal(matrix[o * in + i], reads[i / width]);
    }
    assert_string_equal(text, "");
}

#define LECUN_TEXT "012 123 234 345 045 015 0123 1234 2345 0345 0145 0125 0134 1245 0235 012345"
#define GARCIA_TEXT "0 0 1 1 2 2 3 3 01 02 03 12 13 23"

static void tables_of_the_papers(void **state)
{
    (void)state;
    for (int width = 1; width <= 3; width++) {
        assert_groups(CNN_CONNECT_LECUN, LECUN_TEXT, 6, 16, width);
        assert_groups(CNN_CONNECT_GARCIA, GARCIA_TEXT, 4, 14, width);
    }
}

static void tables_count_before_they_are_drawn(void **state)
{
    (void)state;
    static const struct {
        enum cnn_connection_kind kind;
        int in, out;
        int64_t pairs;
    } counts[] = {
        { CNN_CONNECT_LECUN, 6, 16, 60 },       { CNN_CONNECT_LECUN, 12, 32, 240 },
        { CNN_CONNECT_GARCIA, 4, 14, 20 },      { CNN_CONNECT_GARCIA, 8, 28, 80 },
        { CNN_CONNECT_ONE_TO_ONE, 14, 14, 14 }, { CNN_CONNECT_ONE_TO_ONE, 28, 28, 28 },
        { CNN_CONNECT_FULL, 80, 350, 28000 },
    };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct cnn_connection_spec spec = kind_of(counts[c].kind);
        int64_t pairs;
        bool table;
        assert_int_equal(cnn_connections_count(&spec, counts[c].in, counts[c].out, "t", &pairs, &table, NULL), CNN_OK);
        assert_int_equal(pairs, counts[c].pairs);
        assert_int_equal(table, counts[c].kind != CNN_CONNECT_FULL);
    }
}

static void one_to_one_stays_so(void **state)
{
    (void)state;
    static uint8_t matrix[28 * 28];
    for (int maps = 14; maps <= 28; maps += 14) {
        draw(kind_of(CNN_CONNECT_ONE_TO_ONE), maps, maps, 1, 0, matrix);
        for (int o = 0; o < maps; o++)
            for (int i = 0; i < maps; i++)
                assert_int_equal(matrix[o * maps + i], o == i);
    }
}

static void assert_coverage(const uint8_t *matrix, int in, int out)
{
    for (int o = 0; o < out; o++)
        assert_non_null(memchr(matrix + o * in, 1, (size_t)in));
    for (int i = 0; i < in; i++) {
        int used = 0;
        for (int o = 0; o < out; o++)
            used += matrix[o * in + i];
        assert_true(used > 0);
    }
}

/* Exactly round(p in out) pairs with every map used, down to the fewest pairs possible and up to all but one. */
static void density_is_exact_and_uses_every_map(void **state)
{
    (void)state;
    static uint8_t matrix[MAPS_MAX * MAPS_MAX];
    static const struct {
        int in, out;
        double density;
        int64_t pairs;
    } cases[] = {
        { 20, 80, 0.14, 224 }, { 80, 350, 0.20, 5600 }, { 20, 80, 0.05, 80 }, { 80, 20, 0.05, 80 },
        { 7, 5, 0.2, 7 },      { 7, 5, 0.97, 34 },      { 3, 3, 0.5, 5 },     { 1, 9, 0.999, 9 },
        { 13, 31, 0.75, 302 }, { 2, 50, 0.501, 50 },    { 2, 50, 0.51, 51 },  { 64, 64, 0.1, 410 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (cases[c].pairs == (int64_t)cases[c].in * cases[c].out)
            continue; /* full: no table */
        struct cnn_connection_spec spec = { .kind = CNN_CONNECT_DENSITY, .density = cases[c].density };
        for (uint64_t seed = 0; seed < 20; seed++) {
            assert_int_equal(draw(spec, cases[c].in, cases[c].out, seed, 3, matrix), cases[c].pairs);
            assert_coverage(matrix, cases[c].in, cases[c].out);
        }
    }
}

/* n different sources each; input maps used equally often within one, so all of them where out * n allows. */
static void fan_in_is_exact_and_balanced(void **state)
{
    (void)state;
    static uint8_t matrix[MAPS_MAX * MAPS_MAX];
    static const struct {
        int in, out, fan_in;
    } cases[] = { { 16, 16, 8 },  { 16, 32, 8 }, { 7, 3, 3 },  { 9, 5, 7 },
                  { 100, 60, 8 }, { 5, 40, 4 },  { 10, 1, 9 }, { 50, 5, 8 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int in = cases[c].in, out = cases[c].out, n = cases[c].fan_in;
        struct cnn_connection_spec spec = { .kind = CNN_CONNECT_FAN_IN, .fan_in = n };
        for (uint64_t seed = 0; seed < 20; seed++) {
            assert_int_equal(draw(spec, in, out, seed, 1, matrix), out * n);
            for (int o = 0; o < out; o++) {
                int sources = 0;
                for (int i = 0; i < in; i++)
                    sources += matrix[o * in + i];
                assert_int_equal(sources, n);
            }
            for (int i = 0; i < in; i++) {
                int used = 0;
                for (int o = 0; o < out; o++)
                    used += matrix[o * in + i];
                assert_in_range(used, out * n / in, (out * n + in - 1) / in);
            }
        }
    }
}

static void fan_in_beyond_the_maps_means_all(void **state)
{
    (void)state;
    struct cnn_connection_spec spec = { .kind = CNN_CONNECT_FAN_IN, .fan_in = 8 };
    int64_t pairs;
    bool table;
    for (int in = 5; in <= 8; in++) {
        assert_int_equal(cnn_connections_count(&spec, in, 3, "t", &pairs, &table, NULL), CNN_OK);
        assert_int_equal(pairs, 3 * in);
        assert_false(table);
    }
}

static void random_tables_follow_seed_and_place(void **state)
{
    (void)state;
    static uint8_t a[80 * 20], b[80 * 20];
    const struct cnn_connection_spec specs[] = { { .kind = CNN_CONNECT_DENSITY, .density = 0.14 },
                                                 { .kind = CNN_CONNECT_FAN_IN, .fan_in = 8 } };
    for (int s = 0; s < 2; s++) {
        draw(specs[s], 20, 80, 5, 2, a);
        draw(specs[s], 20, 80, 5, 2, b);
        assert_memory_equal(a, b, sizeof a);
        draw(specs[s], 20, 80, 6, 2, b);
        assert_memory_not_equal(a, b, sizeof a);
        draw(specs[s], 20, 80, 5, 3, b);
        assert_memory_not_equal(a, b, sizeof a);
    }
}

/* Over many seeds every cell is connected about as often as the density says. */
static void density_favours_no_cell(void **state)
{
    (void)state;
    enum { IN = 6, OUT = 8, SEEDS = 2000 };
    static const double densities[] = { 0.4, 0.7 };
    for (int d = 0; d < 2; d++) {
        struct cnn_connection_spec spec = { .kind = CNN_CONNECT_DENSITY, .density = densities[d] };
        int seen[IN * OUT] = { 0 };
        uint8_t matrix[IN * OUT];
        int64_t pairs = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            pairs = draw(spec, IN, OUT, seed, 0, matrix);
            for (int c = 0; c < IN * OUT; c++)
                seen[c] += matrix[c];
        }
        double p = (double)pairs / (IN * OUT);
        for (int c = 0; c < IN * OUT; c++)
            assert_true(fabs(seen[c] - SEEDS * p) < 5 * sqrt(SEEDS * p * (1 - p)));
    }
}

static void assert_refused(struct cnn_connection_spec spec, int in, int out, const char *sentence)
{
    int64_t pairs;
    bool table;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_equal(cnn_connections_count(&spec, in, out, "net, layer C3", &pairs, &table, &error), CNN_INVALID);
    assert_string_equal(error.text, sentence);
}

static void impossible_tables_are_refused(void **state)
{
    (void)state;
    assert_refused(kind_of(CNN_CONNECT_LECUN), 6, 17,
                   "net, layer C3: the lecun table joins 6 maps to 16, or multiples of both; found 6 to 17");
    assert_refused(kind_of(CNN_CONNECT_LECUN), 1, 16,
                   "net, layer C3: the lecun table joins 6 maps to 16, or multiples of both; found 1 to 16");
    assert_refused(kind_of(CNN_CONNECT_GARCIA), 8, 14,
                   "net, layer C3: the garcia table joins 4 maps to 14, or multiples of both; found 8 to 14");
    assert_refused(kind_of(CNN_CONNECT_ONE_TO_ONE), 4, 5,
                   "net, layer C3: one-to-one connections need as many output maps as input maps; found 4 to 5");
    assert_refused(
        (struct cnn_connection_spec){ .kind = CNN_CONNECT_DENSITY, .density = 0.01 }, 20, 80,
        "net, layer C3: density 0.01 of 20 x 80 maps draws 16 pairs, but 80 are needed to use every map: try "
        "0.05 or more");
    assert_refused(
        (struct cnn_connection_spec){ .kind = CNN_CONNECT_DENSITY, .density = 0.5 }, 65536, 65536,
        "net, layer C3: a random table of 65536 x 65536 maps is too large to draw: expected at most 2^31 pairs "
        "in all; make width smaller or give a fan-in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_the_papers),
        cmocka_unit_test(tables_count_before_they_are_drawn),
        cmocka_unit_test(one_to_one_stays_so),
        cmocka_unit_test(density_is_exact_and_uses_every_map),
        cmocka_unit_test(fan_in_is_exact_and_balanced),
        cmocka_unit_test(fan_in_beyond_the_maps_means_all),
        cmocka_unit_test(random_tables_follow_seed_and_place),
        cmocka_unit_test(density_favours_no_cell),
        cmocka_unit_test(impossible_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
