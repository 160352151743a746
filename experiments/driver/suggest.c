/* SPDX-License-Identifier: MIT */
/* Optimal string alignment (Damerau 1964) over short words; rows of a fixed size, since a word that is longer than any
 * key is no misspelling of one. */
#include "experiments/driver/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 48

static int letter(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static int least(int a, int b, int c)
{
    int two = a < b ? a : b;
    return two < c ? two : c;
}

int suggest_distance(const char *a, const char *b)
{
    int rows = (int)strlen(a), cols = (int)strlen(b);
    int cost[3][WORD_MAX + 1];
    if (rows > WORD_MAX || cols > WORD_MAX)
        return 2 * WORD_MAX;
    for (int col = 0; col <= cols; col++)
        cost[0][col] = col;
    for (int row = 1; row <= rows; row++) {
        int *now = cost[row % 3], *before = cost[(row + 2) % 3], *older = cost[(row + 1) % 3];
        now[0] = row;
        for (int col = 1; col <= cols; col++) {
            int differs = letter(a[row - 1]) != letter(b[col - 1]);
            now[col] = least(before[col] + 1, now[col - 1] + 1, before[col - 1] + differs);
            if (row > 1 && col > 1 && letter(a[row - 1]) == letter(b[col - 2]) &&
                letter(a[row - 2]) == letter(b[col - 1]) && older[col - 2] + 1 < now[col])
                now[col] = older[col - 2] + 1;
        }
    }
    return cost[rows % 3][cols];
}

const char *suggest_nearest(const char *word, const char *const *words, int count)
{
    int length = (int)strlen(word);
    int limit = length <= 3 ? 1 : length <= 6 ? 2 : 3;
    const char *best = NULL;
    for (int i = 0; i < count; i++) {
        int distance = suggest_distance(word, words[i]);
        if (distance <= limit && distance < (int)strlen(words[i])) {
            best = words[i];
            limit = distance - 1;
        }
    }
    return best;
}

void suggest_text(char *out, size_t size, const char *word, const char *const *words, int count)
{
    const char *nearest = suggest_nearest(word, words, count);
    out[0] = '\0';
    if (nearest)
        snprintf(out, size, " (did you mean \"%s\"?)", nearest);
}

void suggest_list(char *out, size_t size, const char *const *words, int count)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < count && at < size; i++) {
        const char *link = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        at += (size_t)snprintf(out + at, size - at, "%s\"%s\"", link, words[i]);
    }
}
