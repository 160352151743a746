/* SPDX-License-Identifier: MIT */
/* Choices of algorithms: copied, looked up, checked. */
#include "lib/algorithms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cnn_algorithms_take(struct cnn_algorithms *out, const struct cnn_program_options *options)
{
    *out = (struct cnn_algorithms){ .choice_count = 0 };
    snprintf(out->whole, sizeof out->whole, "%s", options->algorithm ? options->algorithm : "direct");
    if (options->choice_count <= 0)
        return true;
    out->choices = malloc((size_t)options->choice_count * sizeof *out->choices);
    if (!out->choices)
        return false;
    memcpy(out->choices, options->choices, (size_t)options->choice_count * sizeof *out->choices);
    out->choice_count = options->choice_count;
    return true;
}

void cnn_algorithms_free(struct cnn_algorithms *algorithms)
{
    free(algorithms->choices);
}

const char *cnn_algorithms_of(const struct cnn_algorithms *algorithms, const struct cnn_operation *operation)
{
    for (int i = algorithms->choice_count - 1; i >= 0; i--) {
        const struct cnn_choice *choice = &algorithms->choices[i];
        if (choice->kind == operation->kind && (choice->layer < 0 || choice->layer == operation->layer))
            return choice->algorithm;
    }
    return algorithms->whole;
}

static int check(const char *what, const char *name, const char *const *names, const char *whose,
                 struct cnn_error *error)
{
    char list[160] = "";
    for (const char *const *n = names; *n; n++) {
        if (!strcmp(*n, name))
            return CNN_OK;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", n == names ? "" : ", ", *n);
    }
    return cnn_error_set(error, CNN_INVALID, "%s = %s: %s have %s", what, name, whose, list);
}

int cnn_algorithms_check(const struct cnn_algorithms *algorithms, const char *const *names, const char *whose,
                         struct cnn_error *error)
{
    int status = check("algorithm", algorithms->whole, names, whose, error);
    for (int i = 0; i < algorithms->choice_count && !status; i++)
        status = check(cnn_operation_kind_name(algorithms->choices[i].kind), algorithms->choices[i].algorithm, names,
                       whose, error);
    return status;
}

bool cnn_operation_is_computed(enum cnn_operation_kind kind)
{
    switch (kind) {
    case CNN_OP_COPY_IN:
    case CNN_OP_ACTIVATION_FORWARD:
    case CNN_OP_ACTIVATION_BACKWARD:
    case CNN_OP_ARGMAX:
    case CNN_OP_LOSS:
    case CNN_OP_COPY_OUT:
        return false;
    default:
        return true;
    }
}

void cnn_algorithm_add(const char **names, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp(names[i], name))
            return;
    if (!*name)
        return;
    names[(*count)++] = name;
    names[*count] = NULL;
}
