/* SPDX-License-Identifier: MIT */
/* Cuts a study's text into tokens as libconfig 1.5 does, and checks every number on the way: libconfig turns 3000000000
 * into a negative number without a word, and calls 8x and 32..104 a "syntax error". */
#include "experiments/driver/study_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_LENGTH_MAX 64

void tokens_start(struct tokens *tokens, const struct study_text *text)
{
    *tokens = (struct tokens){ .text = text, .at = text->text, .line = 1 };
}

void token_text(const struct token *token, char *out, size_t size)
{
    if (token->kind == TOKEN_END)
        snprintf(out, size, "the end of the file");
    else
        snprintf(out, size, "%.*s%s", token->length > 40 ? 40 : token->length, token->start,
                 token->length > 40 ? "..." : "");
}

static int unclosed_comment(struct tokens *tokens, int line, struct cnn_error *error)
{
    return study_text_fail(tokens->text, line, error, "a comment starts with /* here and never ends: expected */");
}

/* Blanks and the three kinds of comment. */
static int skip(struct tokens *tokens, struct cnn_error *error)
{
    for (;;) {
        const char *at = tokens->at;
        if (*at == '\n') {
            tokens->line++;
            tokens->at++;
        } else if (isspace((unsigned char)*at)) {
            tokens->at++;
        } else if (*at == '#' || (at[0] == '/' && at[1] == '/')) {
            tokens->at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            if (!end)
                return unclosed_comment(tokens, tokens->line, error);
            for (; at < end; at++)
                tokens->line += *at == '\n';
            tokens->at = end + 2;
        } else {
            return CNN_OK;
        }
    }
}

static int text_token(struct tokens *tokens, struct cnn_error *error)
{
    const char *at = tokens->at + 1;
    while (*at && *at != '"' && *at != '\n')
        at += at[0] == '\\' && at[1] && at[1] != '\n' ? 2 : 1;
    if (*at != '"')
        return study_text_fail(tokens->text, tokens->line, error,
                               "%.*s: a text that starts with \" must end with \" on the same line",
                               (int)(at - tokens->at > 40 ? 40 : at - tokens->at), tokens->at);
    tokens->now.kind = TOKEN_TEXT;
    tokens->now.length = (int)(at + 1 - tokens->at);
    return CNN_OK;
}

/* Digits, then nothing or L. Hexadecimal numbers too. */
static bool is_integer(const char *word, bool *longer)
{
    const char *at = word + (*word == '+' || *word == '-');
    bool hex = at == word && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    size_t digits = hex ? strspn(at + 2, "0123456789abcdefABCDEF") + 2 : strspn(at, "0123456789");
    if (digits == (hex ? 2u : 0u))
        return false;
    *longer = at[digits] == 'L';
    return at[digits] == '\0' || !strcmp(at + digits, "L") || !strcmp(at + digits, "LL");
}

static bool is_float(const char *word)
{
    char *end;
    if (strspn(word, "+-.0123456789eE") != strlen(word))
        return false;
    strtod(word, &end);
    return end != word && *end == '\0';
}

static int check_integer(struct tokens *tokens, const char *word, bool longer, struct cnn_error *error)
{
    errno = 0;
    long long value = strtoll(word, NULL, strpbrk(word, "xX") ? 16 : 10);
    bool fits = errno == 0 && (longer || (value >= INT32_MIN && value <= INT32_MAX));
    if (!fits)
        return study_text_fail(tokens->text, tokens->line, error,
                               "%s does not fit: expected a whole number up to 2147483647 (a larger seed is written as "
                               "text: seed = \"%s\")",
                               word, word);
    tokens->now.kind = longer ? TOKEN_LONG : TOKEN_INTEGER;
    return CNN_OK;
}

static int number_token(struct tokens *tokens, struct cnn_error *error)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.+-";
    char word[NUMBER_LENGTH_MAX];
    size_t length = strspn(tokens->at, letters);
    bool longer = false;
    snprintf(word, sizeof word, "%.*s", (int)length, tokens->at);
    tokens->now.length = (int)length;
    if (strstr(word, ".."))
        return study_text_fail(tokens->text, tokens->line, error,
                               "%s: a range needs quotes, as in \"32..104 step 8\" or \"1..32 x2\"", word);
    if (length < sizeof word && is_integer(word, &longer))
        return check_integer(tokens, word, longer, error);
    if (length >= sizeof word || !is_float(word))
        return study_text_fail(tokens->text, tokens->line, error,
                               "%s is no number: expected one such as 8 or 0.5, or a text in quotes", word);
    if (!isfinite(strtod(word, NULL)))
        return study_text_fail(tokens->text, tokens->line, error, "%s is too large for a number", word);
    tokens->now.kind = TOKEN_FLOAT;
    return CNN_OK;
}

static void name_token(struct tokens *tokens)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-*";
    size_t length = strspn(tokens->at, letters);
    bool boolean =
        (length == 4 && !strncasecmp(tokens->at, "true", 4)) || (length == 5 && !strncasecmp(tokens->at, "false", 5));
    tokens->now.kind = boolean ? TOKEN_BOOLEAN : TOKEN_NAME;
    tokens->now.length = (int)length;
}

static int stray(struct tokens *tokens, unsigned char letter, struct cnn_error *error)
{
    if (letter == '\'')
        return study_text_fail(tokens->text, tokens->line, error,
                               "' found: a text is written in double quotes, \"like this\"");
    if (!isprint(letter))
        return study_text_fail(tokens->text, tokens->line, error, "byte 0x%02x found outside of quotes", letter);
    return study_text_fail(tokens->text, tokens->line, error, "'%c' found, which means nothing here", letter);
}

int tokens_next(struct tokens *tokens, struct cnn_error *error)
{
    int status = skip(tokens, error);
    if (status)
        return status;
    unsigned char letter = (unsigned char)*tokens->at;
    tokens->now = (struct token){ TOKEN_MARK, tokens->at, 1, tokens->line };
    if (!letter)
        tokens->now = (struct token){ TOKEN_END, tokens->at, 0, tokens->line };
    else if (letter == '"')
        status = text_token(tokens, error);
    else if (isdigit(letter) || strchr("+-.", letter))
        status = number_token(tokens, error);
    else if (isalpha(letter) || letter == '*')
        name_token(tokens);
    else if (!strchr("=:;,()[]{}", letter))
        status = stray(tokens, letter, error);
    tokens->at += tokens->now.length;
    return status;
}
