/* SPDX-License-Identifier: MIT */
/* Comparing runs: made-up rows whose words are known, matching of keys, outliers, names of runs. */
#include "experiments/driver/compare.h"
#include "tests/unit/row_material.h"

#include <math.h>

#define THRESHOLD 0.05

/* ---- the rule ---- */

static enum compare_word judged(double base_low, double base_high, double low, double high)
{
    const struct compare_time base = { (base_low + base_high) / 2, base_low, base_high };
    const struct compare_time now = { (low + high) / 2, low, high };
    struct compare_time ratio;
    return compare_times(&base, &now, THRESHOLD, &ratio);
}

static void words_follow_from_intervals(void **state)
{
    (void)state;
    assert_int_equal(judged(0.99, 1.01, 1.09, 1.11), COMPARE_SLOWER);
    assert_int_equal(judged(0.999, 1.001, 1.002, 1.004), COMPARE_SLOWER); /* little, but surely */
    assert_int_equal(judged(0.99, 1.01, 0.89, 0.91), COMPARE_FASTER);
    assert_int_equal(judged(0.99, 1.01, 0.985, 1.015), COMPARE_SAME);
    assert_int_equal(judged(0.9, 1.1, 0.9, 1.1), COMPARE_UNCLEAR);
    assert_int_equal(judged(0.9, 1.1, 1.05, 1.5), COMPARE_UNCLEAR);
    assert_int_equal(judged(0.99, 1.01, NAN, 1.5), COMPARE_MISSING); /* no number at all */
}

static void a_ratio_has_the_interval_of_both(void **state)
{
    (void)state;
    const struct compare_time base = { 2, 1.6, 2.5 }, now = { 3, 2, 4 }, plain = { 3, NAN, NAN };
    struct compare_time ratio;
    assert_int_equal(compare_times(&base, &now, THRESHOLD, &ratio), COMPARE_UNCLEAR);
    assert_true(ratio.median == 1.5 && fabs(ratio.low - 0.8) < 1e-15 && ratio.high == 2.5);
    assert_int_equal(compare_times(&base, &plain, THRESHOLD, &ratio), COMPARE_UNCLEAR); /* no interval, no verdict */
    assert_true(ratio.median == 1.5 && isnan(ratio.low) && isnan(ratio.high));
}

/* ---- rows ---- */

#define ROWS_MAX 16

/* Rows as a file would give them. */
struct made {
    struct rows rows;
    struct row row[ROWS_MAX];
    char text[ROWS_MAX][4][32];
};

static void made_start(struct made *made)
{
    made->rows = (struct rows){ .list = made->row };
}

static struct row *made_add(struct made *made, const char *key, const char *status, double seconds)
{
    int index = made->rows.count++;
    struct row *row = &made->row[index];
    assert_in_range(index, 0, ROWS_MAX - 1);
    for (int column = 0; column < ROW_COLUMN_COUNT; column++)
        row->cell[column] = "";
    row->cell[ROW_KEY] = key;
    row->cell[ROW_STATUS] = status;
    row->cell[ROW_MACHINE] = "a-machine";
    const double numbers[] = { seconds, 0.99 * seconds, 1.01 * seconds };
    for (int i = 0; i < 3 && seconds > 0; i++) {
        snprintf(made->text[index][i], sizeof made->text[index][i], "%.9g", numbers[i]);
        row->cell[ROW_SECONDS_PER_STEP + i] = made->text[index][i];
    }
    return row;
}

static struct comparison compared(const struct made *base, const struct made *now)
{
    struct comparison comparison;
    struct cnn_error error;
    assert_int_equal(compare_rows(&comparison, &base->rows, &now->rows, THRESHOLD, &error), CNN_OK);
    return comparison;
}

static void runs_that_overlap_in_part(void **state)
{
    (void)state;
    static struct made base, now;
    made_start(&base);
    made_start(&now);
    made_add(&base, "gone", "ok", 1);
    made_add(&base, "slow", "ok", 1);
    made_add(&base, "little", "ok", 1);
    made_add(&base, "fast", "unstable", 1);
    made_add(&base, "failed", "ok", 1);
    made_add(&base, "never", "unavailable", 0);
    made_add(&now, "fast", "ok", 0.5);
    made_add(&now, "never", "unavailable", 0);
    made_add(&now, "failed", "mismatch", 0);
    made_add(&now, "slow", "ok", 2);
    made_add(&now, "new", "ok", 1);
    made_add(&now, "little", "ok", 1.03);
    struct comparison comparison = compared(&base, &now);
    assert_int_equal(comparison.count, 6);
    assert_int_equal(comparison.idle, 1);
    assert_int_equal(comparison.common, 5);
    assert_int_equal(comparison.words[COMPARE_SLOWER], 2);
    assert_int_equal(comparison.words[COMPARE_FASTER], 1);
    assert_int_equal(comparison.words[COMPARE_MISSING], 3);
    assert_int_equal(comparison.beyond, 1); /* 3 % is slower, but within the threshold */
    assert_string_equal(comparison.pair[0].now->cell[ROW_KEY], "slow");
    assert_string_equal(comparison.pair[1].now->cell[ROW_KEY], "little");
    assert_string_equal(comparison.pair[2].now->cell[ROW_KEY], "fast");
    assert_true(comparison.worst == 2 && fabs(comparison.ratio - 1.03) < 1e-9);
    comparison_free(&comparison);
}

static void of_equal_keys_the_last_with_a_number_counts(void **state)
{
    (void)state;
    static struct made base, now;
    made_start(&base);
    made_start(&now);
    made_add(&base, "x", "ok", 1);
    made_add(&now, "x", "timeout", 0);
    made_add(&now, "x", "ok", 5);
    made_add(&now, "x", "ok", 1);
    made_add(&now, "x", "error", 0);
    struct comparison comparison = compared(&base, &now);
    assert_int_equal(comparison.duplicates, 3);
    assert_int_equal(comparison.count, 1);
    assert_int_equal(comparison.words[COMPARE_SAME], 1);
    comparison_free(&comparison);
}

static void another_machine_is_no_regression(void **state)
{
    (void)state;
    static struct made base, now;
    made_start(&base);
    made_start(&now);
    made_add(&base, "x", "ok", 1);
    made_add(&base, "y", "ok", 1)->cell[ROW_DEVICE] = "a GPU";
    made_add(&now, "x", "ok", 3)->cell[ROW_MACHINE] = "another";
    made_add(&now, "y", "ok", 3)->cell[ROW_DEVICE] = "another GPU";
    struct comparison comparison = compared(&base, &now);
    assert_int_equal(comparison.words[COMPARE_ANOTHER_MACHINE], 2);
    assert_int_equal(comparison.beyond, 0);
    assert_true(comparison.ratio == 3);
    comparison_free(&comparison);
}

static void training_runs_have_ratios_without_intervals(void **state)
{
    (void)state;
    static struct made base, now;
    made_start(&base);
    made_start(&now);
    made_add(&base, "x", "ok", 0)->cell[ROW_SECONDS_PER_EPOCH] = "2";
    made_add(&now, "x", "ok", 0)->cell[ROW_SECONDS_PER_EPOCH] = "3";
    struct comparison comparison = compared(&base, &now);
    assert_int_equal(comparison.words[COMPARE_UNCLEAR], 1);
    assert_true(comparison.pair[0].ratio.median == 1.5);
    comparison_free(&comparison);
}

/* ---- outliers ---- */

static void one_of_many_stands_out(void **state)
{
    (void)state;
    const double ratio[] = { 1.01, 0.99, 1.3, 1, NAN, 1.02, 0.7 }, alike[] = { 1, 1, 1, 1.04 }, two[] = { 1, 2 };
    bool outlier[7];
    assert_true(compare_outliers(ratio, 7, THRESHOLD, outlier));
    for (int i = 0; i < 7; i++)
        assert_int_equal(outlier[i], i == 2 || i == 6);
    assert_true(compare_outliers(alike, 4, THRESHOLD, outlier)); /* no spread, but within the threshold */
    assert_false(outlier[3]);
    assert_true(compare_outliers(alike, 4, 0.01, outlier));
    assert_true(outlier[3]);
    assert_true(compare_outliers(two, 2, THRESHOLD, outlier)); /* of two, neither is the odd one */
    assert_false(outlier[0] || outlier[1]);
}

/* ---- runs on disk ---- */

/* Writes a run of one study with this batch's point; its folder lies below root. */
static void write_run(const char *root, const char *study, int batch, double seconds, char *folder)
{
    struct rows_writer *writer;
    struct cnn_error error;
    struct point point = a_point();
    struct result result = a_result();
    point.batch = batch;
    result.median = seconds;
    result.low = 0.99 * seconds;
    result.high = 1.01 * seconds;
    assert_int_equal(rows_open(&writer, root, "a-machine", study, &error), CNN_OK);
    const struct row_context about = { study, "a-machine", "build", "2010-09-15T12:00:00Z", NULL };
    assert_int_equal(rows_append(writer, &about, &point, NULL, &result, &error), CNN_OK);
    assert_int_equal(rows_point_latest(writer, &error), CNN_OK);
    snprintf(folder, FILES_PATH, "%s", rows_folder(writer));
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    result_free(&result);
}

struct outcome {
    int status;
    bool slower;
    char text[8192];
    struct cnn_error error;
};

static struct outcome run_compare(const char *root, enum format format, const char *const *names, int count)
{
    struct outcome outcome = { .error = { CNN_OK, "" } };
    const struct compare_options options = {
        .results = root, .threshold = THRESHOLD, .format = format, .columns = 120
    };
    FILE *out = fmemopen(outcome.text, sizeof outcome.text - 1, "w");
    assert_non_null(out);
    outcome.status = compare_runs(out, names, count, &options, &outcome.slower, &outcome.error);
    fclose(out);
    return outcome;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("expected %s in\n%s", part, text);
}

static void names_mean_runs(void **state)
{
    char first[FILES_PATH], second[FILES_PATH], third[FILES_PATH];
    const char *const words[] = { "previous", "latest" }, *const back[] = { "latest", "previous" };
    write_run(*state, "names", 1, 3, first);
    const char *const mixed[] = { first, "latest" };
    struct outcome outcome = run_compare(*state, FORMAT_CSV, words, 2);
    assert_int_equal(outcome.status, CNN_INVALID); /* one run has no previous one */
    write_run(*state, "names", 1, 1, second);
    write_run(*state, "names", 1, 2, third); /* in the same second, most likely: -2, -3 */
    outcome = run_compare(*state, FORMAT_TABLE, words, 2);
    assert_int_equal(outcome.status, CNN_OK);
    assert_true(outcome.slower);
    assert_says(outcome.text, second);
    assert_says(outcome.text, "2.000");
    assert_says(outcome.text, "slower !");
    outcome = run_compare(*state, FORMAT_TABLE, back, 2);
    assert_false(outcome.slower);
    assert_says(outcome.text, "0.500");
    outcome = run_compare(*state, FORMAT_TABLE, mixed, 2);
    assert_false(outcome.slower);
    assert_says(outcome.text, "0.667");
}

static void several_runs_are_a_line_each(void **state)
{
    char folders[5][FILES_PATH];
    static const double seconds[] = { 1, 1.02, 0.98, 4, 1 };
    for (int i = 0; i < 5; i++)
        write_run(*state, "many", 1, seconds[i], folders[i]);
    const char *const names[] = { folders[0], folders[1], folders[2], folders[3], folders[4] };
    struct outcome outcome = run_compare(*state, FORMAT_CSV, names, 5);
    assert_int_equal(outcome.status, CNN_OK);
    assert_true(outcome.slower);
    int lines = 0;
    for (const char *at = outcome.text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 5);
    const char *line = strchr(outcome.text, '\n') + 1; /* worst first, and the only outlier */
    assert_memory_equal(line, folders[3], strlen(folders[3]));
    assert_says(line, ",true\n");
    assert_null(strstr(strchr(line, '\n'), ",true\n"));
}

static void nothing_in_common_is_a_mistake(void **state)
{
    char first[FILES_PATH], second[FILES_PATH];
    write_run(*state, "one", 1, 1, first);
    write_run(*state, "two", 2, 1, second);
    const char *const names[] = { first, second }, *const nowhere[] = { first, "/no/such/run" };
    struct outcome outcome = run_compare(*state, FORMAT_CSV, names, 2);
    assert_int_equal(outcome.status, CNN_INVALID);
    assert_says(outcome.error.text, "no point of");
    assert_says(outcome.error.text, "batch=1 there, batch=2 here");
    assert_string_equal(outcome.text, "");
    outcome = run_compare(*state, FORMAT_CSV, nowhere, 2);
    assert_int_equal(outcome.status, CNN_INVALID);
    assert_says(outcome.error.text, "/no/such/run/rows.csv: cannot be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_follow_from_intervals),
        cmocka_unit_test(a_ratio_has_the_interval_of_both),
        cmocka_unit_test(runs_that_overlap_in_part),
        cmocka_unit_test(of_equal_keys_the_last_with_a_number_counts),
        cmocka_unit_test(another_machine_is_no_regression),
        cmocka_unit_test(training_runs_have_ratios_without_intervals),
        cmocka_unit_test(one_of_many_stands_out),
        cmocka_unit_test_setup_teardown(names_mean_runs, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(several_runs_are_a_line_each, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(nothing_in_common_is_a_mistake, files_folder_make, files_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
