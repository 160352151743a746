/* SPDX-License-Identifier: MIT */
/* What the driver chooses where it is told the times: a backend whose operations take what a table says. */
#include "core.h"

#include "cpu/cpu.h"
#include "experiments/driver/auto.h"
#include "experiments/driver/choices.h"
#include "lib/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds of `naive` over those of `direct`, by operation; 1: as fast. */
static double naive_over_direct[CNN_OPERATION_KIND_COUNT];
static double mixing; /* seconds that a mixed program takes more for its first operation */
static struct cnn_backend told;

static int told_profile(struct cnn_program *program, enum cnn_phase phase, double (*clock)(void),
                        struct cnn_profile_entry *out, int capacity, int *count, struct cnn_error *error)
{
    bool naive = false, direct = false;
    if (cnn_cpu_backend.profile(program, phase, clock, out, capacity, count, error))
        return error->status;
    for (int i = 0; i < *count && i < capacity; i++) {
        bool is_naive = !strcmp(out[i].algorithm, "naive");
        naive |= is_naive;
        direct |= !strcmp(out[i].algorithm, "direct");
        out[i].seconds = is_naive ? naive_over_direct[out[i].kind] : 1;
        if (out[i].kind == CNN_OP_UPDATE || out[i].kind == CNN_OP_SUBSAMPLE_FORWARD ||
            out[i].kind == CNN_OP_SUBSAMPLE_BACKWARD_DATA ||
            out[i].kind == CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS) /* some programs have them inside another operation */
            out[i].seconds = 0;
        if (strcmp(out[i].algorithm, "naive") && strcmp(out[i].algorithm, "direct") && *out[i].algorithm)
            out[i].seconds = 10; /* whatever else there is */
    }
    out[0].seconds += naive && direct ? mixing : 0;
    return CNN_OK;
}

static double no_clock(void)
{
    return 0;
}

/* What is chosen for a small LeNet-5, as text. */
static char *chosen(const char *replay, int fixed)
{
    struct point point = { .batch = 1, .phase = POINT_TRAIN, .replay = replay, .choice_count = fixed };
    struct bench bench = { .point = &point, .backend = &told };
    struct cnn_device_info info;
    struct cnn_error error = { CNN_OK, "" };
    struct choices choices;
    const struct cnn_device_options one = { 0 };
    point.spec = core_spec("lenet5", 32, 1, 1);
    strcpy(point.backend, "cpu");
    strcpy(point.algorithm, "auto");
    strcpy(point.data, "digits"); /* times are taken on noise all the same */
    point.choices[0] = (struct point_choice){ CNN_OP_CONV_FORWARD, -1, "direct" };
    told = cnn_cpu_backend;
    told.profile = told_profile;
    bench.network = core_create(&point.spec);
    bench_options(&bench);
    bench.parameters = calloc((size_t)bench.network->parameters, sizeof *bench.parameters);
    assert_non_null(bench.parameters);
    if (told.open(&bench.device, &one, &error) || told.describe(bench.device, &info, &error) ||
        auto_choose(&bench, &info, no_clock, &choices, &error))
        fail_msg("%s", error.text);
    char *text = choices_text(&choices, bench.network);
    choices_free(&choices);
    told.close(bench.device);
    free(bench.parameters);
    cnn_network_destroy(bench.network);
    return text;
}

static void assert_chosen(const char *expected, const char *replay, int fixed)
{
    char *text = chosen(replay, fixed);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void start(double ratio)
{
    for (int kind = 0; kind < CNN_OPERATION_KIND_COUNT; kind++)
        naive_over_direct[kind] = ratio;
    mixing = 0;
}

static void the_fastest_whole_is_taken(void **state)
{
    (void)state;
    start(3);
    assert_chosen("all=direct", NULL, 0);
    start(0.5);
    assert_chosen("all=naive", NULL, 0);
}

static void ties_go_to_the_first_that_is_listed(void **state)
{
    (void)state;
    start(1);
    assert_string_equal(cnn_cpu_backend.algorithms()[0], "direct");
    for (int i = 0; i < 3; i++)
        assert_chosen("all=direct", NULL, 0);
}

static void operations_are_taken_one_by_one(void **state)
{
    (void)state;
    start(3);
    naive_over_direct[CNN_OP_CONV_FORWARD] = 0.5;
    assert_chosen("all=direct conv_forward:C1=naive conv_forward:C3=naive conv_forward:C5=naive", NULL, 0);
    assert_chosen("all=direct", NULL, 1);          /* the study has fixed this operation */
    naive_over_direct[CNN_OP_CONV_FORWARD] = 0.99; /* within what noise may be */
    assert_chosen("all=direct", NULL, 0);
    naive_over_direct[CNN_OP_CONV_FORWARD] = 0.5;
    mixing = 10; /* as a whole the mixture is slower */
    assert_chosen("all=direct", NULL, 0);
}

static void what_was_chosen_can_be_replayed(void **state)
{
    (void)state;
    start(3);
    assert_chosen("all=naive conv_forward:C3=direct", "all=naive conv_forward:C3=direct", 0);
    assert_chosen("all=direct full_forward=naive", "all=direct full_forward=naive", 0);
}

static void words_that_are_none_are_refused(void **state)
{
    static const char *const wrong[] = { "",
                                         "conv_forward:C3=direct",
                                         "all=fast",
                                         "all",
                                         "all=direct conv:C3=naive",
                                         "all=direct conv_forward:C9=naive",
                                         "all=direct conv_forward@77=naive",
                                         "all=direct conv_forward@x=naive" };
    struct cnn_network *network = core_network("lenet5", 32, 1, 1);
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct choices choices;
        struct cnn_error error = { CNN_OK, "" };
        assert_int_equal(choices_parse(&choices, wrong[i], network, &cnn_cpu_backend, &error), CNN_INVALID);
        assert_true(strlen(error.text) > 10);
        assert_null(choices.list);
    }
    cnn_network_destroy(network);
}

static void books_keep_what_was_chosen(void **state)
{
    (void)state;
    struct cnn_error error = { CNN_OK, "" };
    char path[] = "/tmp/convscale-choices-XXXXXX";
    struct choices_book *book = choices_book_create(), *read = NULL;
    assert_non_null(book);
    assert_true(choices_book_add(book, "series=a \"b\"", "all=naive"));
    assert_true(choices_book_add(book, "series=a \"b\"", "all=direct"));
    char *text = choices_book_json(book);
    assert_non_null(text);
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(choices_book_read(&read, path, &error), CNN_OK);
    assert_string_equal(choices_book_find(read, "series=a \"b\""), "all=direct");
    assert_null(choices_book_find(read, "series=c"));
    assert_int_equal(ftruncate(file, 10), 0);
    choices_book_free(read);
    assert_int_equal(choices_book_read(&read, path, &error), CNN_INVALID);
    assert_null(read);
    close(file);
    unlink(path);
    assert_int_equal(choices_book_read(&read, path, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "No such file"));
    free(text);
    choices_book_free(book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_whole_is_taken),      cmocka_unit_test(ties_go_to_the_first_that_is_listed),
        cmocka_unit_test(operations_are_taken_one_by_one), cmocka_unit_test(what_was_chosen_can_be_replayed),
        cmocka_unit_test(words_that_are_none_are_refused), cmocka_unit_test(books_keep_what_was_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
