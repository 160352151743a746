/* SPDX-License-Identifier: MIT */
/* Files of data sets through zlib. No size that a file states is believed before the file is known to be able to hold
 * it. */
#include "lib/data_file.h"

#include "lib/checked.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFLATE_RATIO_MAX 1032 /* bytes out per byte in (zlib manual, "Technical details") */
#define READ_CHUNK (1 << 30)   /* gzread() counts in int */

struct cnn_grouped cnn_grouped(int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    struct cnn_grouped out;
    char *to = out.text;
    for (int i = 0; i < length; i++) {
        *to++ = digits[i];
        if (i + 1 < length && (length - 1 - i) % 3 == 0 && digits[i] != '-')
            *to++ = ',';
    }
    *to = '\0';
    return out;
}

const char *cnn_dims_text(const int64_t *dims, int rank, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " x " : "", cnn_grouped(dims[i]).text);
    return out;
}

int cnn_data_file_open(struct cnn_data_file *file, const char *path, const char *what, struct cnn_error *error)
{
    struct stat info;
    *file = (struct cnn_data_file){ .path = path, .what = what };
    if (stat(path, &info))
        return cnn_error_set(error, errno == ENOENT ? CNN_UNAVAILABLE : CNN_ERROR, "%s: cannot be read: %s", path,
                             strerror(errno));
    if (S_ISDIR(info.st_mode))
        return cnn_error_set(error, CNN_INVALID, "%s: is a folder, expected %s", path, what);
    if (!S_ISREG(info.st_mode))
        return cnn_error_set(error, CNN_INVALID, "%s: is no regular file, expected %s", path, what);
    if (info.st_size == 0)
        return cnn_error_set(error, CNN_INVALID, "%s: is empty, expected %s: failed download?", path, what);
    errno = 0;
    file->stream = gzopen(path, "rbe");
    if (!file->stream)
        return cnn_error_set(error, errno ? CNN_ERROR : CNN_OOM, "%s: cannot be read: %s", path,
                             errno ? strerror(errno) : "no memory");
    file->size = info.st_size;
    file->zipped = !gzdirect(file->stream);
    return CNN_OK;
}

void cnn_data_file_close(struct cnn_data_file *file)
{
    if (file->stream)
        gzclose(file->stream);
    file->stream = NULL;
}

int cnn_data_file_fill(struct cnn_data_file *file, void *out, int64_t want, int64_t *got, struct cnn_error *error)
{
    for (*got = 0; *got < want;) {
        int64_t left = want - *got;
        int count = gzread(file->stream, (uint8_t *)out + *got, (unsigned)(left < READ_CHUNK ? left : READ_CHUNK));
        if (count <= 0)
            break;
        *got += count;
    }
    int code = Z_OK;
    const char *text = gzerror(file->stream, &code);
    if (code == Z_ERRNO)
        return cnn_error_set(error, CNN_ERROR, "%s: offset %s: cannot be read: %s", file->path,
                             cnn_grouped(gzoffset(file->stream)).text, strerror(errno));
    if (code == Z_BUF_ERROR)
        return cnn_error_set(error, CNN_INVALID, "%s: gzip data ends early, after %s bytes: truncated download?",
                             file->path, cnn_grouped(file->size).text);
    if (code == Z_OK || code == Z_STREAM_END)
        return CNN_OK;
    size_t prefix = strlen(file->path) + 2; /* zlib's sentence starts with "PATH: " */
    return cnn_error_set(error, code == Z_MEM_ERROR ? CNN_OOM : CNN_INVALID,
                         "%s: damaged gzip data at or before offset %s: zlib says: %s", file->path,
                         cnn_grouped(gzoffset(file->stream)).text, strlen(text) > prefix ? text + prefix : text);
}

static bool looks_like_page(const uint8_t *head, int64_t count)
{
    int64_t i = count >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (i < count && isspace(head[i]))
        i++;
    return i < count && head[i] == '<';
}

static bool looks_like_text(const uint8_t *head)
{
    return isprint(head[0]) && isprint(head[1]) && isprint(head[2]) && isprint(head[3]);
}

int cnn_data_file_disguise(const struct cnn_data_file *file, const uint8_t *head, int64_t count, const char *expected,
                           struct cnn_error *error)
{
    if (looks_like_page(head, count))
        return cnn_error_set(error, CNN_INVALID,
                             "%s: looks like a web page, not %s: '<' at its start, expected %s; download the file "
                             "itself",
                             file->path, file->what, expected);
    if (count >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: offset 0: still gzip data after unzipping, expected %s: compressed twice?",
                             file->path, expected);
    if (count >= 4 && looks_like_text(head))
        return cnn_error_set(error, CNN_INVALID, "%s: looks like text (\"%.4s\" at its start), not %s, expected %s",
                             file->path, (const char *)head, file->what, expected);
    return CNN_OK;
}

/* One sentence for a file that does not hold what it should. */
static int wrong_length(const struct cnn_data_file *file, int64_t header, const char *more, int64_t found,
                        int64_t expected, const char *what, const char *shape, struct cnn_error *error)
{
    return cnn_error_set(error, CNN_INVALID, "%s: %s%s bytes of %s from offset %lld on, expected %s (%s): %s",
                         file->path, more, cnn_grouped(found).text, what, (long long)header, cnn_grouped(expected).text,
                         shape, found < expected ? "truncated download?" : "not the file its header says");
}

int cnn_data_file_rest(struct cnn_data_file *file, int64_t header, int64_t bytes, const char *what, const char *shape,
                       uint8_t **out, struct cnn_error *error)
{
    int64_t held = file->size - header, got, most;
    uint8_t beyond, *content = NULL;
    *out = NULL;
    if (!file->zipped && held != bytes)
        return wrong_length(file, header, "", held, bytes, what, shape, error);
    if (file->zipped && cnn_mul(file->size, DEFLATE_RATIO_MAX, &most) && bytes > most)
        return cnn_error_set(error, CNN_INVALID,
                             "%s: offset 4: %s is %s bytes of %s, expected at most %s, all that %s gzipped bytes can "
                             "hold",
                             file->path, shape, cnn_grouped(bytes).text, what, cnn_grouped(most).text,
                             cnn_grouped(file->size).text);
    if (!(content = malloc((size_t)bytes)))
        return cnn_error_set(error, CNN_OOM, "%s: no memory for its %s bytes", file->path, cnn_grouped(bytes).text);
    int status = cnn_data_file_fill(file, content, bytes, &got, error);
    if (!status && got < bytes)
        status = wrong_length(file, header, "", got, bytes, what, shape, error);
    if (!status)
        status = cnn_data_file_fill(file, &beyond, 1, &got, error); /* also makes zlib check length and CRC */
    if (!status && got)
        status = wrong_length(file, header, "at least ", bytes + 1, bytes, what, shape, error);
    if (status)
        free(content);
    else
        *out = content;
    return status;
}
