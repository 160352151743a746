/* SPDX-License-Identifier: MIT */
/* Rows as JSON: an array that any reader takes, numbers as numbers, missing ones null, 64-bit values whole. */
#include "experiments/driver/report.h"
#include "experiments/driver/rows.h"
#include "tests/unit/core.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/convscale-rows-XXXXXX";

/* One row that is ok and one without a number, in a file. */
static int write_rows(void **state)
{
    const struct row_context context = { "study", "machine", "commit", "2010-09-15T12:00:00Z", NULL };
    struct point point = { .spec = core_spec("lenet5", 32, 2, 1), .batch = 4 };
    struct result result;
    (void)state;
    point.spec.seed = UINT64_MAX;
    strcpy(point.label, "says \"so\", comma");
    strcpy(point.data, "normal");
    result_init(&result);
    result.status = CNN_OK;
    result.median = 0.00123456789;
    result.samples = 12;
    result.parameters_checksum = 0xfedcba9876543210u;
    char *header = rows_header_text(), *row = rows_row_text(&context, &point, NULL, &result);
    result_init(&result);
    result.status = CNN_UNAVAILABLE;
    strcpy(result.reason, "no such device");
    char *other = rows_row_text(&context, &point, NULL, &result);
    int file = mkstemp(path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (out)
        fprintf(out, "%s%s%s", header, row, other);
    free(header);
    free(row);
    free(other);
    return !out || fclose(out);
}

static int remove_rows(void **state)
{
    (void)state;
    return unlink(path);
}

static cJSON *printed(const char *const *paths, int count)
{
    char *text = NULL;
    size_t size = 0;
    struct cnn_error error = { CNN_OK, "" };
    FILE *out = open_memstream(&text, &size);
    if (rows_print_json(out, paths, count, &error) != CNN_OK)
        fail_msg("%s", error.text);
    fclose(out);
    cJSON *array = cJSON_Parse(text);
    if (!array)
        fail_msg("no JSON: %s", text);
    free(text);
    assert_true(cJSON_IsArray(array));
    return array;
}

static const cJSON *cell(const cJSON *array, int row, enum row_column column)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(array, row), row_column_name(column));
    if (!found)
        fail_msg("row %d has no %s", row, row_column_name(column));
    return found;
}

static void cells_keep_their_kind(void **state)
{
    const char *const paths[] = { path };
    (void)state;
    cJSON *array = printed(paths, 1);
    assert_int_equal(cJSON_GetArraySize(array), 2);
    for (int column = 0; column < ROW_COLUMN_COUNT; column++)
        cell(array, 0, column);
    assert_true(cJSON_IsNumber(cell(array, 0, ROW_WIDTH)));
    assert_true(cell(array, 0, ROW_SECONDS_PER_STEP)->valuedouble == 0.00123456789);
    assert_int_equal(cell(array, 0, ROW_SAMPLES)->valueint, 12);
    assert_string_equal(cell(array, 0, ROW_LABEL)->valuestring, "says \"so\", comma");
    assert_string_equal(cell(array, 0, ROW_SEED)->valuestring, "18446744073709551615");
    assert_true(cJSON_IsString(cell(array, 0, ROW_PARAMETERS_CHECKSUM)));
    assert_string_equal(cell(array, 0, ROW_STATUS)->valuestring, "ok");
    assert_true(cJSON_IsFalse(cell(array, 0, ROW_INPUT_GRADIENT)));
    assert_true(cJSON_IsNull(cell(array, 1, ROW_SECONDS_PER_STEP)));
    assert_string_equal(cell(array, 1, ROW_REASON)->valuestring, "no such device");
    cJSON_Delete(array);
}

static void files_join_into_one_array(void **state)
{
    const char *const paths[] = { path, path };
    (void)state;
    cJSON *array = printed(paths, 2);
    assert_int_equal(cJSON_GetArraySize(array), 4);
    cJSON_Delete(array);
    array = printed(paths, 0);
    assert_int_equal(cJSON_GetArraySize(array), 0);
    cJSON_Delete(array);
}

static void a_missing_file_is_an_error(void **state)
{
    static const char *const paths[] = { "/no/such/rows.csv" };
    struct cnn_error error = { CNN_OK, "" };
    FILE *out = fopen("/dev/null", "w");
    (void)state;
    assert_int_not_equal(rows_print_json(out, paths, 1, &error), CNN_OK);
    assert_non_null(strstr(error.text, "/no/such/rows.csv"));
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_keep_their_kind),
        cmocka_unit_test(files_join_into_one_array),
        cmocka_unit_test(a_missing_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, write_rows, remove_rows);
}
