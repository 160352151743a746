/* SPDX-License-Identifier: MIT */
/* What can be told apart, of made-up runs whose answer is known: this program is its own child, and its times follow
 * from what is planted. */
#include "experiments/driver/resolution.h"
#include "tests/unit/sweeps.h"

#include <cjson/cJSON.h>
#include <math.h>

/* ---- the child: 1 ms, slower by what is planted; the point's batch is the half-width of its interval in 0.1 % ---- */

static int be_a_run(void)
{
    static char text[1 << 16];
    struct point point;
    struct result result;
    struct cnn_error error;
    text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
    if (point_from_json(&point, text, &error))
        return 99;
    result_init(&result);
    result.status = CNN_OK;
    result.median = 1e-3 * (1 + point.planted);
    result.low = result.median * (1 - 1e-3 * point.batch);
    result.high = result.median * (1 + 1e-3 * point.batch);
    if (!strcmp(point.label, "fails"))
        result_set(&result, CNN_MISMATCH, "output 0 is wrong");
    char *json = result_to_json(&result);
    bool written = write(3, json, strlen(json)) == (ssize_t)strlen(json);
    free(json);
    return written ? 0 : 98;
}

/* ---- the tests ---- */

static struct point a_point(int tenths, const char *label)
{
    struct point points[POINTS];
    make_points(points);
    points[0].batch = tenths;
    set_label(&points[0], label);
    return points[0];
}

static struct resolution measured(int tenths)
{
    const struct point point = a_point(tenths, "fine");
    struct resolution resolution;
    struct cnn_error error = { CNN_OK, "" };
    if (resolution_measure(&resolution, self, &point, NULL, &error))
        fail_msg("%s", error.text);
    return resolution;
}

static void the_smallest_is_what_intervals_allow(void **state)
{
    (void)state;
    static const struct {
        int tenths; /* the interval's half-width in 0.1 % */
        double smallest;
    } cases[] = { { 4, 0.01 }, { 8, 0.02 }, { 20, 0.05 }, { 40, NAN } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct resolution resolution = measured(cases[i].tenths);
        double smallest = cases[i].smallest;
        assert_true(isnan(smallest) ? isnan(resolution.smallest) : resolution.smallest == smallest);
        for (int level = 0; level < RESOLUTION_LEVELS; level++) {
            bool seen = resolution.level[level].planted >= smallest;
            assert_int_equal(resolution.level[level].seen, seen ? resolution.level[level].pairs : 0);
            assert_true(fabs(resolution.level[level].measured - resolution.level[level].planted) < 1e-9);
        }
    }
}

static void a_build_equals_itself(void **state)
{
    (void)state;
    struct resolution resolution = measured(4);
    assert_int_equal(resolution.runs, 12);
    assert_int_equal(resolution.pairs, 66);
    assert_int_equal(resolution.words[COMPARE_SAME], 66);
    assert_true(resolution.largest < 1e-9);
    assert_true(resolution.timer_step > 0 && resolution.timer_reading > 0 && resolution.timer_reading < 1e-4);
}

static void a_failed_run_ends_it(void **state)
{
    (void)state;
    const struct point point = a_point(4, "fails");
    struct resolution resolution;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_equal(resolution_measure(&resolution, self, &point, NULL, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, "mismatch: output 0 is wrong"));
}

static void false_alarms_are_told(void **state)
{
    (void)state;
    const struct point point = a_point(4, "fine");
    const struct resolution resolution = {
        .timer_step = 2e-8,
        .timer_reading = 3e-8,
        .runs = 12,
        .pairs = 66,
        .words = { [COMPARE_SLOWER] = 2, [COMPARE_FASTER] = 1, [COMPARE_SAME] = 60, [COMPARE_UNCLEAR] = 3 },
        .largest = 0.031,
        .level = { { 0.01, 0.0125, 12, 4 }, { 0.02, 0.0187, 12, 11 }, { 0.05, 0.051, 12, 12 } },
        .smallest = 0.02,
    };
    static const char *const parts[] = {
        "steps of 20 ns",
        "2 slower, 1 faster: 5 % false",
        "3.1 %",
        "1 %    1.25 %     12               4",
        "Smallest slowdown seen, in 90 % of its pairs at least: 2 %.",
    };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    resolution_print(out, &resolution, &point, 1000);
    fclose(out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("expected %s in\n%s", parts[i], text);
    free(text);
    char *json = resolution_json(&resolution, &point);
    cJSON *object = cJSON_Parse(json);
    assert_non_null(object);
    assert_true(cJSON_GetObjectItem(object, "smallest_seen")->valuedouble == 0.02);
    assert_true(fabs(cJSON_GetObjectItem(object, "false_alarms")->valuedouble - 3.0 / 66) < 1e-12);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(object, "planted")), 3);
    cJSON_Delete(object);
    free(json);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return be_a_run();
    if (!find_self(argv[0]))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_is_what_intervals_allow),
        cmocka_unit_test(a_build_equals_itself),
        cmocka_unit_test(a_failed_run_ends_it),
        cmocka_unit_test(false_alarms_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
