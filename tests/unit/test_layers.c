/* SPDX-License-Identifier: MIT */
/* Operations of a point: as a table, as layers.csv, and how they are timed. */
#include "experiments/driver/layers.h"
#include "tests/unit/row_material.h"

#include "experiments/driver/backends.h"

#include <math.h>

/* Two operations of C1 and one of F6: 0.25, 0.5 and 0.25 ms; a whole step of 1.25 ms, of which 0.25 ms remain. */
static struct result taken_apart(void)
{
    struct result result = a_result();
    static const struct operation_result operations[] = {
        { "conv_forward", 0, "C1", "direct", "a.c", 2.5e-4, 5e5, 6e5, 1024 },
        { "conv_backward_weights", 0, "C1", "gemm", "b.c", 5e-4, 5e5, 5e5, 2048 },
        { "update", 6, "F6", "", "c.c", 2.5e-4, 0, 0, 16 },
    };
    result.operation = calloc(3, sizeof *result.operation);
    assert_non_null(result.operation);
    memcpy(result.operation, operations, sizeof operations);
    result.operations = 3;
    return result;
}

static void assert_line(const char *text, const char *const *words, int count)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line, *end = strchr(line, '\n');
        int found = 0;
        while (found < count && (at = strstr(at, words[found])) && (!end || at < end))
            found++;
        if (found == count)
            return;
    }
    fail_msg("expected a line with %s and %s in\n%s", words[0], words[count - 1], text);
}

static void a_table_has_shares_sum_and_remainder(void **state)
{
    (void)state;
    static const char *const lines[][4] = {
        { "conv_forward", "C1", "250 ", "25.0 %" },
        { "conv_backward_weights", "gemm", "500 ", "50.0 %" },
        { "update", "F6", "25.0 %", "c.c" },
        { "sum", "1 ms", "100.0 %", "" },
        { "whole step", "1.25 ms", "125.0 %", "" },
        { "remainder", "250 ", "25.0 %", "" },
        { "C1", "750 ", "75.0 %", "" },
        { "F6", "250 ", "25.0 %", "" },
    };
    struct point point = a_point();
    struct result results[2] = { taken_apart() };
    char *text = NULL;
    size_t size;
    result_init(&results[1]);
    const struct point points[2] = { point, point };
    FILE *out = open_memstream(&text, &size);
    assert_true(layers_print(out, points, results, 2, 120));
    fclose(out);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_line(text, lines[i], 4);
    char *title = strstr(text, "lenet5 width 4");
    assert_non_null(title);
    assert_null(strstr(title + 1, "lenet5 width 4")); /* the other point has none */
    free(text);
    result_free(&results[0]);
}

static void points_without_operations_print_nothing(void **state)
{
    (void)state;
    const struct point point = a_point();
    struct result result = a_result();
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_true(layers_print(out, &point, &result, 1, 120));
    fclose(out);
    assert_string_equal(text, "");
    free(text);
    result_free(&result);
}

static void layers_csv_is_made_with_the_first_of_them(void **state)
{
    static const char *const rest =
        "seconds,share,useful_flop,executed_flop,bytes,sum_seconds,step_seconds,remainder_seconds\n";
    struct rows_writer *writer = open_run(*state);
    struct point point = a_point();
    struct result plain = a_result(), result = taken_apart();
    struct cnn_error error;
    char path[FILES_PATH * 2];
    append(writer, &point, &plain);
    snprintf(path, sizeof path, "%s/layers.csv", rows_folder(writer));
    assert_int_equal(access(path, F_OK), -1);
    append(writer, &point, &result);
    result.median = 5e-4; /* less than the operations took one by one */
    append(writer, &point, &result);
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    char *text = slurp(path);
    assert_non_null(strstr(text, rest));
    assert_non_null(strstr(text, "\n2,omp,lenet5,4,1,32,128,train,conv_forward,0,C1,direct,a.c,0.00025,0.25,500000,"
                                 "600000,1024,0.001,0.00125,0.00025\n"));
    assert_non_null(strstr(text, "\n3,omp,lenet5,4,1,32,128,train,update,6,F6,,c.c,0.00025,0.25,0,0,16,0.001,0.0005,"
                                 "-0.0005\n"));
    free(text);
    result_free(&plain);
    result_free(&result);
}

/* What a crash left of a point without its row goes, what belongs to rows stays. */
static void layers_are_mended_with_their_rows(void **state)
{
    struct rows_writer *writer = open_run(*state);
    struct point point = a_point();
    struct result result = taken_apart();
    struct cnn_error error;
    char path[FILES_PATH * 3], folder[FILES_PATH * 2];
    append(writer, &point, &result);
    snprintf(folder, sizeof folder, "%s", rows_folder(writer));
    snprintf(path, sizeof path, "%s/layers.csv", folder);
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    char *before = slurp(path);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("2,omp,lenet5,4,1,32,128,train,conv_forward,0,C", file);
    fclose(file);
    assert_int_equal(rows_reopen(&writer, folder, &error), CNN_OK);
    append(writer, &point, &result);
    assert_int_equal(rows_close(writer, &error), CNN_OK);
    char *after = slurp(path);
    assert_memory_equal(after, before, strlen(before));
    assert_non_null(strstr(after, "\n2,omp,lenet5,4,1,32,128,train,update,6,F6,"));
    assert_null(strstr(after, ",C2,")); /* the torn line would have run into the next */
    free(before);
    free(after);
    result_free(&result);
}

/* A real program's operations: executed and useful FLOPs add up to those of the whole step. */
static void operations_add_up_to_the_step(void **state)
{
    (void)state;
    static const char *const algorithms[] = { "naive", "direct" };
    static const enum point_phase phases[] = { POINT_TRAIN, POINT_CLASSIFY, POINT_EVALUATE };
    for (int i = 0; i < 6; i++) {
        struct cnn_error error = { CNN_OK, "" };
        struct point point = a_point();
        struct result result;
        point.choice_count = 0;
        point.batch = 3;
        point.threads = 0;
        point.spec.width = 1;
        point.phase = phases[i / 2];
        snprintf(point.backend, sizeof point.backend, "cpu");
        snprintf(point.algorithm, sizeof point.algorithm, "%s", algorithms[i % 2]);
        struct bench bench = { .point = &point, .backend = backend_find("cpu", &error) };
        result_init(&result);
        if (bench_open(&bench, &result, &error) || layers_measure(&bench, &result, &error))
            fail_msg("%s", error.text);
        double useful = 0, executed = 0;
        for (int k = 0; k < result.operations; k++) {
            useful += result.operation[k].flops_useful;
            executed += result.operation[k].flops_executed;
            assert_true(result.operation[k].seconds >= 0);
            assert_true(result.operation[k].flops_executed == 0 || result.operation[k].bytes > 0);
            assert_true(*result.operation[k].name && *result.operation[k].file);
        }
        assert_true(result_operations_sum(&result) > 0);
        assert_true(useful == result.flops_useful);
        assert_true(executed == result.flops_executed);
        bench_close(&bench);
        result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_shares_sum_and_remainder),
        cmocka_unit_test(points_without_operations_print_nothing),
        cmocka_unit_test_setup_teardown(layers_csv_is_made_with_the_first_of_them, files_folder_make,
                                        files_folder_remove),
        cmocka_unit_test_setup_teardown(layers_are_mended_with_their_rows, files_folder_make, files_folder_remove),
        cmocka_unit_test(operations_add_up_to_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
