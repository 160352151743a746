/* SPDX-License-Identifier: MIT */
/* --list: every word a study may use, and what this machine makes of it. */
#include "experiments/driver/backends.h"
#include "experiments/driver/grid.h"
#include "experiments/driver/report.h"
#include "experiments/driver/study_words.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL 14 /* characters of the words at the left */

int report_columns(void)
{
    struct winsize window = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) || window.ws_col == 0)
        return 100;
    return window.ws_col < 40 ? 40 : window.ws_col > 120 ? 120 : window.ws_col;
}

/* `  word          text`, broken below the text. */
static void entry_print(FILE *out, const char *word, const char *text, int columns)
{
    char line[1024];
    snprintf(line, sizeof line, "%s", text);
    fprintf(out, "  %-*s", LABEL, word);
    int room = columns - LABEL - 2, at = 0, length = (int)strlen(line);
    while (at < length) {
        int end = length - at <= room ? length : at + room;
        while (end < length && end > at && line[end] != ' ')
            end--;
        if (end == at)
            end = length - at <= room ? length : at + room;
        fprintf(out, "%*s%.*s\n", at ? LABEL + 2 : 0, "", end - at, line + at);
        at = end + (line[end] == ' ');
    }
    if (length == 0)
        fputc('\n', out);
}

static void backend_print(FILE *out, const struct backend_entry *entry, int columns)
{
    struct cnn_device *device = NULL;
    struct cnn_device_info info;
    const struct cnn_device_options options = { 0 };
    struct cnn_error error = { CNN_OK, "" };
    char text[1024];
    const struct cnn_backend *backend = entry->backend;
    if (!backend)
        snprintf(text, sizeof text, "%s: not available: %s", entry->label, entry->missing);
    else if (backend->open(&device, &options, &error) || backend->describe(device, &info, &error))
        snprintf(text, sizeof text, "%s: not available: %s", entry->label, error.text);
    else
        snprintf(text, sizeof text, "%s: %s; threads here: %d; instruction sets: %s%s%s", entry->label, info.name,
                 info.threads, info.isas[0] ? info.isas : "none", info.detail[0] ? "; " : "", info.detail);
    if (backend)
        backend->close(device);
    entry_print(out, entry->name, text, columns);
}

static void join(char *out, size_t size, const char *const *words, int count)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", words[i]);
}

static void vocabulary_print(FILE *out, const char *word, enum vocabulary vocabulary, int columns)
{
    struct words words;
    char text[1024];
    words_fill(&words, vocabulary);
    join(text, sizeof text, words.list, words.count);
    entry_print(out, word, text, columns);
}

static void algorithms_print(FILE *out, int columns)
{
    fputs("\nAlgorithms (of a series: algorithm = \"direct\"; of one operation: conv_forward = \"naive\"):\n", out);
    for (const struct cnn_backend *const *backend = backends(); *backend; backend++) {
        const char *const *names = (*backend)->algorithms();
        char text[512];
        int count = 0;
        while (names[count])
            count++;
        join(text, sizeof text, names, count);
        entry_print(out, (*backend)->name, text, columns);
    }
    vocabulary_print(out, "operations", WORDS_OPERATIONS, columns);
}

static const struct {
    const char *word;
    enum study_axis axis;
    const char *text;
} axis_texts[] = {
    { "network", AXIS_NETWORK,
      "the name of one above, or { name, channels, image, classes, loss, layers } written out" },
    { "width", AXIS_WIDTH, "factor on the maps and units of every hidden layer" },
    { "depth", AXIS_DEPTH, "how often the network's marked block stands there (stack, mlp, lenet5, or written out)" },
    { "image", AXIS_IMAGE, "side of the square input, in pixels" },
    { "batch", AXIS_BATCH, "images of one step" },
    { "threads", AXIS_THREADS, "of omp; \"auto\": as many as affinity and quota allow" },
    { "seed", AXIS_SEED, "of connections, initial weights, noise, digits, distortions and orders" },
    { "connections", AXIS_CONNECTIONS, "\"paper\", \"full\", \"fan-in N\", \"density P\"" },
};

static void axes_print(FILE *out, int columns)
{
    fputs("\nAxes (one value, a list [1, 2, 4], or a range \"32..104 step 8\", \"1..32 x2\"):\n", out);
    for (size_t i = 0; i < sizeof axis_texts / sizeof *axis_texts; i++)
        entry_print(out, axis_texts[i].word, axis_texts[i].text, columns);
    vocabulary_print(out, "phase", WORDS_PHASES, columns);
    vocabulary_print(out, "copies", WORDS_COPIES, columns);
    vocabulary_print(out, "launch", WORDS_LAUNCHES, columns);
    vocabulary_print(out, "precision", WORDS_PRECISIONS, columns);
    vocabulary_print(out, "isa", WORDS_ISAS, columns);
}

bool list_print(FILE *out, int columns)
{
    fputs("Backends (of a series: backend = \"cpu\"):\n", out);
    for (const struct backend_entry *entry = backend_entries(); entry->name; entry++)
        backend_print(out, entry, columns);
    fputs("\nNetworks:\n", out);
    for (const char *const *name = cnn_builtin_names(); *name; name++)
        entry_print(out, *name, cnn_builtin_summary(*name), columns);
    fputs("\nLayers of a network that is written out:\n", out);
    vocabulary_print(out, "kind", WORDS_LAYERS, columns);
    vocabulary_print(out, "activation", WORDS_ACTIVATIONS, columns);
    vocabulary_print(out, "padding", WORDS_PADDINGS, columns);
    entry_print(out, "connections", "full, lecun, one-to-one, garcia, fan-in N, density P", columns);
    vocabulary_print(out, "loss", WORDS_LOSSES, columns);
    algorithms_print(out, columns);
    axes_print(out, columns);
    fputs("\nData sets (data = \"mnist\"), what is done to images, figures:\n", out);
    entry_print(out, "normal", "seeded noise, for timing", columns);
    for (const char *const *name = cnn_dataset_names(); *name; name++)
        entry_print(out, *name, cnn_dataset_summary(*name), columns);
    entry_print(out, "distort", "\"rotate 10 zoom 0.1 shear 0.1 shift 1 elastic 34 sigma 4\", any of them", columns);
    vocabulary_print(out, "pixels", WORDS_PIXELS, columns);
    vocabulary_print(out, "figures", WORDS_FIGURES, columns);
    return !ferror(out);
}
