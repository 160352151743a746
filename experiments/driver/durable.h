/* SPDX-License-Identifier: MIT */
/* Files that are whole or absent: every write is checked and synced, what was cut short is taken back. */
#ifndef DRIVER_DURABLE_H
#define DRIVER_DURABLE_H

#include "lib/status.h"

#include <stddef.h>

/* Appends `text` at the end of the open file in one write and syncs it. A short write (a full disk) is undone, so that
 * the file keeps whole lines only. `path` is for the sentence. */
int durable_append(int file, const char *path, const char *text, size_t size, struct cnn_error *error);

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
