/* SPDX-License-Identifier: MIT */
/* Series: a backend, an algorithm, what the series fixes for itself, and the words of its line in a figure. */
#include "experiments/driver/backends.h"
#include "experiments/driver/choices.h"
#include "experiments/driver/study_reader.h"
#include "experiments/driver/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define ID_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

int study_series_find(const struct study *study, const char *id)
{
    for (int i = 0; i < study->series_count; i++)
        if (!strcmp(study->series[i].id, id))
            return i;
    return -1;
}

/* An algorithm can be checked only where the backend is in this build. */
static int check_algorithm(const struct reader *reader, const config_setting_t *setting, const char *backend,
                           const char *algorithm)
{
    const struct backend_entry *entry = backend_entry(backend);
    const char *const *known = entry && entry->backend ? entry->backend->algorithms() : NULL;
    char list[200], meant[80];
    int count = 0;
    if (!known || (entry->optional && !strcmp(algorithm, entry->optional)))
        return CNN_OK;
    for (; known[count]; count++)
        if (!strcmp(known[count], algorithm))
            return CNN_OK;
    suggest_list(list, sizeof list, known, count);
    suggest_text(meant, sizeof meant, algorithm, known, count);
    return reader_fail(reader, setting, "%s = \"%.40s\": expected an algorithm of %s: %s%s", reader_name(setting),
                       algorithm, backend, list, meant);
}

/* `conv_forward = "naive"` and its like. A later one for the same operation replaces an earlier one. */
static int choice_add(struct reader *reader, const config_setting_t *setting, enum cnn_operation_kind kind,
                      struct point_choice *choices, int *count)
{
    const char *algorithm = reader_text(reader, setting, "an algorithm's name in quotes");
    int at = 0;
    if (!algorithm)
        return CNN_INVALID;
    if (strlen(algorithm) >= sizeof choices->algorithm)
        return reader_fail(reader, setting, "%s: \"%.40s...\" is no algorithm", reader_name(setting), algorithm);
    while (at < *count && choices[at].kind != kind)
        at++;
    if (at == POINT_CHOICES_MAX)
        return reader_fail(reader, setting, "%s: more than %d choices", reader_name(setting), POINT_CHOICES_MAX);
    choices[at] = (struct point_choice){ .kind = kind, .layer = -1 };
    strcpy(choices[at].algorithm, algorithm);
    *count += at == *count;
    return CNN_OK;
}

int study_choices_read(struct reader *reader, const config_setting_t *group, struct point_choice *choices, int *count)
{
    int status = CNN_OK;
    for (int kind = 0; kind < CNN_OPERATION_KIND_COUNT && !status; kind++) {
        const config_setting_t *setting = config_setting_get_member(group, cnn_operation_kind_name(kind));
        if (setting && words_choosable(kind))
            status = choice_add(reader, setting, kind, choices, count);
    }
    return status;
}

int study_choices_check(const struct reader *reader, const config_setting_t *group, const struct study_series *series)
{
    int status = CNN_OK;
    for (int i = 0; i < series->choice_count && !status; i++) {
        const struct point_choice *choice = &series->choices[i];
        const config_setting_t *own = config_setting_get_member(group, cnn_operation_kind_name(choice->kind));
        status = check_algorithm(reader, own ? own : group, series->backend, choice->algorithm);
    }
    return status;
}

static int read_backend(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study_series *series = object;
    struct cnn_error why;
    const char *word = reader_text(reader, setting, "a backend's name in quotes");
    if (!word)
        return CNN_INVALID;
    if (words_find(WORDS_BACKENDS, word, &why) < 0)
        return reader_fail(reader, setting, "backend = %s", why.text);
    snprintf(series->backend, sizeof series->backend, "%s", word);
    return CNN_OK;
}

static const struct key series_keys[] = {
    KEY_OF("id", KEY_TEXT, struct study_series, id),
    KEY_OF("label", KEY_TEXT, struct study_series, label),
    KEY_CALL("backend", read_backend),
    KEY_OF("algorithm", KEY_TEXT, struct study_series, algorithm),
    KEY_RANGE("device", KEY_INT, struct study_series, device, 0, 63),
    KEY_OF("required", KEY_BOOL, struct study_series, required),
};

static int read_fixed(struct reader *reader, const config_setting_t *group, struct study_series *series)
{
    int status = CNN_OK;
    for (int axis = 0; axis < STUDY_AXIS_COUNT && !status; axis++) {
        const config_setting_t *setting = config_setting_get_member(group, study_axis_name(axis));
        if (!setting)
            continue;
        status = study_values_read(reader, axis, setting, &series->fixed[axis]);
        if (!status && series->fixed[axis].count != 1)
            status = reader_fail(reader, setting,
                                 "%s: a series fixes an axis to one value, found %d: list them outside of series",
                                 study_axis_name(axis), series->fixed[axis].count);
    }
    return status;
}

static int check_series(const struct reader *reader, const config_setting_t *group, const struct study_series *series)
{
    const config_setting_t *algorithm = config_setting_get_member(group, "algorithm");
    if (!series->id[0])
        return reader_fail(reader, group,
                           "id is missing: expected a series such as { id = \"cpu\"; backend = \"cpu\"; }");
    if (strspn(series->id, ID_LETTERS) != strlen(series->id))
        return reader_fail(reader, group, "id = \"%s\": expected letters, digits, '-' and '_' alone", series->id);
    if (!series->backend[0])
        return reader_fail(reader, group, "series \"%s\" has no backend: expected one, as in backend = \"cpu\";",
                           series->id);
    if (series->device > 0 && strcmp(series->backend, "cuda"))
        return reader_fail(reader, config_setting_get_member(group, "device"),
                           "device = %d: expected on a series of cuda alone, %s has one device", series->device,
                           series->backend);
    int twin = study_series_find(reader->study, series->id);
    if (twin >= 0)
        return reader_fail(reader, group, "id = \"%s\" is taken by the series of line %d: choose another one",
                           series->id, study_text_line(reader->text, reader->study->series[twin].line));
    int status = CNN_OK;
    if (strcmp(series->algorithm, CHOICES_AUTO))
        status = check_algorithm(reader, algorithm ? algorithm : group, series->backend, series->algorithm);
    return status ? status : study_choices_check(reader, group, series);
}

/* "CPU, 1 thread, naive": the backend's words, and the algorithm where it is not the usual one. */
static void make_label(struct study_series *series)
{
    const struct backend_entry *entry = backend_entry(series->backend);
    const char *algorithm = series->algorithm;
    if (!series->label[0])
        snprintf(series->label, sizeof series->label, "%s%s%s", entry ? entry->label : series->backend,
                 strcmp(algorithm, "direct") ? ", " : "", strcmp(algorithm, "direct") ? algorithm : "");
}

static int add_series(struct reader *reader, const config_setting_t *group)
{
    struct study *study = reader->study;
    struct study_series series = { .algorithm = "direct", .required = study->required };
    if (!config_setting_is_group(group))
        return reader_fail(reader, group, "series: expected groups such as { id = \"cpu\"; backend = \"cpu\"; }");
    series.line = (int)config_setting_source_line(group);
    series.choice_count = study->choice_count;
    memcpy(series.choices, study->choices, sizeof series.choices);
    int status =
        reader_check_keys(reader, group, "a series", series_keys, COUNT(series_keys), KEYS_AXES | KEYS_OPERATIONS);
    if (!status)
        status = reader_read_keys(reader, group, series_keys, COUNT(series_keys), &series);
    if (!status)
        status = read_fixed(reader, group, &series);
    if (!status)
        status = study_choices_read(reader, group, series.choices, &series.choice_count);
    if (!status)
        status = check_series(reader, group, &series);
    make_label(&series);
    struct study_series *list =
        status ? NULL : realloc(study->series, ((size_t)study->series_count + 1) * sizeof *list);
    if (!status && !list)
        status = cnn_error_set(reader->error, CNN_OOM, "no memory for a series");
    if (status) {
        for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
            study_values_free(&series.fixed[axis]);
        return status;
    }
    study->series = list;
    study->series[study->series_count++] = series;
    return CNN_OK;
}

int study_series_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    int count = reader_count(setting), status = CNN_OK;
    (void)object; /* the study, which the reader knows */
    if (count == 0)
        return reader_fail(reader, setting, "series is an empty list: expected at least one group");
    for (int i = 0; i < count && !status; i++)
        status = add_series(reader, reader_element(setting, i));
    return status;
}
