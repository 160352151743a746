/* SPDX-License-Identifier: MIT */
/* A term with '=' compares words as study_axis_of_point() writes them, so that a filter says exactly what a study says.
 */
#include "experiments/driver/filter.h"
#include "experiments/driver/study_reader.h"
#include "experiments/driver/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERMS_MAX 16
#define KEY_BYTES 2048

enum term_kind { TERM_PIECE, TERM_AXIS, TERM_SERIES, TERM_BACKEND, TERM_ALGORITHM };

struct term {
    enum term_kind kind;
    enum study_axis axis;
    char *piece;                /* TERM_PIECE */
    struct study_values values; /* the others */
};

struct filter {
    int count;
    struct term term[TERMS_MAX];
};

static int unknown_key(const char *term, const char *key, struct cnn_error *error)
{
    struct words words;
    char list[320], meant[80];
    words_fill(&words, WORDS_AXES);
    words.list[words.count++] = "series";
    words.list[words.count++] = "backend";
    words.list[words.count++] = "algorithm";
    suggest_list(list, sizeof list, words.list, words.count);
    suggest_text(meant, sizeof meant, key, words.list, words.count);
    return cnn_error_set(error, CNN_INVALID, "--filter %.80s: \"%.40s\" is no key: expected %s%s", term, key, list,
                         meant);
}

static int add_value(struct term *term, const char *value, struct cnn_error *error)
{
    struct cnn_network_connections ignored;
    if (term->kind != TERM_AXIS)
        return study_values_add(&term->values, 0, value, error);
    /* "fan-in-8" is how a key, where blanks part the words, writes it */
    if (term->axis == AXIS_CONNECTIONS && study_connections_parse(&ignored, value, error)) {
        char spaced[STUDY_WORD];
        snprintf(spaced, sizeof spaced, "%s", value);
        char *dash = strrchr(spaced, '-');
        if (dash)
            *dash = ' ';
        return study_values_text(term->axis, spaced, &term->values, error);
    }
    return study_values_text(term->axis, value, &term->values, error);
}

static int read_values(struct term *term, const char *text, char *values, struct cnn_error *error)
{
    char *value;
    while ((value = strsep(&values, ","))) {
        struct cnn_error why;
        if (!*value)
            return cnn_error_set(error, CNN_INVALID, "--filter %.80s: a value is empty", text);
        if (add_value(term, value, &why))
            return cnn_error_set(error, CNN_INVALID, "--filter %.80s: %.400s", text, why.text);
    }
    return CNN_OK;
}

static int read_term(struct term *term, const char *text, struct cnn_error *error)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    char *equals = strchr(copy, '=');
    *term = (struct term){ .kind = TERM_PIECE };
    if (!equals) {
        term->piece = strdup(copy);
        return term->piece ? CNN_OK : cnn_error_set(error, CNN_OOM, "--filter: no memory");
    }
    *equals = '\0';
    term->axis = study_axis_parse(copy);
    term->kind = !strcmp(copy, "series")         ? TERM_SERIES
                 : !strcmp(copy, "backend")      ? TERM_BACKEND
                 : !strcmp(copy, "algorithm")    ? TERM_ALGORITHM
                 : term->axis < STUDY_AXIS_COUNT ? TERM_AXIS
                                                 : TERM_PIECE;
    if (term->kind == TERM_PIECE)
        return unknown_key(text, copy, error);
    return read_values(term, text, equals + 1, error);
}

/* Blanks inside a range ("32..104 step 8") and behind "fan-in" do not end a term: a piece that is no term of its own
 * and follows a value is part of it. */
static bool continues(const char *word)
{
    return !strcmp(word, "step") || (*word == 'x' && isdigit((unsigned char)word[1])) || isdigit((unsigned char)*word);
}

int filter_create(struct filter **out, const char *expression, struct cnn_error *error)
{
    struct filter *filter = calloc(1, sizeof *filter);
    char term[512] = "", *copy = strdup(expression), *rest = copy, *word;
    int status = filter && copy ? CNN_OK : cnn_error_set(error, CNN_OOM, "--filter: no memory");
    while (!status && (word = strsep(&rest, " ;"))) {
        bool more = term[0] && strchr(term, '=') && continues(word);
        if (!*word)
            continue;
        if (term[0] && !more) {
            status = filter->count + 1 == TERMS_MAX
                         ? cnn_error_set(error, CNN_INVALID, "--filter: more than %d terms", TERMS_MAX - 1)
                         : read_term(&filter->term[filter->count++], term, error);
            term[0] = '\0';
        }
        size_t at = strlen(term);
        snprintf(term + at, sizeof term - at, "%s%s", more ? " " : "", word);
    }
    if (!status && term[0])
        status = read_term(&filter->term[filter->count++], term, error);
    if (!status && filter->count == 0)
        status = cnn_error_set(error, CNN_INVALID, "--filter \"\": expected a term such as width=4 or lenet5");
    free(copy);
    if (status) {
        filter_free(filter);
        return status;
    }
    *out = filter;
    return CNN_OK;
}

static bool has_word(const struct study_values *values, const char *word)
{
    for (int i = 0; i < values->count; i++)
        if (!strcmp(values->list[i].word, word))
            return true;
    return false;
}

static bool piece_match(const char *piece, const struct point *point)
{
    char text[KEY_BYTES];
    point_title(point, text, sizeof text);
    if (strcasestr(text, piece))
        return true;
    point_key(point, text, sizeof text);
    return strcasestr(text, piece) != NULL;
}

static bool term_match(const struct term *term, const struct point *point)
{
    char word[STUDY_WORD];
    switch (term->kind) {
    case TERM_PIECE:
        return piece_match(term->piece, point);
    case TERM_SERIES:
        return has_word(&term->values, point->series);
    case TERM_BACKEND:
        return has_word(&term->values, point->backend);
    case TERM_ALGORITHM:
        return has_word(&term->values, point->algorithm);
    case TERM_AXIS:
        study_axis_of_point(term->axis, point, word);
        return has_word(&term->values, word);
    }
    return false;
}

bool filter_match(const struct filter *filter, const struct point *point)
{
    for (int i = 0; i < filter->count; i++)
        if (!term_match(&filter->term[i], point))
            return false;
    return true;
}

int filter_points(const struct filter *filter, struct point *points, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (filter_match(filter, &points[i])) {
            if (kept != i)
                points[kept] = points[i];
            kept++;
        }
    return kept;
}

void filter_free(struct filter *filter)
{
    for (int i = 0; filter && i < filter->count; i++) {
        free(filter->term[i].piece);
        study_values_free(&filter->term[i].values);
    }
    free(filter);
}
