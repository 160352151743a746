/* SPDX-License-Identifier: MIT */
/* ROOT/<machine>/ceilings.json: kept for one build, measured where it is not there. */
#include "experiments/driver/ceilings.h"
#include "experiments/driver/child.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define FILE_BYTES_MAX ((int64_t)1 << 24)

extern char **environ;

static bool path_of(const char *root, char *out, size_t size)
{
    char machine[MACHINE_SLUG];
    machine_slug(machine);
    return snprintf(out, size, "%s/%s/" CEILINGS_FILE, root, machine) < (int)size;
}

int ceilings_read(struct ceilings *out, const char *path, const char *build, struct cnn_error *error)
{
    size_t size;
    char *text = durable_read(path, FILE_BYTES_MAX, &size, error);
    *out = (struct ceilings){ .list = NULL };
    if (!text)
        return cnn_error_set(error, CNN_UNAVAILABLE, "%s: there are no ceilings yet: --ceilings measures them", path);
    int status = ceilings_from_json(out, text, error);
    free(text);
    if (status == CNN_OK && build && strcmp(build, out->build)) {
        status = cnn_error_set(error, CNN_UNAVAILABLE, "%s: of build %s, this is %s: --ceilings measures anew", path,
                               out->build, build);
        ceilings_free(out);
    }
    return status;
}

static int renew(const char *root, const char *argv0, struct cnn_error *error)
{
    char program[PATH_MAX];
    if (child_program(argv0, program, sizeof program, error))
        return error->status;
    char *argv[] = { program, "--ceilings", "--quiet", "--out", (char *)root, NULL };
    posix_spawn_file_actions_t files;
    pid_t child;
    int ended = 0, failure = posix_spawn_file_actions_init(&files);
    if (!failure) {
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
        failure = posix_spawn(&child, program, &files, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    if (failure)
        return cnn_error_set(error, CNN_ERROR, "ceilings: this program cannot be run again: %s", strerror(failure));
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR)
            return cnn_error_set(error, CNN_ERROR, "ceilings: waiting for their process: %s", strerror(errno));
    return ended == 0 ? CNN_OK : cnn_error_set(error, CNN_ERROR, "ceilings: they could not be measured");
}

void ceilings_learn(struct ceilings *out, const char *root, const char *argv0, FILE *log)
{
    struct cnn_error error = { CNN_OK, "" };
    char path[PATH_MAX];
    const char *wish = getenv("CONVSCALE_CEILINGS");
    *out = (struct ceilings){ .list = NULL };
    int status = path_of(root, path, sizeof path) ? ceilings_read(out, path, machine_build(), &error) : CNN_OK;
    if ((status != CNN_UNAVAILABLE && status != CNN_INVALID) || (wish && strcmp(wish, "off") == 0))
        return;
    if (status == CNN_INVALID) /* cut short, or of another version */
        fprintf(stderr, "convscale: %s: cannot be read, so it is measured anew\n", path);
    if (log)
        fprintf(log, "convscale: measuring what this machine can do at most, some seconds, once for this build: %s\n",
                path);
    if (renew(root, argv0, &error) || ceilings_read(out, path, machine_build(), &error))
        fprintf(stderr, "convscale: no row gets its share of the limit: %s\n", error.text);
}

int ceilings_keep(const struct ceilings *ceilings, const char *root, struct cnn_error *error)
{
    char path[PATH_MAX];
    if (!path_of(root, path, sizeof path))
        return cnn_error_set(error, CNN_ERROR, "%.200s...: this path is too long for results", root);
    char *text = ceilings_to_json(ceilings), *folder = strdup(path);
    int status = CNN_OK;
    if (!text || !folder)
        status = cnn_error_set(error, CNN_OOM, "%s: no memory for it", path);
    else
        *strrchr(folder, '/') = '\0';
    if (status == CNN_OK)
        status = durable_folders(folder, error);
    if (status == CNN_OK)
        status = durable_replace(path, text, strlen(text), error);
    free(text);
    free(folder);
    return status;
}
