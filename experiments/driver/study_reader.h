/* SPDX-License-Identifier: MIT */
/* From libconfig's settings to fields of plain structs, with one sentence for whatever does not fit. Inside study*.c
 * only. */
#ifndef DRIVER_STUDY_READER_H
#define DRIVER_STUDY_READER_H

#include "experiments/driver/study.h"
#include "experiments/driver/study_text.h"
#include "experiments/driver/study_words.h"

#include <libconfig.h>

struct reader {
    struct study *study;
    const struct study_text *text;
    struct cnn_error *error;
};

enum key_kind {
    KEY_TEXT,   /* into char[size], not empty */
    KEY_INT,    /* int, low..high */
    KEY_DOUBLE, /* double, low..high */
    KEY_FLOAT,  /* float, low..high */
    KEY_BOOL,
    KEY_WORD, /* int (an enum): a word of `words` */
    KEY_READ  /* by the function */
};

/* One key of a group: where its value goes in the object that the group describes. */
struct key {
    const char *name;
    enum key_kind kind;
    size_t offset, size;
    double low, high;
    enum vocabulary words;
    int (*read)(struct reader *reader, const config_setting_t *setting, void *object);
};

#define KEY_FIELD(object, field) .offset = offsetof(object, field), .size = sizeof(((object *)NULL)->field)
#define KEY_OF(key, what, object, field)                    \
    {                                                       \
        .name = key, .kind = what, KEY_FIELD(object, field) \
    }
#define KEY_RANGE(key, what, object, field, from, to)                                \
    {                                                                                \
        .name = key, .kind = what, KEY_FIELD(object, field), .low = from, .high = to \
    }
#define KEY_WORD_OF(key, vocabulary, object, field)                                  \
    {                                                                                \
        .name = key, .kind = KEY_WORD, KEY_FIELD(object, field), .words = vocabulary \
    }
#define KEY_CALL(key, function)                         \
    {                                                   \
        .name = key, .kind = KEY_READ, .read = function \
    }

/* What keys a group may have beside its table. */
enum { KEYS_AXES = 1, KEYS_OPERATIONS = 2 };

/* CNN_INVALID with "file:line: ", from a setting; NULL: the file as a whole. */
int reader_fail(const struct reader *reader, const config_setting_t *setting, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses keys that are none, with the nearest that is one. */
int reader_check_keys(const struct reader *reader, const config_setting_t *group, const char *what,
                      const struct key *keys, int count, unsigned also);

/* Reads every key of the table that the group has, in the table's order. */
int reader_read_keys(struct reader *reader, const config_setting_t *group, const struct key *keys, int count,
                     void *object);

/* A setting as a list: itself where it is one value; its elements where it is a list or an array. */
int reader_count(const config_setting_t *setting);
const config_setting_t *reader_element(const config_setting_t *setting, int i);

/* What the file says, for a message: `8`, `"x"`, `a list`. */
void reader_shown(const config_setting_t *setting, char *out, size_t size);

/* The name of the key that a setting, or the list it stands in, belongs to. */
const char *reader_name(const config_setting_t *setting);

/* The setting's text, or NULL with the error set. */
const char *reader_text(const struct reader *reader, const config_setting_t *setting, const char *expected);

/* ---- the parts of a study, one file each ---- */

/* study.c. Grammar and libconfig; then all keys of the top level. */
int study_parse(config_t *config, const struct study_text *text, struct cnn_error *error);
int study_read_root(struct reader *reader, const config_setting_t *root);

/* study_check.c. What fits together only as a whole. The sentence has no place yet; *line is a line of the text, or 0.
 */
int study_check(const struct study *study, int *line, struct cnn_error *error);

/* study_axes.c. Appends the values of an axis. From text: a word, a number or a range; the sentence has no place yet.
 */
int study_values_text(enum study_axis axis, const char *text, struct study_values *out, struct cnn_error *error);
int study_values_read(struct reader *reader, enum study_axis axis, const config_setting_t *setting,
                      struct study_values *out);
int study_values_add(struct study_values *values, int number, const char *word, struct cnn_error *error);
int study_values_copy(struct study_values *out, const struct study_values *values, struct cnn_error *error);
void study_values_free(struct study_values *values);
uint64_t study_value_seed(const struct study_value *value); /* of the axis seed: 64 bits */

/* study_network.c. Places a network in study.networks. */
int study_network_read(struct reader *reader, const config_setting_t *group, int *place);
int study_network_find(struct study *study, const char *name, int *place, struct cnn_error *error);

/* study_series.c */
int study_series_read(struct reader *reader, const config_setting_t *setting, void *object);
int study_choices_read(struct reader *reader, const config_setting_t *group, struct point_choice *choices, int *count);
int study_choices_check(const struct reader *reader, const config_setting_t *group, const struct study_series *series);
int study_series_find(const struct study *study, const char *id);

/* study_claims.c */
int study_claims_read(struct reader *reader, const config_setting_t *setting, void *object);
int study_exclude_read(struct reader *reader, const config_setting_t *setting, void *object);
int study_zip_read(struct reader *reader, const config_setting_t *setting, void *object);
int study_figures_read(struct reader *reader, const config_setting_t *setting, void *object);
int study_published_read(struct reader *reader, const config_setting_t *setting, void *object);
int study_base_read(struct reader *reader, const config_setting_t *setting, void *object);

#endif
