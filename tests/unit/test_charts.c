/* SPDX-License-Identifier: MIT */
/* Charts from made-up runs: which figures there are, the numbers in them, and that pictures are really drawn. */
#include "tests/unit/made_runs.h"

static const char study_text[] =
    "title = \"A made-up study\";\nnetwork = \"lenet5\";\nwidth = [1, 2, 4];\nbatch = 16;\nphase = \"train\";\n"
    "series = ( { id = \"plain\"; label = \"CPU, plain\"; backend = \"cpu\"; algorithm = \"naive\"; },\n"
    "           { id = \"tuned\"; label = \"CPU, tuned\"; backend = \"cpu\"; algorithm = \"direct\"; } );\n"
    "base = \"plain\";\n"
    "claims = ( { text = \"2 to 24 times faster\"; ratio = \"2..24\"; pairs = (\"plain/tuned\"); } );\n";

/* Numbers of each figure; a failed point is an empty cell with its word, never 0; only ok rows enter a ratio. */
static void numbers_are_those_of_the_rows(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    add(&run, make_point("tuned", 4, 1, 16), CNN_OK, 0.002);
    add(&run, make_point("plain", 1, 1, 16), CNN_OK, 0.01);
    add(&run, make_point("tuned", 1, 1, 16), CNN_OK, 0.001);
    add(&run, make_point("plain", 4, 1, 16), CNN_UNSTABLE, 0.08);
    add(&run, make_point("tuned", 2, 1, 16), CNN_OOM, NAN);
    add(&run, make_point("plain", 2, 1, 16), CNN_OK, 0.04);
    add(&run, make_point("gpu", 1, 1, 16), CNN_UNAVAILABLE, NAN);
    add(&run, make_point("gpu", 2, 1, 16), CNN_UNAVAILABLE, NAN);
    add_file(&run, "study.cfg", study_text);
    assert_int_equal(run_draw(&run), CNN_OK);
    char *time = read_file(&run, "time-train-width.csv");
    assert_string_equal(time, "series,width,seconds_per_step,low,high,status,x\n"
                              "plain,1,0.01,0.009,0.011,ok,1\nplain,2,0.04,0.036,0.044,ok,2\n"
                              "plain,4,0.08,0.072,0.088,unstable,4\ntuned,1,0.001,0.0009,0.0011,ok,1\n"
                              "tuned,2,,,,oom,2\ntuned,4,0.002,0.0018,0.0022,ok,4\n");
    char *rate = read_file(&run, "throughput-train-width.csv");
    assert_contains(rate, "plain,1,1600,1454.54545,1777.77778,ok,1\n");
    char *ratio = read_file(&run, "speedup-train-width.csv");
    assert_string_equal(ratio, "series,width,speedup,low,high,status,x\n"
                               "tuned,1,10,8.18181818,12.2222222,ok,1\ntuned,2,,,,oom,2\ntuned,4,,,,base unstable,4\n");
    char *words = read_file(&run, "speedup-train-width.set");
    assert_contains(words, "title = 'A made-up study: training'");
    assert_contains(words, "claim_low[1] = 2\nclaim_high[1] = 24\nclaim_text[1] = '2 to 24 times faster'");
    assert_contains(words, "about = 'lenet5, depth 1, image 32, batch 16, connections paper, fp32, copies none");
    assert_contains(words, "Base: CPU, plain, 10 to 80 ms per step");
    assert_contains(words, "Not drawn: CPU, gpu (2 unavailable)");
    assert_pictures(&run, "time-train-width");
    assert_pictures(&run, "throughput-train-width");
    assert_pictures(&run, "speedup-train-width");
    assert_contains(run.log, "speedup-train-width.png\n");
    free(time);
    free(rate);
    free(ratio);
    free(words);
    run_end(&run);
}

/* Two axes that do not cross make a figure each; two that cross make figures over the longer
 * one, the first of equals, for each value of the other.
 */
static void axes_make_figures(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int size = 1; size <= 4; size *= 2) {
        add(&run, make_point("tuned", size, 1, 16), CNN_OK, 0.001 * size);
        if (size > 1)
            add(&run, make_point("tuned", 1, size, 16), CNN_OK, 0.002 * size);
    }
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "time-train-width-depth-1");
    assert_pictures(&run, "time-train-depth-width-1");
    assert_false(exists(&run, "time-train-width-depth-2.csv"));
    char *depth = read_file(&run, "time-train-depth-width-1.csv");
    assert_contains(depth, "tuned,1,0.001,0.0009,0.0011,ok,1\ntuned,2,0.004,0.0036,0.0044,ok,2\n");
    free(depth);
    run_end(&run);

    run_start(&run);
    for (int size = 1; size <= 2; size++)
        for (int batch = 1; batch <= 2; batch++)
            add(&run, make_point("tuned", size, 1, batch), CNN_OK, 0.001 * size);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_true(exists(&run, "time-train-width-batch-1.svg"));
    assert_true(exists(&run, "time-train-width-batch-2.svg"));
    assert_false(exists(&run, "time-train-batch-width-1.svg"));
    run_end(&run);

    run_start(&run); /* the longer axis lies below the figure */
    for (int size = 1; size <= 2; size++)
        for (int batch = 1; batch <= 4; batch *= 2)
            add(&run, make_point("tuned", size, 1, batch), CNN_OK, 0.001 * size);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_true(exists(&run, "time-train-batch-width-1.svg"));
    assert_true(exists(&run, "time-train-batch-width-2.svg"));
    assert_false(exists(&run, "time-train-width-batch-1.svg"));
    run_end(&run);
}

static void a_single_point_is_a_point(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    add(&run, make_point("tuned", 1, 1, 16), CNN_OK, 0.001);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "time-train-width");
    assert_false(exists(&run, "speedup-train-width.csv"));
    assert_contains(run.log, "no chart speedup-train-width: there is no series beside the base");
    run_end(&run);
}

static void without_numbers_there_is_no_chart_but_a_reason(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    add(&run, make_point("gpu", 1, 1, 16), CNN_UNAVAILABLE, NAN);
    add(&run, make_point("gpu", 2, 1, 16), CNN_OOM, NAN);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_contains(run.log, "no chart time-train-width: no point has a number: CPU, gpu (1 unavailable, 1 oom)");
    assert_false(exists(&run, "time-train-width.svg"));
    run_end(&run);

    run_start(&run);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_contains(run.log, "has no rows");
    run_end(&run);
}

/* gnuplot runs shell commands in back quotes; words of a study are never read as commands. */
static void words_stay_words(void **state)
{
    (void)state;
    struct run run;
    char study[1024], trap[72];
    run_start(&run);
    snprintf(trap, sizeof trap, "%s/trap", run.root);
    snprintf(study, sizeof study,
             "title = \"It's `touch %s` \\\"$(touch %s)\\\" _x^2 {/=99 y}\";\nnetwork = \"lenet5\";\nwidth = [1, 2];\n"
             "series = ( { id = \"tuned\"; label = \"it's `touch %s`\"; backend = \"cpu\"; } );\n",
             trap, trap, trap);
    for (int width = 1; width <= 2; width++) {
        struct point point = make_point("tuned", width, 1, 16);
        snprintf(point.label, sizeof point.label, "'`touch %s`", trap);
        add(&run, point, CNN_OK, 0.001);
        snprintf(point.series, sizeof point.series, "other");
        add(&run, point, CNN_OK, 0.002);
    }
    add_file(&run, "study.cfg", study);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "time-train-width");
    assert_int_not_equal(access(trap, F_OK), 0);
    char *svg = read_file(&run, "time-train-width.svg");
    assert_contains(svg, "_x^2 {/=99 y}");
    free(svg);
    run_end(&run);
}

static void without_gnuplot_the_numbers_are_there(void **state)
{
    (void)state;
    struct run run;
    char *path = strdup(getenv("PATH"));
    run_start(&run);
    add(&run, make_point("tuned", 1, 1, 16), CNN_OK, 0.001);
    add(&run, make_point("tuned", 2, 1, 16), CNN_OK, 0.002);
    setenv("PATH", run.root, 1);
    int status = run_draw(&run);
    setenv("PATH", path, 1);
    assert_int_equal(status, CNN_UNAVAILABLE);
    assert_contains(run.error.text, "gnuplot is not installed");
    assert_contains(run.error.text, "--plot ");
    assert_true(exists(&run, "time-train-width.csv"));
    assert_false(exists(&run, "time-train-width.svg"));
    assert_int_equal(run_draw(&run), CNN_OK); /* later, with gnuplot */
    assert_pictures(&run, "time-train-width");
    free(path);
    run_end(&run);
}

/* A gnuplot that fails, or ends well without a picture, is an error; an old picture does not pass for a new one. */
static void a_failing_gnuplot_is_told(void **state)
{
    (void)state;
    static const char *const scripts[] = { "#!/bin/sh\necho 'no such terminal' >&2\nexit 3\n", "#!/bin/sh\nexit 0\n" };
    char *path = strdup(getenv("PATH"));
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct run run;
        char tool[256];
        run_start(&run);
        add(&run, make_point("tuned", 1, 1, 16), CNN_OK, 0.001);
        assert_int_equal(run_draw(&run), CNN_OK);
        snprintf(tool, sizeof tool, "%s/gnuplot", run.root);
        FILE *file = fopen(tool, "w");
        assert_non_null(file);
        fputs(scripts[i], file);
        fclose(file);
        chmod(tool, 0755);
        setenv("PATH", run.root, 1);
        int status = run_draw(&run);
        setenv("PATH", path, 1);
        assert_int_equal(status, CNN_ERROR);
        assert_contains(run.error.text, "drew no picture");
        assert_contains(run.error.text, i == 0 ? "no such terminal" : "without a word");
        assert_false(exists(&run, "time-train-width.svg"));
        run_end(&run);
    }
    free(path);
}

static void a_folder_without_rows_is_an_error(void **state)
{
    (void)state;
    struct cnn_error error = { 0 };
    assert_int_equal(charts_draw("/nowhere/at/all", NULL, NULL, &error), CNN_ERROR);
    assert_contains(error.text, "/nowhere/at/all/rows.csv");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_rows),
        cmocka_unit_test(axes_make_figures),
        cmocka_unit_test(a_single_point_is_a_point),
        cmocka_unit_test(without_numbers_there_is_no_chart_but_a_reason),
        cmocka_unit_test(words_stay_words),
        cmocka_unit_test(without_gnuplot_the_numbers_are_there),
        cmocka_unit_test(a_failing_gnuplot_is_told),
        cmocka_unit_test(a_folder_without_rows_is_an_error),
    };
    return charts_can_be_drawn(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
