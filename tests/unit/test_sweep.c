/* SPDX-License-Identifier: MIT */
/* Every point of a sweep has its row, in the order of the study or of its seed, and the record beside them. */
#include "tests/unit/sweeps.h"

#include <cjson/cJSON.h>

static void every_point_has_its_row(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "rows");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    make_points(points);
    set_label(&points[1], "crash");
    set_label(&points[2], "wrong");
    points[3].spec.image = 3; /* no room for a kernel of 5 */
    snprintf(points[4].backend, sizeof points[4].backend, "cuda");
    points[4].required = true;
    if (sweep_run(&study, points, POINTS, &options, &summary, &error))
        fail_msg("%s", error.text);
    static const enum cnn_status expected[POINTS] = { CNN_OK,      CNN_ERROR,       CNN_MISMATCH,
                                                      CNN_INVALID, CNN_UNAVAILABLE, CNN_OK };
    read_rows(&summary, &rows);
    assert_int_equal(rows.count, POINTS);
    for (int i = 0; i < POINTS; i++) {
        assert_int_equal(row_status(&rows.list[i]), expected[i]);
        assert_int_equal(row_integer(&rows.list[i], ROW_BATCH), i + 1);
        assert_int_equal(summary.results[i].status, expected[i]);
        assert_string_equal(rows.list[i].cell[ROW_REASON], summary.results[i].reason);
        if (expected[i] != CNN_OK)
            assert_true(*rows.list[i].cell[ROW_REASON] && !*rows.list[i].cell[ROW_SECONDS_PER_STEP]);
    }
    assert_int_equal(summary.counts[CNN_OK], 2);
    assert_true(summary.required_missing);
    assert_true(summary.signal == 0 && summary.left == 0);
    rows_free(&rows);
    sweep_summary_free(&summary);
}

static void the_record_lies_beside_the_rows(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "record");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH * 6], target[FILES_PATH];
    make_points(points);
    assert_int_equal(sweep_run(&study, points, 2, &options, &summary, &error), CNN_OK);
    snprintf(path, sizeof path, "%s/study.cfg", summary.folder);
    char *text = slurp(path);
    assert_string_equal(text, study.text);
    free(text);
    snprintf(path, sizeof path, "%s/machine.json", summary.folder);
    text = slurp(path);
    cJSON *record = cJSON_Parse(text), *run = cJSON_GetObjectItem(record, "run");
    assert_true(cJSON_IsString(cJSON_GetObjectItem(run, "ended")));
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(run, "rows"), "ok")->valueint, 2);
    assert_int_equal(cJSON_GetObjectItem(run, "points")->valueint, 2);
    cJSON_Delete(record);
    free(text);
    snprintf(path, sizeof path, "%s/../latest", summary.folder);
    ssize_t length = readlink(path, target, sizeof target - 1);
    assert_true(length > 0);
    target[length] = '\0';
    assert_string_equal(target, strrchr(summary.folder, '/') + 1);
    sweep_summary_free(&summary);
}

static void the_order_is_drawn_from_the_seed(void **state)
{
    struct study study = a_study(true);
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "order");
    char orders[3][POINTS + 1] = { "", "", "" };
    make_points(points);
    for (int run = 0; run < 3; run++) {
        struct sweep_summary summary;
        struct cnn_error error = { CNN_OK, "" };
        struct rows rows;
        study.seed = run < 2 ? 5 : 6;
        assert_int_equal(sweep_run(&study, points, POINTS, &options, &summary, &error), CNN_OK);
        read_rows(&summary, &rows);
        for (int i = 0; i < POINTS; i++) {
            orders[run][i] = (char)('0' + row_integer(&rows.list[i], ROW_BATCH));
            assert_true(summary.results[i].median == points[i].batch); /* results stay with their points */
        }
        for (int i = 1; i <= POINTS; i++)
            assert_non_null(strchr(orders[run], '0' + i));
        rows_free(&rows);
        sweep_summary_free(&summary);
    }
    assert_string_equal(orders[0], orders[1]);
    assert_string_not_equal(orders[0], orders[2]);
    assert_string_not_equal(orders[0], "123456");
}

static void a_place_that_cannot_be_written_stops_before_the_first_point(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    make_points(points);
    struct sweep_options options = a_way(*state, "in-the-way");
    files_write(options.results, "x", 1);
    assert_int_equal(sweep_run(&study, points, POINTS, &options, &summary, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, options.results));
    assert_int_equal(summary.points, 0);
    assert_string_equal(summary.folder, "");
    sweep_summary_free(&summary);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_has_its_row),
        cmocka_unit_test(the_record_lies_beside_the_rows),
        cmocka_unit_test(the_order_is_drawn_from_the_seed),
        cmocka_unit_test(a_place_that_cannot_be_written_stops_before_the_first_point),
    };
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return be_the_child();
    return find_self(argv[0]) ? cmocka_run_group_tests(tests, files_folder_make, files_folder_remove) : 1;
}
