/* SPDX-License-Identifier: MIT */
/* The tables of a terminal: layout, units, status words in the place of numbers, and never a line that is too long. */
#include "experiments/driver/grid.h"
#include "experiments/driver/table.h"
#include "tests/unit/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the grid ---- */

static char *printed(const struct grid *grid, int width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(grid_print(grid, out, width));
    fclose(out);
    return text;
}

static void assert_lines_fit(const char *text, int width)
{
    for (const char *at = text; *at;) {
        char line[512];
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        if (text_width(line) > width)
            fail_msg("longer than %d: %s", width, line);
        if (length > 0 && line[length - 1] == ' ')
            fail_msg("ends with blanks: %s|", line);
        at += length + 1;
    }
}

static void heads_break_and_numbers_align(void **state)
{
    (void)state;
    struct grid *grid = grid_create(3, 1);
    grid_head(grid, 0, "image", true);
    grid_head(grid, 1, "CPU, 1 thread, plain loops", true);
    grid_head(grid, 2, "note", false);
    grid_row(grid);
    grid_cell(grid, 0, "%d", 32);
    grid_cell(grid, 1, "1.25");
    grid_cell(grid, 2, "a");
    grid_row(grid);
    grid_cell(grid, 0, "%d", 104);
    grid_cell(grid, 1, "unavailable");
    char *text = printed(grid, 80);
    assert_string_equal(text, "       CPU, 1 thread,\n"
                              "image     plain loops  note\n"
                              "-----  --------------  ----\n"
                              "   32            1.25  a\n"
                              "  104     unavailable  \n");
    free(text);
    grid_free(grid);
}

static void what_does_not_fit_goes_below(void **state)
{
    (void)state;
    struct grid *grid = grid_create(1 + 12, 1);
    grid_head(grid, 0, "width", true);
    for (int i = 1; i <= 12; i++)
        grid_head(grid, i, "CPU, some threads \xc3\xa4", true);
    grid_row(grid);
    grid_cell(grid, 0, "1");
    for (int i = 1; i <= 12; i++)
        grid_cell(grid, i, "%d.25", i);
    for (int width = 40; width <= 120; width += 20) {
        char *text = printed(grid, width);
        assert_lines_fit(text, width);
        for (int i = 1; i <= 12; i++) {
            char cell[16];
            snprintf(cell, sizeof cell, " %d.25", i);
            assert_non_null(strstr(text, cell));
        }
        free(text);
    }
    grid_free(grid);
}

static void widths_count_characters(void **state)
{
    (void)state;
    assert_int_equal(text_width("abc"), 3);
    assert_int_equal(text_width("\xc3\xa4\xe2\x82\xac"), 2);
    assert_int_equal(text_width(""), 0);
}

/* ---- tables of studies ---- */

struct fixture {
    struct study study;
    struct point *points;
    struct result *results;
    int count;
};

static struct fixture open_fixture(const char *text)
{
    struct fixture fixture = { .points = NULL };
    struct cnn_error error = { CNN_OK, "" };
    if (study_read_text(&fixture.study, "x.cfg", text, &error) != CNN_OK ||
        study_expand(&fixture.study, &fixture.points, &fixture.count, &error) != CNN_OK)
        fail_msg("%s", error.text);
    fixture.results = calloc((size_t)fixture.count, sizeof *fixture.results);
    for (int i = 0; i < fixture.count; i++) {
        result_init(&fixture.results[i]);
        fixture.results[i].status = CNN_OK;
        fixture.results[i].median = 0.001 * (i + 1);
    }
    return fixture;
}

static char *table_of(const struct fixture *fixture, int columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_true(table_print(out, &fixture->study, fixture->points, fixture->results, fixture->count, columns));
    fclose(out);
    return text;
}

static void close_fixture(struct fixture *fixture)
{
    for (int i = 0; i < fixture->count; i++)
        result_free(&fixture->results[i]);
    free(fixture->results);
    free(fixture->points);
    study_free(&fixture->study);
}

#define THREE                                                                                             \
    "series = ( { id = \"naive\"; label = \"CPU, plain\"; backend = \"cpu\"; algorithm = \"naive\"; },\n" \
    "           { id = \"cpu\"; label = \"CPU, tuned\"; backend = \"cpu\"; },\n"                          \
    "           { id = \"gpu\"; label = \"GPU\"; backend = \"cuda\"; } );\n"

static void times_then_speedups(void **state)
{
    (void)state;
    struct fixture it = open_fixture("title = \"By width\"; network = \"lenet5\"; width = [1, 2]; batch = 8;\n" THREE);
    for (int i = 2; i < 6; i += 3)
        it.results[i].status = CNN_UNAVAILABLE;
    it.results[4].median = 0.01; /* width 2, cpu */
    char *text = table_of(&it, 100);
    assert_string_equal(text, "By width\n"
                              "\n"
                              "train: ms per step, median; lenet5, image 32, batch 8\n"
                              "width  CPU, plain  CPU, tuned          GPU\n"
                              "-----  ----------  ----------  -----------\n"
                              "    1       1.000       2.000  unavailable\n"
                              "    2       4.000       10.00  unavailable\n"
                              "\n"
                              "train: speed-up over CPU, plain (its time / this time)\n"
                              "width  CPU, tuned          GPU\n"
                              "-----  ----------  -----------\n"
                              "    1        0.50  unavailable\n"
                              "    2        0.40  unavailable\n");
    free(text);
    close_fixture(&it);
}

/* A failed point is a word, an excluded one a dash; neither is ever 0, and neither enters a ratio. */
static void failures_are_words(void **state)
{
    (void)state;
    struct fixture it = open_fixture("network = \"lenet5\"; width = [1, 2, 4];\n" THREE
                                     "exclude = ( { series = \"naive\"; width = 4; } );\n");
    assert_int_equal(it.count, 8);
    it.results[0].status = CNN_MISMATCH; /* the base at width 1; its median must not be used */
    it.results[4].status = CNN_UNSTABLE; /* width 2, cpu */
    it.results[5].median = NAN;          /* ok without a number: told as such, not as nan */
    char *text = table_of(&it, 100);
    assert_non_null(strstr(text, "    1    mismatch       2.000  3.000\n"));
    assert_non_null(strstr(text, "    2       4.000      5.000~     ok\n"));
    assert_non_null(strstr(text, "    4           -       7.000  8.000\n"));
    assert_non_null(strstr(text, "    1  base mismatch  base mismatch\n"));
    assert_non_null(strstr(text, "    2       unstable              -\n"));
    assert_non_null(strstr(text, "    4              -              -\n"));
    assert_non_null(strstr(text, "~ the interval stayed wider"));
    assert_null(strstr(text, "nan"));
    free(text);
    close_fixture(&it);
}

/* One thread beside many: the series that threads make no difference to stands in every row. */
static void one_thread_stands_beside_many(void **state)
{
    (void)state;
    struct fixture it = open_fixture("network = \"lenet5\"; threads = [1, 2, 4];\n"
                                     "series = ( { id = \"cpu\"; label = \"one\"; backend = \"cpu\"; },\n"
                                     "           { id = \"omp\"; label = \"many\"; backend = \"omp\"; } );\n");
    assert_int_equal(it.count, 4);
    char *text = table_of(&it, 100);
    assert_non_null(strstr(text, "threads    one   many\n"));
    assert_non_null(strstr(text, "      1  1.000  2.000\n"));
    assert_non_null(strstr(text, "      4  1.000  4.000\n"));
    assert_non_null(strstr(text, "      4  0.25\n"));
    free(text);
    close_fixture(&it);
}

static void every_phase_has_its_tables(void **state)
{
    (void)state;
    struct fixture it = open_fixture("network = [\"lenet5\", \"simard\"]; phase = [\"train\", \"classify\"];\n" THREE);
    for (int i = 0; i < it.count; i++)
        it.results[i].median *= 1e-3;
    char *text = table_of(&it, 100);
    assert_non_null(strstr(text, "\ntrain: us per step"));
    assert_non_null(strstr(text, "\nclassify: us per step"));
    assert_non_null(strstr(text, "\nclassify: speed-up over CPU, plain"));
    assert_non_null(strstr(text, "\nnetwork  image  CPU, plain"));
    assert_lines_fit(text, 100);
    free(text);
    close_fixture(&it);
}

/* Reached in the second epoch: reading, then training and loading of both; or not at all. */
static void time_to_a_target_has_a_table(void **state)
{
    (void)state;
    struct fixture it =
        open_fixture("network = \"lenet5\"; phase = \"accuracy\"; data = \"mnist\"; target = 0.98;\n" THREE);
    for (int i = 0; i < 2; i++) {
        it.results[i].epochs = 2;
        it.results[i].data_seconds = 1;
        it.results[i].epoch = calloc(2, sizeof *it.results[i].epoch);
        it.results[i].epoch[0] = (struct epoch_result){ 1, 1, 1, 1, 0.9, 0.5, 10, 1 };
        it.results[i].epoch[1] = (struct epoch_result){ 2, 1, 1, 1, i ? 0.979 : 0.98, 0.5, 20, 1 };
    }
    char *text = table_of(&it, 100);
    assert_non_null(strstr(text, "accuracy: s until 98 % of the test images were right, loading included"));
    assert_non_null(strstr(text, "32.00"));
    assert_non_null(strstr(text, "not reached"));
    free(text);
    it.results[0].data_seconds = NAN; /* no number, no time */
    text = table_of(&it, 100);
    assert_null(strstr(text, "nan"));
    free(text);
    close_fixture(&it);
}

static void accuracy_has_percent_and_seconds(void **state)
{
    (void)state;
    struct fixture it = open_fixture("network = \"lenet5\"; phase = \"accuracy\"; data = \"mnist\";\n" THREE);
    for (int i = 0; i < 2; i++) {
        it.results[i].median = 12.5 + i;
        it.results[i].epochs = 2;
        it.results[i].epoch = calloc(2, sizeof *it.results[i].epoch);
        it.results[i].epoch[1].test_accuracy = 0.98765;
    }
    it.results[2].status = CNN_UNAVAILABLE;
    char *text = table_of(&it, 100);
    assert_non_null(strstr(text, "accuracy: % of the test images right after the last epoch; lenet5, image 32"));
    assert_non_null(strstr(text, "lenet5        98.77       98.77  unavailable\n"));
    assert_non_null(strstr(text, "accuracy: s per epoch"));
    assert_non_null(strstr(text, "lenet5        12.50       13.50  unavailable\n"));
    free(text);
    close_fixture(&it);
}

static void narrow_terminals_get_narrow_tables(void **state)
{
    (void)state;
    struct fixture it =
        open_fixture("title = \"A title that is longer than a narrow terminal has columns, so it breaks\";\n"
                     "network = \"lenet5\"; width = [1, 2]; image = [32, 40]; batch = [1, 128];\n" THREE);
    for (int columns = 40; columns <= 120; columns += 10) {
        char *text = table_of(&it, columns);
        assert_lines_fit(text, columns);
        free(text);
    }
    close_fixture(&it);
}

static void points_that_were_not_reached_are_skipped(void **state)
{
    (void)state;
    struct fixture it = open_fixture("network = \"lenet5\"; width = [1, 2];\n" THREE);
    for (int i = 3; i < 6; i++) {
        it.results[i].status = CNN_SKIPPED;
        it.results[i].median = NAN;
    }
    char *text = table_of(&it, 100);
    assert_non_null(strstr(text, "    2     skipped     skipped  skipped\n"));
    free(text);
    close_fixture(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_break_and_numbers_align),
        cmocka_unit_test(what_does_not_fit_goes_below),
        cmocka_unit_test(widths_count_characters),
        cmocka_unit_test(times_then_speedups),
        cmocka_unit_test(failures_are_words),
        cmocka_unit_test(one_thread_stands_beside_many),
        cmocka_unit_test(every_phase_has_its_tables),
        cmocka_unit_test(accuracy_has_percent_and_seconds),
        cmocka_unit_test(time_to_a_target_has_a_table),
        cmocka_unit_test(narrow_terminals_get_narrow_tables),
        cmocka_unit_test(points_that_were_not_reached_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
