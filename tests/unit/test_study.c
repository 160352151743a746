/* SPDX-License-Identifier: MIT */
/* What a study means: its axes, series, claims, and the points that come of them, in their order. */
#include "tests/unit/study.h"

static void assert_keys_differ(const struct expanded *expanded)
{
    char key[2048], other[2048];
    for (int i = 0; i < expanded->count; i++)
        for (int k = 0; k < i; k++) {
            point_key(&expanded->points[i], key, sizeof key);
            point_key(&expanded->points[k], other, sizeof other);
            assert_string_not_equal(key, other);
        }
}

static void the_example_of_the_readme(void **state)
{
    (void)state;
    struct expanded it = expand(
        "title   = \"LeNet-5, one pattern at a time\";\n"
        "network = \"lenet5\";  image = \"32..104 step 8\";  batch = 1;  phase = [\"train\", \"classify\"];  copies = "
        "\"paper\";  seed = 2010;\n"
        "series  = ( { id = \"naive\"; label = \"CPU, 1 thread, plain loops\"; backend = \"cpu\";  algorithm = "
        "\"naive\";  },\n"
        "            { id = \"cpu\";   label = \"CPU, 1 thread, tuned\";       backend = \"cpu\";  algorithm = "
        "\"direct\"; },\n"
        "            { id = \"gpu\";   label = \"GPU, tuned\";                 backend = \"cuda\"; algorithm = "
        "\"direct\"; } );\n"
        "claims  = ( { text = \"2 to 24 times faster\"; ratio = \"2..24\"; pairs = (\"naive/gpu\", \"cpu/gpu\"); } );\n"
        "figures = (\"time\", \"speedup\");\n");
    assert_string_equal(it.study.title, "LeNet-5, one pattern at a time");
    assert_string_equal(it.study.name, "x");
    assert_string_equal(it.study.path, "some/where/x.cfg");
    assert_int_equal(it.study.series_count, 3);
    assert_int_equal(it.study.base, 0);
    assert_int_equal(it.study.claim_count, 1);
    assert_true(it.study.claims[0].low == 2.0 && it.study.claims[0].high == 24.0);
    assert_int_equal(it.study.claims[0].pair_count, 2);
    assert_int_equal(it.study.claims[0].pairs[1].base, 1);
    assert_int_equal(it.study.claims[0].pairs[1].other, 2);
    assert_int_equal(it.study.figure_count, 2);
    assert_string_equal(it.study.figures[1], "speedup");

    assert_int_equal(it.count, 2 * 10 * 3);
    assert_keys_differ(&it);
    const struct point *point = &it.points[3 * 10 + 3 * 9 + 1]; /* classify, the last side, the second series */
    assert_int_equal(point->phase, POINT_CLASSIFY);
    assert_int_equal(point->spec.image, 104);
    assert_string_equal(point->series, "cpu");
    assert_string_equal(point->label, "CPU, 1 thread, tuned");
    assert_string_equal(point->backend, "cpu");
    assert_string_equal(point->algorithm, "direct");
    assert_int_equal(point->copies, CNN_COPIES_PAPER);
    assert_int_equal(point->batch, 1);
    assert_true(point->spec.seed == 2010);
    struct cnn_network *network = core_create(&point->spec);
    assert_int_equal(network->parameters, 483046); /* PAPERS' table */
    cnn_network_destroy(network);
    release(&it);
}

static void what_is_not_said_has_a_default(void **state)
{
    (void)state;
    struct expanded it = expand("network = \"simard\";\n" TWO);
    assert_string_equal(it.study.title, "x");
    assert_int_equal(it.count, 2);
    assert_int_equal(it.points[0].phase, POINT_TRAIN);
    assert_int_equal(it.points[0].batch, 1);
    assert_int_equal(it.points[0].spec.image, 29);
    assert_int_equal(it.points[0].spec.width, 1);
    assert_int_equal(it.points[0].copies, CNN_COPIES_NONE);
    assert_int_equal(it.points[1].threads, 0);
    assert_string_equal(it.points[0].isa, "");
    assert_string_equal(it.points[0].data, "normal");
    assert_string_equal(it.points[0].label, "CPU, 1 thread");
    assert_string_equal(it.points[1].label, "CPU, N threads");
    assert_false(it.points[0].required);
    release(&it);
    it = expand("network = \"simard\"; phase = \"accuracy\";\n"
                "series = ( { id = \"n\"; backend = \"cpu\"; algorithm = \"naive\"; } );\n");
    assert_string_equal(it.points[0].data, "digits");
    assert_string_equal(it.points[0].label, "CPU, 1 thread, naive");
    release(&it);
}

/* Values of an axis as text, with blanks between. */
static void assert_axis(const char *line, enum study_axis axis, const char *expected)
{
    char text[512], found[512] = "";
    snprintf(text, sizeof text, "network = \"lenet5\";\n%s" ONE, line);
    struct expanded it = expand(text);
    for (int i = 0; i < it.count; i++) {
        char word[STUDY_WORD];
        study_axis_of_point(axis, &it.points[i], word);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "", word);
    }
    assert_string_equal(found, expected);
    release(&it);
}

static void values_and_ranges(void **state)
{
    (void)state;
    assert_axis("width = 4;\n", AXIS_WIDTH, "4");
    assert_axis("width = [1, 2, 7];\n", AXIS_WIDTH, "1 2 7");
    assert_axis("width = \"1..32 x2\";\n", AXIS_WIDTH, "1 2 4 8 16 32");
    assert_axis("width = \"3..30 x3\";\n", AXIS_WIDTH, "3 9 27");
    assert_axis("width = \"2..5\";\n", AXIS_WIDTH, "2 3 4 5");
    assert_axis("image = \"32..50 step 8\";\n", AXIS_IMAGE, "32 40 48");
    assert_axis("image = \" 32 .. 48  step  8 \";\n", AXIS_IMAGE, "32 40 48");
    assert_axis("image = (28, \"32..48 step 8\", 104);\n", AXIS_IMAGE, "28 32 40 48 104");
    assert_axis("batch = \"5..5\";\n", AXIS_BATCH, "5");
    assert_axis("batch = \"1073741824..2147483647 x2\";\n", AXIS_BATCH, "1073741824");
    assert_axis("batch = \"2147483646..2147483647\";\n", AXIS_BATCH, "2147483646 2147483647");
    assert_axis("phase = [\"evaluate\", \"train\"];\n", AXIS_PHASE, "evaluate train");
    assert_axis("isa = [\"auto\", \"scalar\"];\n", AXIS_ISA, "best scalar");
    assert_axis("connections = (\"paper\", \"full\", \"fan-in  3\", \"density 0.5\");\n", AXIS_CONNECTIONS,
                "paper full fan-in 3 density 0.5");
}

static void the_first_axis_changes_slowest_and_series_fastest(void **state)
{
    (void)state;
    static const char *const expected[] = { "1 8 cpu", "1 8 omp", "1 16 cpu", "1 16 omp",
                                            "2 8 cpu", "2 8 omp", "2 16 cpu", "2 16 omp" };
    struct expanded it = expand("batch = [8, 16];\nwidth = [1, 2];\nnetwork = \"lenet5\";\n" TWO);
    assert_int_equal(it.count, 8);
    for (int i = 0; i < it.count; i++) {
        char found[64];
        snprintf(found, sizeof found, "%d %d %s", it.points[i].spec.width, it.points[i].batch, it.points[i].series);
        assert_string_equal(found, expected[i]);
    }
    release(&it);
}

static void zipped_axes_walk_together(void **state)
{
    (void)state;
    struct expanded it = expand("network = \"lenet5\";\nwidth = [1, 1, 2];\nimage = [32, 40, 32];\nbatch = [1, 4];\n"
                                "zip = ( [\"image\", \"width\"] );\n" ONE);
    assert_int_equal(it.count, 3 * 2);
    assert_int_equal(it.points[2].spec.width, 1);
    assert_int_equal(it.points[2].spec.image, 40);
    assert_int_equal(it.points[3].batch, 4);
    assert_int_equal(it.points[5].spec.width, 2);
    assert_int_equal(it.points[5].spec.image, 32);
    assert_keys_differ(&it);
    release(&it);
    it = expand("network = [\"lenet5\", \"simard\"];\nimage = [32, 29];\nzip = [\"network\", \"image\"];\n" ONE);
    assert_int_equal(it.count, 2);
    assert_string_equal(it.points[1].spec.name, "simard");
    assert_int_equal(it.points[1].spec.image, 29);
    release(&it);
    it = expand("network = \"lenet5\"; width = [1, 2]; depth = [1, 2]; batch = [1, 2]; threads = [1, 2];\n"
                "zip = ( [\"width\", \"depth\"], [\"batch\", \"threads\"] );\n" TWO);
    assert_int_equal(it.count, 2 * 2 * 2);
    release(&it);
    it = expand("network = \"lenet5\"; width = [1, 1]; image = [32, 32]; zip = [\"width\", \"image\"];\n" ONE);
    assert_int_equal(it.count, 1); /* the same point twice is one point */
    release(&it);
}

static void exclusions_need_all_their_keys(void **state)
{
    (void)state;
    struct expanded it =
        expand("network = \"lenet5\"; width = \"1..8 x2\"; batch = [1, 128];\n" TWO
               "exclude = ( { series = \"cpu\"; batch = 128; width = \"4..8\"; }, { width = 2; } );\n");
    assert_int_equal(it.count, 16 - 2 - 4);
    for (int i = 0; i < it.count; i++) {
        const struct point *point = &it.points[i];
        assert_int_not_equal(point->spec.width, 2);
        assert_false(!strcmp(point->series, "cpu") && point->batch == 128 && point->spec.width >= 4);
    }
    release(&it);
    it = expand("network = \"lenet5\"; width = [1, 2];\n" TWO
                "exclude = { series = [\"cpu\", \"omp\"]; width = 1; };\n");
    assert_int_equal(it.count, 2);
    release(&it);
    it = expand("network = \"lenet5\"; phase = [\"train\", \"classify\"];\n" ONE
                "exclude = ( { image = 32; phase = \"classify\"; } );\n"); /* 32 is the network's own side */
    assert_int_equal(it.count, 1);
    release(&it);
}

static void axes_that_make_no_difference_do_not_multiply(void **state)
{
    (void)state;
    struct expanded it =
        expand("network = \"lenet5\"; threads = (\"auto\", 1, 2); launch = [\"stream\", \"graph\"]; isa = [\"best\", "
               "\"scalar\"];\n"
               "series = ( { id = \"cpu\"; backend = \"cpu\"; }, { id = \"omp\"; backend = \"omp\"; },\n"
               "           { id = \"gpu\"; backend = \"cuda\"; } );\n");
    int counts[3] = { 0, 0, 0 };
    for (int i = 0; i < it.count; i++)
        counts[!strcmp(it.points[i].series, "cpu") ? 0 : !strcmp(it.points[i].series, "omp") ? 1 : 2]++;
    assert_int_equal(counts[0], 2);     /* isa */
    assert_int_equal(counts[1], 2 * 3); /* isa, threads */
    assert_int_equal(counts[2], 2);     /* launch */
    assert_keys_differ(&it);
    release(&it);
}

static void series_fix_axes_and_choose_algorithms(void **state)
{
    (void)state;
    struct expanded it =
        expand("network = \"lenet5\"; width = [1, 2]; conv_forward = \"naive\"; required = true;\n"
               "series = ( { id = \"a\"; backend = \"cpu\"; },\n"
               "           { id = \"b\"; backend = \"omp\"; threads = 3; width = 4; required = false;\n"
               "             conv_forward = \"direct\"; full_forward = \"naive\"; } );\nbase = \"b\";\n");
    assert_int_equal(it.study.base, 1);
    assert_int_equal(it.count, 2 + 1);
    const struct point *a = &it.points[0], *b = &it.points[1];
    assert_int_equal(a->choice_count, 1);
    assert_int_equal(a->choices[0].kind, CNN_OP_CONV_FORWARD);
    assert_int_equal(a->choices[0].layer, -1);
    assert_string_equal(a->choices[0].algorithm, "naive");
    assert_true(a->required);
    assert_int_equal(b->spec.width, 4);
    assert_int_equal(b->threads, 3);
    assert_int_equal(b->choice_count, 2);
    assert_string_equal(b->choices[0].algorithm, "direct");
    assert_int_equal(b->choices[1].kind, CNN_OP_FULL_FORWARD);
    assert_false(b->required);
    release(&it);
}

static void seeds_are_an_axis(void **state)
{
    (void)state;
    struct expanded it =
        expand("network = \"lenet5\"; seed = (\"3..4\", 9, \"18446744073709551615\"); batch = [1, 2];\n" ONE);
    const uint64_t seeds[] = { 3, 4, 9, UINT64_MAX };
    assert_int_equal(it.count, 8);
    assert_true(it.study.seed == 3);
    for (int i = 0; i < 8; i++)
        assert_true(it.points[i].spec.seed == seeds[i % 4]);
    release(&it);
}

static void training_keys_reach_the_point(void **state)
{
    (void)state;
    struct expanded it = expand("network = \"lenet5\"; phase = \"accuracy\"; data_folder = \"/some/where\"; pixels = "
                                "\"unit\"; distort = \"rotate 10 elastic 34 sigma 4\"; target = 0.99;\n" ONE);
    assert_string_equal(it.points[0].data_folder, "/some/where");
    assert_int_equal(it.points[0].pixels, CNN_PIXELS_UNIT);
    assert_string_equal(it.points[0].distort, "rotate 10 elastic 34 sigma 4");
    assert_true(it.points[0].target == 0.99);
    release(&it);
    it = expand("network = \"lenet5\";\n" ONE);
    assert_string_equal(it.points[0].distort, "none");
    release(&it);
}

static void whole_network_keys_reach_the_network(void **state)
{
    (void)state;
    struct expanded it = expand("network = \"lenet5\"; preset = \"peer\"; seed = \"18446744073709551615\";\n" ONE);
    const struct cnn_network_spec *spec = &it.points[0].spec;
    assert_false(spec->connections.paper);
    assert_int_equal(spec->connections.all.kind, CNN_CONNECT_FULL);
    assert_int_equal(spec->loss, CNN_SOFTMAX);
    assert_int_equal(spec->layers[spec->layer_count - 1].activation, CNN_LINEAR);
    assert_true(spec->seed == UINT64_MAX);
    struct cnn_network *network = core_create(spec);
    assert_int_equal(network->parameters, 51946);
    cnn_network_destroy(network);
    release(&it);
    it = expand(
        "network = \"lenet5\"; preset = \"peer\"; connections = \"fan-in 2\"; output = \"logistic\"; loss = \"mse\";\n"
        "classes = 4; input_gradient = true; rate = 1; momentum = 0.5; decay = 0.25; rate_decay = 0.75;\n" ONE);
    spec = &it.points[0].spec;
    assert_int_equal(spec->connections.all.kind, CNN_CONNECT_FAN_IN);
    assert_int_equal(spec->connections.all.fan_in, 2);
    assert_int_equal(spec->layers[spec->layer_count - 1].activation, CNN_LOGISTIC);
    assert_int_equal(spec->loss, CNN_MSE);
    assert_int_equal(spec->classes, 4);
    assert_true(spec->input_gradient);
    assert_true(it.points[0].rates.rate == 1.0f && it.points[0].rates.momentum == 0.5f);
    assert_true(it.points[0].rates.decay == 0.25f && it.points[0].rate_decay == 0.75f);
    release(&it);
}

#define LENET5                                                                                                     \
    "network = { name = \"mine\"; image = 32; loss = \"mse\"; layers = (\n"                                        \
    "  { kind = \"conv\"; name = \"C1\"; maps = 6; kernel = 5; activation = \"tanh\"; },\n"                        \
    "  { kind = \"subsample\"; kernel = 2; activation = \"tanh\"; },\n"                                            \
    "  { kind = \"conv\"; maps = 16; kernel = 5; activation = \"tanh\"; connections = \"lecun\"; },\n"             \
    "  { kind = \"conv\"; maps = 16; kernel = 5; padding = \"same\"; activation = \"tanh\"; repeat = REPEAT; },\n" \
    "  { kind = \"subsample\"; kernel = 2; stride = 2; activation = \"tanh\"; },\n"                                \
    "  { kind = \"conv\"; maps = 120; kernel = 5; activation = \"tanh\"; },\n"                                     \
    "  { kind = \"full\"; activation = \"tanh\"; } ); };\n"

/* With one layer more than LeNet-5: depth 2 of the built-in one. */
static void a_network_written_out_is_the_built_in_one(void **state)
{
    (void)state;
    char text[2048];
    const char *source = LENET5 ONE, *mark = strstr(source, "REPEAT");
    snprintf(text, sizeof text, "%.*strue%s", (int)(mark - source), source, mark + strlen("REPEAT"));
    struct expanded it = expand(text);
    struct cnn_network *mine = core_create(&it.points[0].spec), *built_in = core_network("lenet5", 32, 1, 2);
    assert_int_equal(mine->parameters, built_in->parameters);
    assert_int_equal(mine->macs, built_in->macs);
    assert_int_equal(mine->layer_count, built_in->layer_count);
    for (int i = 0; i < mine->layer_count; i++) {
        assert_int_equal(mine->layers[i].kind, built_in->layers[i].kind);
        assert_int_equal(mine->layers[i].pairs, built_in->layers[i].pairs);
        assert_int_equal(mine->layers[i].activation, built_in->layers[i].activation);
        assert_memory_equal(&mine->layers[i].out, &built_in->layers[i].out, sizeof(struct cnn_shape));
    }
    cnn_network_destroy(mine);
    cnn_network_destroy(built_in);
    assert_string_equal(it.points[0].spec.name, "mine");
    release(&it);
    static const char *const depth[] = { "depth=1,2,3", NULL };
    it = expand_set(text, depth);
    assert_int_equal(it.count, 3);
    release(&it);
}

static void points_that_cannot_exist_are_points(void **state)
{
    (void)state;
    struct expanded it = expand("network = \"lenet5\"; image = [8, 32];\n" ONE);
    struct cnn_network *network = NULL;
    struct cnn_error error;
    assert_int_equal(it.count, 2);
    assert_int_equal(it.points[0].spec.image, 8);
    assert_int_equal(cnn_network_create(&network, &it.points[0].spec, &error), CNN_INVALID);
    release(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_readme),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(values_and_ranges),
        cmocka_unit_test(the_first_axis_changes_slowest_and_series_fastest),
        cmocka_unit_test(zipped_axes_walk_together),
        cmocka_unit_test(exclusions_need_all_their_keys),
        cmocka_unit_test(axes_that_make_no_difference_do_not_multiply),
        cmocka_unit_test(series_fix_axes_and_choose_algorithms),
        cmocka_unit_test(seeds_are_an_axis),
        cmocka_unit_test(training_keys_reach_the_point),
        cmocka_unit_test(whole_network_keys_reach_the_network),
        cmocka_unit_test(a_network_written_out_is_the_built_in_one),
        cmocka_unit_test(points_that_cannot_exist_are_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
