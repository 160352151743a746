/* SPDX-License-Identifier: MIT */
/* Points: their keys, their words, JSON there and back, and the filters that choose among them. */
#include "experiments/driver/filter.h"
#include "experiments/driver/study.h"
#include "tests/unit/core.h"

#include <stdlib.h>
#include <string.h>

/* A point in which no field is its default, so that one that is forgotten shows. */
static struct point full_point(void)
{
    struct point point = { .spec = core_spec("lenet5", 40, 3, 2) };
    point.spec.channels = 2;
    point.spec.classes = 7;
    point.spec.loss = CNN_SOFTMAX;
    point.spec.connections = (struct cnn_network_connections){ false, { CNN_CONNECT_DENSITY, 5, 0.1 } };
    point.spec.input_gradient = true;
    point.spec.seed = 18446744073709551557u;
    point.spec.layers[1].connections.density = 1.0 / 3;
    point.spec.layers[1].padding = CNN_SAME;
    point.phase = POINT_ACCURACY;
    point.batch = 129;
    point.copies = CNN_COPIES_ANSWER;
    point.launch = CNN_LAUNCH_STREAM;
    point.precision = CNN_TF32;
    point.threads = 5;
    point.device = 1;
    strcpy(point.series, "omp-5");
    strcpy(point.label, "CPU, \"five\" threads \xc3\xa4\n\\");
    strcpy(point.backend, "omp");
    strcpy(point.algorithm, "naive");
    strcpy(point.isa, "avx2");
    point.choice_count = 2;
    point.choices[0] = (struct point_choice){ CNN_OP_CONV_FORWARD, -1, "direct" };
    point.choices[1] = (struct point_choice){ CNN_OP_UPDATE, 3, "naive" };
    point.required = true;
    point.min_time = 0.1;
    point.warmup = 1.0 / 7;
    point.max_time = 1e-300;
    point.min_samples = 11;
    point.max_samples = 2147483647;
    point.interval = 0.2 + 0.1; /* 0.30000000000000004: 17 digits */
    point.timeout = 123.456789012345678;
    strcpy(point.data, "mnist");
    strcpy(point.data_folder, "/some where/\xc3\xbc");
    point.fit = CNN_FIT_SCALE;
    point.pixels = CNN_PIXELS_SIGNED;
    strcpy(point.distort, "rotate 10");
    point.target = 0.99;
    point.epochs = 13;
    point.train_limit = 1001;
    point.test_limit = 102;
    point.rates = (struct cnn_rates){ 0.1f, 0.9f, 1e-7f };
    point.rate_decay = 1.0f / 3;
    return point;
}

static void json_keeps_every_bit(void **state)
{
    (void)state;
    struct point point = full_point(), back;
    struct cnn_error error = { CNN_OK, "" };
    char *json = point_to_json(&point);
    assert_non_null(json);
    assert_null(strchr(json, '\n')); /* one line */
    if (point_from_json(&back, json, &error) != CNN_OK)
        fail_msg("%s", error.text);
    char *again = point_to_json(&back);
    assert_string_equal(again, json);
    assert_true(back.spec.seed == point.spec.seed);
    assert_true(back.interval == point.interval && back.timeout == point.timeout && back.warmup == point.warmup);
    assert_true(back.max_time == point.max_time && back.min_time == point.min_time);
    assert_true(back.rates.rate == point.rates.rate && back.rates.decay == point.rates.decay);
    assert_true(back.rate_decay == point.rate_decay);
    assert_true(back.spec.layers[1].connections.density == 1.0 / 3);
    assert_string_equal(back.label, point.label);
    assert_string_equal(back.data_folder, point.data_folder);
    assert_string_equal(back.choices[1].algorithm, "naive");
    assert_int_equal(back.choices[1].layer, 3);
    assert_int_equal(back.max_samples, 2147483647);
    free(json);
    free(again);
}

/* Both sides zeroed first, so that bytes between fields agree: every field that JSON forgets would differ. */
static void json_forgets_no_field(void **state)
{
    (void)state;
    static struct point point, back; /* static: padding is zero */
    struct point full = full_point();
    struct cnn_error error;
#define COPY(field) point.field = full.field
    char *json = point_to_json(&full);
    assert_int_equal(point_from_json(&back, json, &error), CNN_OK);
    free(json);
    COPY(phase), COPY(batch), COPY(copies), COPY(launch), COPY(precision), COPY(threads), COPY(device);
    COPY(choice_count), COPY(required), COPY(min_time), COPY(warmup), COPY(max_time), COPY(min_samples);
    COPY(max_samples), COPY(interval), COPY(timeout), COPY(fit), COPY(pixels), COPY(target), COPY(epochs),
        COPY(train_limit), COPY(test_limit);
    COPY(rates), COPY(rate_decay), COPY(choices[0]), COPY(choices[1]);
    memcpy(&point.spec, &full.spec, sizeof full.spec);
    strcpy(point.series, full.series), strcpy(point.label, full.label), strcpy(point.backend, full.backend);
    strcpy(point.algorithm, full.algorithm), strcpy(point.isa, full.isa), strcpy(point.data, full.data);
    strcpy(point.data_folder, full.data_folder), strcpy(point.distort, full.distort);
    assert_memory_equal(&back.spec, &point.spec, offsetof(struct cnn_network_spec, layers));
    assert_memory_equal(back.spec.layers, point.spec.layers, sizeof point.spec.layers);
    assert_memory_equal((char *)&back + sizeof back.spec, (char *)&point + sizeof point.spec,
                        sizeof point - sizeof point.spec);
}

static void broken_json_is_refused(void **state)
{
    (void)state;
    struct point point = full_point(), back;
    struct cnn_error error = { CNN_OK, "" };
    char *json = point_to_json(&point), *copy = strdup(json);
    assert_int_equal(point_from_json(&back, "", &error), CNN_INVALID);
    assert_int_equal(point_from_json(&back, "{}", &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "\"network\""));
    assert_int_equal(point_from_json(&back, "[1]", &error), CNN_INVALID);
    memcpy(strstr(copy, "\"epochs\""), "\"epoches\"", 8); /* one key gone */
    assert_int_equal(point_from_json(&back, copy, &error), CNN_INVALID);
    strcpy(copy, json);
    char *phase = strstr(copy, "\"phase\":") + strlen("\"phase\":");
    *phase = '9';
    assert_int_equal(point_from_json(&back, copy, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "\"phase\""));
    copy[strlen(json) / 2] = '\0';
    assert_int_equal(point_from_json(&back, copy, &error), CNN_INVALID);
    point.interval = 0.0 / 0.0;
    char *none = point_to_json(&point);
    assert_null(none); /* JSON has no NaN */
    free(copy);
    free(json);
}

static struct point plain_point(void)
{
    struct point point = { .spec = core_spec("lenet5", 32, 1, 1), .batch = 1 };
    strcpy(point.series, "cpu");
    strcpy(point.label, "CPU, 1 thread");
    strcpy(point.backend, "cpu");
    strcpy(point.algorithm, "direct");
    strcpy(point.data, "normal");
    point.rates.rate = 0.01f;
    return point;
}

/* Each change alone must change the key. */
static void keys_see_every_parameter(void **state)
{
    (void)state;
    char plain[2048], key[2048];
    struct point point = plain_point();
    point_key(&point, plain, sizeof plain);
#define SEES(change)                                       \
    do {                                                   \
        point = plain_point();                             \
        change;                                            \
        point_key(&point, key, sizeof key);                \
        if (!strcmp(key, plain))                           \
            fail_msg("the key does not see: %s", #change); \
    } while (0)
    SEES(strcpy(point.series, "b"));
    SEES(strcpy(point.spec.name, "other"));
    SEES(point.phase = POINT_CLASSIFY);
    SEES(point.spec.width = 2);
    SEES(point.spec.depth = 2);
    SEES(point.spec.image = 33);
    SEES(point.spec.channels = 2);
    SEES(point.spec.classes = 2);
    SEES(point.spec.loss = CNN_SOFTMAX);
    SEES(point.spec.input_gradient = true);
    SEES(point.spec.seed = 99);
    SEES(point.spec.connections.paper = false);
    SEES(point.spec.layer_count--);
    SEES(point.spec.layers[0].maps++);
    SEES(point.spec.layers[0].kernel++);
    SEES(point.spec.layers[0].stride++);
    SEES(point.spec.layers[0].padding = CNN_SAME);
    SEES(point.spec.layers[0].activation = CNN_RELU);
    SEES(point.spec.layers[2].connections.kind = CNN_CONNECT_FULL);
    SEES(point.spec.layers[2].repeat = CNN_DEPTH_TIMES);
    SEES(point.batch = 2);
    SEES(strcpy(point.backend, "omp"));
    SEES(strcpy(point.algorithm, "naive"));
    SEES(strcpy(point.isa, "scalar"));
    SEES(point.precision = CNN_TF32);
    SEES(point.copies = CNN_COPIES_PAPER);
    SEES(point.launch = CNN_LAUNCH_STREAM);
    SEES(point.threads = 2);
    SEES(point.device = 1);
    SEES(strcpy(point.data, "digits"));
    SEES(point.rates.rate = 0.010000001f);
    SEES(point.rates.momentum = 0.9f);
    SEES(point.rates.decay = 0.1f);
    SEES((point.choice_count = 1, point.choices[0] = (struct point_choice){ CNN_OP_UPDATE, -1, "naive" }));
}

static void a_key_is_stable(void **state)
{
    (void)state;
    char key[2048];
    struct point point = plain_point();
    point.choice_count = 2;
    point.choices[0] = (struct point_choice){ CNN_OP_UPDATE, -1, "naive" };
    point.choices[1] = (struct point_choice){ CNN_OP_CONV_FORWARD, 2, "direct" };
    point.min_time = 7; /* how long is measured tells no points apart */
    strcpy(point.data_folder, "/somewhere");
    point_key(&point, key, sizeof key);
    char *layers = strstr(key, " layers=");
    assert_non_null(layers);
    memset(layers + 8, '0', 16); /* the hash may change with the network */
    assert_string_equal(
        key, "series=cpu network=lenet5 phase=train width=1 depth=1 image=32 batch=1 channels=1 classes=10 "
             "connections=paper loss=mse input_gradient=0 layers=0000000000000000 backend=cpu algorithm=direct "
             "choices=conv_forward@2:direct,update:naive isa=best precision=fp32 copies=none launch=graph threads=0 "
             "device=0 data=normal rate=0.01 momentum=0 decay=0 seed=2010");
    char small[16];
    point_key(&point, small, sizeof small); /* cut, never past the end */
    assert_int_equal(strlen(small), 15);
}

static void titles_say_what_is_special(void **state)
{
    (void)state;
    char title[200];
    struct point point = plain_point();
    point_title(&point, title, sizeof title);
    assert_string_equal(title, "lenet5 image 32 batch 1 train, CPU, 1 thread");
    point.spec.width = 4;
    point.spec.depth = 2;
    point.copies = CNN_COPIES_PAPER;
    strcpy(point.isa, "scalar");
    point.threads = 2;
    point_title(&point, title, sizeof title);
    assert_string_equal(title,
                        "lenet5 width 4 depth 2 image 32 batch 1 train copies paper scalar threads 2, CPU, 1 thread");
}

static void phases_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < POINT_PHASE_COUNT; i++) {
        enum point_phase back;
        assert_true(point_phase_parse(point_phase_name(i), &back));
        assert_int_equal(back, i);
    }
    enum point_phase none;
    assert_false(point_phase_parse("training", &none));
}

static bool matches(const char *expression, const struct point *point)
{
    struct filter *filter = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (filter_create(&filter, expression, &error) != CNN_OK)
        fail_msg("%s: %s", expression, error.text);
    bool match = filter_match(filter, point);
    filter_free(filter);
    return match;
}

static void filters_choose(void **state)
{
    (void)state;
    struct point point = plain_point();
    point.spec.width = 4;
    point.spec.connections = (struct cnn_network_connections){ false, { CNN_CONNECT_FAN_IN, 8, 0 } };
    assert_true(matches("width=4", &point));
    assert_true(matches("width=1,2,4", &point));
    assert_true(matches("width=1..32 x2", &point));
    assert_true(matches("width=2..8 step 2 series=cpu", &point));
    assert_true(matches("width=2..8 step 2; batch=1", &point));
    assert_false(matches("width=1..3", &point));
    assert_false(matches("width=4 series=omp", &point));
    assert_false(matches("width=40", &point)); /* no piece of text */
    assert_true(matches("phase=train backend=cpu algorithm=direct network=lenet5 isa=best threads=auto", &point));
    assert_false(matches("phase=classify,evaluate", &point));
    assert_true(matches("connections=fan-in 8", &point));
    assert_true(matches("connections=fan-in-8 width=4", &point));
    assert_true(matches("lenet", &point));
    assert_true(matches("LENET train", &point));
    assert_true(matches("thread", &point));
    assert_false(matches("simard", &point));
    assert_false(matches("lenet simard", &point));
}

static void wrong_filters_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *expression, *reason;
    } mistakes[] = {
        { "", "expected a term" },
        { "  ", "expected a term" },
        { "widht=4", "did you mean \"width\"?" },
        { "width=", "a value is empty" },
        { "width=1,,2", "a value is empty" },
        { "width=8x", "expected a whole number" },
        { "width=1..4 by 2", "--filter" },
        { "phase=trian", "did you mean \"train\"?" },
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct filter *filter = NULL;
        struct cnn_error error = { CNN_OK, "" };
        int status = filter_create(&filter, mistakes[i].expression, &error);
        if (!strcmp(mistakes[i].expression, "width=1..4 by 2")) { /* "by" and "2" are pieces of names */
            assert_int_equal(status, CNN_OK);
            filter_free(filter);
            continue;
        }
        assert_int_equal(status, CNN_INVALID);
        if (!strstr(error.text, mistakes[i].reason))
            fail_msg("%s: %s", mistakes[i].expression, error.text);
    }
}

static void filtering_keeps_the_order(void **state)
{
    (void)state;
    struct point points[4];
    struct filter *filter;
    struct cnn_error error;
    for (int i = 0; i < 4; i++) {
        points[i] = plain_point();
        points[i].batch = i + 1;
    }
    assert_int_equal(filter_create(&filter, "batch=4,2", &error), CNN_OK);
    assert_int_equal(filter_points(filter, points, 4), 2);
    assert_int_equal(points[0].batch, 2);
    assert_int_equal(points[1].batch, 4);
    filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_keeps_every_bit),      cmocka_unit_test(json_forgets_no_field),
        cmocka_unit_test(broken_json_is_refused),    cmocka_unit_test(keys_see_every_parameter),
        cmocka_unit_test(a_key_is_stable),           cmocka_unit_test(titles_say_what_is_special),
        cmocka_unit_test(phases_have_names),         cmocka_unit_test(filters_choose),
        cmocka_unit_test(wrong_filters_are_refused), cmocka_unit_test(filtering_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
