/* SPDX-License-Identifier: MIT */
/* Every way in which a description of a network can be impossible, with its sentence. */
#include "tests/unit/core.h"

#include <limits.h>
#include <math.h>

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

    spec = core_empty(65536); /* fits itself, but not the additions of its windows, a million each */
    spec.channels = 30;
    core_add(&spec, CNN_AVGPOOL, 0, 1000, 1);
    core_add(&spec, CNN_FULL, 0, 0, 0);
    core_assert_invalid(&spec,
                        "net, layer A1: its sizes do not fit in 63 bits at width 1, image 65536: make one of them "
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
        cmocka_unit_test(a_kernel_that_does_not_fit_is_named),
        cmocka_unit_test(the_advised_image_is_the_smallest),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused_before_allocation),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(shapes_of_networks_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
