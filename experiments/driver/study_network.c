/* SPDX-License-Identifier: MIT */
/* Networks in a study: built-in ones by name, or written out layer by layer; and connections as text. */
#include "experiments/driver/study_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- connections ---- */

/* The number behind "fan-in" or "density". */
static int connection_number(struct cnn_connection_spec *out, const char *text, const char *number,
                             struct cnn_error *error)
{
    char *end;
    errno = 0;
    if (out->kind == CNN_CONNECT_FAN_IN) {
        long fan_in = strtol(number, &end, 10);
        if (end == number || *end || errno || fan_in < 1 || fan_in > 1000000)
            return cnn_error_set(error, CNN_INVALID,
                                 "\"%.60s\": expected a whole number of source maps, as in \"fan-in 8\"", text);
        out->fan_in = (int)fan_in;
        return CNN_OK;
    }
    out->density = strtod(number, &end);
    if (end == number || *end || !(out->density > 0 && out->density <= 1))
        return cnn_error_set(error, CNN_INVALID,
                             "\"%.60s\": expected a share above 0 and up to 1, as in \"density 0.2\"", text);
    return CNN_OK;
}

static int connection_parse(struct cnn_connection_spec *out, const char *text, const char *expected,
                            struct cnn_error *error)
{
    char word[24] = "";
    int at = 0;
    *out = (struct cnn_connection_spec){ 0 };
    sscanf(text, "%23s %n", word, &at);
    if (!cnn_connection_kind_parse(word, &out->kind))
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": expected %s", text, expected);
    if (out->kind == CNN_CONNECT_FAN_IN || out->kind == CNN_CONNECT_DENSITY)
        return connection_number(out, text, text + at, error);
    if (text[at])
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\": expected nothing behind \"%s\"", text, word);
    return CNN_OK;
}

int study_connections_parse(struct cnn_network_connections *out, const char *text, struct cnn_error *error)
{
    static const char expected[] = "\"paper\", \"full\", \"fan-in N\" or \"density P\"";
    *out = (struct cnn_network_connections){ .paper = true };
    if (!strcmp(text, "paper"))
        return CNN_OK;
    out->paper = false;
    int status = connection_parse(&out->all, text, expected, error);
    enum cnn_connection_kind kind = out->all.kind;
    if (!status && kind != CNN_CONNECT_FULL && kind != CNN_CONNECT_FAN_IN && kind != CNN_CONNECT_DENSITY)
        return cnn_error_set(error, CNN_INVALID, "\"%.60s\" is a table of one layer: expected %s for a whole network",
                             text, expected);
    return status;
}

void study_connections_text(const struct cnn_network_connections *connections, char out[STUDY_WORD])
{
    const struct cnn_connection_spec *all = &connections->all;
    if (connections->paper)
        snprintf(out, STUDY_WORD, "paper");
    else if (all->kind == CNN_CONNECT_FAN_IN)
        snprintf(out, STUDY_WORD, "fan-in %d", all->fan_in);
    else if (all->kind == CNN_CONNECT_DENSITY)
        snprintf(out, STUDY_WORD, "density %.10g", all->density);
    else
        snprintf(out, STUDY_WORD, "%s", cnn_connection_kind_name(all->kind));
}

/* ---- layers ---- */

#define SIZE_MAX_TYPED 1000000.0

/* What is read before it is known which of it the kind allows. */
struct layer_reading {
    struct cnn_layer_spec spec;
    int kind, padding, activation;
    bool repeat;
};

static int read_connections(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct layer_reading *layer = object;
    struct cnn_error why;
    const char *text = reader_text(reader, setting, "a text such as \"full\", \"lecun\" or \"fan-in 8\"");
    if (!text)
        return CNN_INVALID;
    if (connection_parse(&layer->spec.connections, text,
                         "\"full\", \"lecun\", \"one-to-one\", \"garcia\", \"fan-in N\" or \"density P\"", &why))
        return reader_fail(reader, setting, "connections = %s", why.text);
    return CNN_OK;
}

static const struct key layer_keys[] = {
    KEY_WORD_OF("kind", WORDS_LAYERS, struct layer_reading, kind),
    KEY_OF("name", KEY_TEXT, struct layer_reading, spec.name),
    KEY_RANGE("maps", KEY_INT, struct layer_reading, spec.maps, 1, SIZE_MAX_TYPED),
    KEY_RANGE("kernel", KEY_INT, struct layer_reading, spec.kernel, 1, CNN_SIDE_MAX),
    KEY_RANGE("stride", KEY_INT, struct layer_reading, spec.stride, 1, CNN_SIDE_MAX),
    KEY_WORD_OF("padding", WORDS_PADDINGS, struct layer_reading, padding),
    KEY_WORD_OF("activation", WORDS_ACTIVATIONS, struct layer_reading, activation),
    KEY_CALL("connections", read_connections),
    KEY_OF("repeat", KEY_BOOL, struct layer_reading, repeat),
};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Keys that the kind has no use for, or lacks. */
static int check_layer(const struct reader *reader, const config_setting_t *group, const struct layer_reading *layer,
                       bool last)
{
    static const char *const convolution_only[] = { "padding", "connections" };
    enum cnn_layer_kind kind = layer->kind;
    const char *name = cnn_layer_kind_name(kind), *useless = NULL;
    bool pools = kind == CNN_MAXPOOL || kind == CNN_AVGPOOL || kind == CNN_SUBSAMPLE;
    for (int i = 0; i < COUNT(convolution_only) && kind != CNN_CONV; i++)
        if (config_setting_get_member(group, convolution_only[i]))
            useless = convolution_only[i];
    if (kind == CNN_FULL && config_setting_get_member(group, "kernel"))
        useless = "kernel";
    if (kind == CNN_FULL && config_setting_get_member(group, "stride"))
        useless = "stride";
    if (pools && config_setting_get_member(group, "maps"))
        useless = "maps";
    if (useless)
        return reader_fail(reader, config_setting_get_member(group, useless), "%s: a %s layer has none", useless, name);
    if (kind != CNN_FULL && !layer->spec.kernel)
        return reader_fail(reader, group, "kernel is missing: a %s layer needs one, as in kernel = %d", name,
                           pools ? 2 : 5);
    if (!pools && !layer->spec.maps && !last)
        return reader_fail(reader, group,
                           "maps is missing: a %s layer needs it (only the last may leave it to classes)", name);
    return CNN_OK;
}

static int read_layer(struct reader *reader, const config_setting_t *group, bool last, struct cnn_layer_spec *out)
{
    struct layer_reading layer = { .kind = -1, .spec.connections.kind = CNN_CONNECT_FULL };
    int status;
    if (!config_setting_is_group(group))
        return reader_fail(reader, group, "layers: expected groups such as { kind = \"conv\"; maps = 6; kernel = 5; }");
    status = reader_check_keys(reader, group, "a layer", layer_keys, COUNT(layer_keys), 0);
    if (!status)
        status = reader_read_keys(reader, group, layer_keys, COUNT(layer_keys), &layer);
    if (!status && layer.kind < 0)
        status = reader_fail(reader, group, "kind is missing: expected a layer such as { kind = \"conv\"; ... }");
    if (!status)
        status = check_layer(reader, group, &layer, last);
    *out = layer.spec;
    out->kind = layer.kind;
    out->padding = layer.padding;
    out->activation = layer.activation;
    out->repeat = layer.repeat ? CNN_DEPTH_TIMES : CNN_ONCE;
    if (out->kind == CNN_CONV && !out->stride)
        out->stride = 1;
    return status;
}

static int read_layers(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct cnn_network_spec *spec = object;
    int count = reader_count(setting), status = CNN_OK;
    if (!config_setting_is_list(setting) || count == 0)
        return reader_fail(reader, setting, "layers: expected a list of groups ( { kind = \"conv\"; ... }, ... )");
    if (count > CNN_SPEC_LAYERS_MAX)
        return reader_fail(reader, setting, "layers: %d of them, at most %d", count, CNN_SPEC_LAYERS_MAX);
    for (int i = 0; i < count && !status; i++)
        status = read_layer(reader, reader_element(setting, i), i + 1 == count, &spec->layers[i]);
    spec->layer_count = count;
    return status;
}

/* ---- networks ---- */

static const struct key network_keys[] = {
    KEY_OF("name", KEY_TEXT, struct cnn_network_spec, name),
    KEY_RANGE("channels", KEY_INT, struct cnn_network_spec, channels, 1, SIZE_MAX_TYPED),
    KEY_RANGE("image", KEY_INT, struct cnn_network_spec, image, 1, CNN_SIDE_MAX),
    KEY_RANGE("classes", KEY_INT, struct cnn_network_spec, classes, 1, SIZE_MAX_TYPED),
    KEY_WORD_OF("loss", WORDS_LOSSES, struct cnn_network_spec, loss),
    KEY_CALL("layers", read_layers),
};

static int add_network(struct study *study, const struct cnn_network_spec *spec, int *place, struct cnn_error *error)
{
    struct cnn_network_spec *list = realloc(study->networks, ((size_t)study->network_count + 1) * sizeof *list);
    if (!list)
        return cnn_error_set(error, CNN_OOM, "no memory for a network");
    study->networks = list;
    list[study->network_count] = *spec;
    *place = study->network_count++;
    return CNN_OK;
}

static int known_network(const struct study *study, const char *name)
{
    int place = 0;
    while (place < study->network_count && strcmp(study->networks[place].name, name))
        place++;
    return place < study->network_count ? place : -1;
}

int study_network_find(struct study *study, const char *name, int *place, struct cnn_error *error)
{
    struct cnn_network_spec spec = { 0 };
    *place = known_network(study, name);
    if (*place >= 0)
        return CNN_OK;
    if (words_find(WORDS_NETWORKS, name, error) < 0)
        return CNN_INVALID;
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return add_network(study, &spec, place, error);
}

int study_network_read(struct reader *reader, const config_setting_t *group, int *place)
{
    struct cnn_network_spec spec = {
        .channels = 1, .classes = 10, .width = 1, .depth = 1, .loss = CNN_MSE, .connections.paper = true
    };
    struct words builtin;
    int status = reader_check_keys(reader, group, "a network", network_keys, COUNT(network_keys), 0);
    if (!status)
        status = reader_read_keys(reader, group, network_keys, COUNT(network_keys), &spec);
    if (status)
        return status;
    if (!spec.name[0] || !spec.layer_count)
        return reader_fail(reader, group, "%s is missing: expected { name = \"mine\"; layers = ( ... ); }",
                           spec.name[0] ? "layers" : "name");
    if (strspn(spec.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != strlen(spec.name))
        return reader_fail(reader, group, "name = \"%s\": expected letters, digits, '-', '_' and '.' alone", spec.name);
    words_fill(&builtin, WORDS_NETWORKS);
    for (int i = 0; i < builtin.count; i++)
        if (!strcmp(builtin.list[i], spec.name))
            return reader_fail(reader, group, "name = \"%s\" is a built-in network: choose another name", spec.name);
    if (known_network(reader->study, spec.name) >= 0)
        return reader_fail(reader, group, "network \"%s\" is described twice: choose another name", spec.name);
    return add_network(reader->study, &spec, place, reader->error);
}
