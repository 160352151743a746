/* SPDX-License-Identifier: MIT */
/* What the command line changes in a study: --set and --backend. An assignment is turned into a line of a study and
 * read as one, so that both know the same words and refuse the same mistakes. */
#include "experiments/driver/study_reader.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "+-.0123456789eE");
    return digits && text[digits] == '\0' && strpbrk(text, "0123456789") && !strstr(text, "..");
}

/* One value in libconfig's words: numbers and truth as they are, the rest in quotes. */
static size_t quote(char *out, size_t size, const char *value)
{
    bool plain = is_number(value) || !strcmp(value, "true") || !strcmp(value, "false");
    return (size_t)snprintf(out, size, plain ? "%s" : "\"%s\"", value);
}

/* "width=1,2,4" as `width = (1, 2, 4);`. */
static int assignment_text(const char *assignment, char *out, size_t size, struct cnn_error *error)
{
    const char *equals = strchr(assignment, '=');
    char values[1024];
    if (!equals || equals == assignment || !equals[1] || strlen(equals + 1) >= sizeof values)
        return cnn_error_set(error, CNN_INVALID, "--set %.200s: expected KEY=VALUES, as in width=1,2,4", assignment);
    if (strpbrk(assignment, "\"\\\n"))
        return cnn_error_set(error, CNN_INVALID,
                             "--set %.200s: expected values without quotes, as in image=\"32..64 x2\" "
                             "to the shell",
                             assignment);
    strcpy(values, equals + 1);
    bool list = strchr(values, ',') != NULL;
    size_t at = (size_t)snprintf(out, size, "%.*s = %s", (int)(equals - assignment), assignment, list ? "(" : "");
    char *rest = values, *value;
    for (int i = 0; (value = strsep(&rest, ",")) && at < size; i++) {
        value += strspn(value, " ");
        if (!*value)
            return cnn_error_set(error, CNN_INVALID, "--set %.200s: a value between commas is empty", assignment);
        at += (size_t)snprintf(out + at, size - at, i ? ", " : "");
        at += quote(out + at, size - at, value);
    }
    if (at < size)
        at += (size_t)snprintf(out + at, size - at, list ? ");" : ";");
    return at < size ? CNN_OK : cnn_error_set(error, CNN_INVALID, "--set %.200s: too long", assignment);
}

static int refuse_parts(const struct reader *reader, const config_setting_t *root)
{
    static const char *const parts[] = { "series", "claims", "figures", "zip", "exclude" };
    for (int i = 0; i < COUNT(parts); i++)
        if (config_setting_get_member(root, parts[i]))
            return reader_fail(reader, NULL, "%s can be given in a study only", parts[i]);
    return CNN_OK;
}

/* Series took these from the study when they were read. */
static int pass_to_series(struct reader *reader, const config_setting_t *root)
{
    struct study *study = reader->study;
    int status = CNN_OK;
    for (int i = 0; i < study->series_count && !status; i++) {
        struct study_series *series = &study->series[i];
        if (config_setting_get_member(root, "required"))
            series->required = study->required;
        status = study_choices_read(reader, root, series->choices, &series->choice_count);
        if (!status)
            status = study_choices_check(reader, root, series);
    }
    return status;
}

int study_set(struct study *study, const char *assignment, struct cnn_error *error)
{
    char source[2048], place[240];
    struct study_text text;
    struct cnn_error ignored;
    error = error ? error : &ignored;
    struct reader reader = { study, &text, error };
    int status = assignment_text(assignment, source, sizeof source, error);
    snprintf(place, sizeof place, "--set %.200s", assignment);
    if (status || (status = study_text_load(&text, place, source, error)))
        return status;
    text.anonymous = true;
    config_t config;
    config_init(&config);
    status = study_parse(&config, &text, error);
    const config_setting_t *root = config_root_setting(&config);
    if (!status)
        status = refuse_parts(&reader, root);
    if (!status)
        status = study_read_root(&reader, root);
    if (!status)
        status = pass_to_series(&reader, root);
    config_destroy(&config);
    study_text_free(&text);
    return status;
}

int study_keep_backends(struct study *study, const char *const *names, int count, struct cnn_error *error)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (words_find(WORDS_BACKENDS, names[i], error) < 0)
            return cnn_error_prefix(error, "--backend");
    for (int i = 0; i < study->series_count; i++) {
        struct study_series *series = &study->series[i];
        bool named = false;
        for (int k = 0; k < count; k++)
            named = named || !strcmp(names[k], series->backend);
        series->left_out = !named;
        series->required = series->required || named;
        kept += named;
    }
    return kept ? CNN_OK
                : cnn_error_set(error, CNN_SKIPPED, "%s: --backend %s%s: no series of this study runs on it",
                                study->path, names[0], count > 1 ? ", ..." : "");
}
