/* SPDX-License-Identifier: MIT */
/* Reads study files: strips the byte-order mark, unifies line ends, puts includes in. Done here and not by libconfig,
 * since that refuses a BOM and can no longer say which line of which file a number came from. */
#include "experiments/driver/study_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (1 << 20)
#define INCLUDE_DEPTH_MAX 8

static int out_of_memory(struct cnn_error *error)
{
    return cnn_error_set(error, CNN_OOM, "study: no memory for its text");
}

int study_text_line(const struct study_text *text, int line)
{
    return line >= 1 && line <= text->line_count ? text->lines[line - 1].line : line;
}

int study_text_fail(const struct study_text *text, int line, struct cnn_error *error, const char *format, ...)
{
    char sentence[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (text->anonymous)
        return cnn_error_set(error, CNN_INVALID, "%s: %s", text->files[0], sentence);
    if (line < 1 || text->line_count == 0)
        return cnn_error_set(error, CNN_INVALID, "%s: %s", text->files[0], sentence);
    const struct study_line *from = &text->lines[line <= text->line_count ? line - 1 : text->line_count - 1];
    return cnn_error_set(error, CNN_INVALID, "%s:%d: %s", text->files[from->file], from->line, sentence);
}

static int append_line(struct study_text *out, int file, int line, const char *start, size_t length,
                       struct cnn_error *error)
{
    char *text = realloc(out->text, out->length + length + 2);
    if (!text)
        return out_of_memory(error);
    out->text = text;
    struct study_line *lines = realloc(out->lines, ((size_t)out->line_count + 1) * sizeof *lines);
    if (!lines)
        return out_of_memory(error);
    out->lines = lines;
    memcpy(text + out->length, start, length);
    out->length += length;
    text[out->length++] = '\n';
    text[out->length] = '\0';
    lines[out->line_count++] = (struct study_line){ file, line };
    return CNN_OK;
}

static int add_file(struct study_text *out, const char *path, struct cnn_error *error)
{
    char **files = realloc(out->files, ((size_t)out->file_count + 1) * sizeof *files);
    if (!files)
        return out_of_memory(error);
    out->files = files;
    if (!(files[out->file_count] = strdup(path)))
        return out_of_memory(error);
    out->file_count++;
    return CNN_OK;
}

static int open_failed(const char *path, int reason, struct cnn_error *error)
{
    const char *hint = reason == ENOENT && strpbrk(path, "*?[") ? ": does the pattern match nothing?" : "";
    return cnn_error_set(error, CNN_ERROR, "%s: cannot be read: %s%s", path, strerror(reason), hint);
}

/* The whole file; *length excludes the zero behind it. The caller frees. */
static int slurp(const char *path, char **out, size_t *length, struct cnn_error *error)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    if (!file)
        return open_failed(path, errno, error);
    if (fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode)) {
        fclose(file);
        return cnn_error_set(error, CNN_ERROR, "%s: is a folder, expected a study file such as %s/quick.cfg", path,
                             path);
    }
    if (!(bytes = malloc(FILE_BYTES_MAX + 1))) {
        fclose(file);
        return out_of_memory(error);
    }
    *length = fread(bytes, 1, FILE_BYTES_MAX + 1, file);
    int broken = ferror(file) ? errno : 0;
    fclose(file);
    if (broken)
        open_failed(path, broken, error);
    else if (*length > FILE_BYTES_MAX)
        broken = cnn_error_set(error, CNN_ERROR, "%s: longer than %d bytes: not a study file", path, FILE_BYTES_MAX);
    if (broken) {
        free(bytes);
        return error ? error->status : CNN_ERROR;
    }
    bytes[*length] = '\0';
    *out = bytes;
    return CNN_OK;
}

/* The file that a line `@include "name"` names, or false where the line is none. */
static bool include_name(const char *line, size_t length, char *name, size_t size)
{
    static const char word[] = "@include";
    size_t at = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (length - at < sizeof word || memcmp(line + at, word, sizeof word - 1))
        return false;
    at += sizeof word - 1;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    name[0] = '\0';
    if (at >= length || line[at] != '"')
        return true;
    const char *end = memchr(line + at + 1, '"', length - at - 1);
    if (end)
        snprintf(name, size, "%.*s", (int)(end - line - (long)at - 1), line + at + 1);
    return true;
}

/* `name` beside the file `path`, unless it is absolute. */
static void beside(const char *path, const char *name, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (name[0] == '/' || !slash)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%.*s/%s", (int)(slash - path), path, name);
}

static int add_text(struct study_text *out, int file, const char *bytes, size_t length, int depth,
                    struct cnn_error *error);

static int add_include(struct study_text *out, int file, int line, const char *name, int depth, struct cnn_error *error)
{
    char path[1024], *bytes = NULL;
    size_t length = 0;
    struct cnn_error reason;
    const char *from = out->files[file];
    if (!name[0])
        return cnn_error_set(error, CNN_INVALID,
                             "%s:%d: expected a file name in quotes, as in @include \"include/x.cfg\"", from, line);
    if (depth == INCLUDE_DEPTH_MAX)
        return cnn_error_set(error, CNN_INVALID, "%s:%d: includes nest deeper than %d: does \"%s\" include itself?",
                             from, line, INCLUDE_DEPTH_MAX, name);
    beside(from, name, path, sizeof path);
    if (slurp(path, &bytes, &length, &reason))
        return cnn_error_set(error, CNN_INVALID, "%s:%d: @include: %.400s", from, line, reason.text);
    int status = add_file(out, path, error);
    if (!status)
        status = add_text(out, out->file_count - 1, bytes, length, depth + 1, error);
    free(bytes);
    return status;
}

static int check_bytes(const char *path, const char *bytes, size_t length, struct cnn_error *error)
{
    if (length >= 2 && ((bytes[0] == '\xff' && bytes[1] == '\xfe') || (bytes[0] == '\xfe' && bytes[1] == '\xff')))
        return cnn_error_set(error, CNN_INVALID, "%s:1: is UTF-16 text: save it as UTF-8", path);
    const char *zero = memchr(bytes, '\0', length);
    if (zero)
        return cnn_error_set(error, CNN_INVALID, "%s:1: has a zero byte at offset %ld: not a text file", path,
                             (long)(zero - bytes));
    return CNN_OK;
}

/* Line ends: LF, CR LF, or a lone CR. */
static int add_text(struct study_text *out, int file, const char *bytes, size_t length, int depth,
                    struct cnn_error *error)
{
    char name[512];
    size_t at = length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
    int status = check_bytes(out->files[file], bytes, length, error);
    for (int line = 1; !status && at < length; line++) {
        size_t end = at;
        while (end < length && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        if (include_name(bytes + at, end - at, name, sizeof name))
            status = add_include(out, file, line, name, depth, error);
        else
            status = append_line(out, file, line, bytes + at, end - at, error);
        at = end + 1;
        if (end + 1 < length && bytes[end] == '\r' && bytes[end + 1] == '\n')
            at++;
    }
    return status;
}

int study_text_load(struct study_text *out, const char *path, const char *text, struct cnn_error *error)
{
    char *bytes = NULL;
    size_t length = text ? strlen(text) : 0;
    *out = (struct study_text){ 0 };
    int status = add_file(out, path, error);
    if (!status && !text)
        status = slurp(path, &bytes, &length, error);
    if (!status)
        status = add_text(out, 0, text ? text : bytes, length, 0, error);
    if (!status && out->line_count == 0)
        status = append_line(out, 0, 1, "", 0, error);
    free(bytes);
    if (status)
        study_text_free(out);
    return status;
}

void study_text_free(struct study_text *text)
{
    for (int i = 0; i < text->file_count; i++)
        free(text->files[i]);
    free(text->files);
    free(text->lines);
    free(text->text);
    *text = (struct study_text){ 0 };
}
