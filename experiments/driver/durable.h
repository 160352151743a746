/* SPDX-License-Identifier: MIT */
/* Files that are whole or absent: every write is checked and synced, what was cut short is taken back. */
#ifndef DRIVER_DURABLE_H
#define DRIVER_DURABLE_H

#include "lib/status.h"

#include <stddef.h>
#include <stdint.h>

/* Appends `text` at the end of the open file in one write and syncs it. A short write (a full disk) is undone, so that
 * the file keeps whole lines only. `path` is for the sentence. */
int durable_append(int file, const char *path, const char *text, size_t size, struct cnn_error *error);

/* The whole file with a zero byte behind it, malloc'd; `size` is without that byte. NULL with an error, CNN_INVALID for
 * what is no file or larger than `most` bytes. */
char *durable_read(const char *path, int64_t most, size_t *size, struct cnn_error *error);

/* Shortens a file to its first `size` bytes. */
int durable_cut(const char *path, int64_t size, struct cnn_error *error);

/* Opens a file for appending and makes it where it is not there. Returns its descriptor, or -1. */
int durable_open(const char *path, struct cnn_error *error);

/* Creates a file that must not exist yet, for appending. Returns its descriptor, or -1. */
int durable_create(const char *path, struct cnn_error *error);

/* Writes a whole file under a name of its own and moves it over `path`. */
int durable_replace(const char *path, const char *text, size_t size, struct cnn_error *error);

/* Makes a folder and those above it; one that is there is fine. */
int durable_folders(const char *path, struct cnn_error *error);

/* Makes `link` a symbolic link to `target`, replacing an older link at once. A folder or file of that name stays and is
 * an error. */
int durable_link(const char *target, const char *link, struct cnn_error *error);

#endif
