/* SPDX-License-Identifier: MIT */
/* Checks of a whole study, made after reading it and again after --set changed it. */
#include "experiments/driver/study_reader.h"
#include "lib/checked.h"

#include <string.h>

static int fail_zip(const struct study *study, int axis, int other, struct cnn_error *error)
{
    return cnn_error_set(error, CNN_INVALID,
                         "zip: %s has %d value%s and %s has %d: axes that walk together need equally many",
                         study_axis_name(axis), study->axes[axis].count, study->axes[axis].count == 1 ? "" : "s",
                         study_axis_name(other), study->axes[other].count);
}

static int check_zip(const struct study *study, int *line, struct cnn_error *error)
{
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        if (!study->zip[axis])
            continue;
        if (study->axes[axis].count == 0)
            return cnn_error_set(error, CNN_INVALID, "zip: %s has no values: expected a list, as in %s = [1, 2, 4];",
                                 study_axis_name(axis), study_axis_name(axis));
        for (int other = 0; other < axis; other++) {
            if (study->zip[other] != study->zip[axis] || study->axes[other].count == study->axes[axis].count)
                continue;
            *line = study->axes[axis].line;
            return fail_zip(study, other, axis, error);
        }
    }
    return CNN_OK;
}

/* A value given twice; a zipped axis may repeat one. */
static int check_repeats(const struct study *study, int *line, struct cnn_error *error)
{
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        const struct study_values *values = &study->axes[axis];
        for (int i = 1; i < values->count && !study->zip[axis]; i++)
            for (int k = 0; k < i; k++) {
                const struct study_value *value = &values->list[i], *other = &values->list[k];
                if (value->number != other->number || strcmp(value->word, other->word))
                    continue; /* most differ in their number: 10,000 values are no wait */
                *line = values->line;
                return cnn_error_set(error, CNN_INVALID, "%s: %s is given twice", study_axis_name(axis),
                                     values->list[i].word);
            }
    }
    return CNN_OK;
}

static bool given_everywhere(const struct study *study, enum study_axis axis)
{
    bool given = study->axes[axis].count > 0;
    for (int i = 0; i < study->series_count && !given; i++)
        if (study->series[i].fixed[axis].count == 0)
            return false;
    return true;
}

static int check_networks(const struct study *study, struct cnn_error *error)
{
    if (!given_everywhere(study, AXIS_NETWORK))
        return cnn_error_set(error, CNN_INVALID, "network is missing: expected one, as in network = \"lenet5\";");
    for (int i = 0; i < study->network_count; i++) {
        const struct cnn_network_spec *spec = &study->networks[i];
        if (spec->layer_count > 0 && spec->image == 0 && !given_everywhere(study, AXIS_IMAGE))
            return cnn_error_set(error, CNN_INVALID,
                                 "network \"%s\" has no image: expected its side, as in image = 32;", spec->name);
    }
    return CNN_OK;
}

static bool has_phase(const struct study *study, enum point_phase phase)
{
    for (int i = 0; i < study->axes[AXIS_PHASE].count; i++)
        if (study->axes[AXIS_PHASE].list[i].number == (int)phase)
            return true;
    for (int i = 0; i < study->series_count; i++)
        if (study->series[i].fixed[AXIS_PHASE].count && study->series[i].fixed[AXIS_PHASE].list->number == (int)phase)
            return true;
    return false;
}

static int check_measure(const struct study *study, struct cnn_error *error)
{
    const struct study_measure *measure = &study->measure;
    if (measure->min_samples > measure->max_samples)
        return cnn_error_set(error, CNN_INVALID, "min_samples = %d is more than max_samples = %d", measure->min_samples,
                             measure->max_samples);
    if (measure->min_time > measure->max_time)
        return cnn_error_set(error, CNN_INVALID, "min_time = %g (of one sample) is more than max_time = %g (of all)",
                             measure->min_time, measure->max_time);
    if (!strcmp(study->data, "normal") && has_phase(study, POINT_ACCURACY))
        return cnn_error_set(error, CNN_INVALID,
                             "data = \"normal\" has nothing to learn: phase \"accuracy\" needs "
                             "a data set, such as \"digits\"");
    return CNN_OK;
}

/* Before repetitions are dropped and exclusions made. */
static int check_count(const struct study *study, struct cnn_error *error)
{
    int64_t points = study->series_count;
    bool fits = true;
    for (int axis = 0; axis < STUDY_AXIS_COUNT; axis++) {
        bool first = true;
        for (int other = 0; other < axis; other++)
            first = first && !(study->zip[axis] && study->zip[other] == study->zip[axis]);
        if (first && study->axes[axis].count > 0)
            fits = fits && cnn_mul(points, study->axes[axis].count, &points);
    }
    if (!fits)
        return cnn_error_set(error, CNN_INVALID, "axes and series make more points than can be counted, at most %d",
                             STUDY_POINTS_MAX);
    if (points > STUDY_POINTS_MAX)
        return cnn_error_set(error, CNN_INVALID,
                             "axes and series make %lld points, at most %d: shorten a list, or zip "
                             "axes that belong together",
                             (long long)points, STUDY_POINTS_MAX);
    return CNN_OK;
}

int study_check(const struct study *study, int *line, struct cnn_error *error)
{
    *line = 0;
    if (study->series_count == 0)
        return cnn_error_set(error, CNN_INVALID,
                             "series is missing: expected at least one, as in series = ( { id = \"cpu\"; backend = "
                             "\"cpu\"; } );");
    int status = check_networks(study, error);
    if (!status)
        status = check_zip(study, line, error);
    if (!status)
        status = check_count(study, error);
    if (!status)
        status = check_measure(study, error);
    return status ? status : check_repeats(study, line, error);
}
