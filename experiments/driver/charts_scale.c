/* SPDX-License-Identifier: MIT */
/* Axes of a plot: ranges that leave room, logarithmic where values span or double, and round ticks with short words. */
#include "experiments/driver/charts_parts.h"

#include <math.h>
#include <string.h>

#define ROOM 8.0     /* factor beside the points of a rounded axis */
#define LOG_FROM 5.0 /* an axis whose ends differ by this factor is logarithmic */

static struct chart_range pad(double low, double high, bool log)
{
    struct chart_range range = { low, high, log };
    if (log) {
        double factor = high > low ? pow(high / low, 0.07) : 2;
        range.low /= factor;
        range.high *= factor;
    } else {
        double step = high > low ? 0.06 * (high - low) : fmax(0.5 * fabs(high), 0.5);
        range.low -= step;
        range.high += step;
    }
    return range;
}

bool chart_claim_counts(const struct study_claim *claim, const struct chart_run *run)
{
    for (int i = 0; i < claim->pair_count && claim->low > 0; i++)
        if (claim->pairs[i].base == run->study.base)
            return true;
    return false;
}

struct chart_range chart_range_y(const struct chart_plot *plot, const struct chart_run *run)
{
    double low = INFINITY, high = -INFINITY;
    bool marks = false;
    for (int i = 0; i < plot->point_count; i++) {
        marks = marks || isnan(plot->point[i].y);
        low = fmin(low, plot->point[i].low); /* fmin leaves NAN out */
        high = fmax(high, plot->point[i].high);
    }
    for (int i = 0; i < plot->typed_count; i++) {
        low = fmin(low, plot->typed[i]->value);
        high = fmax(high, plot->typed[i]->value);
    }
    for (int i = 0; plot->ratio && run->has_study && i < run->study.claim_count; i++) {
        const struct study_claim *claim = &run->study.claims[i];
        if (chart_claim_counts(claim, run))
            high = fmax(high, claim->high > 0 ? claim->high : 1.6 * claim->low);
    }
    if (plot->ratio) {
        low = fmin(low, 1);
        high = fmax(high, 1);
    }
    high = fmax(high, plot->top);
    bool log = low > 0 && (plot->ratio || plot->rounded || high / low >= LOG_FROM);
    struct chart_range range = pad(plot->rounded && !plot->categories ? low / ROOM : low, high, log);
    if (!log && low >= 0)
        range.low = 0;
    if (marks && log) /* room for the words at the axis */
        range.low /= pow(high / low, 0.2);
    return range;
}

struct chart_range chart_range_x(const struct chart_plot *plot, const double *x, int count)
{
    bool doubling = count > 1 && x[0] > 0 && !plot->categories;
    for (int i = 1; i < count; i++)
        doubling = doubling && (plot->log_x || x[i] / x[i - 1] > 1.6);
    if (plot->categories)
        return (struct chart_range){ 0.5, x[count - 1] + 0.5, false };
    if (plot->rounded) /* room for roofs on both sides */
        return (struct chart_range){ x[0] / ROOM, x[count - 1] * ROOM, true };
    return pad(x[0], x[count - 1], doubling);
}

int chart_ticks(const struct chart_range *range, double ticks[CHART_TICKS_MAX])
{
    static const double fine[] = { 1, 1.5, 2, 3, 4, 5, 6, 8, 0 }, middle[] = { 1, 2, 5, 0 }, coarse[] = { 1, 0 };
    int count = 0;
    if (range->log) {
        double decades = log10(range->high / range->low);
        const double *of = decades <= 1.1 ? fine : decades <= 4.2 ? middle : coarse;
        int skip = decades > CHART_TICKS_MAX ? (int)ceil(decades / CHART_TICKS_MAX) : 1;
        for (int power = (int)floor(log10(range->low)); count < CHART_TICKS_MAX && pow(10, power) <= range->high;
             power += skip)
            for (const double *digit = of; *digit > 0 && count < CHART_TICKS_MAX; digit++) {
                double value = *digit * pow(10, power);
                if (value >= range->low && value <= range->high)
                    ticks[count++] = value;
            }
        return count;
    }
    double step = pow(10, floor(log10((range->high - range->low) / 5)));
    double parts = (range->high - range->low) / 5 / step;
    step *= parts > 5 ? 10 : parts > 2 ? 5 : parts > 1 ? 2 : 1;
    for (double k = ceil(range->low / step); k * step <= range->high && count < CHART_TICKS_MAX; k++)
        ticks[count++] = k * step;
    return count;
}

void chart_tick_text(const char *unit, double value, char *out, size_t size)
{
    static const struct {
        double scale;
        const char *prefix;
    } prefixes[] = { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" }, { 1, "" }, { 1e-3, "m" }, { 1e-6, "µ" }, { 1e-9, "n" } };
    bool seconds = strcmp(unit, "s") == 0 || strcmp(unit, "J") == 0;
    if (strcmp(unit, "x") == 0 || strcmp(unit, "%") == 0) {
        snprintf(out, size, "%g%s", value, *unit == 'x' ? "×" : " %");
        return;
    }
    size_t i = seconds ? 3 : 0, end = seconds ? 7 : 4;
    while (i + 1 < end && fabs(value) < 0.9999 * prefixes[i].scale)
        i++;
    if (value == 0 || (!seconds && fabs(value) < 1))
        i = 3;
    snprintf(out, size, "%.4g%s%s%s", value / prefixes[i].scale, seconds ? " " : "", prefixes[i].prefix,
             seconds ? unit : "");
}
