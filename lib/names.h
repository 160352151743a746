/* SPDX-License-Identifier: MIT */
/* Words of an enum, in its order: from number to word and back. Internal to lib. */
#ifndef CNN_LIB_NAMES_H
#define CNN_LIB_NAMES_H

#include <string.h>

static inline const char *cnn_name_of(const char *const *names, int count, int value)
{
    return value >= 0 && value < count ? names[value] : "unknown";
}

/* The number of `word`, or `count` where it is none of them. */
static inline int cnn_name_find(const char *const *names, int count, const char *word)
{
    int value = 0;
    while (value < count && (!word || strcmp(names[value], word) != 0))
        value++;
    return value;
}

#endif
