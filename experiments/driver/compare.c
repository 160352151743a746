/* SPDX-License-Identifier: MIT */
/* Rows of two runs, matched by key and judged by the intervals of their medians. */
#include "experiments/driver/compare.h"
#include "experiments/driver/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTLIER_DEVIATIONS 3.5
#define MAD_SCALE 1.4826 /* makes the median absolute deviation a standard deviation, were values normal */

const char *compare_word_text(enum compare_word word)
{
    static const char *const texts[COMPARE_WORD_COUNT] = { "slower", "unclear", "same",
                                                           "faster", "missing", "different machine" };
    return texts[word];
}

enum compare_word compare_times(const struct compare_time *base, const struct compare_time *now, double threshold,
                                struct compare_time *ratio)
{
    *ratio = (struct compare_time){ now->median / base->median, now->low / base->high, now->high / base->low };
    if (isnan(ratio->median))
        return COMPARE_MISSING;
    if (ratio->low > 1)
        return COMPARE_SLOWER;
    if (ratio->high < 1)
        return COMPARE_FASTER;
    return ratio->low >= 1 / (1 + threshold) && ratio->high <= 1 + threshold ? COMPARE_SAME : COMPARE_UNCLEAR;
}

/* ---- matching ---- */

static bool has_number(const struct row *row)
{
    enum cnn_status status = row_status(row);
    return status == CNN_OK || status == CNN_UNSTABLE;
}

/* Seconds of a step, or of an epoch of a training run, which has no interval. */
static struct compare_time time_of(const struct row *row)
{
    struct compare_time time = { NAN, NAN, NAN };
    if (!row || !has_number(row))
        return time;
    time.median = row_number(row, ROW_SECONDS_PER_STEP);
    time.low = row_number(row, ROW_INTERVAL_LOW_SECONDS);
    time.high = row_number(row, ROW_INTERVAL_HIGH_SECONDS);
    if (isnan(time.median))
        time.median = row_number(row, ROW_SECONDS_PER_EPOCH);
    if (!(time.median > 0))
        time.median = NAN;
    if (!(time.low > 0 && time.low <= time.median && time.high >= time.median))
        time.low = time.high = NAN;
    return time;
}

/* By key; of one key, the row that counts comes last: with a number before without, then as the file has them. */
static int compare_keys(const void *a, const void *b)
{
    const struct row *left = *(const struct row *const *)a, *right = *(const struct row *const *)b;
    int order = strcmp(left->cell[ROW_KEY], right->cell[ROW_KEY]);
    if (!order)
        order = (int)has_number(left) - (int)has_number(right);
    return order ? order : (left > right) - (left < right);
}

/* The rows of a run that count, sorted by key; malloc'd, NULL without memory. */
static const struct row **sort_rows(const struct rows *rows, int *count, int *duplicates)
{
    const struct row **list = malloc(((size_t)rows->count + 1) * sizeof *list);
    *count = 0;
    if (!list)
        return NULL;
    for (int i = 0; i < rows->count; i++)
        list[i] = &rows->list[i];
    qsort(list, (size_t)rows->count, sizeof *list, compare_keys);
    for (int i = 0; i < rows->count; i++) {
        if (i + 1 < rows->count && !strcmp(list[i]->cell[ROW_KEY], list[i + 1]->cell[ROW_KEY]))
            ++*duplicates;
        else
            list[(*count)++] = list[i];
    }
    return list;
}

static bool same_cell(const struct row *a, const struct row *b, enum row_column column)
{
    return !*a->cell[column] || !*b->cell[column] || !strcmp(a->cell[column], b->cell[column]);
}

static void add_pair(struct comparison *out, const struct row *base, const struct row *now, double threshold)
{
    struct compare_pair pair = { .base = base, .now = now, .base_time = time_of(base), .now_time = time_of(now) };
    out->common += base && now;
    if (isnan(pair.base_time.median) && isnan(pair.now_time.median)) {
        out->idle++;
        return;
    }
    pair.word = compare_times(&pair.base_time, &pair.now_time, threshold, &pair.ratio);
    if (pair.word != COMPARE_MISSING && (!same_cell(base, now, ROW_MACHINE) || !same_cell(base, now, ROW_DEVICE)))
        pair.word = COMPARE_ANOTHER_MACHINE;
    pair.beyond = pair.word == COMPARE_SLOWER && pair.ratio.median > 1 + threshold;
    out->beyond += pair.beyond;
    out->words[pair.word]++;
    out->pair[out->count++] = pair;
}

/* What has no ratio comes last; equal ones by their keys, so that the order is the same everywhere. */
static int compare_pairs(const void *a, const void *b)
{
    const struct compare_pair *left = a, *right = b;
    double first = isnan(left->ratio.median) ? 0 : left->ratio.median;
    double second = isnan(right->ratio.median) ? 0 : right->ratio.median;
    if (first != second)
        return first > second ? -1 : 1;
    return strcmp((left->base ? left->base : left->now)->cell[ROW_KEY],
                  (right->base ? right->base : right->now)->cell[ROW_KEY]);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* NAN where none is a number. */
static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count > 0 ? statistics_quantile(values, count, 0.5) : NAN;
}

/* Pairs with a ratio come first, in descending order. */
static void sum_up(struct comparison *out)
{
    int count = 0;
    qsort(out->pair, (size_t)out->count, sizeof *out->pair, compare_pairs);
    while (count < out->count && !isnan(out->pair[count].ratio.median))
        count++;
    out->worst = count > 0 ? out->pair[0].ratio.median : NAN;
    out->ratio = count > 0 ? (out->pair[(count - 1) / 2].ratio.median + out->pair[count / 2].ratio.median) / 2 : NAN;
}

int compare_rows(struct comparison *out, const struct rows *base, const struct rows *now, double threshold,
                 struct cnn_error *error)
{
    int base_count = 0, now_count = 0;
    *out = (struct comparison){ .ratio = NAN, .worst = NAN };
    const struct row **left = sort_rows(base, &base_count, &out->duplicates);
    const struct row **right = sort_rows(now, &now_count, &out->duplicates);
    out->pair = calloc((size_t)base_count + (size_t)now_count + 1, sizeof *out->pair);
    int status = left && right && out->pair
                     ? CNN_OK
                     : cnn_error_set(error, CNN_OOM, "no memory to compare %d rows", base->count);
    for (int i = 0, j = 0; !status && (i < base_count || j < now_count);) {
        int order = i == base_count ? 1 : j == now_count ? -1 : strcmp(left[i]->cell[ROW_KEY], right[j]->cell[ROW_KEY]);
        const struct row *old = order <= 0 ? left[i++] : NULL, *new = order >= 0 ? right[j++] : NULL;
        add_pair(out, old, new, threshold);
    }
    if (!status)
        sum_up(out);
    free(left);
    free(right);
    return status;
}

void comparison_free(struct comparison *comparison)
{
    free(comparison->pair);
    comparison->pair = NULL;
    comparison->count = 0;
}

/* ---- many runs ---- */

bool compare_outliers(const double *ratio, int count, double threshold, bool *outlier)
{
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    int known = 0;
    if (!values)
        return false;
    for (int i = 0; i < count; i++)
        if (!isnan(ratio[i]))
            values[known++] = log(ratio[i]);
    double middle = median_of(values, known);
    for (int i = 0; i < known; i++)
        values[i] = fabs(values[i] - middle);
    double most = fmax(OUTLIER_DEVIATIONS * MAD_SCALE * median_of(values, known), log1p(threshold));
    for (int i = 0; i < count; i++)
        outlier[i] = !isnan(ratio[i]) && fabs(log(ratio[i]) - middle) > most;
    free(values);
    return true;
}
