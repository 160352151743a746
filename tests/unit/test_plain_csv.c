/* SPDX-License-Identifier: MIT */
/* The reader of CSV files beside rows.csv. */
#include "experiments/driver/plain_csv.h"
#include "tests/unit/files.h"

#include <math.h>

static void open_text(struct plain_csv *csv, const char *folder, const char *text)
{
    char path[FILES_PATH];
    files_path(path, folder, "file.csv");
    files_write(path, text, strlen(text));
    assert_true(plain_csv_open(csv, path));
}

static void quoted_cells_hold_commas_and_quotes(void **state)
{
    struct plain_csv csv;
    open_text(&csv, *state,
              "row,\"the name, in words\",value\n"
              "1,\"a, b\",0.5\n"
              "2,\"say \"\"a\"\", \"\"b\"\"\",\n"
              "\"3\",\"\",\"7\"\n"
              "4,plain,8\n");
    int row = plain_csv_find(&csv, "row"), name = plain_csv_find(&csv, "the name, in words");
    int value = plain_csv_find(&csv, "value");
    static const char *const names[] = { "a, b", "say \"a\", \"b\"", "", "plain" };
    static const double values[] = { 0.5, NAN, 7, 8 };
    assert_int_equal(csv.columns, 3);
    for (int i = 0; i < 4; i++) {
        assert_true(plain_csv_next(&csv));
        assert_int_equal((int)plain_csv_number(&csv, row), i + 1);
        assert_string_equal(csv.cell[name], names[i]);
        double found = plain_csv_number(&csv, value);
        assert_true(isnan(values[i]) ? isnan(found) : found == values[i]);
    }
    assert_false(plain_csv_next(&csv));
    plain_csv_close(&csv);
}

static void lines_that_are_none_end_it(void **state)
{
    static const char *const lines[] = { "1", "1,2,3\n", "1\n", "1,\"2\n", "1,\"2\"3\n", "1,2" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct plain_csv csv;
        char text[64];
        snprintf(text, sizeof text, "a,b\n%s", lines[i]);
        open_text(&csv, *state, text);
        assert_false(plain_csv_next(&csv));
        plain_csv_close(&csv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(quoted_cells_hold_commas_and_quotes, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(lines_that_are_none_end_it, files_folder_make, files_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
