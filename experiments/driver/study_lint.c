/* SPDX-License-Identifier: MIT */
/* libconfig's grammar once more, as a recursive descent that knows at every place what was expected. The values
 * themselves are read by libconfig afterwards; what gets this far it accepts. */
#include "experiments/driver/study_lint.h"
#include "experiments/driver/study_tokens.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MAX 16
#define SHOWN 64

/* Names of the group being read, to find one given twice. */
struct names {
    int count;
    struct token *list;
};

struct lint {
    struct tokens tokens;
    int depth;
    struct cnn_error *error;
};

#define FAIL(lint, line, ...) study_text_fail((lint)->tokens.text, line, (lint)->error, __VA_ARGS__)

static int next(struct lint *lint)
{
    return tokens_next(&lint->tokens, lint->error);
}

static int names_add(struct lint *lint, struct names *names, const struct token *name)
{
    for (int i = 0; i < names->count; i++) {
        const struct token *other = &names->list[i];
        if (other->length == name->length && !memcmp(other->start, name->start, (size_t)name->length))
            return FAIL(lint, name->line, "%.*s is given twice, first in line %d: keep one of them", name->length,
                        name->start, study_text_line(lint->tokens.text, other->line));
    }
    struct token *list = realloc(names->list, ((size_t)names->count + 1) * sizeof *list);
    if (!list)
        return cnn_error_set(lint->error, CNN_OOM, "study: no memory for its keys");
    names->list = list;
    list[names->count++] = *name;
    return CNN_OK;
}

static int settings(struct lint *lint, const struct token *open);
static int value(struct lint *lint, const struct token *owner);

static bool is_scalar(const struct token *token)
{
    return token->kind == TOKEN_BOOLEAN || token->kind == TOKEN_INTEGER || token->kind == TOKEN_LONG ||
           token->kind == TOKEN_FLOAT || token->kind == TOKEN_TEXT;
}

static bool is_value_start(const struct token *token)
{
    return is_scalar(token) || token->kind == TOKEN_NAME || token_is(token, '[') || token_is(token, '(') ||
           token_is(token, '{');
}

/* What stands where a value was expected. */
static int no_value(struct lint *lint, const struct token *owner)
{
    char shown[SHOWN];
    struct token found = lint->tokens.now;
    const char *behind = lint->tokens.at + strspn(lint->tokens.at, " \t\n");
    if (found.kind == TOKEN_NAME && *behind != '=' && *behind != ':')
        return FAIL(lint, found.line, "%.*s: a word needs quotes, as in \"%.*s\"", found.length, found.start,
                    found.length, found.start);
    if (owner->kind == TOKEN_NAME)
        return FAIL(lint, owner->line, "%.*s has no value: expected one behind the =", owner->length, owner->start);
    token_text(&found, shown, sizeof shown);
    return FAIL(lint, found.line, "%s found where a value was expected", shown);
}

/* `,` or the closing mark of a list that `open` began. */
static int list_goes_on(struct lint *lint, const struct token *open, char close, bool *ended)
{
    char shown[SHOWN];
    struct token found = lint->tokens.now;
    *ended = token_is(&found, close);
    if (*ended)
        return next(lint);
    token_text(&found, shown, sizeof shown);
    if (token_is(&found, ',')) {
        int status = next(lint);
        if (!status && token_is(&lint->tokens.now, close))
            return FAIL(lint, lint->tokens.now.line, "a comma stands before %c: remove it", close);
        return status;
    }
    if (is_value_start(&found) && found.kind != TOKEN_NAME)
        return FAIL(lint, found.line, "a comma is missing before %s", shown);
    return FAIL(lint, found.line, "the %c of line %d is not closed: expected , or %c, found %s", *open->start,
                study_text_line(lint->tokens.text, open->line), close, shown);
}

/* [ ]: numbers alone or texts alone, as libconfig wants it. */
static int array(struct lint *lint)
{
    struct token open = lint->tokens.now, first = { 0 };
    bool ended = false;
    int status = next(lint);
    if (!status && token_is(&lint->tokens.now, ']'))
        return next(lint);
    while (!status && !ended) {
        struct token element = lint->tokens.now;
        if (!is_scalar(&element))
            return is_value_start(&element) && element.kind != TOKEN_NAME
                       ? FAIL(lint, element.line, "[ ] holds numbers or texts alone: use ( ) for anything else")
                       : no_value(lint, &open);
        if (first.kind == TOKEN_END)
            first = element;
        if (first.kind != element.kind)
            return FAIL(lint, element.line, "[ ] holds values of one kind alone: use ( ) for a mixed list");
        status = value(lint, &open);
        if (!status)
            status = list_goes_on(lint, &open, ']', &ended);
    }
    return status;
}

static int list(struct lint *lint)
{
    struct token open = lint->tokens.now;
    bool ended = false;
    int status = next(lint);
    if (!status && token_is(&lint->tokens.now, ')'))
        return next(lint);
    while (!status && !ended) {
        status = value(lint, &open);
        if (!status)
            status = list_goes_on(lint, &open, ')', &ended);
    }
    return status;
}

static int group(struct lint *lint)
{
    struct token open = lint->tokens.now;
    int status = next(lint);
    if (!status)
        status = settings(lint, &open);
    return status ? status : next(lint);
}

/* `owner`: the key, or the bracket of the list, that the value belongs to. Texts beside each other are one text. */
static int value(struct lint *lint, const struct token *owner)
{
    struct token start = lint->tokens.now;
    int status;
    if (is_scalar(&start)) {
        do
            status = next(lint);
        while (!status && start.kind == TOKEN_TEXT && lint->tokens.now.kind == TOKEN_TEXT);
        return status;
    }
    if (!token_is(&start, '[') && !token_is(&start, '(') && !token_is(&start, '{'))
        return no_value(lint, owner);
    if (++lint->depth > NEST_MAX)
        return FAIL(lint, start.line, "brackets nest deeper than %d", NEST_MAX);
    status = *start.start == '[' ? array(lint) : *start.start == '(' ? list(lint) : group(lint);
    lint->depth--;
    return status;
}

static int no_key(struct lint *lint, const struct token *open, const struct token *before)
{
    char shown[SHOWN];
    const struct token *found = &lint->tokens.now;
    token_text(found, shown, sizeof shown);
    if (found->kind == TOKEN_END)
        return FAIL(lint, open->line, "the { of this line is never closed: expected }");
    if (before && (is_scalar(found) || token_is(found, ',')))
        return FAIL(lint, found->line, "%s found behind the value of %.*s: a list is written [1, 2, 4]", shown,
                    before->length, before->start);
    if (token_is(found, ';'))
        return FAIL(lint, found->line, "a ; stands alone: remove it");
    return FAIL(lint, found->line, "%s found where a key was expected, as in width = 4;", shown);
}

/* One `key = value;`. The mark behind it may be missing. */
static int setting(struct lint *lint, struct names *names, struct token *key)
{
    char shown[SHOWN];
    *key = lint->tokens.now;
    int status = names_add(lint, names, key);
    if (!status)
        status = next(lint);
    if (status)
        return status;
    if (!token_is(&lint->tokens.now, '=') && !token_is(&lint->tokens.now, ':')) {
        token_text(&lint->tokens.now, shown, sizeof shown);
        return FAIL(lint, key->line, "%.*s: expected = behind the key, found %s", key->length, key->start, shown);
    }
    status = next(lint);
    if (!status)
        status = value(lint, key);
    if (!status && (token_is(&lint->tokens.now, ';') || (token_is(&lint->tokens.now, ',') && lint->depth > 0)))
        status = next(lint);
    return status;
}

/* Up to the } of the group that `open` began, which stays; or, where open is NULL, to the end of the file. */
static int settings(struct lint *lint, const struct token *open)
{
    struct names names = { 0 };
    struct token key;
    bool any = false;
    int status = CNN_OK;
    while (!status) {
        const struct token *now = &lint->tokens.now;
        if (open ? token_is(now, '}') : now->kind == TOKEN_END)
            break;
        if (now->kind != TOKEN_NAME) {
            status = no_key(lint, open, any ? &key : NULL);
            break;
        }
        status = setting(lint, &names, &key);
        any = true;
    }
    free(names.list);
    return status;
}

int study_lint(const struct study_text *text, struct cnn_error *error)
{
    struct lint lint = { .error = error };
    tokens_start(&lint.tokens, text);
    int status = next(&lint);
    return status ? status : settings(&lint, NULL);
}
