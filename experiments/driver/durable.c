/* SPDX-License-Identifier: MIT */
/* Writing so that a crash, a kill or a full disk costs the last line at most, and never silently. */
#include "experiments/driver/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_TEXT 4096

static const char *advice(int code)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "; free some space, or give another place with --out";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; give a folder you may write with --out";
    default:
        return "";
    }
}

static int failed(struct cnn_error *error, const char *path, const char *what, int code)
{
    return cnn_error_set(error, CNN_ERROR, "%s: %s: %s%s", path, what, strerror(code), advice(code));
}

static bool write_all(int file, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(file, text, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            errno = wrote == 0 ? ENOSPC : errno;
            return false;
        }
        text += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

/* Some file systems and special files cannot be synced; that is no loss of data. */
static bool synced(int file)
{
    return fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

int durable_append(int file, const char *path, const char *text, size_t size, struct cnn_error *error)
{
    struct stat before;
    if (fstat(file, &before))
        return failed(error, path, "cannot be read", errno);
    if (!write_all(file, text, size) || !synced(file)) {
        int code = errno;
        if (S_ISREG(before.st_mode) && ftruncate(file, before.st_size))
            return failed(error, path, "a line was cut short and cannot be taken back", code);
        return failed(error, path, "cannot be written", code);
    }
    return CNN_OK;
}

char *durable_read(const char *path, int64_t most, size_t *size, struct cnn_error *error)
{
    struct stat there;
    FILE *file = fopen(path, "r");
    char *text = NULL;
    if (!file || fstat(fileno(file), &there)) {
        failed(error, path, "cannot be read", errno);
    } else if (!S_ISREG(there.st_mode) || there.st_size > most) {
        cnn_error_set(error, CNN_INVALID, "%s: expected a file of at most %.0f MiB", path, (double)most / 0x1p20);
    } else if (!(text = malloc((size_t)there.st_size + 1))) {
        cnn_error_set(error, CNN_OOM, "%s: no memory for its %lld bytes", path, (long long)there.st_size);
    } else {
        *size = fread(text, 1, (size_t)there.st_size, file);
        text[*size] = '\0';
        if (ferror(file)) {
            failed(error, path, "cannot be read", errno);
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}

int durable_cut(const char *path, int64_t size, struct cnn_error *error)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool cut = file >= 0 && ftruncate(file, (off_t)size) == 0 && synced(file);
    int code = errno;
    if (file >= 0)
        close(file);
    return cut ? CNN_OK : failed(error, path, "a torn end cannot be cut off", code);
}

static int open_for_appending(const char *path, int flags, struct cnn_error *error)
{
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0666);
    if (file < 0)
        failed(error, path, flags ? "cannot be made" : "cannot be opened", errno);
    return file;
}

int durable_open(const char *path, struct cnn_error *error)
{
    return open_for_appending(path, 0, error);
}

int durable_create(const char *path, struct cnn_error *error)
{
    return open_for_appending(path, O_EXCL, error);
}

/* The folder's own entries reach the disk as well. */
static void sync_folder_of(const char *path)
{
    char copy[PATH_TEXT];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    (void)fsync(folder);
    close(folder);
}

int durable_replace(const char *path, const char *text, size_t size, struct cnn_error *error)
{
    char beside[PATH_TEXT];
    if (snprintf(beside, sizeof beside, "%s.new-%ld", path, (long)getpid()) >= (int)sizeof beside)
        return failed(error, path, "cannot be made", ENAMETOOLONG);
    int file = durable_create(beside, error);
    if (file < 0)
        return CNN_ERROR;
    int status = durable_append(file, beside, text, size, error);
    if (close(file) && status == CNN_OK)
        status = failed(error, beside, "cannot be written", errno);
    if (status == CNN_OK && rename(beside, path))
        status = failed(error, path, "cannot be replaced", errno);
    if (status != CNN_OK)
        unlink(beside);
    else
        sync_folder_of(path);
    return status;
}

int durable_folders(const char *path, struct cnn_error *error)
{
    char part[PATH_TEXT];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return failed(error, path, "cannot be made", ENAMETOOLONG);
    for (char *at = part + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char mark = *at;
        *at = '\0';
        struct stat there;
        if (mkdir(part, 0777) && !(errno == EEXIST && stat(part, &there) == 0 && S_ISDIR(there.st_mode)))
            return failed(error, part, "this folder cannot be made", errno);
        if (mark == '\0')
            return CNN_OK;
        *at = mark;
    }
}

int durable_link(const char *target, const char *link, struct cnn_error *error)
{
    char beside[PATH_TEXT];
    struct stat there;
    if (snprintf(beside, sizeof beside, "%s.new-%ld", link, (long)getpid()) >= (int)sizeof beside)
        return failed(error, link, "cannot be made", ENAMETOOLONG);
    if (lstat(link, &there) == 0 && !S_ISLNK(there.st_mode))
        return cnn_error_set(error, CNN_ERROR, "%s: is no link and stays as it is; move it away", link);
    unlink(beside);
    if (symlink(target, beside))
        return failed(error, link, "this link cannot be made", errno);
    if (rename(beside, link)) {
        int code = errno;
        unlink(beside);
        return failed(error, link, "this link cannot be replaced", code);
    }
    sync_folder_of(link);
    return CNN_OK;
}
