/* SPDX-License-Identifier: MIT */
#include "experiments/driver/template.h"

#include <stdbool.h>
#include <string.h>

#define NAME_BYTES 64

/* Objects around each other, the innermost first. */
struct scope {
    const cJSON *item;
    const struct scope *outer;
};

struct rendering {
    FILE *out;
    struct cnn_error *error;
};

static const cJSON *find(const struct scope *scope, const char *name)
{
    if (strcmp(name, ".") == 0)
        return scope->item;
    for (; scope; scope = scope->outer) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(scope->item, name);
        if (item)
            return item;
    }
    return NULL;
}

static void print_value(FILE *out, const cJSON *item, bool escape)
{
    if (cJSON_IsNumber(item))
        fprintf(out, "%.6g", item->valuedouble);
    for (const char *at = cJSON_IsString(item) ? item->valuestring : ""; *at; at++) {
        const char *word = !escape       ? NULL
                           : *at == '&'  ? "&amp;"
                           : *at == '<'  ? "&lt;"
                           : *at == '>'  ? "&gt;"
                           : *at == '"'  ? "&quot;"
                           : *at == '\'' ? "&#39;"
                                         : NULL;
        word ? fputs(word, out) : fputc(*at, out);
    }
}

static bool is_there(const cJSON *item)
{
    if (cJSON_IsString(item))
        return item->valuestring[0] != '\0';
    if (cJSON_IsArray(item))
        return cJSON_GetArraySize(item) > 0;
    return item && !cJSON_IsFalse(item) && !cJSON_IsNull(item);
}

static const char *render(const struct rendering *to, const char *at, const struct scope *scope, const char *until);

/* Skips over a section, or prints it for what its item is. Returns where its text goes on, or NULL. */
static const char *section(const struct rendering *to, const char *at, const struct scope *scope, const char *name,
                           bool inverted)
{
    const struct rendering silent = { NULL, to->error };
    const cJSON *item = find(scope, name), *element = NULL;
    const char *end = render(&silent, at, scope, name);
    if (!end || !to->out || is_there(item) == inverted)
        return end;
    if (!cJSON_IsArray(item) || inverted) {
        const struct scope inner = { cJSON_IsObject(item) ? item : scope->item, scope };
        return render(to, at, &inner, name);
    }
    cJSON_ArrayForEach(element, item)
    {
        const struct scope inner = { element, scope };
        render(to, at, &inner, name);
    }
    return end;
}

/* A tag's kind ('#', '^', '/', '{' or 0) and name. Returns what stands behind it, or NULL for a tag without an end. */
static const char *read_tag(const char *at, char *kind, char name[NAME_BYTES])
{
    const char *close = strstr(at, "}}");
    *kind = strchr("#^/{", *at) && *at ? *at++ : '\0';
    if (!close || close - at >= NAME_BYTES)
        return NULL;
    snprintf(name, NAME_BYTES, "%.*s", (int)(close - at), at);
    return close + (*kind == '{' ? 3 : 2);
}

/* Prints up to the end of the section `until`, or of the text where that is NULL; `to->out` NULL only walks. */
static const char *render(const struct rendering *to, const char *at, const struct scope *scope, const char *until)
{
    while (at) {
        char kind, name[NAME_BYTES];
        const char *tag = strstr(at, "{{");
        size_t length = tag ? (size_t)(tag - at) : strlen(at);
        if (to->out)
            fwrite(at, 1, length, to->out);
        if (!tag && !until)
            return at + length;
        const char *next = tag ? read_tag(tag + 2, &kind, name) : NULL;
        if (!next || (kind == '/' && (!until || strcmp(name, until)))) {
            cnn_error_set(to->error, CNN_INVALID, "template: %s%s is not closed: found %.40s",
                          until ? "section " : "a tag", until ? until : "", tag ? tag : "the end");
            return NULL;
        }
        at = next;
        if (kind == '/')
            return at;
        if (kind == '#' || kind == '^')
            at = section(to, at, scope, name, kind == '^');
        else if (to->out)
            print_value(to->out, find(scope, name), kind != '{');
    }
    return NULL;
}

int template_render(FILE *out, const char *text, const cJSON *data, struct cnn_error *error)
{
    const struct rendering to = { out, error };
    const struct scope scope = { data, NULL };
    return render(&to, text, &scope, NULL) ? CNN_OK : error->status;
}
