/* SPDX-License-Identifier: MIT */
/* The progress line fits its terminal, never cuts a character, and forecasts from what was seen. */
#include "tests/unit/core.h"

#include "experiments/driver/progress.h"

#include <math.h>
#include <string.h>

static void durations_are_for_people(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } known[] = { { 0, "0 s" },           { 0.6, "1 s" },        { 99, "99 s" },
                  { 100, "2 min" },       { 600, "10 min" },     { 5940, "99 min" },
                  { 5941, "1 h 40 min" }, { 7200, "2 h 0 min" }, { 100000, "27 h 47 min" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[32];
        progress_duration(known[i].seconds, text, sizeof text);
        assert_string_equal(text, known[i].text);
    }
}

static void a_line_fits(void **state)
{
    (void)state;
    char line[256];
    progress_line(line, sizeof line, 3, 40, "lenet5 width 4", 61, 80);
    assert_string_equal(line, "[3/40] lenet5 width 4, about 61 s left");
    for (int columns = 0; columns < 60; columns++) {
        progress_line(line, sizeof line, 3, 40, "a title that is longer than any of these terminals are wide", 61,
                      columns);
        assert_in_range(strlen(line), 0, columns);
    }
}

static void a_character_is_never_cut(void **state)
{
    (void)state;
    char line[256];
    for (int columns = 20; columns < 60; columns++) {
        progress_line(line, sizeof line, 1, 2,
                      "\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e\xc3\xa4\xe2\x82\xac\xf0\x9d\x84"
                      "\x9e\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e",
                      5, columns);
        int expected = 0; /* continuation bytes that must follow */
        for (const char *at = line; *at; at++) {
            unsigned char byte = (unsigned char)*at;
            if ((byte & 0xc0) == 0x80)
                expected--;
            else
                assert_int_equal(expected, 0);
            if (byte >= 0xc0)
                expected = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
        }
        assert_int_equal(expected, 0);
    }
}

static void the_forecast_follows_experience(void **state)
{
    (void)state;
    assert_true(progress_left(0, 0, 30) == 30);
    double slow = progress_left(200, 100, 50), fast = progress_left(50, 100, 50);
    assert_true(fabs(slow - 100) < 2);
    assert_true(fabs(fast - 25) < 2);
    assert_true(progress_left(10, 20, 0) == 0);
}

static void more_work_costs_more(void **state)
{
    (void)state;
    struct point point = { .phase = POINT_TRAIN,
                           .batch = 64,
                           .min_samples = 10,
                           .max_samples = 100,
                           .max_time = 2,
                           .warmup = 0.1,
                           .epochs = 2 };
    struct cnn_error error;
    double last = 0;
    for (int width = 1; width <= 16; width *= 2) {
        struct cnn_network *network = NULL;
        assert_int_equal(cnn_builtin_spec(&point.spec, "lenet5", 32, &error), CNN_OK);
        point.spec.width = width;
        assert_int_equal(cnn_network_create(&network, &point.spec, &error), CNN_OK);
        double cost = progress_cost(&point, network);
        assert_true(cost > last && isfinite(cost));
        last = cost;
        point.phase = POINT_ACCURACY;
        assert_true(progress_cost(&point, network) > cost);
        point.phase = POINT_TRAIN;
        cnn_network_destroy(network);
    }
    assert_true(progress_cost(&point, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_for_people), cmocka_unit_test(a_line_fits),
        cmocka_unit_test(a_character_is_never_cut), cmocka_unit_test(the_forecast_follows_experience),
        cmocka_unit_test(more_work_costs_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
