/* SPDX-License-Identifier: MIT */
/* Small files in which the kernel tells one thing. `root` is put before the path: "" but in tests. */
#ifndef DRIVER_SYSFILES_H
#define DRIVER_SYSFILES_H

#include <stdbool.h>
#include <stddef.h>

/* The first line without its end; false, and "", where the file cannot be read. */
bool sysfile_line(const char *root, const char *path, char *out, size_t size);

/* The first line as a number; NAN where it is none. */
double sysfile_number(const char *root, const char *path);

/* What follows the colon in the first line of a "name : value" file whose name begins with `name`. */
bool sysfile_value(const char *root, const char *path, const char *name, char *out, size_t size);

#endif
