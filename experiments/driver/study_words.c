/* SPDX-License-Identifier: MIT */
/* Collects the words from those who own them: the names of the core's enums, the built-in networks, the backends. */
#include "experiments/driver/study_words.h"
#include "experiments/driver/backends.h"
#include "experiments/driver/study.h"
#include "experiments/driver/suggest.h"

#include <string.h>

static void add(struct words *words, const char *word)
{
    if (word && words->count < WORDS_MAX)
        words->list[words->count++] = word;
}

static void add_all(struct words *words, const char *const *list)
{
    while (*list)
        add(words, *list++);
}

/* The names of an enum, from its first value to `end`. */
#define ADD_NAMES(words, name, end) \
    for (int i = 0; i < (end); i++) \
    add(words, name(i))

bool words_choosable(enum cnn_operation_kind kind)
{
    return kind != CNN_OP_LOSS && kind != CNN_OP_COPY_IN && kind != CNN_OP_COPY_OUT;
}

void words_fill(struct words *words, enum vocabulary vocabulary)
{
    static const char *const isas[] = { "best", "scalar", "avx2", "avx512", "neon", NULL };
    static const char *const fits[] = { "auto", "pad", "scale", NULL };
    static const char *const pixels[] = { "standard", "unit", "signed", NULL };
    static const char *const presets[] = { "paper", "peer", NULL };
    static const char *const orders[] = { "random", "as-written", "listed", NULL };
    static const char *const figures[] = { "time",  "throughput", "speedup", "accuracy", "loss", "scaling",
                                           "parts", "roofline",   "energy",  "map",      NULL };
    words->count = 0;
    switch (vocabulary) {
    case WORDS_AXES:
        ADD_NAMES(words, study_axis_name, STUDY_AXIS_COUNT);
        break;
    case WORDS_NETWORKS:
        add_all(words, cnn_builtin_names());
        break;
    case WORDS_PHASES:
        ADD_NAMES(words, point_phase_name, POINT_PHASE_COUNT);
        break;
    case WORDS_PRECISIONS:
        ADD_NAMES(words, cnn_precision_name, CNN_PRECISION_COUNT);
        break;
    case WORDS_ISAS:
        add_all(words, isas);
        break;
    case WORDS_COPIES:
        ADD_NAMES(words, cnn_copies_name, CNN_COPIES_COUNT);
        break;
    case WORDS_LAUNCHES:
        ADD_NAMES(words, cnn_launch_name, CNN_LAUNCH_COUNT);
        break;
    case WORDS_BACKENDS:
        for (const struct backend_entry *entry = backend_entries(); entry->name; entry++)
            add(words, entry->name);
        break;
    case WORDS_OPERATIONS:
        for (int i = 0; i < CNN_OPERATION_KIND_COUNT; i++)
            if (words_choosable(i))
                add(words, cnn_operation_kind_name(i));
        break;
    case WORDS_LAYERS:
        ADD_NAMES(words, cnn_layer_kind_name, CNN_LAYER_KIND_COUNT);
        break;
    case WORDS_PADDINGS:
        ADD_NAMES(words, cnn_padding_name, CNN_PADDING_COUNT);
        break;
    case WORDS_ACTIVATIONS:
        ADD_NAMES(words, cnn_activation_name, CNN_ACTIVATION_COUNT);
        break;
    case WORDS_LOSSES:
        ADD_NAMES(words, cnn_loss_name, CNN_LOSS_COUNT);
        break;
    case WORDS_DATA:
        add(words, "normal");
        add_all(words, cnn_dataset_names());
        break;
    case WORDS_FITS:
        add_all(words, fits);
        break;
    case WORDS_PIXELS:
        add_all(words, pixels);
        break;
    case WORDS_PRESETS:
        add_all(words, presets);
        break;
    case WORDS_ORDERS:
        add_all(words, orders);
        break;
    case WORDS_FIGURES:
        add_all(words, figures);
        break;
    }
}

int words_find(enum vocabulary vocabulary, const char *word, struct cnn_error *error)
{
    char list[320], meant[80];
    struct words words;
    if (vocabulary == WORDS_ACTIVATIONS && !strcmp(word, "linear"))
        word = "none";
    if (vocabulary == WORDS_ISAS && !strcmp(word, "auto"))
        word = "best";
    words_fill(&words, vocabulary);
    for (int i = 0; i < words.count; i++)
        if (!strcmp(words.list[i], word))
            return i;
    suggest_list(list, sizeof list, words.list, words.count);
    suggest_text(meant, sizeof meant, word, words.list, words.count);
    cnn_error_set(error, CNN_INVALID, "\"%.60s\": expected %s%s", word, list, meant);
    return -1;
}
