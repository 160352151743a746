/* SPDX-License-Identifier: MIT */
/* Verdicts on claims, from made-up rows whose answer is known. */
#include "experiments/driver/claims.h"
#include "experiments/driver/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct run {
    char root[64], folder[1024];
    struct rows_writer *writer;
    struct claim_findings findings;
    struct cnn_error error;
};

static const struct row_context context = { "made-up", "machine-2cpu", "0.1.0", "2010-09-15T12:00:00Z", NULL };

#define SERIES                                                                                   \
    "network = \"lenet5\";\nseries = ( { id = \"old\"; label = \"Old\"; backend = \"cpu\"; },\n" \
    "{ id = \"new\"; label = \"New\"; backend = \"omp\"; } );\n"

static void run_start(struct run *run, const char *claim)
{
    char text[1024];
    *run = (struct run){ .root = "/tmp/convscale-claims-XXXXXX" };
    assert_non_null(mkdtemp(run->root));
    assert_int_equal(rows_open(&run->writer, run->root, "machine-2cpu", "made-up", &run->error), CNN_OK);
    snprintf(run->folder, sizeof run->folder, "%s", rows_folder(run->writer));
    int size =
        snprintf(text, sizeof text, SERIES "claims = ( { text = \"it is so\"; %s pairs = (\"old/new\"); } );\n", claim);
    assert_int_equal(rows_write_file(run->writer, "study.cfg", text, (size_t)size, &run->error), CNN_OK);
}

/* A row of LeNet-5 at a side, its interval 1 % to each side. */
static void add(struct run *run, const char *series, int image, int batch, enum cnn_status status, double seconds)
{
    struct point point = { .phase = POINT_TRAIN, .batch = batch };
    struct cnn_network *network;
    struct result result;
    assert_int_equal(cnn_builtin_spec(&point.spec, "lenet5", image, &run->error), CNN_OK);
    assert_int_equal(cnn_network_create(&network, &point.spec, &run->error), CNN_OK);
    snprintf(point.series, sizeof point.series, "%s", series);
    snprintf(point.label, sizeof point.label, "%s", strcmp(series, "old") ? "New" : "Old");
    result_init(&result);
    result.status = status;
    result.median = seconds;
    result.low = 0.99 * seconds;
    result.high = 1.01 * seconds;
    result.samples = 20;
    assert_int_equal(rows_append(run->writer, &context, &point, network, &result, &run->error), CNN_OK);
    cnn_network_destroy(network);
}

/* The base takes 1 s at every side, the other what makes these ratios; 0: it is unavailable. */
static void add_ratios(struct run *run, const double *ratio, int count)
{
    for (int i = 0; i < count; i++) {
        add(run, "old", 32 + 8 * i, 1, CNN_OK, 1);
        add(run, "new", 32 + 8 * i, 1, ratio[i] > 0 ? CNN_OK : CNN_UNAVAILABLE, ratio[i] > 0 ? 1 / ratio[i] : NAN);
    }
}

static const struct claim_finding *judge(struct run *run)
{
    assert_int_equal(rows_close(run->writer, &run->error), CNN_OK);
    run->writer = NULL;
    assert_int_equal(claims_judge(&run->findings, run->folder, &run->error), CNN_OK);
    assert_true(run->findings.count >= 1);
    return run->findings.list;
}

static void run_end(struct run *run)
{
    char command[128];
    claims_free(&run->findings);
    snprintf(command, sizeof command, "rm -rf '%s'", run->root);
    assert_int_equal(system(command), 0);
}

static void expect(const char *claim, const double *ratio, int count, enum claim_word word, const char *why)
{
    struct run run;
    run_start(&run, claim);
    add_ratios(&run, ratio, count);
    const struct claim_finding *finding = judge(&run);
    if (finding->word != word || !strstr(finding->why, why))
        fail_msg("%s: \"%s\" (%s), expected \"%s\" (%s)", claim, claim_word_text(finding->word), finding->why,
                 claim_word_text(word), why);
    run_end(&run);
}

#define EXPECT(claim, word, why, ...) \
    expect(claim, (const double[]){ __VA_ARGS__ }, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), word, why)

/* The low end by the lower bound of the smallest, the high end by the largest within a quarter. */
static void a_range_holds_at_both_ends(void **state)
{
    (void)state;
    EXPECT("ratio = \"2..24\";", CLAIM_HOLDS, "low end holds, high end holds; 3 of 4 inside", 2.1, 9, 20, 29);
    EXPECT("ratio = \"2..24\";", CLAIM_IN_PART, "low end missed, high end holds", 2.01, 9, 20);
    EXPECT("ratio = \"2..24\";", CLAIM_IN_PART, "low end holds, high end exceeded; 1 of 3 inside", 12, 40, 300);
    EXPECT("ratio = \"2..24\";", CLAIM_IN_PART, "low end holds, high end not reached; 2 of 2 inside", 3, 17);
    EXPECT("ratio = \"2..24\";", CLAIM_IN_PART, "low end missed, high end not reached; 1 of 2 inside", 1.1, 5);
    EXPECT("ratio = \"2..24\";", CLAIM_IN_PART, "3 of 5 inside: image 32, 48..56", 3, 50, 4, 5, 90);
    EXPECT("ratio = \"2..24\";", CLAIM_NOT_HERE, "0 of 3 inside", 0.5, 1, 1.9);
}

static void an_open_claim_holds_where_every_bound_is_above(void **state)
{
    (void)state;
    EXPECT("ratio = \"100..\";", CLAIM_HOLDS, "2 of 2 inside", 103, 900);
    EXPECT("ratio = \"100..\";", CLAIM_IN_PART, "1 of 2 inside", 101, 900); /* 101: its lower bound is 99 */
    EXPECT("ratio = \"100..\";", CLAIM_IN_PART, "0 of 2 inside", 5, 31);
    EXPECT("ratio = \"100..\";", CLAIM_NOT_HERE, "0 of 2 inside", 5, 30);
}

static void what_has_no_point_is_not_measured(void **state)
{
    (void)state;
    EXPECT("ratio = \"2..24\";", CLAIM_NOT_MEASURED, "New: unavailable", 0, 0);
    EXPECT("growth = true;", CLAIM_NOT_MEASURED, "New: unavailable", 0, 0);
    EXPECT("growth = true;", CLAIM_NOT_MEASURED, "no line of 5 points", 1, 2, 3, 4);
}

/* An unstable row enters no ratio. */
static void only_ok_rows_are_judged(void **state)
{
    (void)state;
    struct run run;
    run_start(&run, "ratio = \"2..24\";");
    add(&run, "old", 32, 1, CNN_OK, 1);
    add(&run, "new", 32, 1, CNN_UNSTABLE, 0.001);
    add(&run, "old", 40, 1, CNN_OK, 1);
    add(&run, "new", 40, 1, CNN_OK, 0.1);
    const struct claim_finding *finding = judge(&run);
    assert_int_equal(finding->points, 1);
    assert_float_equal(finding->most.value, 10, 1e-6);
    assert_float_equal(finding->most.low, 10 * 0.99 / 1.01, 1e-6);
    assert_string_equal(finding->most.at, "image 40");
    run_end(&run);
}

/* Times that follow the work with these exponents, wiggling by `noise`. */
static void add_powers(struct run *run, int batch, double base, double other, double noise)
{
    for (int i = 0; i < 8; i++) {
        struct cnn_network_spec spec;
        struct cnn_network *network;
        assert_int_equal(cnn_builtin_spec(&spec, "lenet5", 32 + 8 * i, &run->error), CNN_OK);
        assert_int_equal(cnn_network_create(&network, &spec, &run->error), CNN_OK);
        double work = (double)network->macs / 1e6, wiggle = 1 + (i % 2 ? noise : -noise);
        add(run, "old", 32 + 8 * i, batch, CNN_OK, 10 * pow(work, base) * wiggle);
        add(run, "new", 32 + 8 * i, batch, CNN_OK, pow(work, other));
        cnn_network_destroy(network);
    }
}

static void growth_needs_order_and_slope(void **state)
{
    (void)state;
    static const struct {
        double base, other, noise;
        enum claim_word word;
    } cases[] = {
        { 1, 0.4, 0.02, CLAIM_HOLDS },
        { 1, 0.98, 0.0001, CLAIM_HOLDS }, /* little, but surely */
        { 1, 0.9, 0.3, CLAIM_NOT_HERE },  /* lost in the noise */
        { 0.4, 1, 0.02, CLAIM_NOT_HERE }, /* shrinks */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        run_start(&run, "growth = true;");
        add_powers(&run, 1, cases[i].base, cases[i].other, cases[i].noise);
        const struct claim_finding *finding = judge(&run);
        if (finding->word != cases[i].word)
            fail_msg("case %zu: %s: %s", i, claim_word_text(finding->word), finding->why);
        assert_true(finding->slope[1] <= cases[i].other && finding->slope[2] >= cases[i].other);
        assert_true(finding->base_slope[1] <= cases[i].base && finding->base_slope[2] >= cases[i].base);
        run_end(&run);
    }
}

/* A larger batch is no larger network. */
static void growth_is_of_the_network(void **state)
{
    (void)state;
    struct run run;
    run_start(&run, "growth = true;");
    for (int batch = 1; batch <= 64; batch *= 2) {
        add(&run, "old", 32, batch, CNN_OK, batch);
        add(&run, "new", 32, batch, CNN_OK, 1);
    }
    const struct claim_finding *finding = judge(&run);
    assert_string_equal(finding->axis, "batch");
    assert_int_equal(finding->points, 7);
    assert_int_equal(finding->word, CLAIM_NOT_MEASURED);
    run_end(&run);
}

/* Two lines of one question become one answer over all their points. */
static void lines_merge_into_one_verdict(void **state)
{
    (void)state;
    struct run run;
    struct claim_findings merged;
    run_start(&run, "growth = true; ratio = \"2..24\";");
    add_powers(&run, 1, 1, 0.4, 0.02);
    add_powers(&run, 16, 0.4, 1, 0.02);
    judge(&run);
    assert_int_equal(run.findings.count, 2);
    assert_int_equal(claims_merge(&merged, &run.findings, &run.error), CNN_OK);
    assert_int_equal(merged.count, 1);
    assert_int_equal(merged.list->points, 16);
    assert_int_equal(merged.list->lines, 2);
    assert_int_equal(merged.list->growing, 1);
    assert_int_equal(merged.list->word, CLAIM_IN_PART);
    assert_non_null(strstr(merged.list->why, "grows along 1 of 2 lines"));
    assert_non_null(strstr(merged.list->most.at, "batch "));
    claims_free(&merged);
    run_end(&run);
}

/* claims.csv has a line for every finding; the table has its words. */
static void verdicts_are_written_down(void **state)
{
    (void)state;
    struct run run;
    char path[1100], *text = NULL, *table = NULL;
    size_t size = 0, table_size = 0;
    run_start(&run, "ratio = \"2..24\";");
    add_ratios(&run, (const double[]){ 3, 5, 22 }, 3);
    judge(&run);
    assert_int_equal(claims_write(&run.findings, run.folder, &run.error), CNN_OK);
    snprintf(path, sizeof path, "%s/claims.csv", run.folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &size, EOF, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "\"it is so\",\"Old\",\"New\",\"train\",\"image\",\"\",3,3,3,"));
    assert_non_null(strstr(text, ",holds here\n"));
    FILE *out = open_memstream(&table, &table_size);
    assert_true(claims_print(out, &run.findings, 100));
    fclose(out);
    assert_non_null(strstr(table, "it is so"));
    assert_non_null(strstr(table, "holds here"));
    free(text);
    free(table);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_holds_at_both_ends),
        cmocka_unit_test(an_open_claim_holds_where_every_bound_is_above),
        cmocka_unit_test(what_has_no_point_is_not_measured),
        cmocka_unit_test(only_ok_rows_are_judged),
        cmocka_unit_test(growth_needs_order_and_slope),
        cmocka_unit_test(growth_is_of_the_network),
        cmocka_unit_test(lines_merge_into_one_verdict),
        cmocka_unit_test(verdicts_are_written_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
