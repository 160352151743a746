/* SPDX-License-Identifier: MIT */
/* Runs of several machines in one set of charts: a line for each series of each run, ratios over the base of its own.
 */
#include "experiments/driver/charts.h"
#include "tests/unit/row_material.h"

/* A run of two series over two widths on this machine: `base` takes 1 s times width and factor, `fast` a `speedup`th.
 */
static void write_run(const char *root, const char *machine, double factor, double speedup, char *folder)
{
    struct rows_writer *writer;
    struct cnn_error error;
    const struct row_context about = { "made-up", machine, "build", "2010-09-15T12:00:00Z", NULL };
    assert_int_equal(rows_open(&writer, root, machine, "made-up", &error), CNN_OK);
    for (int i = 0; i < 4; i++) {
        struct point point = a_point();
        struct result result = a_result();
        point.spec.width = 1 + i / 2;
        snprintf(point.series, sizeof point.series, "%s", i % 2 ? "fast" : "base");
        snprintf(point.label, sizeof point.label, "CPU, %s", point.series);
        result.median = point.spec.width * factor / (i % 2 ? speedup : 1);
        result.low = 0.99 * result.median;
        result.high = 1.01 * result.median;
        assert_int_equal(rows_append(writer, &about, &point, NULL, &result, &error), CNN_OK);
        result_free(&result);
    }
    snprintf(folder, FILES_PATH, "%s", rows_folder(writer));
    assert_int_equal(rows_close(writer, &error), CNN_OK);
}

static void draw(const char *root, const char *const *folders, int count)
{
    struct cnn_error error = { CNN_OK, "" };
    int status = charts_draw_together(folders, count, root, NULL, NULL, &error);
    if (status != CNN_OK && !(status == CNN_UNAVAILABLE && strstr(error.text, "gnuplot")))
        fail_msg("%s", error.text);
}

static void assert_has(const char *root, const char *name, const char *part)
{
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/charts/%s", root, name);
    char *text = slurp(path);
    if (!strstr(text, part))
        fail_msg("%s: expected %s in\n%s", name, part, text);
    free(text);
}

static void lines_of_every_machine(void **state)
{
    char first[FILES_PATH], second[FILES_PATH];
    const char *root = *state;
    write_run(root, "a-machine", 1, 4, first);
    write_run(root, "b-machine", 10, 8, second);
    const char *const folders[] = { first, second };
    draw(root, folders, 2);
    static const char *const lines[] = { "\nbase@a-machine,1,1,", "\nbase@b-machine,1,10,", "\nfast@a-machine,1,0.25,",
                                         "\nfast@b-machine,2,2.5," };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_has(root, "time-train-width.csv", lines[i]);
    assert_has(root, "speedup-train-width.csv", "\nfast@a-machine,1,4,");
    assert_has(root, "speedup-train-width.csv", "\nfast@b-machine,1,8,"); /* over its own base, not the other's */
    assert_has(root, "speedup-train-width.csv", "\nfast@b-machine,2,8,");
    assert_has(root, "speedup-train-width.set", "'CPU, fast; b-machine'");
    assert_has(root, "speedup-train-width.set", "Base: CPU, base of each run, 1e+03 to 2e+04 ms per step");
    char path[FILES_PATH * 2];
    snprintf(path, sizeof path, "%s/charts/speedup-train-width.csv", root);
    char *text = slurp(path);
    assert_null(strstr(text, "base@")); /* no base has a line of its own */
    free(text);
}

/* Two training runs, each with its own epochs, as two lines. */
static void learning_of_every_machine(void **state)
{
    const char *root = *state;
    char folder[2][FILES_PATH];
    for (int i = 0; i < 2; i++) {
        struct rows_writer *writer;
        struct cnn_error error;
        struct epoch_result epochs[2] = { { 1, 1, 0.5, 1, 0.9, 1, 10.0 / (1 + 9 * i), 1 },
                                          { 2, 1, 0.5, 1, 0.95, 1, 10.0 / (1 + 9 * i), 1 } };
        const struct row_context about = { "made-up", i ? "b-machine" : "a-machine", "build", "2010-09-15T12:00:00Z",
                                           NULL };
        struct point point = a_point();
        struct result result;
        result_init(&result);
        result.status = CNN_OK;
        result.epochs = 2;
        result.epoch = epochs;
        result.median = 10;
        point.phase = POINT_ACCURACY;
        assert_int_equal(rows_open(&writer, root, about.machine, "made-up", &error), CNN_OK);
        assert_int_equal(rows_append(writer, &about, &point, NULL, &result, &error), CNN_OK);
        snprintf(folder[i], FILES_PATH, "%s", rows_folder(writer));
        assert_int_equal(rows_close(writer, &error), CNN_OK);
    }
    draw(root, (const char *const[]){ folder[0], folder[1] }, 2);
    assert_has(root, "accuracy-seconds.csv", "\nomp@a-machine,10,10,10,10,ok,10\nomp@a-machine,20,5,5,5,ok,20\n");
    assert_has(root, "accuracy-seconds.csv", "\nomp@b-machine,1,10,10,10,ok,1\nomp@b-machine,2,5,5,5,ok,2\n");
}

static void one_machine_at_two_times(void **state)
{
    char first[FILES_PATH], second[FILES_PATH];
    const char *root = *state;
    write_run(root, "a-machine", 1, 4, first);
    write_run(root, "a-machine", 2, 4, second);
    const char *const folders[] = { first, second };
    draw(root, folders, 2);
    assert_has(root, "time-train-width.csv", "\nbase@a-machine 2010-09-15T12:00:00Z,1,1,");
    assert_has(root, "time-train-width.csv", "\nbase@a-machine 2010-09-15T12:00:00Z #2,1,2,");
}

static void a_folder_without_rows_is_told(void **state)
{
    char first[FILES_PATH];
    struct cnn_error error = { CNN_OK, "" };
    write_run(*state, "a-machine", 1, 4, first);
    const char *const folders[] = { first, "/no/such/run" };
    assert_int_not_equal(charts_draw_together(folders, 2, *state, NULL, NULL, &error), CNN_OK);
    assert_non_null(strstr(error.text, "/no/such/run/rows.csv"));
}

int main(int argc, char **argv)
{
    if (argc == 2)
        setenv("CONVSCALE_HOME", argv[1], 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_of_every_machine, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(learning_of_every_machine, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(one_machine_at_two_times, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(a_folder_without_rows_is_told, files_folder_make, files_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
