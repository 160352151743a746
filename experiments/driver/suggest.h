/* SPDX-License-Identifier: MIT */
/* "did you mean": the word of a list that is nearest to what a person typed. */
#ifndef DRIVER_SUGGEST_H
#define DRIVER_SUGGEST_H

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours that turn one word into the other; case and '-' against
 * '_' count nothing. */
int suggest_distance(const char *a, const char *b);

/* The nearest of `count` words, or NULL where none is near enough to be meant. */
const char *suggest_nearest(const char *word, const char *const *words, int count);

/* Writes ` (did you mean "width"?)`, or nothing where no word is near. */
void suggest_text(char *out, size_t size, const char *word, const char *const *words, int count);

/* "a", "b" and "c": the words for a sentence. */
void suggest_list(char *out, size_t size, const char *const *words, int count);

#endif
