/* SPDX-License-Identifier: MIT */
/* The words of libconfig's language, one after the other. Inside study_lint.c and study_tokens.c only. */
#ifndef DRIVER_STUDY_TOKENS_H
#define DRIVER_STUDY_TOKENS_H

#include "experiments/driver/study_text.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_BOOLEAN,
    TOKEN_INTEGER,
    TOKEN_LONG,
    TOKEN_FLOAT,
    TOKEN_TEXT,
    TOKEN_MARK
};

/* `start` points into the text. A mark is one character. */
struct token {
    enum token_kind kind;
    const char *start;
    int length, line;
};

struct tokens {
    const struct study_text *text;
    const char *at;
    int line;
    struct token now; /* what next() found last */
};

void tokens_start(struct tokens *tokens, const struct study_text *text);

/* Goes on to the next token. CNN_INVALID for what can be none: `8x`, `32..104`, 3000000000, an unclosed text. */
int tokens_next(struct tokens *tokens, struct cnn_error *error);

static inline bool token_is(const struct token *token, char mark)
{
    return token->kind == TOKEN_MARK && *token->start == mark;
}

/* For messages: the token as written, at most 40 bytes of it, or "the end of the file". */
void token_text(const struct token *token, char *out, size_t size);

#endif
