/* SPDX-License-Identifier: MIT */
/* What the command line changes in a study, and the text of it that lies beside results. */
#include "tests/unit/study.h"

#include <unistd.h>

static void set_overrides_a_study(void **state)
{
    (void)state;
    static const char text[] = "network = \"lenet5\"; width = [1, 2, 4]; epochs = 9;\n" TWO;
    static const char *const sets[] = { "width=8,16",
                                        "image=32..48 step 8",
                                        "network=lenet5,simard",
                                        "epochs=2",
                                        "conv_forward=naive",
                                        "required=true",
                                        "phase=classify",
                                        "seed=7",
                                        "base=omp",
                                        "rate=0.5",
                                        NULL };
    struct expanded it = expand_set(text, sets);
    assert_int_equal(it.count, 2 * 2 * 3 * 2);
    assert_int_equal(it.points[0].spec.width, 8);
    assert_int_equal(it.points[0].epochs, 2);
    assert_int_equal(it.points[0].phase, POINT_CLASSIFY);
    assert_true(it.points[0].spec.seed == 7);
    assert_string_equal(it.points[0].choices[0].algorithm, "naive");
    assert_true(it.points[0].required && it.points[1].required);
    assert_int_equal(it.study.base, 1);
    assert_true(it.points[0].rates.rate == 0.5f);
    release(&it);
}

static void set_refuses_what_a_study_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *set, *reason;
    } mistakes[] = {
        { "width", "--set width: expected KEY=VALUES" },
        { "width=", "expected KEY=VALUES" },
        { "=4", "expected KEY=VALUES" },
        { "width=1,,2", "a value between commas is empty" },
        { "width=8x", "--set width=8x: width = \"8x\": expected a whole number" },
        { "widht=4", "did you mean \"width\"?" },
        { "width=3000000000", "3000000000 does not fit" },
        { "width=0", "at least 1" },
        { "epochs=1,2", "epochs = a list: expected a whole number" },
        { "series=cpu", "series can be given in a study only" },
        { "zip=width,image", "zip can be given in a study only" },
        { "conv_forward=nave", "did you mean \"naive\"?" },
        { "width=\"4\"", "without quotes" },
        { "a;b=4", "--set a;b=4: " },
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct study study;
        struct cnn_error error = { CNN_OK, "" };
        assert_int_equal(study_read_text(&study, "x.cfg", "network = \"lenet5\";\n" ONE, &error), CNN_OK);
        assert_int_equal(study_set(&study, mistakes[i].set, &error), CNN_INVALID);
        if (strncmp(error.text, "--set ", 6) || !strstr(error.text, mistakes[i].reason))
            fail_msg("%s: expected %s\nfound %s", mistakes[i].set, mistakes[i].reason, error.text);
        study_free(&study);
    }
}

static void zip_is_checked_again_after_set(void **state)
{
    (void)state;
    static const char text[] =
        "network = \"lenet5\"; width = [1, 2]; image = [32, 40]; zip = [\"width\", \"image\"];\n" ONE;
    struct study study;
    struct cnn_error error;
    struct point *points;
    int count;
    assert_int_equal(study_read_text(&study, "x.cfg", text, &error), CNN_OK);
    assert_int_equal(study_set(&study, "width=1,2,3", &error), CNN_OK);
    assert_int_equal(study_expand(&study, &points, &count, &error), CNN_INVALID);
    assert_string_equal(error.text,
                        "x.cfg: zip: width has 3 values and image has 2: axes that walk together need equally many");
    assert_int_equal(study_set(&study, "image=32,40,48", &error), CNN_OK);
    assert_int_equal(study_expand(&study, &points, &count, &error), CNN_OK);
    assert_int_equal(count, 3);
    free(points);
    study_free(&study);
}

static void a_backend_can_be_asked_for(void **state)
{
    (void)state;
    static const char *const omp[] = { "omp" }, *const cuda[] = { "cuda" }, *const wrong[] = { "cdua" };
    struct study study;
    struct cnn_error error;
    struct point *points;
    int count;
    assert_int_equal(study_read_text(&study, "x.cfg", "network = \"lenet5\"; width = [1, 2];\n" TWO, &error), CNN_OK);
    assert_int_equal(study_keep_backends(&study, cuda, 1, &error), CNN_SKIPPED);
    assert_int_equal(study_keep_backends(&study, wrong, 1, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "did you mean \"cuda\"?"));
    assert_int_equal(study_keep_backends(&study, omp, 1, &error), CNN_OK);
    assert_int_equal(study_expand(&study, &points, &count, &error), CNN_OK);
    assert_int_equal(count, 2);
    assert_string_equal(points[0].series, "omp");
    assert_true(points[0].required);
    free(points);
    study_free(&study);
}

/* The text with its includes put in is the same study on its own: it is what lies beside the results. */
static void its_text_reads_as_the_same_study(void **state)
{
    (void)state;
    char folder[] = "/tmp/convscale-study-XXXXXX", whole[64], part[64];
    struct study study, again;
    struct cnn_error error = { CNN_OK, "" };
    assert_non_null(mkdtemp(folder));
    snprintf(whole, sizeof whole, "%s/whole.cfg", folder);
    snprintf(part, sizeof part, "%s/part.cfg", folder);
    FILE *file = fopen(part, "w");
    fputs("\xef\xbb\xbf" TWO "base = \"omp\"", file);
    fclose(file);
    file = fopen(whole, "w");
    fputs("network = \"lenet5\";\r\n@include \"part.cfg\"\r\nwidth = [1, 2]", file);
    fclose(file);
    int status = study_read(&study, whole, &error);
    unlink(whole);
    unlink(part);
    rmdir(folder);
    if (status)
        fail_msg("%s", error.text);
    assert_int_equal(study_read_text(&again, "whole.cfg", study.text, &error), CNN_OK);
    assert_string_equal(again.text, study.text);
    assert_int_equal(again.series_count, 2);
    assert_int_equal(again.base, 1);
    assert_int_equal(again.axes[AXIS_WIDTH].count, 2);
    study_free(&study);
    study_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_overrides_a_study),
        cmocka_unit_test(set_refuses_what_a_study_refuses),
        cmocka_unit_test(zip_is_checked_again_after_set),
        cmocka_unit_test(a_backend_can_be_asked_for),
        cmocka_unit_test(its_text_reads_as_the_same_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
