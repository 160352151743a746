/* SPDX-License-Identifier: MIT */
/* What the tests of studies share: a study from text, with its points. */
#ifndef TESTS_UNIT_STUDY_H
#define TESTS_UNIT_STUDY_H

#include "experiments/driver/study.h"
#include "tests/unit/core.h"

#include <stdlib.h>

#define ONE "series = ( { id = \"cpu\"; backend = \"cpu\"; } );\n"
#define TWO "series = ( { id = \"cpu\"; backend = \"cpu\"; }, { id = \"omp\"; backend = \"omp\"; } );\n"

/* The points of a study, and the study. */
struct expanded {
    struct study study;
    struct point *points;
    int count;
};

static inline struct expanded expand_set(const char *text, const char *const *sets)
{
    struct expanded out = { .points = NULL };
    struct cnn_error error = { CNN_OK, "" };
    if (study_read_text(&out.study, "some/where/x.cfg", text, &error) != CNN_OK)
        fail_msg("%s", error.text);
    for (; sets && *sets; sets++)
        if (study_set(&out.study, *sets, &error) != CNN_OK)
            fail_msg("%s", error.text);
    if (study_expand(&out.study, &out.points, &out.count, &error) != CNN_OK)
        fail_msg("%s", error.text);
    return out;
}

static inline struct expanded expand(const char *text)
{
    return expand_set(text, NULL);
}

static inline void release(struct expanded *expanded)
{
    free(expanded->points);
    study_free(&expanded->study);
}

#endif
