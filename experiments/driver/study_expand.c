/* SPDX-License-Identifier: MIT */
/* Axes times series: a study as the list of its points. */
#include "experiments/driver/backends.h"
#include "experiments/driver/study_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 2048

void study_axis_of_point(enum study_axis axis, const struct point *point, char out[STUDY_WORD])
{
    const int sizes[STUDY_AXIS_COUNT] = {
        [AXIS_WIDTH] = point->spec.width, [AXIS_DEPTH] = point->spec.depth, [AXIS_IMAGE] = point->spec.image,
        [AXIS_BATCH] = point->batch,      [AXIS_THREADS] = point->threads,
    };
    const char *word = "";
    switch (axis) {
    case AXIS_NETWORK:
        word = point->spec.name;
        break;
    case AXIS_PHASE:
        word = point_phase_name(point->phase);
        break;
    case AXIS_CONNECTIONS:
        study_connections_text(&point->spec.connections, out);
        return;
    case AXIS_PRECISION:
        word = cnn_precision_name(point->precision);
        break;
    case AXIS_ISA:
        word = point->isa[0] ? point->isa : "best";
        break;
    case AXIS_COPIES:
        word = cnn_copies_name(point->copies);
        break;
    case AXIS_LAUNCH:
        word = cnn_launch_name(point->launch);
        break;
    case AXIS_SEED:
        snprintf(out, STUDY_WORD, "%" PRIu64, point->spec.seed);
        return;
    case AXIS_THREADS:
        if (point->threads == 0) {
            word = "auto";
            break;
        }
        /* fall through */
    default:
        snprintf(out, STUDY_WORD, "%d", sizes[axis]);
        return;
    }
    snprintf(out, STUDY_WORD, "%s", word);
}

bool study_axis_is_any(const struct study *study, const struct point *point, enum study_axis axis)
{
    const struct backend_entry *entry = backend_entry(point->backend);
    int place = study_series_find(study, point->series);
    bool fixed = place >= 0 && study->series[place].fixed[axis].count > 0;
    switch (axis) {
    case AXIS_THREADS:
        return fixed || (entry && !entry->threads);
    case AXIS_ISA:
        return fixed || (entry && !entry->isa);
    case AXIS_LAUNCH:
        return fixed || (entry && !entry->launch);
    case AXIS_PRECISION:
    case AXIS_COPIES:
        return fixed;
    default:
        return false;
    }
}

/* The values that one point takes from the axes; NULL: not given. */
struct choice_of_values {
    const struct study_value *value[STUDY_AXIS_COUNT];
};

static int number_of(const struct choice_of_values *chosen, enum study_axis axis, int otherwise)
{
    return chosen->value[axis] ? chosen->value[axis]->number : otherwise;
}

/* What the study says over what the network says. */
static void adjust_network(const struct study *study, const struct study_value *connections,
                           struct cnn_network_spec *spec)
{
    struct cnn_error ignored;
    if (study->peer)
        cnn_spec_peer_preset(spec);
    if (connections)
        study_connections_parse(&spec->connections, connections->word, &ignored);
    if (study->output >= 0)
        cnn_spec_set_output(spec, study->output);
    if (study->loss >= 0)
        spec->loss = study->loss;
    if (study->classes > 0)
        spec->classes = study->classes;
    spec->input_gradient = study->input_gradient;
    spec->seed = study->seed;
}

/* A built-in network that cannot exist at this side keeps its name and no layers: building the point says so. */
static void fill_network(const struct study *study, const struct choice_of_values *chosen,
                         struct cnn_network_spec *spec)
{
    const struct cnn_network_spec *named = &study->networks[chosen->value[AXIS_NETWORK]->number];
    struct cnn_error ignored;
    int image = number_of(chosen, AXIS_IMAGE, 0);
    *spec = *named;
    if (named->layer_count == 0 && cnn_builtin_spec(spec, named->name, image, &ignored))
        *spec = *named;
    if (image > 0)
        spec->image = image;
    spec->width = number_of(chosen, AXIS_WIDTH, 1);
    spec->depth = number_of(chosen, AXIS_DEPTH, 1);
    adjust_network(study, chosen->value[AXIS_CONNECTIONS], spec);
    if (chosen->value[AXIS_SEED])
        spec->seed = study_value_seed(chosen->value[AXIS_SEED]);
}

static void fill_measure(const struct study *study, struct point *point)
{
    const struct study_measure *measure = &study->measure;
    bool accuracy = point->phase == POINT_ACCURACY;
    point->min_time = measure->min_time;
    point->warmup = measure->warmup;
    point->max_time = measure->max_time;
    point->min_samples = measure->min_samples;
    point->max_samples = measure->max_samples;
    point->interval = measure->interval;
    point->timeout = measure->timeout;
    snprintf(point->data, sizeof point->data, "%s", study->data[0] ? study->data : accuracy ? "digits" : "normal");
    snprintf(point->data_folder, sizeof point->data_folder, "%s", study->data_folder);
    point->fit = study->fit;
    point->pixels = study->pixels;
    snprintf(point->distort, sizeof point->distort, "%s", study->distort);
    point->target = study->target;
    point->epochs = study->epochs;
    point->train_limit = study->train_limit;
    point->test_limit = study->test_limit;
    point->rates = study->rates;
    point->rate_decay = study->rate_decay;
}

/* Axes that make no difference to the backend get the same value at every point, so that repetitions are seen. */
static void fill_point(const struct study *study, const struct study_series *series,
                       const struct choice_of_values *chosen, struct point *point)
{
    const struct backend_entry *entry = backend_entry(series->backend);
    const struct study_value *isa = chosen->value[AXIS_ISA];
    *point = (struct point){ 0 };
    fill_network(study, chosen, &point->spec);
    point->phase = number_of(chosen, AXIS_PHASE, POINT_TRAIN);
    point->batch = number_of(chosen, AXIS_BATCH, 1);
    point->copies = number_of(chosen, AXIS_COPIES, CNN_COPIES_NONE);
    point->launch = entry->launch ? number_of(chosen, AXIS_LAUNCH, CNN_LAUNCH_GRAPH) : CNN_LAUNCH_STREAM;
    point->precision = number_of(chosen, AXIS_PRECISION, CNN_FP32);
    point->threads = entry->threads ? number_of(chosen, AXIS_THREADS, 0) : 0;
    if (isa && entry->isa && strcmp(isa->word, "best"))
        snprintf(point->isa, sizeof point->isa, "%.15s", isa->word);
    memcpy(point->series, series->id, sizeof point->series);
    memcpy(point->label, series->label, sizeof point->label);
    memcpy(point->backend, series->backend, sizeof point->backend);
    memcpy(point->algorithm, series->algorithm, sizeof point->algorithm);
    point->pin = study->pin;
    memcpy(point->choices, series->choices, sizeof point->choices);
    point->choice_count = series->choice_count;
    point->device = series->device;
    point->required = series->required;
    fill_measure(study, point);
}

static bool values_have(const struct study_values *values, const char *word)
{
    for (int i = 0; i < values->count; i++)
        if (!strcmp(values->list[i].word, word))
            return true;
    return false;
}

static bool excluded_by(const struct study_exclusion *exclusion, int series, const struct point *point)
{
    char word[STUDY_WORD];
    bool hit = exclusion->series_count == 0;
    for (int i = 0; i < exclusion->series_count; i++)
        hit = hit || exclusion->series[i] == series;
    for (int axis = 0; axis < STUDY_AXIS_COUNT && hit; axis++) {
        study_axis_of_point(axis, point, word);
        hit = exclusion->values[axis].count == 0 || values_have(&exclusion->values[axis], word);
    }
    return hit;
}

static bool excluded(const struct study *study, int series, const struct point *point)
{
    for (int i = 0; i < study->exclusion_count; i++)
        if (excluded_by(&study->exclusions[i], series, point))
            return true;
    return false;
}

/* ---- repetitions ---- */

/* Places of points by their keys' hashes, open addressing; -1 is free. */
struct seen {
    int32_t *place;
    uint64_t *hash;
    size_t size;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static int seen_open(struct seen *seen, int64_t points, struct cnn_error *error)
{
    seen->size = 64;
    while (seen->size < 2 * (size_t)points)
        seen->size *= 2;
    seen->place = malloc(seen->size * sizeof *seen->place);
    seen->hash = malloc(seen->size * sizeof *seen->hash);
    for (size_t i = 0; seen->place && i < seen->size; i++)
        seen->place[i] = -1;
    return seen->place && seen->hash ? CNN_OK : cnn_error_set(error, CNN_OOM, "no memory for the keys of points");
}

/* False where a point with this key is there already; else it is now, at `place`. */
static bool seen_add(struct seen *seen, const struct point *points, int place)
{
    char key[KEY_BYTES], other[KEY_BYTES];
    point_key(&points[place], key, sizeof key);
    uint64_t hash = hash_text(key);
    size_t at = hash & (seen->size - 1);
    for (; seen->place[at] >= 0; at = (at + 1) & (seen->size - 1)) {
        if (seen->hash[at] != hash)
            continue;
        point_key(&points[seen->place[at]], other, sizeof other);
        if (!strcmp(key, other))
            return false;
    }
    seen->place[at] = place;
    seen->hash[at] = hash;
    return true;
}

/* ---- the walk ---- */

/* One wheel for every axis that crosses, one for all axes of a zip; the last wheel turns fastest. */
struct walk {
    const struct study *study;
    int wheel_of[STUDY_AXIS_COUNT]; /* -1: the axis is not given */
    int size[STUDY_AXIS_COUNT], at[STUDY_AXIS_COUNT];
    int wheels;
    struct point *points;
    int count, capacity;
    struct seen seen;
};

static int64_t walk_start(struct walk *walk, const struct study *study)
{
    int64_t steps = 1;
    *walk = (struct walk){ .study = study };
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        walk->wheel_of[axis] = -1;
        if (study->axes[axis].count == 0)
            continue;
        for (int other = 0; other < axis; other++)
            if (study->zip[axis] && study->zip[other] == study->zip[axis])
                walk->wheel_of[axis] = walk->wheel_of[other];
        if (walk->wheel_of[axis] >= 0)
            continue;
        steps *= study->axes[axis].count; /* study_check() has bounded it */
        walk->size[walk->wheels] = study->axes[axis].count;
        walk->wheel_of[axis] = walk->wheels++;
    }
    return steps;
}

static bool walk_turn(struct walk *walk)
{
    for (int wheel = walk->wheels - 1; wheel >= 0; wheel--) {
        if (++walk->at[wheel] < walk->size[wheel])
            return true;
        walk->at[wheel] = 0;
    }
    return false;
}

static void choose(const struct walk *walk, const struct study_series *series, struct choice_of_values *out)
{
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        int wheel = walk->wheel_of[axis];
        out->value[axis] = series->fixed[axis].count ? series->fixed[axis].list
                           : wheel >= 0              ? &walk->study->axes[axis].list[walk->at[wheel]]
                                                     : NULL;
    }
}

static int grow(struct walk *walk, struct cnn_error *error)
{
    if (walk->count < walk->capacity)
        return CNN_OK;
    int capacity = walk->capacity ? 2 * walk->capacity : 16;
    struct point *points = realloc(walk->points, (size_t)capacity * sizeof *points);
    if (!points)
        return cnn_error_set(error, CNN_OOM, "no memory for %d points", capacity);
    walk->points = points;
    walk->capacity = capacity;
    return CNN_OK;
}

/* The points of all series at the wheels' place. */
static int walk_step(struct walk *walk, struct cnn_error *error)
{
    for (int i = 0; i < walk->study->series_count; i++) {
        const struct study_series *series = &walk->study->series[i];
        struct choice_of_values chosen;
        if (series->left_out)
            continue;
        if (grow(walk, error))
            return CNN_OOM;
        choose(walk, series, &chosen);
        struct point *point = &walk->points[walk->count];
        fill_point(walk->study, series, &chosen, point);
        if (!excluded(walk->study, i, point) && seen_add(&walk->seen, walk->points, walk->count))
            walk->count++;
    }
    return CNN_OK;
}

int study_expand(const struct study *study, struct point **out, int *count, struct cnn_error *error)
{
    struct walk walk;
    int line = 0;
    *out = NULL;
    *count = 0;
    if (study_check(study, &line, error))
        return cnn_error_prefix(error, "%s", study->path);
    int64_t steps = walk_start(&walk, study);
    int status = seen_open(&walk.seen, steps * study->series_count, error);
    if (!status)
        do
            status = walk_step(&walk, error);
        while (!status && walk_turn(&walk));
    free(walk.seen.place);
    free(walk.seen.hash);
    if (status) {
        free(walk.points);
        return status;
    }
    *out = walk.points;
    *count = walk.count;
    return CNN_OK;
}
