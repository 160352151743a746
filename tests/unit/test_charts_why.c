/* SPDX-License-Identifier: MIT */
/* The figures that say why, from made-up runs whose answer is known. */
#include "tests/unit/made_runs.h"

/* T(n) = 10 ms (0.2 + 0.8 / n): speed-ups and Amdahl's line are the same. */
static void scaling_is_drawn_with_amdahls_line(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int threads = 1; threads <= 8; threads *= 2) {
        struct point point = make_point("omp", 1, 1, 16);
        point.threads = threads;
        add(&run, point, CNN_OK, 0.01 * (0.2 + 0.8 / threads));
    }
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "scaling-train-threads");
    char *csv = read_file(&run, "scaling-train-threads.csv");
    assert_contains(csv, "series,threads,speedup,low,high,status,x,fit,samples\n");
    assert_contains(csv, "omp,8,3.33333333,");
    assert_contains(csv, ",ok,8,3.33333333,20\n");
    free(csv);
    run_end(&run);
}

/* The cost model is drawn through the points it was fitted to, and no other. */
static void a_cost_model_goes_through_its_points(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int width = 1; width <= 16; width *= 2) {
        run.flops = 1e6 * width * width;
        add(&run, make_point("plain", width, 1, 16), CNN_OK, 1e-4 + run.flops / 1e9);
    }
    assert_int_equal(run_draw(&run), CNN_OK);
    char *csv = read_file(&run, "time-train-width.csv");
    assert_contains(csv, "plain,16,0.2561,");
    assert_contains(csv, ",ok,16,0.2561,20\n");
    free(csv);
    run_end(&run);
}

/* Seconds of an image, in the order of the study; each bar starts where the one before it ended. */
static void parts_lead_from_step_to_step(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    add_file(&run, "study.cfg",
             "network = \"lenet5\"; width = 1; phase = \"train\"; figures = (\"parts\");\n"
             "series = ( { id = \"plain\"; backend = \"cpu\"; algorithm = \"naive\"; batch = 1; },\n"
             "           { id = \"lost\"; backend = \"cuda\"; algorithm = \"direct\"; batch = 1; },\n"
             "           { id = \"tuned\"; backend = \"cpu\"; algorithm = \"direct\"; batch = 16; } );\n");
    add(&run, make_point("tuned", 1, 1, 16), CNN_OK, 0.016);
    add(&run, make_point("lost", 1, 1, 1), CNN_UNAVAILABLE, NAN);
    add(&run, make_point("plain", 1, 1, 1), CNN_OK, 0.02);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "parts-train");
    char *csv = read_file(&run, "parts-train.csv");
    assert_contains(csv, "plain,\"CPU, plain\",0.02,0.018,0.022,ok,1,0.02,20\n");
    assert_contains(csv, "lost,\"CPU, lost\",,,,unavailable,2,,");
    assert_contains(csv, "tuned,\"CPU, tuned\",0.001,0.0009,0.0011,ok,3,0.02,20\n");
    free(csv);
    run_end(&run);
}

/* FLOPs over bytes and over seconds, under the roofs of the run's own ceilings. */
static void a_roofline_has_roofs_and_rows(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    add_file(
        &run, "ceilings.json",
        "{ \"schema\": 1, \"machine\": \"machine-2cpu\", \"build\": \"0\", \"measured\": \"2010-09-15T12:00:00Z\",\n"
        "  \"devices\": [ { \"backend\": \"cpu\", \"device\": \"a CPU\", \"index\": 0, \"threads\": 1, \"ceilings\": "
        "[\n"
        "    { \"kind\": \"fma\", \"of\": \"avx2\", \"precision\": \"fp32\", \"value\": 1e11 },\n"
        "    { \"kind\": \"memory\", \"of\": \"L1\", \"precision\": \"fp32\", \"bytes\": 32768, \"value\": 2e11 },\n"
        "    { \"kind\": \"memory\", \"of\": \"memory\", \"precision\": \"fp32\", \"value\": 1e10 } ] },\n"
        "    { \"backend\": \"omp\", \"device\": \"a CPU\", \"index\": 0, \"threads\": 2, \"ceilings\": [] } ] }\n");
    run.flops = 4e7;
    run.bytes = 4e6;
    struct point point = make_point("tuned", 1, 1, 16);
    snprintf(point.backend, sizeof point.backend, "cpu");
    point.threads = 1;
    add(&run, point, CNN_OK, 0.001);
    add_file(&run, "layers.csv",
             "row,operation,layer,name,seconds,executed_flop,bytes\n"
             "1,conv_forward,0,C1,0.0004,2e7,1e6\n1,maxpool_forward,1,S2,0.0001,0,1e6\n7,conv_forward,0,C1,1,1,1\n");
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "roofline-cpu-1-thread");
    assert_pictures(&run, "roofline-cpu-1-thread-layers");
    char *layers = read_file(&run, "roofline-cpu-1-thread-layers.csv");
    assert_string_equal(layers, "series,operation,flop_per_second,low,high,status,x\n"
                                "tuned,C1 conv_forward,5e+10,5e+10,5e+10,ok,20\n");
    free(layers);
    assert_false(exists(&run, "roofline-omp-2-threads.csv"));
    char *csv = read_file(&run, "roofline-cpu-1-thread.csv"), *set = read_file(&run, "roofline-cpu-1-thread.set");
    assert_contains(csv, "tuned,10,4e+10,");
    assert_contains(set, "rate[1] = 1e+11\nrate_text[1] = 'avx2: 100 GFLOP/s'\nrates = 1\n");
    assert_contains(set, "slope[2] = 1e+10\n");
    assert_contains(set, "slopes = 2\n");
    free(csv);
    free(set);
    run_end(&run);
}

/* The other is width x batch / 8 times faster: every point of the grid is there, and what is excluded is not. */
static void a_map_shows_ratios_over_two_axes(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    for (int width = 1; width <= 8; width *= 2)
        for (int batch = 1; batch <= 16; batch *= 4) {
            add(&run, make_point("plain", width, 1, batch), CNN_OK, 0.001 * width * batch);
            if (width < 8 || batch < 16)
                add(&run, make_point("tuned", width, 1, batch), CNN_OK, 0.008);
        }
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_pictures(&run, "map-train-tuned");
    char *csv = read_file(&run, "map-train-tuned.csv");
    assert_contains(csv, "series,width,batch,low,high,status,x,speedup,samples\n");
    assert_contains(csv, "tuned,8,4,4,4,ok,8,4,20\n");
    assert_contains(csv, "tuned,1,16,16,16,ok,1,2,20\n");
    assert_null(strstr(csv, "tuned,8,16,"));
    char *set = read_file(&run, "map-train-tuned.set");
    assert_contains(set, "\n0.000000 1.204120 0.301030\n\n0.301030 0.000000 "); /* 1 x 16 is 2, then the next block */
    assert_contains(set, "\n0.903090 1.204120 NaN\n");
    free(csv);
    free(set);
    run_end(&run);
}

/* Cuts that meet in one point, and what joules there are. */
static void cuts_are_no_map_and_energy_is_drawn(void **state)
{
    (void)state;
    struct run run;
    run_start(&run);
    run.joules = 0.25;
    for (int width = 1; width <= 4; width *= 2) {
        add(&run, make_point("plain", width, 1, 16), CNN_OK, 0.01 * width);
        add(&run, make_point("tuned", width, 1, 16), CNN_OK, 0.001 * width);
    }
    add(&run, make_point("plain", 1, 1, 64), CNN_OK, 0.04);
    add(&run, make_point("tuned", 1, 1, 64), CNN_OK, 0.004);
    assert_int_equal(run_draw(&run), CNN_OK);
    assert_false(exists(&run, "map-train-tuned.csv"));
    assert_pictures(&run, "energy-train-width-batch-16");
    char *csv = read_file(&run, "energy-train-width-batch-16.csv");
    assert_contains(csv, "series,width,energy_joule_per_image,low,high,status,x\n");
    assert_contains(csv, "tuned,4,0.25,0.25,0.25,ok,4\n");
    free(csv);
    run_end(&run);
}

/* The argument is the project's folder, where the scripts are. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaling_is_drawn_with_amdahls_line), cmocka_unit_test(a_cost_model_goes_through_its_points),
        cmocka_unit_test(parts_lead_from_step_to_step),       cmocka_unit_test(a_roofline_has_roofs_and_rows),
        cmocka_unit_test(a_map_shows_ratios_over_two_axes),   cmocka_unit_test(cuts_are_no_map_and_energy_is_drawn),
    };
    if (!charts_can_be_drawn(argc, argv))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
