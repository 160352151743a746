/* SPDX-License-Identifier: MIT */
/* The backend checker's command line. Exit codes: 0 all right, 1 something is wrong, 2 bad usage, 77 nothing could run.
 */
#include "tests/checker/targets.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_CASES 100

struct settings {
    uint64_t seed;
    int cases;
    struct check_filter filter;
    const char *only; /* a case's index or text; NULL: all */
    bool bench, self_test, verbose;
};

/* Of each target: cases that ran, that went wrong. */
static int supported[TARGETS_MAX], failed[TARGETS_MAX];

static const char usage[] =
    "usage: check_backend [options]\n"
    "Runs random networks on every backend, algorithm and instruction set and compares every value with the oracle.\n"
    "  --seed N          of the cases; default: from the clock, printed\n"
    "  --cases N         how many (100)\n"
    "  --backend NAMES   only these, apart by commas; --algorithm NAMES, --isa NAMES likewise\n"
    "  --case WHAT       only this case: its index under --seed, or its text as a failure prints it\n"
    "  --bench           times each kind of layer instead\n"
    "  --self-test       checks the checker: deliberate faults must be caught\n"
    "  --verbose         prints every case, and every failure instead of the first of each kind\n";

static bool parse_number(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return end != text && !*end;
}

static bool parse(int count, char **words, struct settings *settings)
{
    static const struct option options[] = {
        { "seed", required_argument, NULL, 's' },    { "cases", required_argument, NULL, 'n' },
        { "backend", required_argument, NULL, 'b' }, { "algorithm", required_argument, NULL, 'a' },
        { "isa", required_argument, NULL, 'i' },     { "case", required_argument, NULL, 'c' },
        { "bench", no_argument, NULL, 't' },         { "self-test", no_argument, NULL, 'f' },
        { "verbose", no_argument, NULL, 'v' },       { NULL, 0, NULL, 0 }
    };
    uint64_t number;
    int letter;
    *settings = (struct settings){ .seed = (uint64_t)time(NULL), .cases = DEFAULT_CASES };
    while ((letter = getopt_long(count, words, "", options, NULL)) != -1) {
        if (letter == 's' && parse_number(optarg, &settings->seed))
            continue;
        if (letter == 'n' && parse_number(optarg, &number) && number >= 1 && number <= 1000000) {
            settings->cases = (int)number;
            continue;
        }
        const char **word = letter == 'b'   ? &settings->filter.backend
                            : letter == 'a' ? &settings->filter.algorithm
                            : letter == 'i' ? &settings->filter.isa
                            : letter == 'c' ? &settings->only
                                            : NULL;
        bool *flag = letter == 't' ? &settings->bench : letter == 'f' ? &settings->self_test : NULL;
        if (letter == 'v')
            flag = &settings->verbose;
        if (!word && !flag)
            return false;
        if (word)
            *word = optarg;
        else
            *flag = true;
    }
    return optind == count;
}

static void print_failure(const struct settings *settings, const struct check_target *target, int index,
                          const struct check_case *c, const struct check_report *report)
{
    char text[CHECK_TEXT], name[128];
    check_case_format(c, text);
    check_target_name(target, name, sizeof name);
    printf("FAILED %s, case %d of seed %llu\n  %s\n  %s\n", name, index, (unsigned long long)settings->seed,
           report->text, text);
    printf("  again: check_backend --backend %s --algorithm %s%s%s", target->backend->name, target->algorithm,
           target->isa ? " --isa " : "", target->isa ? target->isa : "");
    if (index >= 0)
        printf(" --seed %llu --case %d\n", (unsigned long long)settings->seed, index);
    else
        printf(" --case '%s'\n", text);
}

/* All targets on one case; returns the number of failures. */
static int run_on_all(struct check_room *room, const struct settings *settings, int index, const struct check_case *c,
                      struct check_report *total)
{
    struct check_material *material;
    struct cnn_error error;
    int failures = 0;
    if (check_material_create(&material, c, &error)) {
        printf("case %d: %s\n", index, error.text);
        return 1;
    }
    for (int i = 0; i < room->target_count; i++) {
        struct check_report report = { 0 };
        enum check_verdict verdict = check_run(&room->targets[i], material, &report);
        supported[i] += verdict != CHECK_UNSUPPORTED;
        total->values += report.values;
        if (report.worst > total->worst) {
            total->worst = report.worst;
            snprintf(total->worst_what, sizeof total->worst_what, "%s", report.worst_what);
        }
        if (verdict == CHECK_FAILED) {
            if (failed[i]++ == 0 || settings->verbose)
                print_failure(settings, &room->targets[i], index, c, &report);
            failures++;
        }
    }
    if (settings->verbose) {
        char text[CHECK_TEXT];
        check_case_format(c, text);
        printf("case %d: %s: %s\n", index, failures ? "FAILED" : "right", text);
    }
    check_material_destroy(material);
    return failures;
}

/* --case: an index draws, anything else is parsed. */
static int run_one(struct check_room *room, const struct settings *settings, struct check_report *total)
{
    struct check_case c;
    uint64_t index;
    if (parse_number(settings->only, &index) && index < INT32_MAX) {
        check_case_draw(settings->seed, (int)index, &c);
        return run_on_all(room, settings, (int)index, &c, total);
    }
    return check_case_parse(settings->only, &c) ? run_on_all(room, settings, -1, &c, total) : 1;
}

static int run_contracts(struct check_room *room)
{
    int broken = 0;
    for (int i = 0; i < room->target_count; i++)
        if (i == 0 || room->targets[i].device != room->targets[i - 1].device ||
            room->targets[i].algorithm != room->targets[i - 1].algorithm)
            broken += check_contract(room->targets[i].backend, room->targets[i].device, room->targets[i].algorithm);
    return broken;
}

static int check_all(struct check_room *room, const struct settings *settings)
{
    struct check_report total = { 0 };
    int failures = run_contracts(room), cases = settings->only ? 1 : settings->cases;
    if (settings->only)
        failures += run_one(room, settings, &total);
    for (int index = 0; index < cases && !settings->only; index++) {
        struct check_case c;
        check_case_draw(settings->seed, index, &c);
        failures += run_on_all(room, settings, index, &c, &total);
    }
    for (int i = 0; i < room->target_count; i++) {
        char name[128];
        check_target_name(&room->targets[i], name, sizeof name);
        printf("%s: ran %d of %d cases, %d wrong\n", name, supported[i], cases, failed[i]);
        failures += !settings->only && supported[i] == 0;
    }
    printf("%lld values compared, largest error %.3f of its bound (%s), %d failures\n", (long long)total.values,
           total.worst, total.worst_what, failures);
    return failures;
}

int main(int count, char **words)
{
    struct settings settings;
    static struct check_room room;
    int failures = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(count, words, &settings)) {
        fputs(usage, stderr);
        return 2;
    }
    printf("seed %llu\n", (unsigned long long)settings.seed);
    if (settings.self_test)
        return check_self_test(settings.seed) ? 1 : 0;
    int status = check_room_open(&room, &settings.filter);
    if (status == 0 && settings.bench)
        for (int i = 0; i < room.target_count; i++)
            failures += check_bench(&room.targets[i]);
    else if (status == 0)
        failures = check_all(&room, &settings);
    check_room_close(&room);
    return status ? status : failures != 0;
}
