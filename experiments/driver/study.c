/* SPDX-License-Identifier: MIT */
/* Reads a study: text, grammar, then every key of the top level. */
#include "experiments/driver/study.h"
#include "experiments/driver/study_lint.h"
#include "experiments/driver/study_reader.h"
#include "lib/distort.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define DAY 86400.0

static int preset_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    struct cnn_error why;
    const char *word = reader_text(reader, setting, "\"paper\" or \"peer\"");
    if (!word)
        return CNN_INVALID;
    int place = words_find(WORDS_PRESETS, word, &why);
    study->peer = place == 1;
    return place < 0 ? reader_fail(reader, setting, "preset = %s", why.text) : CNN_OK;
}

static int data_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    struct cnn_error why;
    const char *word = reader_text(reader, setting, "the name of a data set in quotes");
    if (!word)
        return CNN_INVALID;
    if (words_find(WORDS_DATA, word, &why) < 0)
        return reader_fail(reader, setting, "data = %s", why.text);
    snprintf(study->data, sizeof study->data, "%s", word);
    return CNN_OK;
}

static int distort_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    struct cnn_distortion distortion;
    struct cnn_error why;
    const char *text = reader_text(reader, setting, "a text such as \"rotate 10 elastic 34 sigma 4\"");
    if (!text)
        return CNN_INVALID;
    if (strlen(text) >= sizeof study->distort)
        return reader_fail(reader, setting, "distort is %zu bytes long, at most %zu", strlen(text),
                           sizeof study->distort - 1);
    if (cnn_distortion_parse(&distortion, text, &why))
        return reader_fail(reader, setting, "distort = %s", why.text);
    strcpy(study->distort, text);
    return CNN_OK;
}

static int order_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    struct cnn_error why;
    const char *word = reader_text(reader, setting, "\"random\" or \"as-written\"");
    if (!word)
        return CNN_INVALID;
    int place = words_find(WORDS_ORDERS, word, &why);
    study->shuffled = place == 0;
    return place < 0 ? reader_fail(reader, setting, "order = %s", why.text) : CNN_OK;
}

/* In the order in which they are read: what others refer to comes first. */
static const struct key study_keys[] = {
    KEY_OF("title", KEY_TEXT, struct study, title),
    KEY_OF("required", KEY_BOOL, struct study, required),
    KEY_OF("slow", KEY_BOOL, struct study, slow),
    KEY_OF("pin", KEY_BOOL, struct study, pin),
    KEY_CALL("preset", preset_read),
    KEY_WORD_OF("output", WORDS_ACTIVATIONS, struct study, output),
    KEY_WORD_OF("loss", WORDS_LOSSES, struct study, loss),
    KEY_RANGE("classes", KEY_INT, struct study, classes, 1, 1e6),
    KEY_OF("input_gradient", KEY_BOOL, struct study, input_gradient),
    KEY_RANGE("min_time", KEY_DOUBLE, struct study, measure.min_time, 1e-6, 3600),
    KEY_RANGE("warmup", KEY_DOUBLE, struct study, measure.warmup, 0, 3600),
    KEY_RANGE("max_time", KEY_DOUBLE, struct study, measure.max_time, 1e-6, DAY),
    KEY_RANGE("interval", KEY_DOUBLE, struct study, measure.interval, 1e-4, 1),
    KEY_RANGE("timeout", KEY_DOUBLE, struct study, measure.timeout, 0, 30 * DAY),
    KEY_RANGE("min_samples", KEY_INT, struct study, measure.min_samples, 1, 1e6),
    KEY_RANGE("max_samples", KEY_INT, struct study, measure.max_samples, 1, 1e6),
    KEY_CALL("data", data_read),
    KEY_OF("data_folder", KEY_TEXT, struct study, data_folder),
    KEY_WORD_OF("fit", WORDS_FITS, struct study, fit),
    KEY_WORD_OF("pixels", WORDS_PIXELS, struct study, pixels),
    KEY_CALL("distort", distort_read),
    KEY_RANGE("target", KEY_DOUBLE, struct study, target, 0, 1),
    KEY_RANGE("epochs", KEY_INT, struct study, epochs, 1, 1e6),
    KEY_RANGE("train_limit", KEY_INT, struct study, train_limit, 0, INT_MAX),
    KEY_RANGE("test_limit", KEY_INT, struct study, test_limit, 0, INT_MAX),
    KEY_RANGE("rate", KEY_FLOAT, struct study, rates.rate, 0, 1e6),
    KEY_RANGE("momentum", KEY_FLOAT, struct study, rates.momentum, 0, 1),
    KEY_RANGE("decay", KEY_FLOAT, struct study, rates.decay, 0, 1),
    KEY_RANGE("rate_decay", KEY_FLOAT, struct study, rate_decay, 1e-6, 1),
    KEY_CALL("order", order_read),
    KEY_CALL("series", study_series_read),
    KEY_CALL("base", study_base_read),
    KEY_CALL("claims", study_claims_read),
    KEY_CALL("figures", study_figures_read),
    KEY_CALL("published", study_published_read),
    KEY_CALL("zip", study_zip_read),
    KEY_CALL("exclude", study_exclude_read),
};

static void defaults(struct study *study)
{
    *study = (struct study){
        .output = -1,
        .loss = -1,
        .seed = 1,
        .measure = { .min_time = 0.01,
                     .warmup = 0.2,
                     .max_time = 3,
                     .interval = 0.01,
                     .timeout = -1,
                     .min_samples = 8,
                     .max_samples = 1000 },
        .distort = "none",
        .epochs = 5,
        .rates = { .rate = 0.01f },
        .rate_decay = 1,
        .shuffled = true,
        .pin = true,
    };
}

static int read_axes(struct reader *reader, const config_setting_t *root)
{
    int status = CNN_OK;
    for (int axis = 0; axis < STUDY_AXIS_COUNT && !status; axis++) {
        const config_setting_t *setting = config_setting_get_member(root, study_axis_name(axis));
        if (!setting)
            continue;
        study_values_free(&reader->study->axes[axis]);
        status = study_values_read(reader, axis, setting, &reader->study->axes[axis]);
    }
    if (!status && reader->study->axes[AXIS_SEED].count > 0)
        reader->study->seed = study_value_seed(reader->study->axes[AXIS_SEED].list);
    return status;
}

int study_read_root(struct reader *reader, const config_setting_t *root)
{
    int status = reader_check_keys(reader, root, "a study", study_keys, COUNT(study_keys), KEYS_AXES | KEYS_OPERATIONS);
    if (!status)
        status = read_axes(reader, root);
    if (!status)
        status = study_choices_read(reader, root, reader->study->choices, &reader->study->choice_count);
    if (!status)
        status = reader_read_keys(reader, root, study_keys, COUNT(study_keys), reader->study);
    return status;
}

/* Grammar first, in our words; what it accepts and libconfig does not still gets a line. */
int study_parse(config_t *config, const struct study_text *text, struct cnn_error *error)
{
    int status = study_lint(text, error);
    if (!status && !config_read_string(config, text->text))
        return study_text_fail(text, config_error_line(config), error, "%s", config_error_text(config));
    return status;
}

/* The file's name without folder and ".cfg", fit for a folder of results. */
static void name_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot && dot != out && !strcmp(dot, ".cfg"))
        *dot = '\0';
    for (char *at = out; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", *at))
            *at = '-';
    if (!out[0] || out[0] == '.')
        snprintf(out, size, "study");
}

static int finish(struct study *study, const char *path, struct study_text *text, struct cnn_error *error)
{
    int line = 0;
    name_of(path, study->name, sizeof study->name);
    if (!study->title[0])
        snprintf(study->title, sizeof study->title, "%s", study->name);
    struct cnn_error why;
    if (study_check(study, &line, &why))
        return study_text_fail(text, line, error, "%s", why.text);
    study->text = text->text;
    text->text = NULL;
    study->path = strdup(path);
    return study->path ? CNN_OK : cnn_error_set(error, CNN_OOM, "study: no memory for its path");
}

static int read_loaded(struct study *out, const char *path, struct study_text *text, struct cnn_error *error)
{
    struct reader reader = { out, text, error };
    config_t config;
    config_init(&config);
    int status = study_parse(&config, text, error);
    if (!status)
        status = study_read_root(&reader, config_root_setting(&config));
    if (!status)
        status = finish(out, path, text, error);
    config_destroy(&config);
    return status;
}

int study_read_text(struct study *out, const char *path, const char *bytes, struct cnn_error *error)
{
    struct study_text text;
    struct cnn_error ignored;
    error = error ? error : &ignored;
    defaults(out);
    int status = study_text_load(&text, path, bytes, error);
    if (status) {
        *out = (struct study){ 0 };
        return status;
    }
    status = read_loaded(out, path, &text, error);
    study_text_free(&text);
    if (status)
        study_free(out);
    return status;
}

int study_read(struct study *out, const char *path, struct cnn_error *error)
{
    return study_read_text(out, path, NULL, error);
}

void study_free(struct study *study)
{
    for (int i = 0; i < study->series_count; i++)
        for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
            study_values_free(&study->series[i].fixed[axis]);
    for (int i = 0; study->exclusions && i < study->exclusion_count; i++) {
        for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
            study_values_free(&study->exclusions[i].values[axis]);
        free(study->exclusions[i].series);
    }
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++)
        study_values_free(&study->axes[axis]);
    free(study->series);
    free(study->exclusions);
    free(study->claims);
    free(study->published);
    free(study->published_text);
    free(study->networks);
    free(study->path);
    free(study->text);
    *study = (struct study){ 0 };
}
