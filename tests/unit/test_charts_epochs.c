/* SPDX-License-Identifier: MIT */
/* Charts of training runs: error over epochs and over seconds, a line for each series, a band for several seeds. */
#include "tests/unit/made_runs.h"

static void training_runs_show_error_over_epochs_and_seconds(void **state)
{
    (void)state;
    struct run run;
    struct result result;
    struct epoch_result epoch[2] = { { 1, 0.5, 0.9, 0.3, 0.95, 2, 10, 1 }, { 2, 0.2, 0.97, 0.2, 0.985, 2, 12, 1 } };
    struct point point = make_point("tuned", 1, 1, 16);
    run_start(&run);
    point.phase = POINT_ACCURACY;
    snprintf(point.data, sizeof point.data, "digits");
    result_init(&result);
    result.status = CNN_OK;
    result.median = 11;
    result.epochs = 2;
    result.epoch = epoch;
    assert_int_equal(rows_append(run.writer, &context, &point, NULL, &result, &run.error), CNN_OK);
    assert_int_equal(run_draw(&run), CNN_OK);
    char *epochs = read_file(&run, "accuracy-epochs.csv");
    assert_string_equal(epochs, "series,epoch,test_error_percent,low,high,status,x\n"
                                "tuned,1,5,5,5,ok,1\ntuned,2,1.5,1.5,1.5,ok,2\n");
    char *seconds = read_file(&run, "accuracy-seconds.csv");
    assert_contains(seconds, "tuned,10,5,5,5,ok,10\ntuned,22,1.5,1.5,1.5,ok,22\n");
    assert_pictures(&run, "accuracy-epochs");
    assert_pictures(&run, "accuracy-seconds");
    free(epochs);
    free(seconds);
    run_end(&run);
}

/* Three seeds of one series, one of another: the median and the range of every epoch, over a logarithmic time axis. */
static void seeds_make_a_band(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int i = 0; i < 4; i++) {
        struct result result;
        struct epoch_result epoch[2] = { { 1, 0.5 + 0.1 * i, 0.9, 0.3, 0.95 - 0.01 * i, 2, 10 + i, 1 },
                                         { 2, 0.2, 0.97, 0.2, 0.99 - 0.01 * (i == 1), 2, 10, 1 } };
        struct point point = make_point(i < 3 ? "tuned" : "plain", 1, 1, 16);
        point.phase = POINT_ACCURACY;
        point.spec.seed = (uint64_t)i + 1;
        snprintf(point.data, sizeof point.data, "digits");
        result_init(&result);
        result.status = CNN_OK;
        result.median = 10;
        result.epochs = 2;
        result.epoch = epoch;
        assert_int_equal(rows_append(run.writer, &context, &point, NULL, &result, &run.error), CNN_OK);
    }
    assert_int_equal(run_draw(&run), CNN_OK);
    char *epochs = read_file(&run, "accuracy-epochs.csv"), *seconds = read_file(&run, "accuracy-seconds.csv");
    char *words = read_file(&run, "accuracy-seconds.set");
    assert_contains(epochs, "tuned,1,6,5,7,ok,1\ntuned,2,1,1,2,ok,2\n");
    assert_contains(epochs, "plain,1,8,8,8,ok,1\nplain,2,1,1,1,ok,2\n");
    assert_contains(seconds, "tuned,11,6,5,7,ok,11\ntuned,21,1,1,2,ok,21\n");
    assert_contains(words, "xlog = 1");
    assert_contains(words, "medians of up to 3 seeds");
    assert_pictures(&run, "accuracy-epochs");
    assert_pictures(&run, "accuracy-seconds");
    free(epochs);
    free(seconds);
    free(words);
    run_end(&run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_runs_show_error_over_epochs_and_seconds),
        cmocka_unit_test(seeds_make_a_band),
    };
    return charts_can_be_drawn(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
