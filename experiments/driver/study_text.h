/* SPDX-License-Identifier: MIT */
/* The text of a study with its includes put in, and where every line came from. Inside study*.c only. */
#ifndef DRIVER_STUDY_TEXT_H
#define DRIVER_STUDY_TEXT_H

#include "lib/status.h"

#include <stdbool.h>
#include <stddef.h>

struct study_line {
    int file, line; /* place in `files`; from 1 */
};

struct study_text {
    char *text; /* lines end with LF, the last one too; no BOM */
    size_t length;
    int line_count;
    struct study_line *lines;
    int file_count;
    char **files;
    bool anonymous; /* no file: messages name files[0] without a line */
};

/* Loads `path`, or takes `text` in its place where that is not NULL. Puts in what lines `@include "file"` name,
 * relative to the file they stand in. */
int study_text_load(struct study_text *out, const char *path, const char *text, struct cnn_error *error);
void study_text_free(struct study_text *text);

/* Sets CNN_INVALID with "file:line: " before the sentence; `line` counts in text, from 1; 0: the
 * file as a whole. */
int study_text_fail(const struct study_text *text, int line, struct cnn_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The line in the file it came from. */
int study_text_line(const struct study_text *text, int line);

#endif
