/* SPDX-License-Identifier: MIT */
/* Rows come back as they were written: every column, any text, nothing where there is no number. What a crash leaves at
 * the end is left out and said, another file's columns are refused. */
#include "tests/unit/row_material.h"

#include <math.h>

static void every_name_is_given_once(void **state)
{
    (void)state;
    for (int i = 0; i < ROW_COLUMN_COUNT; i++) {
        const char *name = row_column_name((enum row_column)i);
        assert_non_null(name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(name, row_column_name((enum row_column)j));
    }
}

static void a_row_comes_back(void **state)
{
    struct rows_writer *writer = open_run(*state);
    struct point point = a_point();
    struct result result = a_result();
    struct rows rows;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH * 2];
    snprintf(result.reason, sizeof result.reason, "two\nlines, a \"quote\" and a comma,");
    append(writer, &point, &result);
    snprintf(path, sizeof path, "%s/rows.csv", rows_folder(writer));
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
    assert_int_equal(rows.count, 1);
    assert_false(rows.torn);
    const struct row *row = rows.list;
    assert_string_equal(row->cell[ROW_STUDY], "quick");
    assert_string_equal(row->cell[ROW_LABEL], point.label);
    assert_string_equal(row->cell[ROW_REASON], result.reason);
    assert_string_equal(row->cell[ROW_CHOICES], "conv_forward=mine full_forward@4=naive");
    assert_string_equal(row->cell[ROW_SEED], "18446744073709551615");
    assert_string_equal(row->cell[ROW_PARAMETERS_CHECKSUM], "0000000000abcdef");
    assert_string_equal(row->cell[ROW_COPIES], "answer");
    assert_string_equal(row->cell[ROW_CONNECTIONS], "paper");
    assert_string_equal(row->cell[ROW_BUILD], context.build);
    assert_string_equal(row->cell[ROW_SOURCES_HASH], context.sources);
    assert_string_equal(row->cell[ROW_VERIFIED_BY], "oracle");
    assert_string_equal(row->cell[ROW_BOUND], "memory");
    assert_true(row_number(row, ROW_SHARE_OF_LIMIT) == 0.75);
    assert_true(row_number(row, ROW_EVENT_SECONDS_PER_STEP) == 1.125e-3);
    assert_true(row_number(row, ROW_COPY_SECONDS_PER_STEP) == 1e-5);
    assert_true(row_number(row, ROW_STARTUP_SECONDS) == 0.25);
    assert_true(row_number(row, ROW_PROCESS_SECONDS) == 2.5);
    assert_true(row_number(row, ROW_CLOCK_MHZ_LOW) == 2100 && row_number(row, ROW_CLOCK_MHZ_HIGH) == 3700);
    assert_true(row_number(row, ROW_POWER_WATTS) == 65 && row_number(row, ROW_ENERGY_JOULE_PER_IMAGE) == 6.5e-4);
    assert_string_equal(row->cell[ROW_THROTTLED], "power cap");
    assert_int_equal(row_integer(row, ROW_PEAK_DEVICE_BYTES), 1 << 20);
    assert_string_equal(row->cell[ROW_RATE], "0.01"); /* not 0.00999999978 */
    assert_int_equal(row_status(row), CNN_OK);
    assert_int_equal(row_integer(row, ROW_WIDTH), 4);
    assert_int_equal(row_integer(row, ROW_PARAMETERS), 798154); /* lenet5 at width 4 */
    assert_int_equal(row_integer(row, ROW_THREADS), 2);
    assert_true(row_number(row, ROW_SECONDS_PER_STEP) == 1.25e-3);
    assert_true(fabs(row_number(row, ROW_IMAGES_PER_SECOND) - 102400) < 1e-3);
    assert_true(fabs(row_number(row, ROW_USEFUL_GFLOP_PER_SECOND) - 4) < 1e-6);
    assert_int_equal(row_integer(row, ROW_SCHEMA), ROWS_SCHEMA);
    rows_free(&rows);
    result_free(&result);
}

static void samples_and_epochs_have_files_of_their_own(void **state)
{
    struct rows_writer *writer = open_run(*state);
    struct point point = a_point();
    struct result result = a_result();
    struct epoch_result epoch = { 1, 0.5, 0.8, NAN, 0.9, 2.5, 12.5, 1.5 };
    char path[FILES_PATH * 2];
    append(writer, &point, &result);
    point.phase = POINT_ACCURACY;
    result_free(&result);
    result_init(&result);
    result.status = CNN_OK;
    result.epochs = 1;
    result.epoch = &epoch;
    result.train_images = 1000;
    result.median = 12.5;
    append(writer, &point, &result);
    snprintf(path, sizeof path, "%s/samples.csv", rows_folder(writer));
    char *samples = slurp(path);
    assert_non_null(strstr(samples, "\n1,omp,lenet5,4,1,32,128,train,3,0.00122,\n"));
    snprintf(path, sizeof path, "%s/epochs.csv", rows_folder(writer));
    char *epochs = slurp(path);
    assert_non_null(strstr(epochs, "\n2,omp,lenet5,4,1,32,128,1,0.5,0.8,,0.9,12.5,1.5,2.5,80\n"));
    snprintf(path, sizeof path, "%s/rows.csv", rows_folder(writer));
    struct rows rows;
    struct cnn_error error;
    assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
    assert_int_equal(rows.count, 2);
    assert_true(isnan(row_number(&rows.list[1], ROW_SECONDS_PER_STEP))); /* an epoch is no step */
    assert_true(row_number(&rows.list[1], ROW_SECONDS_PER_EPOCH) == 12.5);
    assert_true(isnan(row_number(&rows.list[1], ROW_TEST_LOSS)));
    assert_true(row_number(&rows.list[1], ROW_TEST_ACCURACY) == 0.9);
    rows_free(&rows);
    free(samples);
    free(epochs);
    rows_close(writer, NULL);
}

/* Of four epochs the third is the first to reach the target; loading counts up to there, and once. */
static void time_to_target(void **state)
{
    (void)state;
    struct point point = a_point();
    struct result result;
    struct epoch_result epochs[4] = { { 1, 1, 0, 1, 0.95, 0.5, 10, 1 },
                                      { 2, 1, 0, 1, 0.97, 0.5, 11, 1 },
                                      { 3, 1, 0, 1, 0.985, 0.5, 12, 1 },
                                      { 4, 1, 0, 1, 0.98, 0.5, 13, 1 } };
    result_init(&result);
    result.status = CNN_OK;
    result.epochs = 4;
    result.epoch = epochs;
    result.data_seconds = 2;
    point.phase = POINT_ACCURACY;
    point.target = 0.98;
    const struct {
        enum cnn_copies copies;
        double target;
        const char *cells; /* of the five columns */
    } cases[] = { { CNN_COPIES_NONE, 0.98, ",4,0.98,3,33,36.5,4," },
                  { CNN_COPIES_ANSWER, 0.98, ",4,0.98,3,33,35,4," }, /* loading is within training */
                  { CNN_COPIES_NONE, 0.99, ",4,0.99,,,,4," },
                  { CNN_COPIES_NONE, 0, ",4,,,,,4," } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        point.copies = cases[i].copies;
        point.target = cases[i].target;
        char *text = rows_row_text(&context, &point, NULL, &result);
        if (!text || !strstr(text, cases[i].cells))
            fail_msg("case %zu: no %s in %s", i, cases[i].cells, text);
        free(text);
    }
}

/* A point that failed has no numbers, not even 0, and no word that looks like one. */
static void no_number_is_an_empty_cell(void **state)
{
    (void)state;
    struct point point = a_point();
    struct result result;
    result_init(&result);
    result_set(&result, CNN_OOM, "too large");
    char *text = rows_row_text(&context, &point, NULL, &result);
    assert_non_null(text);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_null(strstr(text, ",-1"));
    assert_null(strstr(text, "000000000000")); /* a checksum of nothing */
    free(text);
    result.status = CNN_OK;
    result.median = 0; /* a clock that did not move gives no rate */
    result.flops_useful = 1;
    text = rows_row_text(&context, &point, NULL, &result);
    assert_non_null(text);
    assert_null(strstr(text, "inf"));
    free(text);
}

static void nothing_is_overwritten(void **state)
{
    struct rows_writer *first = open_run(*state), *second = open_run(*state), *third = open_run(*state);
    assert_string_not_equal(rows_folder(first), rows_folder(second));
    assert_string_not_equal(rows_folder(second), rows_folder(third));
    struct cnn_error error;
    char link[FILES_PATH * 2], target[FILES_PATH];
    snprintf(link, sizeof link, "%s/a-machine/quick/latest", (const char *)*state);
    assert_int_equal(rows_point_latest(first, &error), CNN_OK);
    assert_int_equal(rows_point_latest(third, &error), CNN_OK);
    ssize_t length = readlink(link, target, sizeof target - 1);
    assert_true(length > 0);
    target[length] = '\0';
    assert_string_equal(target, strrchr(rows_folder(third), '/') + 1);
    /* a folder that a user called `latest` is the user's */
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkdir(link, 0777), 0);
    assert_int_equal(rows_point_latest(third, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, "latest"));
    assert_int_equal(rmdir(link), 0);
    files_write(link, "x", 1); /* and so is a file */
    assert_int_equal(rows_point_latest(third, &error), CNN_ERROR);
    assert_int_equal(unlink(link), 0);
    rows_close(first, NULL);
    rows_close(second, NULL);
    rows_close(third, NULL);
}

/* A file with two whole rows and then whatever a crash left. */
static void write_broken(const char *path, const char *tail, size_t tail_size)
{
    struct point point = a_point();
    struct result result = a_result();
    snprintf(result.reason, sizeof result.reason, "a\nb");
    char *header = rows_header_text(), *row = rows_row_text(&context, &point, NULL, &result);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s%s", header, row, row);
    fwrite(tail, 1, tail_size, file);
    fclose(file);
    free(header);
    free(row);
    result_free(&result);
}

static void a_torn_line_is_left_out_and_said(void **state)
{
    struct rows rows;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH];
    struct point point = a_point();
    struct result result = a_result();
    snprintf(result.reason, sizeof result.reason, "x \"y\"\nz");
    char *row = rows_row_text(&context, &point, NULL, &result);
    assert_non_null(row);
    files_path(path, *state, "torn.csv");
    for (size_t cut = 1; cut < strlen(row); cut++) { /* wherever it was cut, quotes and all */
        write_broken(path, row, cut);
        assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
        assert_int_equal(rows.count, 2);
        assert_true(rows.torn);
        rows_free(&rows);
    }
    write_broken(path, row, strlen(row));
    assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
    assert_int_equal(rows.count, 3);
    assert_false(rows.torn);
    rows_free(&rows);
    write_broken(path, "\0\0\0\0\0\0", 6); /* what a power cut leaves on some file systems */
    assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
    assert_int_equal(rows.count, 2);
    assert_true(rows.torn);
    rows_free(&rows);
    free(row);
    result_free(&result);
}

static void other_files_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "no whole first line" },
        { "study,series\n", "no column \"network\"" },
        { "width,time\n1,2\n", "not the rows of a study" },
        { "series,status,series\n", "\"series\" twice" },
        { "<!DOCTYPE html>\n<html>\n", "no column" },
    };
    struct rows rows;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH];
    files_path(path, *state, "other.csv");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        files_write(path, bad[i].text, strlen(bad[i].text));
        assert_int_equal(rows_read(&rows, path, &error), CNN_INVALID);
        assert_non_null(strstr(error.text, bad[i].says));
        assert_non_null(strstr(error.text, path));
    }
    write_broken(path, "a,b,c\n", 6);
    assert_int_equal(rows_read(&rows, path, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "other.csv:6: has 3 cells")); /* each row before it takes two lines */
    assert_int_equal(rows_read(&rows, "/nowhere/rows.csv", &error), CNN_ERROR);
    assert_int_equal(rows_read(&rows, *state, &error), CNN_INVALID); /* a folder */
}

static const char older[] = "series,network,status,gone,seconds_per_step,key,schema\na,lenet5,ok,x,0.5,k=1,1\n";

/* A file of an earlier program has other columns: those we know are found by name, wherever they stand. */
static void older_columns_are_found_by_name(void **state)
{
    struct rows rows;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH];
    files_path(path, *state, "older.csv");
    files_write(path, older, sizeof older - 1);
    if (rows_read(&rows, path, &error))
        fail_msg("%s", error.text);
    assert_int_equal(rows.count, 1);
    assert_string_equal(rows.list->cell[ROW_SERIES], "a");
    assert_true(row_number(rows.list, ROW_SECONDS_PER_STEP) == 0.5);
    assert_string_equal(rows.list->cell[ROW_KEY], "k=1");
    for (int column = 0; column < ROW_COLUMN_COUNT; column++)
        assert_non_null(rows.list->cell[column]);
    assert_string_equal(rows.list->cell[ROW_SOURCES_HASH], ""); /* not known then */
    assert_true(isnan(row_number(rows.list, ROW_POWER_WATTS)));
    rows_free(&rows);
}

/* What a later program means by its new columns cannot be known; without new ones its rows are as good as ours. */
static void later_columns_are_refused(void **state)
{
    struct rows rows;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH], text[sizeof older];
    memcpy(text, older, sizeof older);
    *strrchr(text, '1') = '9';
    files_path(path, *state, "later.csv");
    files_write(path, text, sizeof text - 1);
    assert_int_equal(rows_read(&rows, path, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "later.csv:2: schema 9 with the column \"gone\""));
    memcpy(strstr(text, "gone"), "loss", 4);
    files_write(path, text, sizeof text - 1);
    assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
    assert_string_equal(rows.list->cell[ROW_LOSS], "x");
    rows_free(&rows);
}

static void carriage_returns_and_a_mark_are_fine(void **state)
{
    struct point point = a_point();
    struct result result = a_result();
    struct rows rows;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH], *header = rows_header_text(), *row = rows_row_text(&context, &point, NULL, &result);
    files_path(path, *state, "dos.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    header[strlen(header) - 1] = row[strlen(row) - 1] = '\0';
    fprintf(file, "\xef\xbb\xbf%s\r\n%s\r\n", header, row);
    fclose(file);
    assert_int_equal(rows_read(&rows, path, &error), CNN_OK);
    assert_int_equal(rows.count, 1);
    assert_int_equal(row_integer(rows.list, ROW_SCHEMA), ROWS_SCHEMA);
    assert_string_equal(rows.list->cell[ROW_LABEL], point.label);
    rows_free(&rows);
    free(header);
    free(row);
    result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_given_once),
        cmocka_unit_test(a_row_comes_back),
        cmocka_unit_test(samples_and_epochs_have_files_of_their_own),
        cmocka_unit_test(time_to_target),
        cmocka_unit_test(no_number_is_an_empty_cell),
        cmocka_unit_test(nothing_is_overwritten),
        cmocka_unit_test(a_torn_line_is_left_out_and_said),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(older_columns_are_found_by_name),
        cmocka_unit_test(later_columns_are_refused),
        cmocka_unit_test(carriage_returns_and_a_mark_are_fine),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
