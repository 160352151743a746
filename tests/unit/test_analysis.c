/* SPDX-License-Identifier: MIT */
/* The analysis of made-up runs whose answer is known: break-even, costs, scaling, as CSV and in words. */
#include "experiments/driver/analysis.h"
#include "experiments/driver/rows.h"
#include "lib/random.h"
#include "tests/unit/files.h"

#include <math.h>

struct run {
    struct rows_writer *writer;
    char folder[1024];
    char *text;
};

static const struct row_context context = { "made-up", "machine-8cpu", "0.1.0", "2010-09-15T12:00:00Z", NULL };

static void run_start(struct run *run, const char *root)
{
    struct cnn_error error;
    *run = (struct run){ .text = NULL };
    assert_int_equal(rows_open(&run->writer, root, "machine-8cpu", "made-up", &error), CNN_OK);
    snprintf(run->folder, sizeof run->folder, "%s", rows_folder(run->writer));
}

static struct point make_point(const char *series, int image, int batch, int threads)
{
    struct point point = { .phase = POINT_TRAIN, .batch = batch, .threads = threads };
    snprintf(point.series, sizeof point.series, "%s", series);
    snprintf(point.label, sizeof point.label, "the %s", series);
    snprintf(point.spec.name, sizeof point.spec.name, "lenet5");
    point.spec.width = point.spec.depth = 1;
    point.spec.image = image;
    point.spec.connections.paper = true;
    return point;
}

/* Median with an interval of 1 % to each side. */
static void add(struct run *run, struct point point, enum cnn_status status, double seconds, double flops)
{
    struct cnn_error error;
    struct result result;
    result_init(&result);
    result.status = status;
    result.median = seconds;
    result.low = 0.99 * seconds;
    result.high = 1.01 * seconds;
    result.threads = point.threads;
    result.flops_executed = flops;
    assert_int_equal(rows_append(run->writer, &context, &point, NULL, &result, &error), CNN_OK);
}

static void analyse(struct run *run)
{
    struct cnn_error error = { CNN_OK, "" };
    size_t size;
    FILE *text = open_memstream(&run->text, &size);
    assert_int_equal(rows_close(run->writer, &error), CNN_OK);
    if (analysis_write(run->folder, text, &error))
        fail_msg("%s", error.text);
    assert_int_equal(fclose(text), 0);
}

static char *read_csv(const struct run *run, const char *name)
{
    char path[2048], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/charts/%s", run->folder, name);
    FILE *file = fopen(path, "r");
    if (file && getdelim(&text, &size, EOF, file) < 0)
        fail_msg("%s is empty", path);
    if (file)
        fclose(file);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("expected \"%s\" in:\n%s", part, text ? text : "(nothing)");
}

/* The number in a column of the first line that starts with `start`. */
static double cell(const char *text, const char *start, const char *column)
{
    const char *header = text, *line = text;
    int place = 0;
    for (const char *at = header; strncmp(at, column, strlen(column)) || !strchr(",\n", at[strlen(column)]); place++)
        at += strcspn(at, ",\n") + 1;
    while (*line && strncmp(line, start, strlen(start)))
        line += strcspn(line, "\n") + (strchr(line, '\n') != NULL);
    assert_true(*line);
    for (; place > 0; place--)
        line += strcspn(line, ",\n") + 1;
    return strtod(line, NULL);
}

static void assert_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("%g, expected %g within %g of it", found, expected, relative);
}

/* CPU: image^2 us; GPU: 40 image us: equal at image 40. Only `ok` rows count. */
static void break_even_is_where_it_was_planted(void **state)
{
    struct run run;
    run_start(&run, *state);
    for (int image = 16; image <= 96; image += 20) {
        add(&run, make_point("cpu", image, 1, 0), CNN_OK, 1e-6 * image * image, NAN);
        add(&run, make_point("gpu", image, 1, 0), CNN_OK, 40e-6 * image, NAN);
        add(&run, make_point("slow", image, 1, 0), CNN_OK, 1e-3 * image * image, NAN);
    }
    add(&run, make_point("cpu", 8, 1, 0), CNN_OK, 64e-6, NAN);
    add(&run, make_point("gpu", 8, 1, 0), CNN_UNSTABLE, 1e-9, NAN);
    analyse(&run);
    char *csv = read_csv(&run, "breakeven.csv");
    assert_near(cell(csv, "train,image,cpu,gpu,overtakes", "at"), 40, 1e-5);
    assert_true(cell(csv, "train,image,cpu,gpu,overtakes", "low") < 39.9);
    assert_true(cell(csv, "train,image,cpu,gpu,overtakes", "low") > 39);
    assert_true(cell(csv, "train,image,cpu,gpu,overtakes", "high") < 41);
    assert_true(cell(csv, "train,image,cpu,gpu,overtakes", "from") == 56);
    assert_true(cell(csv, "train,image,cpu,gpu,overtakes", "points") == 5);
    assert_contains(csv, "train,image,cpu,slow,slower,,,,16,5,");
    assert_contains(run.text, "the gpu passes the cpu at image 40 (");
    assert_contains(run.text, "faster from 56 on");
    assert_contains(run.text, ": the cpu is faster than the slow from image 16 on\n");
    assert_contains(run.text, ": the gpu is faster than the slow from image 16 on\n");
    assert_null(read_csv(&run, "scaling.csv"));
    free(csv);
    free(run.text);
}

/* As fast at the first size, as far as can be told, and faster behind it: no crossing, but a place to lead from. */
static void a_lead_has_its_first_place(void **state)
{
    struct run run;
    run_start(&run, *state);
    for (int image = 16; image <= 64; image *= 2) {
        add(&run, make_point("cpu", image, 1, 0), CNN_OK, 1e-6 * image * image, NAN);
        add(&run, make_point("omp", image, 1, 0), CNN_OK, image == 16 ? 0.257e-3 : 0.6e-6 * image * image, NAN);
        add(&run, make_point("twin", image, 1, 0), CNN_OK, 1.001e-6 * image * image, NAN);
    }
    analyse(&run);
    char *csv = read_csv(&run, "breakeven.csv");
    assert_contains(csv, "train,image,cpu,omp,faster,,,,32,3,");
    assert_contains(csv, "train,image,cpu,twin,undecided,,,,,3,");
    assert_contains(run.text, ": the omp is faster than the cpu from image 32 on; the twin from image 32 on\n");
    free(csv);
    free(run.text);
}

/* 30 us and 20 GFLOP/s, and 5 us more for every block. */
static void costs_are_what_was_planted(void **state)
{
    struct run run;
    run_start(&run, *state);
    for (int depth = 1; depth <= 8; depth *= 2)
        for (int width = 1; width <= 4; width *= 2) {
            struct point point = make_point("cpu", 32, 1, 0);
            double flops = 1e6 * width * width * (3 + depth);
            point.spec.depth = depth;
            point.spec.width = width;
            add(&run, point, CNN_OK, 30e-6 + 5e-6 * depth + flops / 20e9, flops);
        }
    add(&run, make_point("few", 32, 1, 0), CNN_OK, 1, 1);
    analyse(&run);
    char *csv = read_csv(&run, "model.csv");
    assert_near(cell(csv, "train,cpu,", "fixed_seconds"), 30e-6, 1e-4);
    assert_near(cell(csv, "train,cpu,", "gflop_per_second"), 20, 1e-4);
    assert_near(cell(csv, "train,cpu,", "depth_seconds"), 5e-6, 1e-4);
    assert_true(cell(csv, "train,cpu,", "held_out_error") < 1e-6);
    assert_null(strstr(csv, "few"));
    assert_contains(run.text,
                    "the cpu: 30 us (30 us to 30 us) + depth * 5 us + work / 20.0 GFLOP/s (20.0 to 20.0); R2 1.000");
    free(csv);
    free(run.text);
}

/* T(n) = 1 ms (0.1 + 0.9 / n) with 1 % of noise; twice the images on two threads take 1.25 times as long. */
static void a_planted_serial_fraction_is_recovered(void **state)
{
    struct run run;
    struct cnn_random random;
    cnn_random_init(&random, 7, CNN_STREAM_TEST, 0);
    run_start(&run, *state);
    for (int threads = 1; threads <= 16; threads *= 2)
        add(&run, make_point("omp", 32, 64, threads), CNN_OK,
            1e-3 * (0.1 + 0.9 / threads) * (1 + 0.01 * cnn_random_normal(&random)), NAN);
    add(&run, make_point("omp", 32, 128, 2), CNN_OK, 1.25e-3, NAN);
    add(&run, make_point("cpu", 32, 64, 0), CNN_OK, 1e-3, NAN);
    analyse(&run);
    char *csv = read_csv(&run, "scaling.csv");
    assert_near(cell(csv, "train,omp,strong,16", "serial_fraction"), 0.1, 0.1);
    assert_true(cell(csv, "train,omp,strong,16", "serial_low") < 0.1);
    assert_true(cell(csv, "train,omp,strong,16", "serial_high") > 0.1);
    assert_near(cell(csv, "train,omp,strong,16", "speedup"), 6.4, 0.05);
    assert_near(cell(csv, "train,omp,strong,16", "efficiency"), 0.4, 0.05);
    assert_near(cell(csv, "train,omp,strong,16", "amdahl_seconds"), 1e-3 * (0.1 + 0.9 / 16), 0.02);
    assert_near(cell(csv, "train,omp,weak,2", "efficiency"), 0.8, 0.05);
    assert_null(strstr(csv, "cpu"));
    assert_contains(run.text, "serial fraction 0.");
    assert_contains(run.text, "weak: 2 threads are 1.6");
    free(csv);
    free(run.text);
}

/* Ideal 0.5 ms; the machine gains 1.6 of 2 threads (0.125 ms lost), 0.02 ms of empty passes, memory needs 0.55 ms. */
static void a_planted_loss_is_split(void **state)
{
    static const char ceilings[] =
        "{ \"schema\": 1, \"machine\": \"m\", \"build\": \"0\", \"measured\": \"2010-09-15T12:00:00Z\", \"devices\": "
        "[\n"
        "{ \"backend\": \"omp\", \"device\": \"d\", \"index\": 0, \"threads\": 1, \"ceilings\": [\n"
        "  { \"kind\": \"fma\", \"of\": \"avx2\", \"precision\": \"fp32\", \"value\": 1e11 } ] },\n"
        "{ \"backend\": \"omp\", \"device\": \"d\", \"index\": 0, \"threads\": 2, \"ceilings\": [\n"
        "  { \"kind\": \"fma\", \"of\": \"avx2\", \"precision\": \"fp32\", \"value\": 1.6e11 } ] } ] }\n";
    struct run run;
    struct cnn_error error;
    run_start(&run, *state);
    assert_int_equal(rows_write_file(run.writer, "ceilings.json", ceilings, sizeof ceilings - 1, &error), CNN_OK);
    for (int threads = 1; threads <= 2; threads++) {
        struct point point = make_point("omp", 32, 64, threads);
        struct result result;
        result_init(&result);
        snprintf(point.backend, sizeof point.backend, "omp");
        snprintf(result.isa, sizeof result.isa, "avx2");
        result.status = CNN_OK;
        result.threads = threads;
        result.median = threads == 1 ? 1e-3 : 0.8e-3;
        result.limit_seconds = (struct limit_seconds){ 0, 0.55e-3, 0.02e-3, NAN };
        assert_int_equal(rows_append(run.writer, &context, &point, NULL, &result, &error), CNN_OK);
    }
    analyse(&run);
    char *csv = read_csv(&run, "scaling.csv");
    assert_near(cell(csv, "train,omp,strong,2", "machine_efficiency"), 1.25 / 1.6, 1e-4);
    assert_near(cell(csv, "train,omp,strong,2", "lost_seconds"), 0.3e-3, 1e-4);
    assert_near(cell(csv, "train,omp,strong,2", "lost_machine"), 0.125e-3, 1e-4);
    assert_near(cell(csv, "train,omp,strong,2", "lost_barriers"), 0.02e-3, 1e-4);
    assert_near(cell(csv, "train,omp,strong,2", "lost_memory"), 0.05e-3, 1e-4);
    assert_near(cell(csv, "train,omp,strong,2", "lost_rest"), 0.105e-3, 1e-4);
    assert_contains(run.text, "lost: machine 42 %, barriers 7 %, memory 17 %, rest 35 %");
    free(csv);
    free(run.text);
}

/* Threads that did not run do not count: a small step runs on one. */
static void threads_that_did_not_run_are_left_out(void **state)
{
    struct run run;
    run_start(&run, *state);
    for (int threads = 1; threads <= 4; threads *= 2) {
        struct cnn_error error;
        struct point point = make_point("omp", 32, 1, threads);
        struct result result;
        result_init(&result);
        result.status = CNN_OK;
        result.median = 1e-3;
        result.threads = 1;
        assert_int_equal(rows_append(run.writer, &context, &point, NULL, &result, &error), CNN_OK);
    }
    analyse(&run);
    assert_null(read_csv(&run, "scaling.csv"));
    assert_string_equal(run.text, "");
    free(run.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(break_even_is_where_it_was_planted, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(a_lead_has_its_first_place, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(costs_are_what_was_planted, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(a_planted_serial_fraction_is_recovered, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(a_planted_loss_is_split, files_folder_make, files_folder_remove),
        cmocka_unit_test_setup_teardown(threads_that_did_not_run_are_left_out, files_folder_make, files_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
