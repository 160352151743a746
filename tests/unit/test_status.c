/* SPDX-License-Identifier: MIT */
/* Status words go there and back; sentences survive aliasing, prefixes and lengths. */
#include "tests/unit/core.h"

#include "lib/backend.h"
#include "lib/operations.h"

static void words_go_there_and_back(void **state)
{
    (void)state;
    static const char *const words[] = { "ok",  "unstable", "mismatch", "invalid", "unavailable",
                                         "oom", "timeout",  "error",    "skipped" };
    assert_int_equal(sizeof words / sizeof *words, CNN_STATUS_COUNT);
    for (int i = 0; i < CNN_STATUS_COUNT; i++) {
        assert_string_equal(cnn_status_word((enum cnn_status)i), words[i]);
        assert_int_equal(cnn_status_parse(words[i]), i);
    }
    assert_int_equal(cnn_status_parse("fine"), CNN_STATUS_COUNT);
    assert_int_equal(cnn_status_parse(NULL), CNN_STATUS_COUNT);
    assert_non_null(cnn_status_word(CNN_STATUS_COUNT));
    assert_non_null(cnn_status_word((enum cnn_status) - 1));
}

static void a_failure_is_one_statement(void **state)
{
    (void)state;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_equal(cnn_error_set(&error, CNN_OOM, "layer %s: %d bytes", "C1", 7), CNN_OOM);
    assert_int_equal(error.status, CNN_OOM);
    assert_string_equal(error.text, "layer C1: 7 bytes");
    assert_int_equal(cnn_error_set(NULL, CNN_ERROR, "%d", 1), CNN_ERROR);
}

static void the_old_sentence_may_be_an_argument(void **state)
{
    (void)state;
    struct cnn_error error = { CNN_OK, "" };
    cnn_error_set(&error, CNN_INVALID, "side 0");
    assert_int_equal(cnn_error_set(&error, CNN_ERROR, "study: %s!", error.text), CNN_ERROR);
    assert_string_equal(error.text, "study: side 0!");
}

static void a_prefix_says_where(void **state)
{
    (void)state;
    struct cnn_error error = { CNN_OK, "" };
    cnn_error_set(&error, CNN_UNAVAILABLE, "no file");
    assert_int_equal(cnn_error_prefix(&error, "data %s", "mnist"), CNN_UNAVAILABLE);
    assert_string_equal(error.text, "data mnist: no file");
    assert_int_not_equal(cnn_error_prefix(NULL, "x"), CNN_OK);
}

static void what_does_not_fit_ends_in_dots(void **state)
{
    (void)state;
    struct cnn_error error = { CNN_OK, "" };
    char text[600];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    cnn_error_set(&error, CNN_INVALID, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_string_equal(error.text + sizeof error.text - 5, "x...");

    text[sizeof error.text - 1] = '\0'; /* fits to the last character */
    cnn_error_set(&error, CNN_INVALID, "%s", text);
    assert_string_equal(error.text, text);
    cnn_error_prefix(&error, "where");
    assert_memory_equal(error.text, "where: xxx", 10);
    assert_string_equal(error.text + sizeof error.text - 5, "x...");
}

static void words_of_the_seam(void **state)
{
    (void)state;
    for (int i = 0; i < CNN_PRECISION_COUNT; i++) {
        enum cnn_precision back;
        assert_true(cnn_precision_parse(cnn_precision_name((enum cnn_precision)i), &back));
        assert_int_equal(back, i);
    }
    for (int i = 0; i < CNN_COPIES_COUNT; i++) {
        enum cnn_copies back;
        assert_true(cnn_copies_parse(cnn_copies_name((enum cnn_copies)i), &back));
        assert_int_equal(back, i);
    }
    for (int i = 0; i < CNN_LAUNCH_COUNT; i++) {
        enum cnn_launch back;
        assert_true(cnn_launch_parse(cnn_launch_name((enum cnn_launch)i), &back));
        assert_int_equal(back, i);
    }
    for (int i = 0; i < CNN_OPERATION_KIND_COUNT; i++) {
        enum cnn_operation_kind back;
        assert_true(cnn_operation_kind_parse(cnn_operation_kind_name((enum cnn_operation_kind)i), &back));
        assert_int_equal(back, i);
    }
    enum cnn_precision precision = CNN_TF32;
    enum cnn_operation_kind kind;
    enum cnn_copies copies;
    enum cnn_launch launch;
    assert_false(cnn_copies_parse("some", &copies));
    assert_false(cnn_launch_parse(NULL, &launch));
    assert_false(cnn_precision_parse("fp64", &precision));
    assert_int_equal(precision, CNN_TF32);
    assert_string_equal(cnn_precision_name(CNN_FP32), "fp32");
    assert_string_equal(cnn_copies_name(CNN_COPIES_PIPELINED), "pipelined");
    assert_string_equal(cnn_launch_name(CNN_LAUNCH_STREAM), "stream");
    assert_string_equal(cnn_operation_kind_name(CNN_OP_CONV_FORWARD), "conv_forward");
    assert_string_equal(cnn_operation_kind_name(CNN_OP_COPY_OUT), "copy_out");
    assert_false(cnn_operation_kind_parse("conv", &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_go_there_and_back),
        cmocka_unit_test(a_failure_is_one_statement),
        cmocka_unit_test(the_old_sentence_may_be_an_argument),
        cmocka_unit_test(a_prefix_says_where),
        cmocka_unit_test(what_does_not_fit_ends_in_dots),
        cmocka_unit_test(words_of_the_seam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
