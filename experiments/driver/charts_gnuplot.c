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

#define PATH_TEXT 4096
#define PICTURE_BYTES_MIN 200 /* any SVG or PNG with axes is larger */

extern char **environ;

/* DIR/plots holds the scripts: DIR is CONVSCALE_HOME, or lies where this program was built or installed. */
int chart_scripts_find(char *out, size_t size, struct cnn_error *error)
{
    char program[PATH_TEXT] = "", script[PATH_TEXT + 16];
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

static int run_gnuplot(const char *script, const char *base, const char *log, int *status)
{
    char *argv[] = { "gnuplot", "-d", "-c", (char *)script, (char *)base, NULL };
    posix_spawn_file_actions_t files;
    pid_t child;
    int failure = posix_spawn_file_actions_init(&files);
    if (failure)
        return failure;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    failure = posix_spawnp(&child, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure)
        return failure;
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static bool is_picture(const char *base, const char *ending)
{
    char path[PATH_TEXT + 8];
    struct stat there;
    snprintf(path, sizeof path, "%s.%s", base, ending);
    return stat(path, &there) == 0 && there.st_size >= PICTURE_BYTES_MIN;
}

static void remove_file(const char *base, const char *ending)
{
    char path[PATH_TEXT + 8];
    snprintf(path, sizeof path, "%s.%s", base, ending);
    unlink(path);
}

int chart_gnuplot(const char *scripts, const char *script, const char *folder, const char *name,
                  struct cnn_error *error)
{
    char base[PATH_TEXT], path[PATH_TEXT], log[PATH_TEXT + 8], words[256];
    int status = 0;
    if (snprintf(base, sizeof base, "%s/%s", folder, name) >= (int)sizeof base ||
        snprintf(path, sizeof path, "%s/%s", scripts, script) >= (int)sizeof path)
        return cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long for charts", folder);
    snprintf(log, sizeof log, "%s.log", base);
    remove_file(base, "svg"); /* an old picture must not pass for a new one */
    remove_file(base, "png");
    int failure = run_gnuplot(path, base, log, &status);
    if (failure == ENOENT || (!failure && WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return cnn_error_set(error, CNN_UNAVAILABLE, "gnuplot is not installed (package gnuplot-nox or gnuplot)");
    if (failure)
        return cnn_error_set(error, CNN_ERROR, "charts: gnuplot cannot be run: %s", strerror(failure));
    first_words(log, words, sizeof words);
    if (status != 0 || !is_picture(base, "svg") || !is_picture(base, "png"))
        return cnn_error_set(error, CNN_ERROR, "%s: gnuplot drew no picture: %s", base,
                             *words ? words : "it ended without a word");
    unlink(log);
    return CNN_OK;
}
