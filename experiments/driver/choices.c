/* SPDX-License-Identifier: MIT */
/* Choices as text and back. */
#include "experiments/driver/choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 160

void choices_free(struct choices *choices)
{
    free(choices->list);
    *choices = (struct choices){ .algorithm = NULL };
}

/* The layer of that name; -1 where there is none or more than one. */
static int layer_named(const struct cnn_network *network, const char *name)
{
    int found = -1;
    for (int l = 0; l < network->layer_count; l++) {
        if (strcmp(network->layers[l].name, name))
            continue;
        if (found >= 0)
            return -1;
        found = l;
    }
    return found;
}

static bool is_word(const char *name)
{
    return *name && !name[strcspn(name, " =@:\t\"")];
}

char *choices_text(const struct choices *choices, const struct cnn_network *network)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "all=%s", choices->algorithm);
    for (int i = 0; i < choices->count; i++) {
        const struct cnn_choice *choice = &choices->list[i];
        const char *name = choice->layer >= 0 ? network->layers[choice->layer].name : "";
        fprintf(out, " %s", cnn_operation_kind_name(choice->kind));
        if (choice->layer >= 0 && is_word(name) && layer_named(network, name) == choice->layer)
            fprintf(out, ":%s", name);
        else if (choice->layer >= 0)
            fprintf(out, "@%d", choice->layer);
        fprintf(out, "=%s", choice->algorithm);
    }
    if (ferror(out) | fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

/* The backend's own copy of the name. */
static const char *algorithm_named(const struct cnn_backend *backend, const char *name)
{
    for (const char *const *known = backend->algorithms(); *known; known++)
        if (!strcmp(*known, name))
            return *known;
    return NULL;
}

/* "conv_forward:C3", "full_forward@5" or "update". */
static bool parse_operation(struct cnn_choice *out, char *word, const struct cnn_network *network)
{
    size_t length = strcspn(word, ":@");
    char mark = word[length], *end = "";
    out->layer = -1;
    if (mark == ':')
        out->layer = layer_named(network, word + length + 1);
    else if (mark == '@')
        out->layer = (int)strtol(word + length + 1, &end, 10);
    bool placed = !mark || (out->layer >= 0 && out->layer < network->layer_count && !*end);
    word[length] = '\0';
    return placed && cnn_operation_kind_parse(word, &out->kind);
}

static int parse_word(struct choices *out, const char *given, const struct cnn_network *network,
                      const struct cnn_backend *backend, struct cnn_error *error)
{
    char word[WORD_BYTES];
    struct cnn_choice choice = { .layer = -1 };
    snprintf(word, sizeof word, "%s", given);
    char *equals = strchr(word, '=');
    if (equals)
        *equals = '\0';
    choice.algorithm = equals ? algorithm_named(backend, equals + 1) : NULL;
    if (!choice.algorithm)
        return cnn_error_set(error, CNN_INVALID, "choice \"%.60s\": expected OPERATION=ALGORITHM with one of %s", given,
                             backend->name);
    if (!strcmp(word, "all")) {
        out->algorithm = choice.algorithm;
        return CNN_OK;
    }
    if (!parse_operation(&choice, word, network))
        return cnn_error_set(error, CNN_INVALID, "choice \"%.60s\": %s has no such operation or layer", given,
                             network->spec.name);
    struct cnn_choice *list = realloc(out->list, ((size_t)out->count + 1) * sizeof *list);
    if (!list)
        return cnn_error_set(error, CNN_OOM, "no memory for choices of algorithms");
    out->list = list;
    out->list[out->count++] = choice;
    return CNN_OK;
}

int choices_parse(struct choices *out, const char *text, const struct cnn_network *network,
                  const struct cnn_backend *backend, struct cnn_error *error)
{
    *out = (struct choices){ .algorithm = NULL };
    char *copy = strdup(text), *rest = copy;
    int status = copy ? CNN_OK : cnn_error_set(error, CNN_OOM, "no memory for choices of algorithms");
    for (char *word; !status && (word = strtok_r(rest, " ", &rest));)
        status = parse_word(out, word, network, backend, error);
    if (!status && !out->algorithm)
        status = cnn_error_set(error, CNN_INVALID, "choices \"%.60s\": expected all=ALGORITHM first", text);
    free(copy);
    if (status)
        choices_free(out);
    return status;
}
