/* SPDX-License-Identifier: MIT */
/* The built-in networks have the parameters, multiply-accumulates and sides that the papers' sources give. */
#include "tests/unit/core.h"

struct counts {
    int image, width, depth;
    int64_t parameters, macs, macs_dense; /* 0: not stated */
};

static void assert_counts(struct cnn_network_spec (*describe)(const struct counts *), const struct counts *counts,
                          size_t count)
{
    for (size_t c = 0; c < count; c++) {
        struct cnn_network_spec spec = describe(&counts[c]);
        struct cnn_network *network = core_create(&spec);
        assert_int_equal(network->parameters, counts[c].parameters);
        if (counts[c].macs)
            assert_int_equal(network->macs, counts[c].macs);
        if (counts[c].macs_dense)
            assert_int_equal(network->macs_dense, counts[c].macs_dense);
        cnn_network_destroy(network);
    }
}

#define DESCRIBE(name)                                          \
    static struct cnn_network_spec name(const struct counts *c) \
    {                                                           \
        return core_spec(#name, c->image, c->width, c->depth);  \
    }
DESCRIBE(lenet5)
DESCRIBE(simard)
DESCRIBE(garcia)
DESCRIBE(jahrer)
DESCRIBE(mlp)
DESCRIBE(stack)
DESCRIBE(large)

static struct cnn_network_spec lenet5_full(const struct counts *c)
{
    struct cnn_network_spec spec = lenet5(c);
    spec.connections = (struct cnn_network_connections){ false, { .kind = CNN_CONNECT_FULL } };
    return spec;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void lenet5_grows_with_width(void **state)
{
    (void)state;
    static const struct counts table[] = {
        { 0, 1, 1, 51046, 316800, 406800 }, { 32, 2, 1, 201082, 0, 0 },    { 32, 4, 1, 798154, 0, 0 },
        { 32, 8, 1, 3180298, 0, 0 },        { 32, 16, 1, 12696586, 0, 0 }, { 32, 32, 1, 50737162, 0, 0 },
    };
    static const struct counts full[] = {
        { 32, 1, 1, 51946, 406800, 406800 }, { 32, 2, 1, 204682, 0, 0 },    { 32, 4, 1, 812554, 0, 0 },
        { 32, 8, 1, 3237898, 0, 0 },         { 32, 16, 1, 12926986, 0, 0 }, { 32, 32, 1, 51658762, 0, 0 },
    };
    assert_counts(lenet5, table, COUNT(table));
    assert_counts(lenet5_full, full, COUNT(full));
}

/* Image, sides C1/S2/C3/S4/C5, parameters, dense multiply-accumulates in thousandths of a million. */
static void lenet5_grows_with_its_image(void **state)
{
    (void)state;
    static const struct {
        int image, sides[5];
        int64_t parameters, dense_thousands;
    } rows[] = {
        { 32, { 28, 14, 10, 5, 1 }, 51046, 407 },      { 40, { 36, 18, 14, 7, 3 }, 60646, 1108 },
        { 48, { 44, 22, 18, 9, 5 }, 79846, 2298 },     { 56, { 52, 26, 22, 11, 7 }, 108646, 3978 },
        { 64, { 60, 30, 26, 13, 9 }, 147046, 6148 },   { 72, { 68, 34, 30, 15, 11 }, 195046, 8807 },
        { 80, { 76, 38, 34, 17, 13 }, 252646, 11956 }, { 88, { 84, 42, 38, 19, 15 }, 319846, 15594 },
        { 96, { 92, 46, 42, 21, 17 }, 396646, 19722 }, { 104, { 100, 50, 46, 23, 19 }, 483046, 24340 },
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct cnn_network *network = core_network("lenet5", rows[r].image, 1, 1);
        assert_int_equal(network->layer_count, 6);
        for (int l = 0; l < 5; l++) {
            assert_int_equal(network->layers[l].out.rows, rows[r].sides[l]);
            assert_int_equal(network->layers[l].out.cols, rows[r].sides[l]);
            assert_int_equal(network->layers[l].cropped_rows, 0);
        }
        assert_int_equal(network->parameters, rows[r].parameters);
        assert_int_equal((network->macs_dense + 500) / 1000, rows[r].dense_thousands);
        if (rows[r].image == 104)
            assert_int_equal(network->macs, 22435200);
        cnn_network_destroy(network);
    }
}

/* Depth d: d - 1 padded 5x5 convolutions of 16 w maps, 16 w * (16 w * 25 + 1) parameters each, behind C3. */
static void lenet5_grows_with_depth(void **state)
{
    (void)state;
    for (int width = 1; width <= 2; width++) {
        struct cnn_network *shallow = core_network("lenet5", 32, width, 1);
        struct cnn_network *deep = core_network("lenet5", 32, width, 3);
        int64_t maps = 16 * width, weights = maps * maps * 25;
        assert_int_equal(deep->layer_count, 8);
        assert_int_equal(deep->parameters, shallow->parameters + 2 * (weights + maps));
        assert_int_equal(deep->macs, shallow->macs + 2 * weights * 100);
        static const char *const names[] = { "C1", "S2", "C3", "C3.2", "C3.3", "S4", "C5", "F6" };
        for (int l = 0; l < 8; l++)
            assert_string_equal(deep->layers[l].name, names[l]);
        for (int l = 3; l <= 4; l++) {
            assert_int_equal(deep->layers[l].out.rows, 10);
            assert_int_equal(deep->layers[l].pad_before, 2);
            assert_int_equal(deep->layers[l].activation, CNN_TANH);
            assert_null(deep->layers[l].first);
        }
        cnn_network_destroy(shallow);
        cnn_network_destroy(deep);
    }
}

/* m1, m2, h as the paper's grid; the description is the built-in one with its numbers exchanged. */
static void simard_grid(void **state)
{
    (void)state;
    static const struct {
        int image, m1, m2, h;
        int64_t parameters, thousands;
    } rows[] = {
        { 29, 5, 50, 100, 132540, 303 },    { 29, 5, 50, 200, 258640, 429 },    { 29, 5, 100, 100, 263840, 585 },
        { 29, 5, 100, 200, 514940, 836 },   { 29, 10, 50, 100, 138920, 481 },   { 29, 10, 50, 200, 265020, 607 },
        { 29, 10, 100, 100, 276470, 918 },  { 29, 10, 100, 200, 527570, 1169 }, { 57, 5, 50, 100, 727540, 1712 },
        { 105, 5, 50, 100, 2887540, 6806 },
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct cnn_network_spec spec = core_spec("simard", rows[r].image, 1, 1);
        spec.layers[0].maps = rows[r].m1;
        spec.layers[1].maps = rows[r].m2;
        spec.layers[2].maps = rows[r].h;
        struct cnn_network *network = core_create(&spec);
        assert_int_equal(network->parameters, rows[r].parameters);
        assert_int_equal((network->macs + 500) / 1000, rows[r].thousands);
        assert_int_equal(network->macs, network->macs_dense);
        cnn_network_destroy(network);
    }
    static const struct counts wide[] = { { 0, 1, 1, 132540, 0, 0 }, { 29, 2, 1, 527570, 0, 0 } };
    assert_counts(simard, wide, COUNT(wide));
}

static void garcia_grows_with_its_image(void **state)
{
    (void)state;
    static const struct counts table[] = { { 0, 1, 1, 489, 32220, 0 },
                                           { 28, 1, 1, 601, 76860, 0 },
                                           { 36, 1, 1, 825, 141180, 0 },
                                           { 40, 1, 1, 979, 180720, 0 } };
    assert_counts(garcia, table, COUNT(table));
    struct cnn_network *network = core_network("garcia", 20, 1, 1);
    assert_int_equal(network->classes, 1);
    assert_int_equal(network->label_count, 2);
    assert_int_equal(network->layers[4].pairs, 14);
    cnn_network_destroy(network);
    network = core_network("garcia", 20, 2, 1);
    assert_int_equal(network->layers[4].pairs, 28); /* one-to-one stays one-to-one */
    assert_int_equal(network->layers[2].pairs, 80);
    cnn_network_destroy(network);
}

static void jahrer_draws_exact_numbers(void **state)
{
    (void)state;
    static const struct counts table[] = { { 0, 1, 1, 99860, 739500, 3299500 } };
    assert_counts(jahrer, table, COUNT(table));
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct cnn_network_spec spec = core_spec("jahrer", 28, 1, 1);
        spec.seed = seed;
        struct cnn_network *network = core_create(&spec);
        assert_int_equal(network->layers[2].pairs, 224);
        assert_int_equal(network->layers[4].pairs, 5600);
        assert_int_equal(network->parameters, 99860);
        cnn_network_destroy(network);
    }
}

static void mlp_grows_with_width_and_depth(void **state)
{
    (void)state;
    static const struct counts table[] = {
        { 0, 1, 1, 469160, 468500, 468500 },
        { 28, 10, 1, 11441510, 11435000, 11435000 },
        { 28, 1, 3, 469160 + 2 * (150 * 150 + 150), 468500 + 2 * 150 * 150, 0 },
    };
    assert_counts(mlp, table, COUNT(table));
}

static void stack_grows_with_depth(void **state)
{
    (void)state;
    static const struct counts table[] = { { 0, 1, 1, 82250, 0, 0 },
                                           { 32, 1, 2, 91498, 0, 0 },
                                           { 32, 1, 4, 109994, 0, 0 },
                                           { 32, 1, 8, 146986, 0, 0 },
                                           { 32, 1, 16, 220970, 0, 0 } };
    assert_counts(stack, table, COUNT(table));
    struct cnn_network *network = core_network("stack", 32, 1, 2);
    assert_string_equal(network->layers[0].name, "C1.1");
    assert_string_equal(network->layers[1].name, "C1.2");
    assert_string_equal(network->layers[2].name, "P2");
    cnn_network_destroy(network);
}

static void large_has_the_stages_its_image_needs(void **state)
{
    (void)state;
    static const struct counts table[] = { { 64, 1, 1, 40358, 0, 0 },
                                           { 128, 1, 1, 46774, 0, 0 },
                                           { 256, 1, 1, 53190, 0, 0 } };
    assert_counts(large, table, COUNT(table));
    static const int stages[][2] = { { 12, 1 }, { 27, 1 }, { 28, 2 }, { 32, 2 }, { 64, 3 }, { 128, 4 }, { 256, 5 } };
    for (size_t s = 0; s < COUNT(stages); s++) {
        struct cnn_network *network = core_network("large", stages[s][0], 1, 1);
        assert_int_equal(network->layer_count, 2 * stages[s][1] + 2);
        cnn_network_destroy(network);
    }
    /* The peers' network at width 4: 64 maps, 100 units. */
    struct cnn_network *network = core_network("large", 64, 4, 1);
    assert_int_equal(network->layers[4].out.maps, 64);
    assert_int_equal(network->layers[6].out.maps, 100);
    assert_int_equal(network->parameters, (2 * 25 + 1) * 64 + 2 * (64 * 25 + 1) * 64 + (64 * 16 + 1) * 100 + 1010);
    cnn_network_destroy(network);

    struct cnn_network_spec spec;
    struct cnn_error error;
    assert_int_equal(cnn_builtin_spec(&spec, "large", 11, &error), CNN_INVALID);
    assert_string_equal(error.text, "large: image side 11: expected 12 to 65536");
}

static void names_and_summaries(void **state)
{
    (void)state;
    static const char *const names[] = { "lenet5", "simard", "garcia", "jahrer", "mlp", "stack", "large" };
    const char *const *listed = cnn_builtin_names();
    for (size_t n = 0; n < COUNT(names); n++) {
        assert_string_equal(listed[n], names[n]);
        assert_true(strlen(cnn_builtin_summary(names[n])) > 20);
    }
    assert_null(listed[COUNT(names)]);
    struct cnn_network_spec spec;
    struct cnn_error error;
    assert_int_equal(cnn_builtin_spec(&spec, "alexnet", 0, &error), CNN_INVALID);
    assert_string_equal(error.text,
                        "network \"alexnet\" is not built in: expected one of lenet5, simard, garcia, jahrer, "
                        "mlp, stack, large");
    assert_int_equal(cnn_builtin_spec(&spec, "lenet5", -3, &error), CNN_INVALID);
}

static void outputs_and_losses_of_the_papers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum cnn_activation output;
        enum cnn_loss loss;
    } rows[] = {
        { "lenet5", CNN_TANH, CNN_MSE },       { "garcia", CNN_TANH, CNN_MSE },
        { "jahrer", CNN_TANH, CNN_MSE },       { "mlp", CNN_TANH, CNN_MSE },
        { "simard", CNN_LINEAR, CNN_SOFTMAX }, { "stack", CNN_LINEAR, CNN_SOFTMAX },
        { "large", CNN_LINEAR, CNN_SOFTMAX },
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct cnn_network *network = core_network(rows[r].name, 0, 1, 1);
        assert_int_equal(network->layers[network->layer_count - 1].activation, rows[r].output);
        assert_int_equal(network->loss, rows[r].loss);
        cnn_network_destroy(network);
    }
}

static void peer_preset_is_full_linear_softmax(void **state)
{
    (void)state;
    static const char *const names[] = { "lenet5", "simard", "jahrer", "mlp", "stack", "large" };
    for (size_t n = 0; n < COUNT(names); n++) {
        struct cnn_network_spec spec = core_spec(names[n], 0, 1, 1);
        cnn_spec_peer_preset(&spec);
        struct cnn_network *network = core_create(&spec);
        assert_int_equal(network->macs, network->macs_dense);
        assert_int_equal(network->loss, CNN_SOFTMAX);
        for (int l = 0; l < network->layer_count; l++) {
            bool last = l == network->layer_count - 1;
            const struct cnn_layer *layer = &network->layers[l];
            assert_null(layer->first);
            if (layer->kind == CNN_CONV || layer->kind == CNN_FULL)
                assert_int_equal(layer->activation, last ? CNN_LINEAR : CNN_TANH);
        }
        cnn_network_destroy(network);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet5_grows_with_width),
        cmocka_unit_test(lenet5_grows_with_its_image),
        cmocka_unit_test(lenet5_grows_with_depth),
        cmocka_unit_test(simard_grid),
        cmocka_unit_test(garcia_grows_with_its_image),
        cmocka_unit_test(jahrer_draws_exact_numbers),
        cmocka_unit_test(mlp_grows_with_width_and_depth),
        cmocka_unit_test(stack_grows_with_depth),
        cmocka_unit_test(large_has_the_stages_its_image_needs),
        cmocka_unit_test(names_and_summaries),
        cmocka_unit_test(outputs_and_losses_of_the_papers),
        cmocka_unit_test(peer_preset_is_full_linear_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
