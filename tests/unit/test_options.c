/* SPDX-License-Identifier: MIT */
/* The command line: what is understood, what is refused and how; --help fits a screen; suggestions. */
#include "experiments/driver/options.h"
#include "experiments/driver/suggest.h"
#include "tests/unit/core.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX 32

/* Splits at '|' and parses; the words stay in a buffer of the test. */
static int parse(struct options *options, const char *line, struct cnn_error *error)
{
    static char words[512];
    static char *argv[ARGUMENTS_MAX + 1];
    char *rest = words;
    int argc = 0;
    snprintf(words, sizeof words, "convscale|%s", line);
    while (rest && argc < ARGUMENTS_MAX)
        argv[argc++] = strsep(&rest, "|");
    argv[argc] = NULL;
    optind = 0; /* a program parses once; glibc and musl start anew at 0 */
    return options_parse(options, argc, argv, error);
}

static struct options parsed(const char *line)
{
    struct options options;
    struct cnn_error error = { CNN_OK, "" };
    if (parse(&options, line, &error) != CNN_OK)
        fail_msg("%s: %s", line, error.text);
    return options;
}

static void studies_and_options_mix(void **state)
{
    (void)state;
    struct options options =
        parsed("a.cfg|--set|width=1,2|--quiet|b.cfg|--filter|cpu|--filter=omp|--backend|cpu|--backend|"
               "omp|--threads|4|--data|/tmp|--out|x|--format|json|--|--c.cfg");
    assert_int_equal(options.action, ACTION_RUN);
    assert_int_equal(options.arguments.count, 3);
    assert_string_equal(options.arguments.list[0], "a.cfg");
    assert_string_equal(options.arguments.list[2], "--c.cfg");
    assert_int_equal(options.sets.count, 2);
    assert_string_equal(options.sets.list[0], "width=1,2");
    assert_string_equal(options.sets.list[1], "threads=4");
    assert_int_equal(options.filters.count, 2);
    assert_string_equal(options.filters.list[1], "omp");
    assert_int_equal(options.backends.count, 2);
    assert_string_equal(options.data, "/tmp");
    assert_string_equal(options.out, "x");
    assert_int_equal(options.format, FORMAT_JSON);
    assert_true(options.quiet);
    options_free(&options);
}

static void actions(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum action action;
    } lines[] = {
        { "x.cfg", ACTION_RUN },
        { "-n|x.cfg", ACTION_DRY_RUN },
        { "--dry-run|x.cfg", ACTION_DRY_RUN },
        { "--list", ACTION_LIST },
        { "-h", ACTION_HELP },
        { "--help|x.cfg", ACTION_HELP },
        { "--version", ACTION_VERSION },
        { "-V", ACTION_VERSION },
        { "--plot|a|b", ACTION_PLOT },
        { "--analyse|a", ACTION_ANALYSE },
        { "--compare|a|b", ACTION_COMPARE },
        { "--ceilings", ACTION_CEILINGS },
        { "--explain|width=1|a", ACTION_EXPLAIN },
        { "--resolution", ACTION_RESOLUTION },
        { "--profile|width=1|a", ACTION_PROFILE },
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct options options = parsed(lines[i].line);
        assert_int_equal(options.action, lines[i].action);
        assert_int_equal(options.format, FORMAT_AUTO);
        options_free(&options);
    }
}

static void mistakes_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *line, *reason;
    } mistakes[] = {
        { "--dryrun|x.cfg", "--dryrun: no such option (did you mean --dry-run?)" },
        { "--fliter=x|x.cfg", "--fliter=x: no such option (did you mean --filter?)" },
        { "--xyzzy|x.cfg", "--xyzzy: no such option; --help shows all" },
        { "-x|x.cfg", "-x: no such option" },
        { "-qx|x.cfg", "-x: no such option" },
        { "--quiet=yes|x.cfg", "--quiet takes no value" },
        { "x.cfg|--set", "--set: expected a value behind it" },
        { "--threads|0|x.cfg", "--threads 0: expected a number from 1" },
        { "--threads|2x|x.cfg", "--threads 2x: expected a number" },
        { "--threads|99999999999999999999|x.cfg", "expected a number from 1 to 4096" },
        { "--format|xml|x.cfg", "--format xml: expected table, csv or json" },
        { "--format|tabel|x.cfg", "did you mean \"table\"?" },
        { "--data|/no/such/folder|x.cfg", "--data /no/such/folder: No such file" },
        { "--data|/dev/null|x.cfg", "is a file: expected the folder" },
        { "--out||x.cfg", "--out: expected a folder" },
        { "--plot", "--plot: expected the folder of a run" },
        { "--analyse", "--analyse: expected the folder of a run" },
        { "--dry-run", "no study given" },
        { "--explain|width=1", "no study given" },
        { "--resolution|--filter|train", "name one" },
        { "--explain|width=1|a.cfg|--format|json", "write a table or csv" },
        { "--explain|width=1|--dry-run|a.cfg", "exclude each other" },
        { "--compare|a", "--compare: expected two runs or more" },
        { "--compare|a|b|--format|json", "write a table or csv" },
        { "--compare|a|b|--threshold|5x", "--threshold 5x: expected percent" },
        { "--list|--dry-run|x.cfg", "exclude each other" },
        { "x.cfg|--setup", "--setup: must be the first argument of ./run_sweep" },
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct options options;
        struct cnn_error error = { CNN_OK, "" };
        assert_int_equal(parse(&options, mistakes[i].line, &error), CNN_INVALID);
        if (!strstr(error.text, mistakes[i].reason))
            fail_msg("%s: expected %s\nfound %s", mistakes[i].line, mistakes[i].reason, error.text);
        options_free(&options);
    }
}

static void no_arguments_are_a_mistake(void **state)
{
    (void)state;
    char name[] = "convscale", *argv[] = { name, NULL };
    struct options options;
    struct cnn_error error;
    optind = 0;
    assert_int_equal(options_parse(&options, 1, argv, &error), CNN_INVALID);
    assert_non_null(strstr(error.text, "./run_sweep experiments/quick.cfg"));
    options_free(&options);
}

static void automatic_threads(void **state)
{
    (void)state;
    struct options options = parsed("--threads|auto|x.cfg");
    assert_string_equal(options.sets.list[0], "threads=auto");
    options_free(&options);
}

/* 40 lines of 120 characters, three groups, every long option named, exit codes told. */
static void help_fits_a_screen(void **state)
{
    (void)state;
    static const char *const parts[] = { "\nWhat to run:\n", "\nChoose:\n", "\nOutput:\n", "\nExit codes:", "--dry-run",
                                         "--list",           "--plot",      "--set ",      "--filter",      "--backend",
                                         "--threads",        "--data",      "--out",       "--format",      "--quiet",
                                         "--help",           "--version",   "130",         "--setup" };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    help_print(out);
    fclose(out);
    int lines = 0;
    for (const char *at = text; *at; lines++) {
        size_t length = strcspn(at, "\n");
        assert_in_range(length, 0, 120);
        at += length + 1;
    }
    assert_in_range(lines, 20, 40);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("--help does not say %s", parts[i]);
    free(text);
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("", ""), 0);
    assert_int_equal(suggest_distance("width", "width"), 0);
    assert_int_equal(suggest_distance("widht", "width"), 1); /* neighbours swapped */
    assert_int_equal(suggest_distance("wdth", "width"), 1);
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("rate-decay", "rate_decay"), 0);
    assert_int_equal(suggest_distance("WIDTH", "width"), 0);
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
    assert_int_equal(suggest_distance("ca", "abc"), 3); /* restricted: no edit between swapped letters */
}

static void suggestions_need_a_near_word(void **state)
{
    (void)state;
    static const char *const words[] = { "width", "depth", "batch", "isa" };
    char text[80];
    assert_string_equal(suggest_nearest("widht", words, 4), "width");
    assert_string_equal(suggest_nearest("deptj", words, 4), "depth");
    assert_null(suggest_nearest("network", words, 4));
    assert_null(suggest_nearest("x", words, 4));
    assert_null(suggest_nearest("a-word-that-is-far-longer-than-any-key-of-a-study-could-ever-be", words, 4));
    suggest_text(text, sizeof text, "bacth", words, 4);
    assert_string_equal(text, " (did you mean \"batch\"?)");
    suggest_text(text, sizeof text, "xyzzy", words, 4);
    assert_string_equal(text, "");
    suggest_list(text, sizeof text, words, 3);
    assert_string_equal(text, "\"width\", \"depth\" or \"batch\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(studies_and_options_mix),
        cmocka_unit_test(actions),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(no_arguments_are_a_mistake),
        cmocka_unit_test(automatic_threads),
        cmocka_unit_test(help_fits_a_screen),
        cmocka_unit_test(distances),
        cmocka_unit_test(suggestions_need_a_near_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
