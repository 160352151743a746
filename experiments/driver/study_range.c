/* SPDX-License-Identifier: MIT */
/* Ranges are texts in a study, since libconfig has no word for them. */
#include "experiments/driver/study_range.h"
#include "experiments/driver/study.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void skip_blanks(const char **at)
{
    while (isspace((unsigned char)**at))
        ++*at;
}

/* A whole number without a sign; false where there is none. Too large ones become INT_MAX + 1. */
static bool read_size(const char **at, long *out)
{
    char *end;
    skip_blanks(at);
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *out = strtol(*at, &end, 10);
    if (errno || *out > INT_MAX)
        *out = (long)INT_MAX + 1;
    *at = end;
    return true;
}

static bool ends(const char *at)
{
    skip_blanks(&at);
    return *at == '\0';
}

/* "step N" or "xN" behind FROM..TO. */
static bool read_walk(const char **at, long *step, long *factor)
{
    skip_blanks(at);
    if (!strncmp(*at, "step", 4)) {
        *at += 4;
        return read_size(at, step);
    }
    if (**at == 'x') {
        ++*at;
        return read_size(at, factor);
    }
    return false;
}

static int count_of(const struct size_range *range)
{
    long long count = 0;
    if (range->step)
        return (int)(((long long)range->last - range->first) / range->step + 1 > INT_MAX
                         ? INT_MAX
                         : ((long long)range->last - range->first) / range->step + 1);
    for (long long value = range->first; value <= range->last; value *= range->factor)
        count++;
    return (int)count;
}

int size_range_at(const struct size_range *range, int i)
{
    long long value = range->first;
    if (range->step)
        return (int)(value + (long long)i * range->step);
    while (i-- > 0)
        value *= range->factor;
    return (int)value;
}

/* A minus sign gets its own sentence: it is understood, and still wrong. */
static int no_range(const char *text, int low, struct cnn_error *error)
{
    const char *at = text;
    skip_blanks(&at);
    if (*at == '\0')
        return cnn_error_set(error, CNN_INVALID,
                             "\"\": empty, expected a number such as 8 or a range such as \"1..32 x2\"");
    if (*at == '-')
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": expected sizes of at least %d", text, low);
    if (strstr(text, ".."))
        return cnn_error_set(error, CNN_INVALID,
                             "\"%.60s\": expected \"FROM..TO step N\" or \"FROM..TO xN\", as in \"32..104 step 8\"",
                             text);
    return cnn_error_set(error, CNN_INVALID,
                         "\"%.60s\": expected a whole number such as 8, or a range such as \"1..32 x2\"", text);
}

static int check(struct size_range *out, const char *text, const long from_to[2], const long walk[2], int low,
                 struct cnn_error *error)
{
    if (from_to[0] > INT_MAX || from_to[1] > INT_MAX || walk[0] > INT_MAX || walk[1] > INT_MAX)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": a number does not fit, at most %d", text, INT_MAX);
    if (from_to[0] < low)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": expected sizes of at least %d", text, low);
    if (from_to[1] < from_to[0])
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": goes down, expected FROM <= TO", text);
    if (walk[0] == 0)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": step 0 never ends, expected at least 1", text);
    if (walk[1] == 0 || walk[1] == 1)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": x%ld never ends, expected at least x2", text, walk[1]);
    if (walk[1] > 0 && from_to[0] == 0)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": 0 times anything stays 0, expected FROM >= 1", text);
    *out = (struct size_range){ (int)from_to[0], (int)from_to[1], walk[0] > 0 ? (int)walk[0] : 0,
                                walk[1] > 0 ? (int)walk[1] : 0, 0 };
    if (!out->step && !out->factor)
        out->step = 1;
    out->count = count_of(out);
    if (out->count > STUDY_VALUES_MAX)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": has %d values, at most %d", text, out->count,
                             STUDY_VALUES_MAX);
    return CNN_OK;
}

int size_range_parse(struct size_range *out, const char *text, int low, struct cnn_error *error)
{
    const char *at = text;
    long from_to[2], walk[2] = { -1, -1 };
    if (!read_size(&at, &from_to[0]))
        return no_range(text, low, error);
    from_to[1] = from_to[0];
    skip_blanks(&at);
    if (at[0] == '.' && at[1] == '.') {
        at += 2;
        if (!read_size(&at, &from_to[1]) || (!ends(at) && !read_walk(&at, &walk[0], &walk[1])))
            return no_range(text, low, error);
    }
    if (!ends(at))
        return no_range(text, low, error);
    return check(out, text, from_to, walk, low, error);
}
