/* SPDX-License-Identifier: MIT */
/* getopt_long, with sentences of our own for what it refuses. */
#include "experiments/driver/options.h"
#include "experiments/driver/compare.h"
#include "experiments/driver/suggest.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define THREADS_MAX 4096
#define MADE_BYTES 64
#define SECONDS_MAX (30 * 86400.0)

enum {
    OPT_SET = 256,
    OPT_FILTER,
    OPT_BACKEND,
    OPT_THREADS,
    OPT_DATA,
    OPT_OUT,
    OPT_FORMAT,
    OPT_PLOT,
    OPT_COMPARE,
    OPT_THRESHOLD,
    OPT_EXPLAIN,
    OPT_RESOLUTION,
    OPT_PROFILE,
    OPT_LAYERS,
    OPT_LIST,
    OPT_REPORT,
    OPT_FIGURES,
    OPT_FIGURE_WIDTH,
    OPT_CHOICES,
    OPT_ANALYSE,
    OPT_ORDER,
    OPT_TIMEOUT,
    OPT_BUDGET,
    OPT_SLOW,
    OPT_REQUIRED,
    OPT_FRESH,
    OPT_RETRY,
    OPT_CEILINGS
};

static const struct option long_options[] = {
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { "list", no_argument, NULL, OPT_LIST },
    { "dry-run", no_argument, NULL, 'n' },
    { "plot", no_argument, NULL, OPT_PLOT },
    { "analyse", no_argument, NULL, OPT_ANALYSE },
    { "compare", no_argument, NULL, OPT_COMPARE },
    { "threshold", required_argument, NULL, OPT_THRESHOLD },
    { "ceilings", no_argument, NULL, OPT_CEILINGS },
    { "resolution", no_argument, NULL, OPT_RESOLUTION },
    { "explain", required_argument, NULL, OPT_EXPLAIN },
    { "profile", required_argument, NULL, OPT_PROFILE },
    { "layers", no_argument, NULL, OPT_LAYERS },
    { "filter", required_argument, NULL, OPT_FILTER },
    { "set", required_argument, NULL, OPT_SET },
    { "backend", required_argument, NULL, OPT_BACKEND },
    { "threads", required_argument, NULL, OPT_THREADS },
    { "data", required_argument, NULL, OPT_DATA },
    { "choices", required_argument, NULL, OPT_CHOICES },
    { "order", required_argument, NULL, OPT_ORDER },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "budget", required_argument, NULL, OPT_BUDGET },
    { "slow", no_argument, NULL, OPT_SLOW },
    { "required", no_argument, NULL, OPT_REQUIRED },
    { "fresh", no_argument, NULL, OPT_FRESH },
    { "retry", required_argument, NULL, OPT_RETRY },
    { "report", no_argument, NULL, OPT_REPORT },
    { "figures", required_argument, NULL, OPT_FIGURES },
    { "figure-width", required_argument, NULL, OPT_FIGURE_WIDTH },
    { "out", required_argument, NULL, OPT_OUT },
    { "format", required_argument, NULL, OPT_FORMAT },
    { "quiet", no_argument, NULL, 'q' },
    { NULL, 0, NULL, 0 },
};

static void add(struct words_given *words, const char *word)
{
    words->list[words->count++] = word;
}

/* No list gets longer than the command line. */
static bool make_room(struct options *options, int argc)
{
    struct words_given *lists[] = { &options->arguments, &options->sets, &options->filters, &options->backends };
    bool fine = true;
    for (int i = 0; i < COUNT(lists); i++) {
        lists[i]->list = calloc((size_t)argc + 1, sizeof *lists[i]->list);
        fine = fine && lists[i]->list;
    }
    return fine;
}

void options_free(struct options *options)
{
    free(options->arguments.list);
    free(options->sets.list);
    free(options->filters.list);
    free(options->backends.list);
    for (int i = 0; i < OPTIONS_MADE; i++)
        free(options->made[i]);
    *options = (struct options){ 0 };
}

/* Options of the shell script around this program are known here for a better sentence. */
static int unknown_option(const char *word, struct cnn_error *error)
{
    static const char *const scripts[] = { "setup", "no-build", "build-only", "fetch" };
    const char *names[COUNT(long_options) + COUNT(scripts)];
    char name[64], meant[80] = "";
    int count = 0;
    for (const struct option *option = long_options; option->name; option++)
        names[count++] = option->name;
    for (int i = 0; i < COUNT(scripts); i++)
        if (!strncmp(word, "--", 2) && !strcmp(word + 2, scripts[i]))
            return cnn_error_set(error, CNN_INVALID, "%s: must be the first argument of ./run_sweep", word);
    snprintf(name, sizeof name, "%s", word);
    name[strcspn(name, "=")] = '\0';
    const char *nearest = suggest_nearest(name + strspn(name, "-"), names, count);
    if (nearest && strchr(word, '=') && !suggest_distance(name + strspn(name, "-"), nearest))
        return cnn_error_set(error, CNN_INVALID, "%.60s: --%s takes no value", word, nearest);
    if (nearest)
        snprintf(meant, sizeof meant, " (did you mean --%s?)", nearest);
    return cnn_error_set(error, CNN_INVALID, "%.60s: no such option%s; --help shows all", word, meant);
}

enum { MADE_THREADS, MADE_ORDER, MADE_TIMEOUT };

/* An option that is a key of a study, too: read as --set KEY=WORD. */
static int set_key(struct options *options, int made, const char *key, const char *word, struct cnn_error *error)
{
    char **text = &options->made[made];
    if (!*text && !(*text = malloc(MADE_BYTES)))
        return cnn_error_set(error, CNN_OOM, "no memory for the command line");
    snprintf(*text, MADE_BYTES, "%s=%.40s", key, word);
    add(&options->sets, *text);
    return CNN_OK;
}

static int read_threads(struct options *options, const char *word, struct cnn_error *error)
{
    char *end;
    errno = 0;
    long threads = strtol(word, &end, 10);
    bool number = end != word && *end == '\0' && !errno && threads >= 1 && threads <= THREADS_MAX;
    if (!number && strcmp(word, "auto"))
        return cnn_error_set(error, CNN_INVALID, "--threads %.40s: expected a number from 1 to %d, or auto", word,
                             THREADS_MAX);
    return set_key(options, MADE_THREADS, "threads", word, error);
}

static int read_order(struct options *options, const char *word, struct cnn_error *error)
{
    if (strcmp(word, "random") && strcmp(word, "as-written"))
        return cnn_error_set(error, CNN_INVALID, "--order %.40s: expected random or as-written", word);
    return set_key(options, MADE_ORDER, "order", word, error);
}

/* "90", "90s", "10m", "1.5h". */
static int read_duration(const char *option, const char *word, double *seconds, struct cnn_error *error)
{
    char *end;
    errno = 0;
    *seconds = strtod(word, &end);
    bool number = end != word && !errno;
    *seconds *= *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
    end += *end == 's' || *end == 'm' || *end == 'h';
    if (number && *end == '\0' && *seconds > 0 && *seconds <= SECONDS_MAX)
        return CNN_OK;
    return cnn_error_set(error, CNN_INVALID, "%s %.40s: expected a time, as in 90s, 10m or 2h", option, word);
}

static int read_timeout(struct options *options, const char *word, struct cnn_error *error)
{
    char digits[40];
    double seconds;
    if (read_duration("--timeout", word, &seconds, error))
        return error->status;
    snprintf(digits, sizeof digits, "%.17g", seconds);
    return set_key(options, MADE_TIMEOUT, "timeout", digits, error);
}

/* "mismatch,error" */
static int read_retry(struct options *options, const char *words, struct cnn_error *error)
{
    char list[256];
    if (strlen(words) >= sizeof list)
        return cnn_error_set(error, CNN_INVALID, "--retry: expected words of a row's status, as in timeout,error");
    strcpy(list, words);
    for (char *rest = list, *word; (word = strsep(&rest, ","));) {
        enum cnn_status status = cnn_status_parse(word);
        if (status == CNN_STATUS_COUNT)
            return cnn_error_set(error, CNN_INVALID,
                                 "--retry %.40s: expected words of a row's status, as in timeout,error", word);
        options->retry |= 1u << status;
    }
    return CNN_OK;
}

static int read_format(struct options *options, const char *word, struct cnn_error *error)
{
    static const char *const words[] = { "table", "csv", "json" };
    char meant[80];
    for (int i = 0; i < COUNT(words); i++)
        if (!strcmp(word, words[i])) {
            options->format = FORMAT_TABLE + i;
            return CNN_OK;
        }
    suggest_text(meant, sizeof meant, word, words, COUNT(words));
    return cnn_error_set(error, CNN_INVALID, "--format %.40s: expected table, csv or json%s", word, meant);
}

static int read_threshold(struct options *options, const char *word, struct cnn_error *error)
{
    char *end;
    double percent = strtod(word, &end);
    if (end == word || *end || !(percent >= 0 && percent <= 1000))
        return cnn_error_set(error, CNN_INVALID, "--threshold %.40s: expected percent from 0 to 1000, as in 5", word);
    options->threshold = percent / 100;
    return CNN_OK;
}

static int read_data(struct options *options, const char *folder, struct cnn_error *error)
{
    struct stat about;
    if (stat(folder, &about))
        return cnn_error_set(error, CNN_INVALID, "--data %.300s: %s", folder, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return cnn_error_set(error, CNN_INVALID, "--data %.300s: is a file: expected the folder that the files lie in",
                             folder);
    options->data = folder;
    return CNN_OK;
}

static int set_action(struct options *options, enum action action, struct cnn_error *error)
{
    if (options->action != ACTION_RUN && options->action != action && action > ACTION_RUN)
        return cnn_error_set(error, CNN_INVALID,
                             "--list, --dry-run, --plot, --help and the others that say what to do exclude each other");
    options->action = action;
    return CNN_OK;
}

/* Options that say what to do and take no value. */
static const struct {
    int option;
    enum action action;
} actions[] = {
    { 'h', ACTION_HELP },
    { 'V', ACTION_VERSION },
    { 'n', ACTION_DRY_RUN },
    { OPT_LIST, ACTION_LIST },
    { OPT_PLOT, ACTION_PLOT },
    { OPT_CEILINGS, ACTION_CEILINGS },
    { OPT_ANALYSE, ACTION_ANALYSE },
    { OPT_COMPARE, ACTION_COMPARE },
    { OPT_RESOLUTION, ACTION_RESOLUTION },
};

static int read_option(struct options *options, int option, char **argv, struct cnn_error *error)
{
    for (int i = 0; i < COUNT(actions); i++)
        if (actions[i].option == option)
            return set_action(options, actions[i].action, error);
    switch (option) {
    case OPT_EXPLAIN:
    case OPT_PROFILE:
        add(&options->filters, optarg);
        return set_action(options, option == OPT_EXPLAIN ? ACTION_EXPLAIN : ACTION_PROFILE, error);
    case OPT_LAYERS:
        options->layers = true;
        return CNN_OK;
    case OPT_THRESHOLD:
        return read_threshold(options, optarg, error);
    case 'q':
        options->quiet = true;
        return CNN_OK;
    case OPT_SET:
        add(&options->sets, optarg);
        return CNN_OK;
    case OPT_FILTER:
        add(&options->filters, optarg);
        return CNN_OK;
    case OPT_BACKEND:
        add(&options->backends, optarg);
        return CNN_OK;
    case OPT_THREADS:
        return read_threads(options, optarg, error);
    case OPT_DATA:
        return read_data(options, optarg, error);
    case OPT_ORDER:
        return read_order(options, optarg, error);
    case OPT_TIMEOUT:
        return read_timeout(options, optarg, error);
    case OPT_BUDGET:
        return read_duration("--budget", optarg, &options->budget, error);
    case OPT_SLOW:
        add(&options->sets, "slow=true");
        return CNN_OK;
    case OPT_REQUIRED:
        add(&options->sets, "required=true");
        return CNN_OK;
    case OPT_FRESH:
        options->fresh = true;
        return CNN_OK;
    case OPT_RETRY:
        return read_retry(options, optarg, error);
    case OPT_CHOICES:
        options->choices = optarg;
        return *optarg ? CNN_OK : cnn_error_set(error, CNN_INVALID, "--choices: expected the choices.json of a run");
    case OPT_REPORT:
        return set_action(options, ACTION_REPORT, error);
    case OPT_FIGURES:
        return chart_formats_parse(options->style.formats, optarg, error);
    case OPT_FIGURE_WIDTH:
        return chart_width_parse(&options->style.millimetres, optarg, error);
    case OPT_OUT:
        options->out = optarg;
        return *optarg ? CNN_OK : cnn_error_set(error, CNN_INVALID, "--out: expected a folder");
    case OPT_FORMAT:
        return read_format(options, optarg, error);
    case ':':
        return cnn_error_set(error, CNN_INVALID, "%.60s: expected a value behind it; --help shows all",
                             argv[optind - 1]);
    default:
        if (optopt > 0 && optopt < OPT_SET && strncmp(argv[optind - 1], "--", 2)) {
            const char word[3] = { '-', (char)optopt, '\0' };
            return unknown_option(word, error);
        }
        return unknown_option(argv[optind - 1], error);
    }
}

static bool runs_studies(enum action action)
{
    return action == ACTION_RUN || action == ACTION_DRY_RUN || action == ACTION_EXPLAIN || action == ACTION_PROFILE;
}

static int check(const struct options *options, struct cnn_error *error)
{
    if (options->fresh && options->retry)
        return cnn_error_set(error, CNN_INVALID, "--fresh starts a new run, --retry goes on with an old one: give one");
    const char *of_runs = options->action == ACTION_PLOT      ? "plot"
                          : options->action == ACTION_ANALYSE ? "analyse"
                          : options->action == ACTION_REPORT  ? "report"
                                                              : NULL;
    if (of_runs && options->arguments.count == 0)
        return cnn_error_set(error, CNN_INVALID,
                             "--%s: expected the folder of a run, as in --%s results/*/quick/latest", of_runs, of_runs);
    if (options->action == ACTION_COMPARE && options->arguments.count < 2)
        return cnn_error_set(error, CNN_INVALID,
                             "--compare: expected two runs or more, base first, as in --compare previous latest");
    if (options->action == ACTION_RESOLUTION && options->arguments.count == 0 &&
        options->sets.count + options->filters.count + options->backends.count > 0)
        return cnn_error_set(error, CNN_INVALID,
                             "--resolution: --set, --filter and the like are about a study: name one");
    if ((options->action == ACTION_COMPARE || options->action == ACTION_EXPLAIN) && options->format == FORMAT_JSON)
        return cnn_error_set(error, CNN_INVALID, "--format json: --compare and --explain write a table or csv");
    if (runs_studies(options->action) && options->arguments.count == 0)
        return cnn_error_set(
            error, CNN_INVALID,
            "no study given: expected one, as in ./run_sweep experiments/quick.cfg; --help shows more");
    return CNN_OK;
}

int options_parse(struct options *out, int argc, char **argv, struct cnn_error *error)
{
    int option, status = CNN_OK;
    *out = (struct options){ .threshold = COMPARE_THRESHOLD };
    if (!make_room(out, argc))
        return cnn_error_set(error, CNN_OOM, "no memory for the command line");
    opterr = 0;
    while (!status && (option = getopt_long(argc, argv, ":hVnq", long_options, NULL)) != -1)
        status = read_option(out, option, argv, error);
    while (!status && optind < argc)
        add(&out->arguments, argv[optind++]);
    return status ? status : check(out, error);
}
