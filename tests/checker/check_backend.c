/* SPDX-License-Identifier: MIT */
/* The backend checker's command line. Exit codes: 0 all right, 1 something is wrong, 2 bad usage, 77 nothing could run.
 */
#include "experiments/driver/backends.h"
#include "tests/checker/check.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TARGETS_MAX 256
#define DEVICES_MAX 16
#define ISAS_MAX 8
#define DEFAULT_CASES 100

struct settings {
    uint64_t seed;
    int cases;
    const char *backend, *algorithm, *isa, *only; /* NULL: all; `only`: a case's index or text */
    bool bench, self_test, verbose;
};

/* Everything that can run here: a device for each backend and number of threads, a target for each algorithm and isa.
 */
struct room {
    struct cnn_device *devices[DEVICES_MAX];
    const struct cnn_backend *owners[DEVICES_MAX];
    struct cnn_device_info info[DEVICES_MAX];
    char isas[DEVICES_MAX][ISAS_MAX][16];
    struct check_target targets[TARGETS_MAX];
    int supported[TARGETS_MAX], failed[TARGETS_MAX]; /* cases that ran, that went wrong */
    int device_count, target_count;
};

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
        const char **word = letter == 'b'   ? &settings->backend
                            : letter == 'a' ? &settings->algorithm
                            : letter == 'i' ? &settings->isa
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

/* Whether a list of names apart by commas has this one; NULL has all. */
static bool wanted(const char *filter, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = filter; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
            return true;
    return !filter;
}

/* Says what of the backends that were asked for is not in this build; false where one does not exist at all. */
static bool backends_exist(const char *filter)
{
    bool exist = true;
    char copy[256], *rest = copy, *name;
    snprintf(copy, sizeof copy, "%s", filter ? filter : "");
    while ((name = strtok_r(rest, ",", &rest))) {
        struct cnn_error error = { 0 };
        if (backend_find(name, &error))
            continue;
        printf("%s\n", error.text);
        exist = exist && error.status == CNN_UNAVAILABLE;
    }
    return exist;
}

static void add_targets(struct room *room, int device, const struct settings *settings, int threads)
{
    const struct cnn_backend *backend = room->owners[device];
    const char *const *algorithm;
    char *words = room->info[device].isas, *word;
    int isa_count = 0;
    while (isa_count < ISAS_MAX && (word = strtok_r(words, " ", &words)))
        if (wanted(settings->isa, word))
            snprintf(room->isas[device][isa_count++], sizeof room->isas[device][0], "%s", word);
    bool has_isas = room->info[device].isas[0] != '\0';
    for (algorithm = backend->algorithms(); *algorithm; algorithm++)
        for (int i = 0; wanted(settings->algorithm, *algorithm) && i < (has_isas ? isa_count : 1); i++) {
            if (room->target_count == TARGETS_MAX)
                return;
            bool cpu = !strcmp(backend->name, "cpu") || !strcmp(backend->name, "omp");
            room->targets[room->target_count++] = (struct check_target){ .backend = backend,
                                                                         .device = room->devices[device],
                                                                         .group = cpu ? "cpu and omp" : backend->name,
                                                                         .algorithm = *algorithm,
                                                                         .isa = has_isas ? room->isas[device][i] : NULL,
                                                                         .threads = threads };
        }
}

/* Returns false where the device is there but wrong; an unavailable one is left out aloud. */
static bool add_device(struct room *room, const struct cnn_backend *backend, const struct settings *settings,
                       int threads)
{
    struct cnn_device_options options = { .threads = threads };
    struct cnn_error error = { 0 };
    int at = room->device_count;
    int status = backend->open(&room->devices[at], &options, &error);
    if (status == CNN_UNAVAILABLE) {
        printf("%s is left out: %s\n", backend->name, error.text);
        return true;
    }
    if (status || backend->describe(room->devices[at], &room->info[at], &error)) {
        printf("%s: %s\n", backend->name, error.text);
        return false;
    }
    room->owners[at] = backend;
    room->device_count++;
    add_targets(room, at, settings, threads);
    return true;
}

static bool open_room(struct room *room, const struct settings *settings)
{
    bool right = true;
    for (const struct cnn_backend *const *backend = backends(); *backend; backend++) {
        bool omp = !strcmp((*backend)->name, "omp");
        if (!wanted(settings->backend, (*backend)->name))
            continue;
        for (int threads = omp ? 1 : 0; threads <= (omp ? CHECK_THREADS_MAX : 0); threads++)
            right = add_device(room, *backend, settings, threads) && right;
    }
    return right;
}

static void close_room(struct room *room)
{
    for (int i = 0; i < room->device_count; i++)
        room->owners[i]->close(room->devices[i]);
}

static void print_failure(const struct settings *settings, const struct check_target *target, int index,
                          const struct check_case *c, const struct check_report *report)
{
    char text[CHECK_TEXT];
    check_case_format(c, text);
    printf("FAILED %s %s %s, %d threads, case %d of seed %llu\n  %s\n  %s\n", target->backend->name, target->algorithm,
           target->isa ? target->isa : "", target->threads, index, (unsigned long long)settings->seed, report->text,
           text);
    printf("  again: check_backend --backend %s --algorithm %s%s%s", target->backend->name, target->algorithm,
           target->isa ? " --isa " : "", target->isa ? target->isa : "");
    if (index >= 0)
        printf(" --seed %llu --case %d\n", (unsigned long long)settings->seed, index);
    else
        printf(" --case '%s'\n", text);
}

/* All targets on one case; returns the number of failures. */
static int run_on_all(struct room *room, const struct settings *settings, int index, const struct check_case *c,
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
        room->supported[i] += verdict != CHECK_UNSUPPORTED;
        total->values += report.values;
        if (report.worst > total->worst) {
            total->worst = report.worst;
            snprintf(total->worst_what, sizeof total->worst_what, "%s", report.worst_what);
        }
        if (verdict == CHECK_FAILED) {
            if (room->failed[i]++ == 0 || settings->verbose)
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
static int run_one(struct room *room, const struct settings *settings, struct check_report *total)
{
    struct check_case c;
    uint64_t index;
    if (parse_number(settings->only, &index) && index < INT32_MAX) {
        check_case_draw(settings->seed, (int)index, &c);
        return run_on_all(room, settings, (int)index, &c, total);
    }
    return check_case_parse(settings->only, &c) ? run_on_all(room, settings, -1, &c, total) : 1;
}

static int run_contracts(struct room *room)
{
    int broken = 0;
    for (int i = 0; i < room->target_count; i++)
        if (i == 0 || room->targets[i].device != room->targets[i - 1].device ||
            room->targets[i].algorithm != room->targets[i - 1].algorithm)
            broken += check_contract(room->targets[i].backend, room->targets[i].device, room->targets[i].algorithm);
    return broken;
}

static int check_all(struct room *room, const struct settings *settings)
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
        const struct check_target *target = &room->targets[i];
        printf("%s %s %s, %d threads: ran %d of %d cases, %d wrong\n", target->backend->name, target->algorithm,
               target->isa ? target->isa : "", target->threads, room->supported[i], cases, room->failed[i]);
        failures += !settings->only && room->supported[i] == 0;
    }
    printf("%lld values compared, largest error %.3f of its bound (%s), %d failures\n", (long long)total.values,
           total.worst, total.worst_what, failures);
    return failures;
}

int main(int count, char **words)
{
    struct settings settings;
    static struct room room;
    int failures = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(count, words, &settings)) {
        fputs(usage, stderr);
        return 2;
    }
    printf("seed %llu\n", (unsigned long long)settings.seed);
    if (settings.self_test)
        return check_self_test(settings.seed) ? 1 : 0;
    if (!backends_exist(settings.backend))
        return 2;
    bool right = open_room(&room, &settings);
    if (right && room.target_count == 0) {
        printf("nothing to check here: no backend, algorithm and instruction set that was asked for can run\n");
        close_room(&room);
        return 77;
    }
    if (settings.bench)
        for (int i = 0; i < room.target_count; i++)
            failures += check_bench(&room.targets[i]);
    else
        failures = check_all(&room, &settings);
    close_room(&room);
    return failures || !right ? 1 : 0;
}
