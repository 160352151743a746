/* SPDX-License-Identifier: MIT */
/* The axes: their names, what values they take, and how a study writes them. */
#include "experiments/driver/study_range.h"
#include "experiments/driver/study_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *study_axis_name(enum study_axis axis)
{
    static const char *const names[STUDY_AXIS_COUNT] = {
        [AXIS_NETWORK] = "network",     [AXIS_PHASE] = "phase", [AXIS_CONNECTIONS] = "connections",
        [AXIS_PRECISION] = "precision", [AXIS_ISA] = "isa",     [AXIS_COPIES] = "copies",
        [AXIS_LAUNCH] = "launch",       [AXIS_WIDTH] = "width", [AXIS_DEPTH] = "depth",
        [AXIS_IMAGE] = "image",         [AXIS_BATCH] = "batch", [AXIS_THREADS] = "threads",
        [AXIS_SEED] = "seed",
    };
    return axis < STUDY_AXIS_COUNT ? names[axis] : "";
}

enum study_axis study_axis_parse(const char *word)
{
    for (int i = 0; i < STUDY_AXIS_COUNT; i++)
        if (!strcmp(word, study_axis_name(i)))
            return i;
    return STUDY_AXIS_COUNT;
}

static bool is_size(enum study_axis axis)
{
    return axis == AXIS_WIDTH || axis == AXIS_DEPTH || axis == AXIS_IMAGE || axis == AXIS_BATCH || axis == AXIS_THREADS;
}

int study_values_add(struct study_values *values, int number, const char *word, struct cnn_error *error)
{
    if (values->count == STUDY_VALUES_MAX)
        return cnn_error_set(error, CNN_INVALID, "has more than %d values", STUDY_VALUES_MAX);
    bool full = (values->count & (values->count - 1)) == 0; /* room doubles at every power of two */
    size_t room = values->count > 0 ? 2 * (size_t)values->count : 1;
    struct study_value *list = full ? realloc(values->list, room * sizeof *list) : values->list;
    if (!list)
        return cnn_error_set(error, CNN_OOM, "no memory for the values of an axis");
    values->list = list;
    list[values->count].number = number;
    snprintf(list[values->count].word, STUDY_WORD, "%s", word);
    values->count++;
    return CNN_OK;
}

int study_values_copy(struct study_values *out, const struct study_values *values, struct cnn_error *error)
{
    int status = CNN_OK;
    *out = (struct study_values){ .line = values->line };
    for (int i = 0; i < values->count && !status; i++)
        status = study_values_add(out, values->list[i].number, values->list[i].word, error);
    return status;
}

void study_values_free(struct study_values *values)
{
    free(values->list);
    *values = (struct study_values){ 0 };
}

static int add_size(struct study_values *out, int size, struct cnn_error *error)
{
    char word[STUDY_WORD];
    snprintf(word, sizeof word, "%d", size);
    return study_values_add(out, size, word, error);
}

static int add_sizes(const char *text, int low, struct study_values *out, struct cnn_error *error)
{
    struct size_range range;
    int status = size_range_parse(&range, text, low, error);
    for (int i = 0; i < range.count && !status; i++)
        status = add_size(out, size_range_at(&range, i), error);
    return status;
}

/* Seeds have 64 bits: more than a size. Their digits are the value. */
static int add_seeds(const char *text, struct study_values *out, struct cnn_error *error)
{
    if (strstr(text, ".."))
        return add_sizes(text, 0, out, error);
    errno = 0;
    strtoull(text, NULL, 10);
    if (!*text || strspn(text, "0123456789") != strlen(text) || errno)
        return cnn_error_set(error, CNN_INVALID,
                             "%.60s: expected a whole number from 0 to 18446744073709551615, above 2147483647 as text "
                             "in quotes, or a range such as \"1..5\"",
                             text);
    return study_values_add(out, 0, text, error);
}

uint64_t study_value_seed(const struct study_value *value)
{
    return strtoull(value->word, NULL, 10);
}

static enum vocabulary vocabulary_of(enum study_axis axis)
{
    switch (axis) {
    case AXIS_PHASE:
        return WORDS_PHASES;
    case AXIS_PRECISION:
        return WORDS_PRECISIONS;
    case AXIS_ISA:
        return WORDS_ISAS;
    case AXIS_COPIES:
        return WORDS_COPIES;
    case AXIS_LAUNCH:
        return WORDS_LAUNCHES;
    default:
        return WORDS_NETWORKS;
    }
}

static int add_connections(const char *text, struct study_values *out, struct cnn_error *error)
{
    struct cnn_network_connections connections;
    char word[STUDY_WORD];
    int status = study_connections_parse(&connections, text, error);
    study_connections_text(&connections, word);
    return status ? status : study_values_add(out, 0, word, error);
}

int study_values_text(enum study_axis axis, const char *text, struct study_values *out, struct cnn_error *error)
{
    if (axis == AXIS_CONNECTIONS)
        return add_connections(text, out, error);
    if (axis == AXIS_NETWORK)
        return study_values_add(out, 0, text, error);
    if (axis == AXIS_THREADS && !strcmp(text, "auto"))
        return study_values_add(out, 0, "auto", error);
    if (axis == AXIS_SEED)
        return add_seeds(text, out, error);
    if (is_size(axis))
        return add_sizes(text, 1, out, error);
    int place = words_find(vocabulary_of(axis), text, error);
    struct words words;
    words_fill(&words, vocabulary_of(axis));
    return place < 0 ? CNN_INVALID : study_values_add(out, place, words.list[place], error);
}

/* A network by name gets its place in the study; a written-out one is read. */
static int read_network(struct reader *reader, const config_setting_t *setting, struct study_values *out,
                        struct cnn_error *why)
{
    int place = 0, status;
    if (config_setting_is_group(setting)) {
        status = study_network_read(reader, setting, &place);
        if (status)
            return status;
    } else {
        const char *name = reader_text(reader, setting, "a network's name in quotes, or a group { name, layers }");
        if (!name)
            return CNN_INVALID;
        status = study_network_find(reader->study, name, &place, why);
        if (status)
            return reader_fail(reader, setting, "network = %s", why->text);
    }
    status = study_values_add(out, place, reader->study->networks[place].name, why);
    return status ? reader_fail(reader, setting, "network %s", why->text) : CNN_OK;
}

static int read_element(struct reader *reader, enum study_axis axis, const config_setting_t *setting,
                        struct study_values *out)
{
    struct cnn_error why = { CNN_OK, "" };
    char number[24], shown[80];
    const char *text = config_setting_get_string(setting);
    if (axis == AXIS_NETWORK)
        return read_network(reader, setting, out, &why);
    if (axis == AXIS_SEED && !text &&
        (config_setting_type(setting) == CONFIG_TYPE_INT || config_setting_type(setting) == CONFIG_TYPE_INT64)) {
        snprintf(number, sizeof number, "%lld", config_setting_get_int64(setting));
        text = number;
    }
    if (is_size(axis) && (config_setting_type(setting) == CONFIG_TYPE_INT)) {
        if (config_setting_get_int(setting) < 1)
            return reader_fail(reader, setting, "%s = %d: expected sizes of at least 1", study_axis_name(axis),
                               config_setting_get_int(setting));
        snprintf(number, sizeof number, "%d", config_setting_get_int(setting));
        text = number;
    }
    if (!text) {
        reader_shown(setting, shown, sizeof shown);
        return reader_fail(reader, setting, "%s = %s: expected %s", study_axis_name(axis), shown,
                           is_size(axis) || axis == AXIS_SEED
                               ? "a whole number, a list [1, 2, 4], or a range such as \"32..104 step 8\""
                               : "a word in quotes, or a list of words");
    }
    if (study_values_text(axis, text, out, &why))
        return reader_fail(reader, setting, "%s = %s", study_axis_name(axis), why.text);
    return CNN_OK;
}

int study_values_read(struct reader *reader, enum study_axis axis, const config_setting_t *setting,
                      struct study_values *out)
{
    int status = CNN_OK;
    if (reader_count(setting) == 0)
        return reader_fail(reader, setting, "%s is an empty list: expected at least one value", study_axis_name(axis));
    if (out->count == 0)
        out->line = (int)config_setting_source_line(setting);
    for (int i = 0; i < reader_count(setting) && !status; i++)
        status = read_element(reader, axis, reader_element(setting, i), out);
    return status;
}
