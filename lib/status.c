/* SPDX-License-Identifier: MIT */
/* Status words and the one way to fill an error. */
#include "lib/status.h"

#include "lib/names.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const words[CNN_STATUS_COUNT] = {
    "ok", "unstable", "mismatch", "invalid", "unavailable", "oom", "timeout", "error", "skipped",
};

const char *cnn_status_word(enum cnn_status status)
{
    return cnn_name_of(words, CNN_STATUS_COUNT, (int)status);
}

enum cnn_status cnn_status_parse(const char *word)
{
    return (enum cnn_status)cnn_name_find(words, CNN_STATUS_COUNT, word);
}

/* A sentence that does not fit ends in dots instead of breaking off as if it were whole. */
static void mark_cut(char *text, size_t size, int length)
{
    if (length >= (int)size)
        memcpy(text + size - 4, "...", 4);
}

int cnn_error_set(struct cnn_error *error, enum cnn_status status, const char *format, ...)
{
    if (!error)
        return (int)status;
    char text[sizeof error->text]; /* the arguments may point into the old sentence */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mark_cut(text, sizeof text, length);
    memcpy(error->text, text, sizeof text);
    error->status = status;
    return (int)status;
}

int cnn_error_prefix(struct cnn_error *error, const char *format, ...)
{
    if (!error)
        return CNN_ERROR; /* whoever passes no error has already returned its status; this one must not look like
                             success */
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mark_cut(text, sizeof text, length);
    size_t used = strlen(text);
    length = snprintf(text + used, sizeof text - used, ": %s", error->text);
    if (used + (size_t)length >= sizeof text)
        mark_cut(text, sizeof text, (int)sizeof text);
    memcpy(error->text, text, sizeof text);
    return (int)error->status;
}
