/* SPDX-License-Identifier: MIT */
/* A run that a crash, a kill or a full disk ended goes on behind its last whole row, whatever lies behind that; a
 * folder that is no run of this program, or that another process writes, is left alone. */
#include "tests/unit/row_material.h"

/* Adds `text` to a file of the run. */
static void spill(const char *folder, const char *name, const char *text, size_t size)
{
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fwrite(text, 1, size, file);
    fclose(file);
}

static char *file_of(const char *folder, const char *name)
{
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return slurp(path);
}

/* A run that was killed at any byte of its second row, after that row's samples, goes on as if it had never been. */
static void a_run_that_broke_off_goes_on(void **state)
{
    struct point point = a_point();
    struct result result = a_result();
    struct cnn_error error = { CNN_OK, "" };
    char *row = rows_row_text(&context, &point, NULL, &result);
    assert_non_null(row);
    for (size_t cut = 0; cut < strlen(row); cut += 1 + cut / 4) {
        struct rows_writer *writer = open_run(*state);
        char folder[FILES_PATH];
        append(writer, &point, &result);
        snprintf(folder, sizeof folder, "%s", rows_folder(writer));
        assert_int_equal(rows_close(writer, &error), CNN_OK);
        char *rows_before = file_of(folder, "rows.csv"), *samples_before = file_of(folder, "samples.csv");
        spill(folder, "samples.csv", "2,omp,lenet5,4,1,32,128,train,1,0.0012,\n2,omp,len", 50);
        spill(folder, "rows.csv", row, cut);
        if (rows_reopen(&writer, folder, &error))
            fail_msg("%s", error.text);
        char *rows_after = file_of(folder, "rows.csv"), *samples_after = file_of(folder, "samples.csv");
        assert_string_equal(rows_after, rows_before);
        assert_string_equal(samples_after, samples_before);
        append(writer, &point, &result);
        assert_int_equal(rows_point_latest(writer, &error), CNN_OK);
        assert_int_equal(rows_close(writer, &error), CNN_OK);
        free(samples_after);
        samples_after = file_of(folder, "samples.csv");
        assert_non_null(strstr(samples_after, "\n2,omp,lenet5,4,1,32,128,train,3,0.00122,\n"));
        free(rows_before);
        free(samples_before);
        free(rows_after);
        free(samples_after);
    }
    free(row);
    result_free(&result);
}

/* Killed before the first row, while the headers were written. */
static void a_run_without_rows_goes_on(void **state)
{
    struct cnn_error error = { CNN_OK, "" };
    struct rows_writer *writer = open_run(*state);
    struct point point = a_point();
    struct result result = a_result();
    char folder[FILES_PATH], path[FILES_PATH * 2];
    snprintf(folder, sizeof folder, "%s", rows_folder(writer));
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    snprintf(path, sizeof path, "%s/samples.csv", folder);
    assert_int_equal(truncate(path, 10), 0);
    snprintf(path, sizeof path, "%s/epochs.csv", folder);
    assert_int_equal(unlink(path), 0);
    if (rows_reopen(&writer, folder, &error))
        fail_msg("%s", error.text);
    append(writer, &point, &result);
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    char *samples = file_of(folder, "samples.csv"), *epochs = file_of(folder, "epochs.csv");
    assert_int_equal(strncmp(samples, rows_samples_header, strlen(rows_samples_header)), 0);
    assert_int_equal(strncmp(samples + strlen(rows_samples_header), "1,omp", 5), 0);
    assert_string_equal(epochs, rows_epochs_header);
    free(samples);
    free(epochs);
    result_free(&result);
}

static void what_is_no_run_of_ours_is_not_added_to(void **state)
{
    struct cnn_error error = { CNN_OK, "" };
    struct rows_writer *first = open_run(*state), *second = NULL;
    char folder[FILES_PATH], path[FILES_PATH * 2];
    snprintf(folder, sizeof folder, "%s", rows_folder(first));
    assert_int_equal(rows_reopen(&second, folder, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "another process"));
    rows_close(first, NULL);
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    files_write(path, "series,width\na,1\n", 17);
    assert_int_equal(rows_reopen(&second, folder, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "start a new run"));
    char *kept = slurp(path);
    assert_string_equal(kept, "series,width\na,1\n");
    free(kept);
    assert_int_equal(rows_reopen(&second, "/nowhere/at/all", &error), CNN_ERROR);
    assert_null(second);
}

/* Rows that stay behind take their samples with them; the others get new numbers. */
static void another_run_begins_with_rows_of_this_one(void **state)
{
    static const enum cnn_status statuses[] = { CNN_OK, CNN_MISMATCH, CNN_UNSTABLE };
    struct point point = a_point();
    struct result result = a_result();
    struct cnn_error error = { CNN_OK, "" };
    char from[FILES_PATH], to[FILES_PATH], path[FILES_PATH * 2];
    struct rows_writer *writer = open_run(*state);
    for (int i = 0; i < 3; i++) {
        result.status = statuses[i];
        result.sample[0] = i + 1;
        point.batch = i + 1;
        append(writer, &point, &result);
    }
    snprintf(from, sizeof from, "%s", rows_folder(writer));
    rows_close(writer, NULL);
    writer = open_run(*state);
    snprintf(to, sizeof to, "%s", rows_folder(writer));
    rows_close(writer, NULL);
    char *before = file_of(from, "rows.csv");
    if (rows_copy(from, to, 1u << CNN_MISMATCH, &error) || rows_reopen(&writer, to, &error))
        fail_msg("%s", error.text);
    point.batch = 9;
    append(writer, &point, &result);
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    struct rows old, new;
    snprintf(path, sizeof path, "%s/rows.csv", from);
    assert_int_equal(rows_read(&old, path, &error), CNN_OK);
    snprintf(path, sizeof path, "%s/rows.csv", to);
    assert_int_equal(rows_read(&new, path, &error), CNN_OK);
    assert_int_equal(new.count, 3);
    for (int column = 0; column < ROW_COLUMN_COUNT; column++) {
        assert_string_equal(new.list[0].cell[column], old.list[0].cell[column]);
        assert_string_equal(new.list[1].cell[column], old.list[2].cell[column]);
    }
    char *samples = file_of(to, "samples.csv"), *after = file_of(from, "rows.csv");
    assert_non_null(strstr(samples, "\n2,omp,lenet5,4,1,32,3,train,1,3,\n"));
    assert_non_null(strstr(samples, "\n3,omp,lenet5,4,1,32,9,train,1,3,\n"));
    assert_null(strstr(samples, "lenet5,4,1,32,2,train"));
    assert_string_equal(before, after);
    free(before);
    free(after);
    free(samples);
    rows_free(&old);
    rows_free(&new);
    result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_run_begins_with_rows_of_this_one),
        cmocka_unit_test(a_run_that_broke_off_goes_on),
        cmocka_unit_test(a_run_without_rows_goes_on),
        cmocka_unit_test(what_is_no_run_of_ours_is_not_added_to),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
