/* SPDX-License-Identifier: MIT */
/* Geometry, arena and work of networks written out by hand; and every way in which a description can be impossible,
 * with its sentence. */
#include "tests/unit/core.h"

#include <limits.h>

/* 11 x 11, 2 channels, width 2: C1 4x4 same 3 maps; S2 3x3 step 2; C3 3x3 step 2 fan-in 2 of 5 maps; F4. */
static struct cnn_network_spec odd_spec(void)
{
    struct cnn_network_spec spec = core_empty(11);
    spec.channels = 2;
    spec.width = 2;
    core_add(&spec, CNN_CONV, 3, 4, 1)->padding = CNN_SAME;
    core_add(&spec, CNN_SUBSAMPLE, 0, 2, 0);
    core_add(&spec, CNN_CONV, 5, 2, 2)->connections =
        (struct cnn_connection_spec){ .kind = CNN_CONNECT_FAN_IN, .fan_in = 2 };
    core_add(&spec, CNN_FULL, 0, 0, 0);
    return spec;
}

static void odd_sides_are_cropped_and_named(void **state)
{
    (void)state;
    struct cnn_network_spec spec = odd_spec();
    struct cnn_network *network = core_create(&spec);
    static const struct {
        const char *name;
        int in[2], out[2], kernel, stride, pad, cropped; /* maps, side */
        int64_t pairs, weights, biases, weight_at, bias_at, macs, dense;
    } rows[] = {
        { "C1", { 2, 11 }, { 6, 11 }, 4, 1, 1, 0, 12, 192, 6, 0, 192, 192 * 121, 192 * 121 },
        { "S2", { 6, 11 }, { 6, 5 }, 2, 2, 0, 1, 0, 6, 6, 198, 204, 0, 0 },
        { "C3", { 6, 5 }, { 10, 2 }, 2, 2, 0, 1, 20, 80, 10, 210, 290, 320, 960 },
        { "F4", { 10, 2 }, { 3, 1 }, 2, 1, 0, 0, 30, 120, 3, 300, 420, 120, 120 },
    };
    for (int l = 0; l < 4; l++) {
        const struct cnn_layer *layer = &network->layers[l];
        assert_string_equal(layer->name, rows[l].name);
        assert_int_equal(layer->in.maps, rows[l].in[0]);
        assert_int_equal(layer->in.rows, rows[l].in[1]);
        assert_int_equal(layer->out.maps, rows[l].out[0]);
        assert_int_equal(layer->out.rows, rows[l].out[1]);
        assert_int_equal(layer->out.cols, rows[l].out[1]);
        assert_int_equal(layer->kernel_rows, rows[l].kernel);
        assert_int_equal(layer->kernel_cols, rows[l].kernel);
        assert_int_equal(layer->stride, rows[l].stride);
        assert_int_equal(layer->pad_before, rows[l].pad);
        assert_int_equal(layer->cropped_rows, rows[l].cropped);
        assert_int_equal(layer->cropped_cols, rows[l].cropped);
        assert_int_equal(layer->pairs, rows[l].pairs);
        assert_int_equal(layer->weights, rows[l].weights);
        assert_int_equal(layer->biases, rows[l].biases);
        assert_int_equal(layer->weight_at, rows[l].weight_at);
        assert_int_equal(layer->bias_at, rows[l].bias_at);
        assert_int_equal(layer->macs, rows[l].macs);
        assert_int_equal(layer->macs_dense, rows[l].dense);
    }
    assert_int_equal(network->parameters, 423);
    assert_int_equal(network->macs, 192 * 121 + 320 + 120);
    assert_int_equal(network->macs_dense, 192 * 121 + 960 + 120);
    assert_int_equal(network->macs_first, 192 * 121);
    cnn_network_destroy(network);
}

/* 8 pixels, kernel 3, stride 5, one zero before: windows at -1 and 4 read up to pixel 6. */
static void padding_counts_in_what_is_cropped(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_empty(8);
    core_add(&spec, CNN_CONV, 1, 3, 5)->padding = CNN_SAME;
    core_add(&spec, CNN_FULL, 0, 0, 0);
    struct cnn_network *network = core_create(&spec);
    assert_int_equal(network->layers[0].out.rows, 2);
    assert_int_equal(network->layers[0].cropped_rows, 1);
    assert_int_equal(network->layers[0].cropped_cols, 1);
    cnn_network_destroy(network);
}

static void kernels_lie_in_the_order_of_the_arena(void **state)
{
    (void)state;
    struct cnn_network_spec spec = odd_spec();
    struct cnn_network *network = core_create(&spec);
    for (int l = 0; l < network->layer_count; l++) {
        const struct cnn_layer *layer = &network->layers[l];
        int64_t at = layer->weight_at;
        for (int o = 0; layer->pairs > 0 && o < layer->out.maps; o++)
            for (int k = 0; k < cnn_layer_fan_in(layer, o); k++) {
                assert_int_equal(cnn_layer_kernel_at(layer, o, k), at);
                if (k > 0)
                    assert_true(cnn_layer_source(layer, o, k - 1) < cnn_layer_source(layer, o, k));
                at += (int64_t)layer->kernel_rows * layer->kernel_cols;
            }
        if (layer->pairs > 0)
            assert_int_equal(at, layer->bias_at);
    }
    cnn_network_destroy(network);
}

static void training_spares_the_first_input_gradient(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("lenet5", 32, 1, 1);
    struct cnn_network *network = core_create(&spec);
    assert_int_equal(cnn_network_flops_forward(network, 1, false), 633600);
    assert_int_equal(cnn_network_flops_forward(network, 7, true), 7 * 813600);
    assert_int_equal(network->macs_first, 117600); /* C1: 28 * 28 * 25 * 6 */
    assert_int_equal(cnn_network_flops_train(network, 1, false), 2 * (3 * 316800 - 117600));
    assert_int_equal(cnn_network_flops_train(network, 3, true), 3 * 2 * (3 * 406800 - 117600));
    cnn_network_destroy(network);

    spec.input_gradient = true;
    network = core_create(&spec);
    assert_int_equal(cnn_network_flops_train(network, 1, false), 2 * 3 * 316800);
    cnn_network_destroy(network);

    /* Gains before the first convolution train too, so that its input gradient is needed; a max-pool has none. */
    for (int gains = 0; gains < 2; gains++) {
        spec = core_empty(6);
        core_add(&spec, gains ? CNN_SUBSAMPLE : CNN_MAXPOOL, 0, 2, 0);
        core_add(&spec, CNN_CONV, 4, 3, 1);
        core_add(&spec, CNN_FULL, 0, 0, 0);
        network = core_create(&spec);
        assert_int_equal(network->macs_first, gains ? 0 : 36);
        assert_int_equal(cnn_network_flops_train(network, 1, false), 2 * (3 * 48 - network->macs_first));
        cnn_network_destroy(network);
    }
}

static void flops_that_do_not_fit_are_minus_one(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("mlp", 2000, 2000, 1);
    struct cnn_network *network = core_create(&spec);
    assert_true(network->macs > (int64_t)4000000 * 1000000);
    assert_true(cnn_network_flops_forward(network, 1, false) == 2 * network->macs);
    assert_true(cnn_network_flops_forward(network, INT_MAX, false) == -1);
    assert_true(cnn_network_flops_train(network, INT_MAX, true) == -1);
    cnn_network_destroy(network);
}

static void the_override_spares_the_first_convolution(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("lenet5", 32, 2, 3);
    spec.channels = 7; /* more than the fan-in: the first convolution still reads them all */
    spec.connections = (struct cnn_network_connections){ false, { .kind = CNN_CONNECT_FAN_IN, .fan_in = 5 } };
    struct cnn_network *network = core_create(&spec);
    assert_null(network->layers[0].first);
    assert_int_equal(network->layers[0].pairs, 7 * 12);
    for (int l = 2; l <= 4; l++) {
        assert_int_equal(network->layers[l].pairs, 32 * 5);
        assert_non_null(network->layers[l].first);
    }
    assert_int_equal(network->layers[6].pairs, 240 * 5);
    assert_null(network->layers[7].first); /* fully connected */
    /* C3.2 and C3.3 have the same shape and draw tables of their own. */
    assert_memory_not_equal(network->layers[3].source, network->layers[4].source, 5 * 32 * sizeof(int32_t));
    cnn_network_destroy(network);

    spec = core_spec("jahrer", 28, 1, 1);
    struct cnn_network *a = core_create(&spec), *b = core_create(&spec);
    assert_memory_equal(a->layers[4].source, b->layers[4].source, 5600 * sizeof(int32_t));
    cnn_network_destroy(a);
    cnn_network_destroy(b);
}

static void one_pixel_maps_are_legal(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_empty(1);
    core_add(&spec, CNN_CONV, 2, 1, 3);
    core_add(&spec, CNN_AVGPOOL, 0, 1, 0);
    core_add(&spec, CNN_CONV, 0, 5, 1)->padding = CNN_SAME; /* the last layer may be a convolution */
    struct cnn_network *network = core_create(&spec);
    assert_int_equal(network->layers[2].out.maps, 3);
    assert_int_equal(network->layers[2].pad_before, 2);
    assert_int_equal(network->parameters, 4 + 2 * 3 * 25 + 3);
    cnn_network_destroy(network);
    cnn_network_destroy(NULL);
}

static void a_block_of_several_layers_repeats_as_one(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_empty(33);
    spec.depth = 3;
    core_add(&spec, CNN_CONV, 2, 3, 1);
    for (int l = 0; l < 2; l++)
        core_add(&spec, l ? CNN_MAXPOOL : CNN_CONV, 4, 2, 1)->repeat = CNN_DEPTH_TIMES;
    spec.layers[2].stride = 0;
    core_add(&spec, CNN_FULL, 0, 0, 0);
    struct cnn_network *network = core_create(&spec);
    static const char *const names[] = { "C1", "C2.1", "P3.1", "C2.2", "P3.2", "C2.3", "P3.3", "F4" };
    static const int sides[] = { 31, 30, 15, 14, 7, 6, 3, 1 };
    assert_int_equal(network->layer_count, 8);
    for (int l = 0; l < 8; l++) {
        assert_string_equal(network->layers[l].name, names[l]);
        assert_int_equal(network->layers[l].out.rows, sides[l]);
    }
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_sides_are_cropped_and_named),
        cmocka_unit_test(padding_counts_in_what_is_cropped),
        cmocka_unit_test(kernels_lie_in_the_order_of_the_arena),
        cmocka_unit_test(training_spares_the_first_input_gradient),
        cmocka_unit_test(flops_that_do_not_fit_are_minus_one),
        cmocka_unit_test(the_override_spares_the_first_convolution),
        cmocka_unit_test(one_pixel_maps_are_legal),
        cmocka_unit_test(a_block_of_several_layers_repeats_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
