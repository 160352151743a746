/* SPDX-License-Identifier: MIT */
/* The readers that all parts of a study share: one value of each kind, checked, and tables of keys. */
#include "experiments/driver/study_reader.h"
#include "experiments/driver/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 80
#define KNOWN_MAX 96

int reader_fail(const struct reader *reader, const config_setting_t *setting, const char *format, ...)
{
    char sentence[sizeof reader->error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    int line = setting ? (int)config_setting_source_line(setting) : 0;
    return study_text_fail(reader->text, line, reader->error, "%s", sentence);
}

int reader_count(const config_setting_t *setting)
{
    return config_setting_is_list(setting) || config_setting_is_array(setting) ? config_setting_length(setting) : 1;
}

const config_setting_t *reader_element(const config_setting_t *setting, int i)
{
    return config_setting_is_list(setting) || config_setting_is_array(setting)
               ? config_setting_get_elem(setting, (unsigned)i)
               : setting;
}

const char *reader_name(const config_setting_t *setting)
{
    while (setting && !config_setting_name(setting))
        setting = config_setting_parent(setting);
    return setting ? config_setting_name(setting) : "the file";
}

void reader_shown(const config_setting_t *setting, char *out, size_t size)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(out, size, "%lld", config_setting_get_int64(setting));
        break;
    case CONFIG_TYPE_FLOAT:
        snprintf(out, size, "%g", config_setting_get_float(setting));
        break;
    case CONFIG_TYPE_BOOL:
        snprintf(out, size, "%s", config_setting_get_bool(setting) ? "true" : "false");
        break;
    case CONFIG_TYPE_STRING:
        snprintf(out, size, "\"%.60s\"", config_setting_get_string(setting));
        break;
    case CONFIG_TYPE_GROUP:
        snprintf(out, size, "a group { }");
        break;
    default:
        snprintf(out, size, config_setting_length(setting) ? "a list" : "an empty list");
    }
}

static int unexpected(const struct reader *reader, const config_setting_t *setting, const char *expected)
{
    char shown[SHOWN];
    reader_shown(setting, shown, sizeof shown);
    return reader_fail(reader, setting, "%s = %s: expected %s", reader_name(setting), shown, expected);
}

const char *reader_text(const struct reader *reader, const config_setting_t *setting, const char *expected)
{
    const char *text = config_setting_type(setting) == CONFIG_TYPE_STRING ? config_setting_get_string(setting) : NULL;
    if (text && *text)
        return text;
    unexpected(reader, setting, expected);
    return NULL;
}

static int read_text(const struct reader *reader, const config_setting_t *setting, const struct key *key, char *out)
{
    const char *text = reader_text(reader, setting, "a text in quotes");
    if (!text)
        return CNN_INVALID;
    if (strlen(text) >= key->size)
        return reader_fail(reader, setting, "%s is %zu bytes long, at most %zu", key->name, strlen(text),
                           key->size - 1);
    strcpy(out, text);
    return CNN_OK;
}

static bool is_whole(const config_setting_t *setting)
{
    int type = config_setting_type(setting);
    return type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
}

static int read_int(const struct reader *reader, const config_setting_t *setting, const struct key *key, int *out)
{
    char expected[SHOWN];
    snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", key->low, key->high);
    if (!is_whole(setting))
        return unexpected(reader, setting, expected);
    long long value = config_setting_get_int64(setting);
    if ((double)value < key->low || (double)value > key->high)
        return unexpected(reader, setting, expected);
    *out = (int)value;
    return CNN_OK;
}

static int read_number(const struct reader *reader, const config_setting_t *setting, const struct key *key, double *out)
{
    char expected[SHOWN];
    snprintf(expected, sizeof expected, "a number from %g to %g", key->low, key->high);
    if (!is_whole(setting) && config_setting_type(setting) != CONFIG_TYPE_FLOAT)
        return unexpected(reader, setting, expected);
    *out = is_whole(setting) ? (double)config_setting_get_int64(setting) : config_setting_get_float(setting);
    if (!(*out >= key->low && *out <= key->high))
        return unexpected(reader, setting, expected);
    return CNN_OK;
}

static int read_bool(const struct reader *reader, const config_setting_t *setting, bool *out)
{
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
        return unexpected(reader, setting, "true or false, without quotes");
    *out = config_setting_get_bool(setting);
    return CNN_OK;
}

static int read_word(const struct reader *reader, const config_setting_t *setting, const struct key *key, int *out)
{
    struct cnn_error why;
    const char *word = reader_text(reader, setting, "a word in quotes");
    if (!word)
        return CNN_INVALID;
    *out = words_find(key->words, word, &why);
    return *out < 0 ? reader_fail(reader, setting, "%s = %s", key->name, why.text) : CNN_OK;
}

static int read_key(struct reader *reader, const config_setting_t *setting, const struct key *key, void *object)
{
    void *field = (char *)object + key->offset;
    double number = 0;
    int status = CNN_OK;
    switch (key->kind) {
    case KEY_TEXT:
        return read_text(reader, setting, key, field);
    case KEY_INT:
        return read_int(reader, setting, key, field);
    case KEY_DOUBLE:
        return read_number(reader, setting, key, field);
    case KEY_FLOAT:
        status = read_number(reader, setting, key, &number);
        *(float *)field = (float)number;
        return status;
    case KEY_BOOL:
        return read_bool(reader, setting, field);
    case KEY_WORD:
        return read_word(reader, setting, key, field);
    case KEY_READ:
        return key->read(reader, setting, object);
    }
    return CNN_ERROR;
}

int reader_check_keys(const struct reader *reader, const config_setting_t *group, const char *what,
                      const struct key *keys, int count, unsigned also)
{
    const char *known[KNOWN_MAX];
    int known_count = 0;
    struct words words;
    char meant[SHOWN];
    for (int i = 0; i < count; i++)
        known[known_count++] = keys[i].name;
    words_fill(&words, WORDS_AXES);
    for (int i = 0; i < words.count && (also & KEYS_AXES); i++)
        known[known_count++] = words.list[i];
    words_fill(&words, WORDS_OPERATIONS);
    for (int i = 0; i < words.count && (also & KEYS_OPERATIONS); i++)
        known[known_count++] = words.list[i];
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(setting);
        int at = 0;
        while (at < known_count && strcmp(known[at], name))
            at++;
        suggest_text(meant, sizeof meant, name, known, known_count);
        if (at == known_count)
            return reader_fail(reader, setting, "%.60s: %s has no such key%s", name, what, meant);
    }
    return CNN_OK;
}

int reader_read_keys(struct reader *reader, const config_setting_t *group, const struct key *keys, int count,
                     void *object)
{
    int status = CNN_OK;
    for (int i = 0; i < count && !status; i++) {
        const config_setting_t *setting = config_setting_get_member(group, keys[i].name);
        if (setting)
            status = read_key(reader, setting, &keys[i], object);
    }
    return status;
}
