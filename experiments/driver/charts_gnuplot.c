/* SPDX-License-Identifier: MIT */
/* gnuplot as a process of its own: where its scripts are, whether it drew. */
#include "experiments/driver/charts_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PICTURE_BYTES_MIN 200 /* any SVG or PNG with axes is larger */

extern char **environ;

/* DIR/plots holds the scripts: DIR is CONVSCALE_HOME, or lies where this program was built or installed. */
int chart_scripts_find(char *out, size_t size, struct cnn_error *error)
{
    char program[CHART_PATH] = "", script[CHART_PATH + 16];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *end = strrchr(program, '/');
    if (end)
        *end = '\0';
    const char *home = getenv("CONVSCALE_HOME");
    const char *const from[] = { home, program, program };
    const char *const to[] = { "plots", "../share/convscale/plots", "../../../plots" };
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        if (!from[i] || !*from[i] || snprintf(out, size, "%s/%s", from[i], to[i]) >= (int)size)
            continue;
        snprintf(script, sizeof script, "%s/common.gp", out);
        if (access(script, R_OK) == 0)
            return CNN_OK;
    }
    return cnn_error_set(error, CNN_UNAVAILABLE,
                         "the gnuplot scripts (plots/common.gp) are not beside this program: set CONVSCALE_HOME to the "
                         "project's folder");
}

/* What gnuplot said, in one line. */
static void first_words(const char *path, char *out, size_t size)
{
    char line[CHART_TEXT];
    FILE *file = fopen(path, "r");
    *out = '\0';
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *text = line + strspn(line, " \t^");
        size_t used = strlen(out);
        if (*text && used + strlen(text) + 3 < size)
            snprintf(out + used, size - used, "%s%s", used ? "; " : "", text);
    }
    if (file)
        fclose(file);
}

static int start_gnuplot(const char *script, const char *base, const char *formats, const char *width, const char *log,
                         pid_t *child)
{
    char *argv[] = { "gnuplot", "-d", "-c", (char *)script, (char *)base, (char *)formats, (char *)width, NULL };
    posix_spawn_file_actions_t files;
    int failure = posix_spawn_file_actions_init(&files);
    if (failure)
        return failure;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    failure = posix_spawnp(child, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

static bool is_picture(const char *base, const char *ending)
{
    char path[CHART_PATH + 8];
    struct stat there;
    snprintf(path, sizeof path, "%s%s", base, ending);
    return stat(path, &there) == 0 && there.st_size >= PICTURE_BYTES_MIN;
}

static void remove_file(const char *base, const char *ending)
{
    char path[CHART_PATH + 8];
    snprintf(path, sizeof path, "%s%s", base, ending);
    unlink(path);
}

/* ---- formats ---- */

static const struct {
    const char *word, *ending;
} formats_known[] = { { "svg", ".svg" }, { "png", ".png" }, { "pdf", ".pdf" }, { "tex", "-latex.tex" } };

#define FORMATS_KNOWN (sizeof formats_known / sizeof *formats_known)

bool chart_format_next(const char **formats, char word[8], char ending[16])
{
    *formats += strspn(*formats, " ");
    int length = (int)strcspn(*formats, " ");
    snprintf(word, 8, "%.*s", length, *formats);
    *formats += length;
    for (size_t i = 0; i < FORMATS_KNOWN; i++)
        if (strcmp(word, formats_known[i].word) == 0) {
            snprintf(ending, 16, "%s", formats_known[i].ending);
            return true;
        }
    return false;
}

int chart_formats_parse(char out[32], const char *text, struct cnn_error *error)
{
    char list[64], word[8], ending[16];
    const char *at = list;
    size_t used = 0;
    snprintf(list, sizeof list, "%s", text);
    for (char *c = list; *c; c++)
        *c = *c == ',' ? ' ' : *c;
    out[0] = '\0';
    while (chart_format_next(&at, word, ending))
        if (!strstr(out, word))
            used += (size_t)snprintf(out + used, 32 - used, "%s%s", used ? " " : "", word);
    return used > 0 && !word[0] ? CNN_OK
                                : cnn_error_set(error, CNN_INVALID,
                                                "--figures %.40s: expected some of svg, png, pdf and tex with commas "
                                                "between",
                                                text);
}

int chart_width_parse(double *millimetres, const char *text, struct cnn_error *error)
{
    static const struct {
        const char *unit;
        double millimetres;
    } units[] = { { "mm", 1 }, { "", 1 }, { "cm", 10 }, { "in", 25.4 } };
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0)
            *millimetres = value * units[i].millimetres;
    return *millimetres >= 40 && *millimetres <= 1000
               ? CNN_OK
               : cnn_error_set(error, CNN_INVALID, "--figure-width %.40s: expected 40mm to 1000mm, as in 88mm or 3.5in",
                               text);
}

/* ---- one figure ---- */

/* Old pictures must not pass for new ones. Returns the first format that has none, or NULL. */
static const char *missing_picture(const char *base, const char *formats, bool remove)
{
    for (size_t i = 0; i < FORMATS_KNOWN; i++) {
        if (!strstr(formats, formats_known[i].word))
            continue;
        if (remove)
            remove_file(base, formats_known[i].ending);
        else if (!is_picture(base, formats_known[i].ending))
            return formats_known[i].word;
    }
    return NULL;
}

static int not_installed(struct cnn_error *error)
{
    return cnn_error_set(error, CNN_UNAVAILABLE, "gnuplot is not installed (package gnuplot-nox or gnuplot)");
}

int chart_process_start(struct chart_process *process, const char *scripts, const char *script, const char *base,
                        const char *formats, double millimetres, struct cnn_error *error)
{
    char path[CHART_PATH], width[32] = "";
    if (snprintf(process->base, sizeof process->base, "%s", base) >= (int)sizeof process->base ||
        snprintf(path, sizeof path, "%s/%s", scripts, script) >= (int)sizeof path)
        return cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long for charts", base);
    snprintf(process->formats, sizeof process->formats, "%s", formats);
    snprintf(process->log, sizeof process->log, "%s%s.log", base, strcmp(formats, "tex") ? "" : "-latex");
    if (millimetres > 0)
        snprintf(width, sizeof width, "%g", millimetres);
    missing_picture(base, formats, true);
    int failure = start_gnuplot(path, base, formats, width, process->log, &process->id);
    if (failure == ENOENT)
        return not_installed(error);
    return failure ? cnn_error_set(error, CNN_ERROR, "charts: gnuplot cannot be run: %s", strerror(failure)) : CNN_OK;
}

int chart_process_end(const struct chart_process *process, struct cnn_error *error)
{
    char words[256];
    int status;
    while (waitpid(process->id, &status, 0) < 0)
        if (errno != EINTR)
            return cnn_error_set(error, CNN_ERROR, "charts: gnuplot is lost: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return not_installed(error);
    first_words(process->log, words, sizeof words);
    const char *missing = missing_picture(process->base, process->formats, false);
    if (status != 0 || missing)
        return cnn_error_set(error, CNN_ERROR, "%s: gnuplot drew no picture%s%s: %s", process->base,
                             missing ? " as " : "", missing ? missing : "", *words ? words : "it ended without a word");
    unlink(process->log);
    return CNN_OK;
}
