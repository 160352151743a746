/* SPDX-License-Identifier: MIT */
/* What is made of a study's series and axes: claims over pairs, the base, figures, zipped axes, exclusions. */
#include "experiments/driver/study_reader.h"
#include "experiments/driver/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* The place of a series; the setting names it. */
static int find_series(const struct reader *reader, const config_setting_t *setting, const char *id, int *place)
{
    const char *ids[WORDS_MAX];
    char list[320], meant[80];
    int count = 0;
    *place = study_series_find(reader->study, id);
    if (*place >= 0)
        return CNN_OK;
    for (; count < reader->study->series_count && count < WORDS_MAX; count++)
        ids[count] = reader->study->series[count].id;
    suggest_list(list, sizeof list, ids, count);
    suggest_text(meant, sizeof meant, id, ids, count);
    return reader_fail(reader, setting, "%s: \"%.40s\" is no series: expected %s%s", reader_name(setting), id, list,
                       meant);
}

int study_base_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    const char *id = reader_text(reader, setting, "the id of a series in quotes");
    return id ? find_series(reader, setting, id, &study->base) : CNN_INVALID;
}

/* ---- claims ---- */

static int read_pair(const struct reader *reader, const config_setting_t *setting, struct study_claim *claim)
{
    char base[32];
    struct study_pair pair;
    const char *text = reader_text(reader, setting, "a pair of series, as in \"naive/gpu\"");
    const char *slash = text ? strchr(text, '/') : NULL;
    if (!text)
        return CNN_INVALID;
    if (!slash || slash == text || !slash[1] || strchr(slash + 1, '/') || slash - text >= (long)sizeof base)
        return reader_fail(reader, setting, "pairs: \"%.60s\": expected base and other series, as in \"naive/gpu\"",
                           text);
    snprintf(base, sizeof base, "%.*s", (int)(slash - text), text);
    if (find_series(reader, setting, base, &pair.base) || find_series(reader, setting, slash + 1, &pair.other))
        return CNN_INVALID;
    if (pair.base == pair.other)
        return reader_fail(reader, setting, "pairs: \"%.60s\": a series is not compared with itself", text);
    claim->pairs[claim->pair_count++] = pair;
    return CNN_OK;
}

static int read_pairs(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study_claim *claim = object;
    int count = reader_count(setting), status = CNN_OK;
    if (count == 0 || count > STUDY_PAIRS_MAX)
        return reader_fail(reader, setting, "pairs: %d of them, expected 1 to %d, as in (\"naive/gpu\")", count,
                           STUDY_PAIRS_MAX);
    for (int i = 0; i < count && !status; i++)
        status = read_pair(reader, reader_element(setting, i), claim);
    return status;
}

/* "2..24", "100.." */
static int read_ratio(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study_claim *claim = object;
    const char *text = reader_text(reader, setting, "a text such as \"2..24\" or \"100..\"");
    char *end = NULL;
    if (!text)
        return CNN_INVALID;
    /* by hand up to the dots, since strtod would take "2." of "2..24" */
    const char *dots = strstr(text, "..");
    char low[24] = "";
    if (dots && dots - text < (long)sizeof low)
        memcpy(low, text, (size_t)(dots - text));
    claim->low = strtod(low, &end);
    bool fine = dots && low[0] && *end == '\0' && isfinite(claim->low) && claim->low > 0;
    if (fine && dots[2]) {
        claim->high = strtod(dots + 2, &end);
        fine = *end == '\0' && isfinite(claim->high) && claim->high >= claim->low;
    }
    return fine ? CNN_OK
                : reader_fail(reader, setting,
                              "ratio = \"%.60s\": expected \"LOW..HIGH\" or \"LOW..\", as in \"2..24\"", text);
}

static const struct key claim_keys[] = {
    KEY_OF("text", KEY_TEXT, struct study_claim, text),
    KEY_CALL("ratio", read_ratio),
    KEY_OF("growth", KEY_BOOL, struct study_claim, growth),
    KEY_CALL("pairs", read_pairs),
};

static int read_claim(struct reader *reader, const config_setting_t *group, struct study_claim *claim)
{
    static const char expected[] =
        "expected { text = \"2 to 24 times faster\"; ratio = \"2..24\"; pairs = (\"naive/gpu\"); }, with growth = true "
        "beside or in place of ratio";
    if (!config_setting_is_group(group))
        return reader_fail(reader, group, "claims: %s", expected);
    int status = reader_check_keys(reader, group, "a claim", claim_keys, COUNT(claim_keys), 0);
    if (!status)
        status = reader_read_keys(reader, group, claim_keys, COUNT(claim_keys), claim);
    if (status)
        return status;
    const char *lacks = !claim->text[0]                       ? "text"
                        : !(claim->low > 0) && !claim->growth ? "ratio"
                        : claim->pair_count == 0              ? "pairs"
                                                              : NULL;
    return lacks ? reader_fail(reader, group, "%s is missing: %s", lacks, expected) : CNN_OK;
}

int study_claims_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    int count = reader_count(setting), status = CNN_OK;
    if (count == 0)
        return CNN_OK;
    if (!(study->claims = calloc((size_t)count, sizeof *study->claims)))
        return cnn_error_set(reader->error, CNN_OOM, "no memory for claims");
    for (; study->claim_count < count && !status; study->claim_count++)
        status = read_claim(reader, reader_element(setting, study->claim_count), &study->claims[study->claim_count]);
    return status;
}

/* ---- figures ---- */

int study_figures_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    struct cnn_error why;
    int count = reader_count(setting);
    if (count > STUDY_FIGURES_MAX)
        return reader_fail(reader, setting, "figures: %d of them, at most %d", count, STUDY_FIGURES_MAX);
    for (int i = 0; i < count; i++) {
        const config_setting_t *element = reader_element(setting, i);
        const char *word =
            reader_text(reader, element, "the name of a figure in quotes, as in (\"time\", \"speedup\")");
        if (!word)
            return CNN_INVALID;
        if (words_find(WORDS_FIGURES, word, &why) < 0)
            return reader_fail(reader, element, "figures: %s", why.text);
        snprintf(study->figures[i], sizeof study->figures[i], "%s", word);
    }
    study->figure_count = count;
    return CNN_OK;
}

/* ---- zipped axes ---- */

static int read_zip_axis(const struct reader *reader, const config_setting_t *setting, int number)
{
    struct cnn_error why;
    const char *word =
        reader_text(reader, setting, "the name of an axis in quotes, as in zip = ( [\"image\", \"width\"] )");
    if (!word)
        return CNN_INVALID;
    int axis = words_find(WORDS_AXES, word, &why);
    if (axis < 0)
        return reader_fail(reader, setting, "zip: %s", why.text);
    if (reader->study->zip[axis])
        return reader_fail(reader, setting, "zip: %s stands there twice: an axis walks once", word);
    reader->study->zip[axis] = number;
    return CNN_OK;
}

static int read_zip_group(const struct reader *reader, const config_setting_t *setting, int number)
{
    int count = reader_count(setting), status = CNN_OK;
    if (count < 2)
        return reader_fail(reader, setting, "zip: expected at least two axes, as in zip = ( [\"image\", \"width\"] )");
    for (int i = 0; i < count && !status; i++)
        status = read_zip_axis(reader, reader_element(setting, i), number);
    return status;
}

int study_zip_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    int count = reader_count(setting), status = CNN_OK;
    bool nested = count > 0 && reader_count(reader_element(setting, 0)) != 1;
    (void)object;
    if (!nested)
        return read_zip_group(reader, setting, 1);
    for (int i = 0; i < count && !status; i++)
        status = read_zip_group(reader, reader_element(setting, i), i + 1);
    return status;
}

/* ---- exclusions ---- */

static int read_series_list(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study_exclusion *exclusion = object;
    int count = reader_count(setting), status = CNN_OK;
    if (count == 0)
        return reader_fail(reader, setting, "series: expected the id of a series, or a list of them");
    if (!(exclusion->series = calloc((size_t)count, sizeof *exclusion->series)))
        return cnn_error_set(reader->error, CNN_OOM, "no memory for an exclusion");
    for (int i = 0; i < count && !status; i++) {
        const config_setting_t *element = reader_element(setting, i);
        const char *id = reader_text(reader, element, "the id of a series in quotes");
        status = id ? find_series(reader, element, id, &exclusion->series[i]) : CNN_INVALID;
    }
    exclusion->series_count = count;
    return status;
}

static const struct key exclusion_keys[] = { KEY_CALL("series", read_series_list) };

static int read_exclusion(struct reader *reader, const config_setting_t *group, struct study_exclusion *exclusion)
{
    if (!config_setting_is_group(group) || config_setting_length(group) == 0)
        return reader_fail(reader, group,
                           "exclude: expected groups such as { width = \"16..32\"; series = \"naive\"; }");
    int status = reader_check_keys(reader, group, "an exclusion", exclusion_keys, COUNT(exclusion_keys), KEYS_AXES);
    if (!status)
        status = reader_read_keys(reader, group, exclusion_keys, COUNT(exclusion_keys), exclusion);
    for (int axis = 0; axis < STUDY_AXIS_COUNT && !status; axis++) {
        const config_setting_t *setting = config_setting_get_member(group, study_axis_name(axis));
        if (setting)
            status = study_values_read(reader, axis, setting, &exclusion->values[axis]);
    }
    return status;
}

int study_exclude_read(struct reader *reader, const config_setting_t *setting, void *object)
{
    struct study *study = object;
    int count = reader_count(setting), status = CNN_OK;
    if (count == 0)
        return CNN_OK;
    if (!(study->exclusions = calloc((size_t)count, sizeof *study->exclusions)))
        return cnn_error_set(reader->error, CNN_OOM, "no memory for exclusions");
    for (; study->exclusion_count < count && !status; study->exclusion_count++)
        status = read_exclusion(reader, reader_element(setting, study->exclusion_count),
                                &study->exclusions[study->exclusion_count]);
    return status;
}
