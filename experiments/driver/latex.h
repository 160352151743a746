/* SPDX-License-Identifier: MIT */
/* Any text as LaTeX sets it literally. */
#ifndef DRIVER_LATEX_H
#define DRIVER_LATEX_H

#include <stddef.h>

/* What does not fit is cut off between characters. */
void latex_escape(const char *text, char *out, size_t size);

#endif
