/* SPDX-License-Identifier: MIT */
/* Geometry, arena and work of networks written out by hand; and every way in which a description can be impossible,
 * with its sentence. */
#include "tests/unit/core.h"

#include <limits.h>
#include <math.h>

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
    struct cnn_network_spec spec = core_spec("lenet5", 32, 2, 2);
    spec.connections = (struct cnn_network_connections){ false, { .kind = CNN_CONNECT_FAN_IN, .fan_in = 5 } };
    struct cnn_network *network = core_create(&spec);
    assert_null(network->layers[0].first);
    for (int l = 2; l <= 3; l++) {
        assert_int_equal(network->layers[l].pairs, 32 * 5);
        assert_non_null(network->layers[l].first);
    }
    assert_int_equal(network->layers[5].pairs, 240 * 5);
    assert_null(network->layers[6].first); /* fully connected */
    /* Layers of equal shape draw tables of their own. */
    assert_int_equal(network->layers[2].first[32], network->layers[3].first[32]);
    assert_memory_not_equal(network->layers[2].source, network->layers[3].source, 5 * 32 * sizeof(int32_t));
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

static void a_kernel_that_does_not_fit_is_named(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("lenet5", 28, 1, 1);
    core_assert_invalid(&spec,
                        "lenet5, layer C5: a 5 x 5 kernel does not fit its 4 x 4 input (image 28: try 32 or more)");
    spec = core_spec("lenet5", 5, 1, 1);
    core_assert_invalid(&spec,
                        "lenet5, layer S2: a 2 x 2 window does not fit its 1 x 1 input (image 5: try 32 or more)");
    spec = core_empty(20);
    core_add(&spec, CNN_CONV, 2, 3, 65536);
    core_add(&spec, CNN_CONV, 2, 3, 1);
    core_add(&spec, CNN_FULL, 0, 0, 0);
    core_assert_invalid(
        &spec, "net, layer C2: a 3 x 3 kernel does not fit its 1 x 1 input (image 20: no image is large enough)");
}

/* The image that the sentence advises is the smallest that works. */
static void the_advised_image_is_the_smallest(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int smallest;
    } rows[] = { { "lenet5", 32 }, { "simard", 13 }, { "garcia", 20 }, { "jahrer", 28 }, { "mlp", 1 }, { "stack", 2 } };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        cnn_network_destroy(core_network(rows[r].name, rows[r].smallest, 1, 1));
        if (rows[r].smallest == 1)
            continue;
        struct cnn_network_spec spec = core_spec(rows[r].name, rows[r].smallest - 1, 1, 1);
        struct cnn_network *network = NULL;
        struct cnn_error error;
        char advice[32];
        snprintf(advice, sizeof advice, "try %d or more", rows[r].smallest);
        assert_int_equal(cnn_network_create(&network, &spec, &error), CNN_INVALID);
        assert_non_null(strstr(error.text, advice));
    }
}

static void sizes_that_do_not_fit_are_refused_before_allocation(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("lenet5", 65536, 1000000, 1);
    core_assert_invalid(&spec,
                        "lenet5, layer C1: its sizes do not fit in 63 bits at width 1000000, image 65536: make one "
                        "of them smaller");
    spec = core_spec("lenet5", 32, 1000000000, 1);
    core_assert_invalid(&spec, "lenet5, layer C1: 6 maps at width 1000000000 are more than 2^31: make width smaller");
    spec = core_spec("mlp", 65536, 4000000, 1);
    core_assert_invalid(&spec,
                        "mlp, layer F1: its sizes do not fit in 63 bits at width 4000000, image 65536: make one of "
                        "them smaller");
    spec = core_spec("lenet5", 32, 2000, 1);
    core_assert_invalid(&spec,
                        "lenet5, layer C3: its connection table of 240000000 pairs is too large: expected at most "
                        "2^26 in all tables; make width smaller or connect in full");
    spec = core_empty(65536);
    spec.channels = INT_MAX;
    core_add(&spec, CNN_MAXPOOL, 0, 65536, 0);
    core_add(&spec, CNN_FULL, 0, 0, 0);
    core_assert_invalid(&spec,
                        "net, layer P1: its sizes do not fit in 63 bits at width 1, image 65536: make one of them "
                        "smaller");
}

/* One wrong number at a time in a network that is otherwise possible. */
static struct cnn_network_spec good_spec(void)
{
    struct cnn_network_spec spec = core_empty(9);
    core_add(&spec, CNN_CONV, 4, 2, 1)->connections = (struct cnn_connection_spec){ .kind = CNN_CONNECT_FULL };
    core_add(&spec, CNN_MAXPOOL, 0, 2, 0);
    core_add(&spec, CNN_FULL, 0, 0, 0);
    return spec;
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    struct cnn_network_spec spec = good_spec();
    cnn_network_destroy(core_create(&spec));
#define REFUSED(change, sentence)             \
    do {                                      \
        spec = good_spec();                   \
        change;                               \
        core_assert_invalid(&spec, sentence); \
    } while (0)
    REFUSED(spec.image = 0, "net: image side 0: expected 1 to 65536");
    REFUSED(spec.image = 65537, "net: image side 65537: expected 1 to 65536");
    REFUSED(spec.channels = 0, "net: 0 input channels: expected 1 or more");
    REFUSED(spec.classes = 0, "net: 0 classes: expected 1 or more");
    REFUSED(spec.width = 0, "net: width 0: expected 1 or more");
    REFUSED(spec.depth = 0, "net: depth 0: expected 1 to 1024");
    REFUSED(spec.depth = 1025, "net: depth 1025: expected 1 to 1024");
    REFUSED(spec.depth = 2, "net: depth 2: this network has no block that depth could repeat; expected 1");
    REFUSED(spec.loss = CNN_LOSS_COUNT, "net: loss number 2 does not exist");
    REFUSED(spec.layer_count = 0, "net: 0 layers: expected 1 to 64");
    REFUSED(spec.layer_count = 65, "net: 65 layers: expected 1 to 64");
    REFUSED(memset(spec.name, 'n', sizeof spec.name), "network: its name is longer than 31 characters");
    REFUSED((spec.classes = 1, spec.loss = CNN_SOFTMAX),
            "net: softmax over a single output is always 1: use loss mse, or 2 classes or more");
    REFUSED(spec.layers[0].maps = 0, "net, layer number 1: 0 maps: expected 1 or more");
    REFUSED(spec.layers[0].kernel = 0, "net, layer number 1: kernel side 0: expected 1 to 65536");
    REFUSED(spec.layers[0].stride = 0, "net, layer number 1: stride 0: expected 1 to 65536");
    REFUSED(spec.layers[1].stride = -1, "net, layer number 2: stride -1: expected 0 (as the window) or 1 to 65536");
    REFUSED(spec.layers[1].kernel = 0, "net, layer number 2: window side 0: expected 1 to 65536");
    REFUSED(spec.layers[1].padding = CNN_SAME,
            "net, layer number 2: padding \"same\" of a pooling layer: only convolutions are padded");
    REFUSED(spec.layers[2].maps = 4,
            "net, layer number 3: 4 units in the last layer: expected the 3 classes (or 0, which means them)");
    REFUSED((strcpy(spec.layers[0].name, "C9"), spec.layers[0].activation = CNN_ACTIVATION_COUNT),
            "net, layer C9: activation number 5 does not exist");
    REFUSED(memset(spec.layers[0].name, 'n', CNN_NAME_MAX),
            "net, layer number 1: its name is longer than 31 characters");
    REFUSED(spec.layers[1].kind = CNN_LAYER_KIND_COUNT, "net, layer number 2: layer kind number 5 does not exist");
    REFUSED(spec.layers[2].connections.kind = CNN_CONNECT_LECUN,
            "net, layer number 3: connections \"lecun\": only convolutions have a connection table");
    REFUSED(spec.layers[0].connections.kind = CNN_CONNECT_FAN_IN,
            "net, layer number 1: fan-in 0: expected 1 source map or more");
    REFUSED((spec.layers[0].connections.kind = CNN_CONNECT_DENSITY, spec.layers[0].connections.density = NAN),
            "net, layer number 1: density nan: expected more than 0 and at most 1");
    REFUSED((spec.layers[0].connections.kind = CNN_CONNECT_DENSITY, spec.layers[0].connections.density = 1.5),
            "net, layer number 1: density 1.5: expected more than 0 and at most 1");
    REFUSED((spec.connections.paper = false, spec.connections.all.kind = CNN_CONNECT_DENSITY),
            "net: density 0: expected more than 0 and at most 1");
#undef REFUSED
}

static void shapes_of_networks_that_cannot_be(void **state)
{
    (void)state;
    struct cnn_network_spec spec = good_spec();
    spec.layers[2].repeat = CNN_DEPTH_TIMES;
    core_assert_invalid(&spec,
                        "net, layer number 3: the last layer gives the classes and cannot be repeated with depth");

    spec = core_empty(9);
    for (int l = 0; l < 3; l++)
        core_add(&spec, CNN_CONV, 2, 1, 1)->repeat = l == 1 ? CNN_ONCE : CNN_DEPTH_TIMES;
    core_add(&spec, CNN_FULL, 0, 0, 0);
    core_assert_invalid(&spec,
                        "net: layer number 3 is repeated apart from layer number 1: the layers that depth repeats "
                        "form one block");

    spec = core_empty(9);
    for (int l = 0; l < 5; l++)
        core_add(&spec, CNN_CONV, 2, 1, 1)->repeat = CNN_DEPTH_TIMES;
    core_add(&spec, CNN_FULL, 0, 0, 0);
    spec.depth = 1000;
    core_assert_invalid(&spec, "net: depth 1000 makes 5001 layers: expected at most 4096");

    spec = core_empty(9);
    core_add(&spec, CNN_CONV, 0, 2, 1);
    core_assert_invalid(&spec,
                        "net, layer C1: the last layer gives 3 x 8 x 8 outputs: expected 3 x 1 x 1, one for each "
                        "class; end with a full layer");

    spec = core_empty(9);
    spec.channels = 3;
    core_add(&spec, CNN_AVGPOOL, 0, 9, 0);
    core_assert_invalid(&spec, "net: no layer has weights: there is nothing to train");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_sides_are_cropped_and_named),
        cmocka_unit_test(kernels_lie_in_the_order_of_the_arena),
        cmocka_unit_test(training_spares_the_first_input_gradient),
        cmocka_unit_test(flops_that_do_not_fit_are_minus_one),
        cmocka_unit_test(the_override_spares_the_first_convolution),
        cmocka_unit_test(one_pixel_maps_are_legal),
        cmocka_unit_test(a_block_of_several_layers_repeats_as_one),
        cmocka_unit_test(a_kernel_that_does_not_fit_is_named),
        cmocka_unit_test(the_advised_image_is_the_smallest),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused_before_allocation),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(shapes_of_networks_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
