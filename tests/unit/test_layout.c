/* SPDX-License-Identifier: MIT */
/* Names of what a network is made of, and the geometry of one window. */
#include "tests/unit/core.h"

#include "lib/checked.h"

#include <limits.h>

static void names_are_those_of_a_study(void **state)
{
    (void)state;
    enum cnn_layer_kind kind;
    enum cnn_activation activation;
    enum cnn_loss loss;
    enum cnn_padding padding;
    enum cnn_connection_kind connection;
    assert_true(cnn_layer_kind_parse("subsample", &kind));
    assert_int_equal(kind, CNN_SUBSAMPLE);
    assert_true(cnn_activation_parse("lecun-tanh", &activation));
    assert_int_equal(activation, CNN_LECUN_TANH);
    assert_true(cnn_activation_parse("linear", &activation));
    assert_int_equal(activation, CNN_LINEAR);
    assert_true(cnn_activation_parse("none", &activation));
    assert_int_equal(activation, CNN_LINEAR);
    assert_true(cnn_loss_parse("softmax", &loss));
    assert_int_equal(loss, CNN_SOFTMAX);
    assert_true(cnn_padding_parse("same", &padding));
    assert_int_equal(padding, CNN_SAME);
    assert_true(cnn_connection_kind_parse("one-to-one", &connection));
    assert_int_equal(connection, CNN_CONNECT_ONE_TO_ONE);
    assert_false(cnn_layer_kind_parse("Conv", &kind));
    assert_false(cnn_activation_parse("", &activation));
    assert_false(cnn_loss_parse("hinge", &loss));
    assert_false(cnn_padding_parse("reflect", &padding));
    assert_false(cnn_connection_kind_parse(NULL, &connection));
}

static void every_name_goes_there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < CNN_LAYER_KIND_COUNT; i++) {
        enum cnn_layer_kind back;
        assert_true(cnn_layer_kind_parse(cnn_layer_kind_name((enum cnn_layer_kind)i), &back));
        assert_int_equal(back, i);
    }
    for (int i = 0; i < CNN_ACTIVATION_COUNT; i++) {
        enum cnn_activation back;
        assert_true(cnn_activation_parse(cnn_activation_name((enum cnn_activation)i), &back));
        assert_int_equal(back, i);
    }
    for (int i = 0; i < CNN_CONNECTION_KIND_COUNT; i++) {
        enum cnn_connection_kind back;
        assert_true(cnn_connection_kind_parse(cnn_connection_kind_name((enum cnn_connection_kind)i), &back));
        assert_int_equal(back, i);
    }
    assert_string_equal(cnn_padding_name(CNN_VALID), "valid");
    assert_string_equal(cnn_loss_name(CNN_MSE), "mse");
}

/* The output side is the number of window positions that lie inside the padded input: counted here one by one. */
static void sides_are_counted_positions(void **state)
{
    (void)state;
    for (int side = 1; side <= 13; side++)
        for (int kernel = 1; kernel <= 7; kernel++)
            for (int stride = 1; stride <= 4; stride++)
                for (int padding = 0; padding < CNN_PADDING_COUNT; padding++) {
                    int before = padding == CNN_SAME ? (kernel - 1) / 2 : 0;
                    int behind = padding == CNN_SAME ? kernel / 2 : 0;
                    int positions = 0, pad = -1;
                    for (int at = -before; at + kernel <= side + behind; at += stride)
                        positions++;
                    assert_int_equal(cnn_output_side(side, kernel, stride, (enum cnn_padding)padding, &pad), positions);
                    assert_int_equal(pad, before);
                }
}

static void sides_of_note(void **state)
{
    (void)state;
    int pad;
    assert_int_equal(cnn_output_side(32, 5, 1, CNN_VALID, &pad), 28);
    assert_int_equal(cnn_output_side(29, 5, 2, CNN_VALID, &pad), 13);
    assert_int_equal(cnn_output_side(7, 4, 1, CNN_SAME, &pad), 7); /* even kernel: 1 before, 2 after */
    assert_int_equal(pad, 1);
    assert_int_equal(cnn_output_side(4, 5, 1, CNN_VALID, &pad), 0);
    assert_int_equal(cnn_output_side(0, 1, 1, CNN_VALID, &pad), 0);
    assert_int_equal(cnn_output_side(3, 0, 1, CNN_VALID, &pad), 0);
    assert_int_equal(cnn_output_side(3, 1, 0, CNN_VALID, &pad), 0);
    assert_int_equal(cnn_output_side(3, INT_MAX, 1, CNN_SAME, &pad), 3); /* 3 + INT_MAX - 1 does not wrap */
}

static void sizes_do_not_wrap(void **state)
{
    (void)state;
    assert_int_equal(cnn_shape_size((struct cnn_shape){ 6, 28, 27 }), 6 * 28 * 27);
    assert_true(cnn_shape_size((struct cnn_shape){ INT_MAX, 65536, 65537 }) == -1);
    assert_true(cnn_shape_size((struct cnn_shape){ INT_MAX, 65536, 32768 }) == (int64_t)INT_MAX << 31);
}

static void checked_arithmetic_says_no_at_the_edge(void **state)
{
    (void)state;
    int64_t out = 5;
    size_t bytes = 5;
    assert_true(cnn_add(INT64_MAX - 1, 1, &out) && out == INT64_MAX);
    assert_false(cnn_add(INT64_MAX, 1, &out));
    assert_true(cnn_mul((int64_t)1 << 31, (int64_t)1 << 31, &out) && out == (int64_t)1 << 62);
    assert_false(cnn_mul((int64_t)1 << 32, (int64_t)1 << 31, &out));
    assert_true(out == (int64_t)1 << 62);
    assert_false(cnn_mul3((int64_t)1 << 21, (int64_t)1 << 21, (int64_t)1 << 21, &out));
    out = INT64_MAX - 6;
    assert_true(cnn_accumulate(2, 3, &out) && out == INT64_MAX);
    assert_false(cnn_accumulate(1, 1, &out));
    assert_false(cnn_bytes(-1, 4, &bytes));
    assert_false(cnn_bytes(INT64_MAX, 4, &bytes));
    assert_true(cnn_bytes(3, 4, &bytes) && bytes == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_a_study),  cmocka_unit_test(every_name_goes_there_and_back),
        cmocka_unit_test(sides_are_counted_positions), cmocka_unit_test(sides_of_note),
        cmocka_unit_test(sizes_do_not_wrap),           cmocka_unit_test(checked_arithmetic_says_no_at_the_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
