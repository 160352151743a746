/* SPDX-License-Identifier: MIT */
/* Words of the seam: precisions, copies, launches, ceilings. */
#include "lib/backend.h"

#include "lib/names.h"

static const char *const precisions[CNN_PRECISION_COUNT] = { "fp32", "tf32" };
static const char *const copies_words[CNN_COPIES_COUNT] = { "none", "answer", "paper", "pipelined" };
static const char *const launches[CNN_LAUNCH_COUNT] = { "graph", "stream" };
static const char *const ceilings[CNN_CEILING_KIND_COUNT] = { "fma",  "matrix product", "memory",   "copy",
                                                              "step", "graph step",     "copy step" };

const char *cnn_precision_name(enum cnn_precision precision)
{
    return cnn_name_of(precisions, CNN_PRECISION_COUNT, (int)precision);
}

const char *cnn_copies_name(enum cnn_copies copies)
{
    return cnn_name_of(copies_words, CNN_COPIES_COUNT, (int)copies);
}

const char *cnn_launch_name(enum cnn_launch launch)
{
    return cnn_name_of(launches, CNN_LAUNCH_COUNT, (int)launch);
}

bool cnn_precision_parse(const char *word, enum cnn_precision *out)
{
    int found = cnn_name_find(precisions, CNN_PRECISION_COUNT, word);
    if (found == CNN_PRECISION_COUNT)
        return false;
    *out = (enum cnn_precision)found;
    return true;
}

bool cnn_copies_parse(const char *word, enum cnn_copies *out)
{
    int found = cnn_name_find(copies_words, CNN_COPIES_COUNT, word);
    if (found == CNN_COPIES_COUNT)
        return false;
    *out = (enum cnn_copies)found;
    return true;
}

bool cnn_launch_parse(const char *word, enum cnn_launch *out)
{
    int found = cnn_name_find(launches, CNN_LAUNCH_COUNT, word);
    if (found == CNN_LAUNCH_COUNT)
        return false;
    *out = (enum cnn_launch)found;
    return true;
}

const char *cnn_ceiling_name(enum cnn_ceiling_kind kind)
{
    return cnn_name_of(ceilings, CNN_CEILING_KIND_COUNT, (int)kind);
}

bool cnn_ceiling_parse(const char *word, enum cnn_ceiling_kind *out)
{
    int found = cnn_name_find(ceilings, CNN_CEILING_KIND_COUNT, word);
    if (found == CNN_CEILING_KIND_COUNT)
        return false;
    *out = (enum cnn_ceiling_kind)found;
    return true;
}
