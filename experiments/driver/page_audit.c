/* SPDX-License-Identifier: MIT */
/* The twelve rules of Hoefler and Belli: Scientific Benchmarking of Parallel Computing Systems, SC 2015, held against a
 * run. What the rows and the record do not show is not met, whatever the program would have done. */
#include "experiments/driver/page_parts.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum met { MET, IN_PART, NOT_MET };

/* What the rows show, counted once. */
struct counts {
    int rows, measured, ok, silent;   /* silent: no number and no reason */
    int base, other;                  /* measured ones of the base, of the other series */
    int bounded, skewed, quartiles;   /* median within its interval; mean outside of it; quartiles there */
    int rates, wrong_rates, accuracy; /* images per second that are the batch over the median, or not */
    int limited, scoped, epochs;
};

static void count_row(struct counts *counts, const struct chart_run *run, int i)
{
    const struct row *row = &run->rows.list[i];
    double median = row_number(row, ROW_SECONDS_PER_STEP), mean = row_number(row, ROW_MEAN_SECONDS);
    double low = row_number(row, ROW_INTERVAL_LOW_SECONDS), high = row_number(row, ROW_INTERVAL_HIGH_SECONDS);
    double rate = row_number(row, ROW_IMAGES_PER_SECOND), batch = row_number(row, ROW_BATCH);
    counts->rows++;
    counts->accuracy += !strcmp(row->cell[ROW_PHASE], "accuracy");
    if (!chart_has_number(row)) {
        counts->silent += row_status(row) != CNN_OK && !*row->cell[ROW_REASON];
        return;
    }
    counts->measured++;
    counts->ok += row_status(row) == CNN_OK;
    run->series_of[i] == run->base ? counts->base++ : counts->other++;
    counts->bounded += low <= median && median <= high && row_integer(row, ROW_SAMPLES) >= 6;
    counts->skewed += mean < low || mean > high;
    counts->quartiles += row_number(row, ROW_LOWER_QUARTILE_SECONDS) <= row_number(row, ROW_UPPER_QUARTILE_SECONDS);
    counts->rates += fabs(rate * median / batch - 1) < 1e-4;
    counts->wrong_rates += !(fabs(rate * median / batch - 1) < 1e-4);
    counts->limited += isfinite(row_number(row, ROW_SHARE_OF_LIMIT));
    counts->scoped += *row->cell[ROW_COPIES] && *row->cell[ROW_LAUNCH];
}

static void add(cJSON *audit, const char *rule, enum met met, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(cJSON *audit, const char *rule, enum met met, const char *format, ...)
{
    static const char *const words[] = { "met", "in part", "not met" }, *const classes[] = { "yes", "part", "no" },
                             *const signs[] = { "✓", "◐", "✗" };
    char why[512];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "number", cJSON_GetArraySize(audit) + 1);
    cJSON_AddStringToObject(item, "rule", rule);
    cJSON_AddStringToObject(item, "word", words[met]);
    cJSON_AddStringToObject(item, "class", classes[met]);
    cJSON_AddStringToObject(item, "sign", signs[met]);
    cJSON_AddStringToObject(item, "why", why);
    cJSON_AddItemToArray(audit, item);
}

static enum met all_of(int part, int whole)
{
    return part == whole && whole > 0 ? MET : part > 0 ? IN_PART : NOT_MET;
}

/* An interrupted run has fewer rows than its record has points. */
static void rule_of_completeness(cJSON *audit, const struct counts *counts, const cJSON *record)
{
    const cJSON *points = cJSON_GetObjectItem(cJSON_GetObjectItem(record, "run"), "points");
    bool known = cJSON_IsNumber(points), whole = known && counts->rows >= points->valuedouble;
    char rows[96];
    if (whole)
        snprintf(rows, sizeof rows, "all %d points have a row", counts->rows);
    else if (known)
        snprintf(rows, sizeof rows, "%d of %.0f points have a row", counts->rows, points->valuedouble);
    else
        snprintf(rows, sizeof rows, "%d points have a row, of how many is not recorded", counts->rows);
    add(audit, "It is said why only a part is reported", counts->silent || !whole ? IN_PART : MET,
        "%s; %d have no time, %d of these without a reason", rows, counts->rows - counts->measured, counts->silent);
}

static void rules_of_ratios(cJSON *audit, const struct chart_run *run, const struct counts *counts, const cJSON *record)
{
    const char *base = run->series_count > 0 ? run->series[run->base].label : "none";
    if (counts->other == 0 || counts->base == 0)
        add(audit, "Speed-ups state their base and its absolute time", counts->other ? NOT_MET : MET,
            counts->other ? "the base, %s, has no time, so no speed-up is shown" : "no speed-up is shown; base: %s",
            base);
    else
        add(audit, "Speed-ups state their base and its absolute time", MET,
            "the base is %s; its %d times stand in every speed-up's caption and in the rows", base, counts->base);
    rule_of_completeness(audit, counts, record);
    add(audit, "Costs are averaged arithmetically, rates harmonically", all_of(counts->rates, counts->measured),
        "times are medians; a rate is the batch over the median time, in %d of %d rows: no rate is averaged",
        counts->rates, counts->measured);
    add(audit, "Ratios are not averaged", MET,
        "every ratio is of two medians at one point; verdicts name the smallest and the largest");
}

static void rules_of_spread(cJSON *audit, const struct counts *counts, int claims)
{
    add(audit, "Measurements that vary have intervals", all_of(counts->bounded, counts->measured),
        "%d of %d medians stand within a 95 %% interval of at least 6 samples; %d rows are unstable and marked",
        counts->bounded, counts->measured, counts->measured - counts->ok);
    add(audit, "No normal distribution is assumed", counts->measured ? MET : NOT_MET,
        "intervals are ranks of sorted samples; the mean lies outside the median's interval in %d of %d rows, so "
        "these are skewed",
        counts->skewed, counts->measured);
    add(audit, "Comparisons are statistical", counts->bounded && counts->other ? MET : NOT_MET,
        "ratios carry the intervals of both sides; %d findings on claims use their bounds, and growth Kendall's tau",
        claims);
    add(audit, "Percentiles are considered where they matter", all_of(counts->quartiles, counts->measured),
        "quartiles and minimum are in %d of %d rows, every sample in samples.csv", counts->quartiles, counts->measured);
}

static bool is_text(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    return text && *text;
}

static void rule_of_record(cJSON *audit, const struct chart_run *run, const cJSON *record)
{
    const cJSON *machine = cJSON_GetObjectItem(record, "machine"), *build = cJSON_GetObjectItem(record, "build");
    const char *commit = cJSON_GetStringValue(cJSON_GetObjectItem(build, "commit"));
    const char *version = cJSON_GetStringValue(cJSON_GetObjectItem(build, "version"));
    char lacks[256] = "";
    struct {
        bool there;
        const char *what;
    } facts[] = {
        { is_text(cJSON_GetObjectItem(machine, "cpu"), "model"), "the CPU's model" },
        { cJSON_IsNumber(cJSON_GetObjectItem(cJSON_GetObjectItem(machine, "memory"), "total_bytes")), "memory" },
        { is_text(cJSON_GetObjectItem(machine, "system"), "release"), "the system" },
        { is_text(build, "compiler_version"), "the compiler" },
        { is_text(build, "flags") || cJSON_GetArraySize(cJSON_GetObjectItem(build, "commands")) > 0, "compiler flags" },
        { commit && version && strcmp(commit, version), "the commit" },
        { commit && !strstr(commit, "dirty"), "a clean source tree" },
        { is_text(cJSON_GetObjectItem(machine, "cpu"), "governor"), "the clock's governor" },
        { run->has_study, "the study" }
    };
    int known = 0, all = sizeof facts / sizeof *facts;
    for (int i = 0; i < all; i++) {
        size_t used = strlen(lacks);
        known += facts[i].there;
        if (!facts[i].there)
            snprintf(lacks + used, sizeof lacks - used, "%s%s", used ? ", " : "", facts[i].what);
    }
    add(audit, "Factors and set-up are documented", !record ? NOT_MET : all_of(known, all), "%s%s%s",
        record ? "machine.json, study.cfg and the set-up above" : "there is no machine.json",
        *lacks ? "; not known: " : " tell them", lacks);
}

cJSON *page_audit(const struct chart_run *run, const cJSON *record)
{
    struct counts counts = { 0 };
    cJSON *audit = cJSON_CreateArray();
    int claims = 0;
    for (int i = 0; i < run->rows.count; i++)
        count_row(&counts, run, i);
    for (int i = 0; i < run->study.claim_count; i++)
        claims += run->study.claims[i].pair_count;
    rules_of_ratios(audit, run, &counts, record);
    rules_of_spread(audit, &counts, claims);
    rule_of_record(audit, run, record);
    add(audit, "Synchronisation and summing-up are told", all_of(counts.scoped, counts.measured),
        "columns copies and launch say what is inside the clock, in %d of %d rows; one synchronisation ends a sample, "
        "one a step where copies are inside",
        counts.scoped, counts.measured);
    add(audit, "Upper bounds are shown", all_of(counts.limited, counts.measured),
        "%d of %d rows carry a share of what this machine can do (share_of_limit)", counts.limited, counts.measured);
    add(audit, "Points are joined only where values between them mean something", MET,
        "lines run over sizes alone, never over words, and not across a point without a number");
    return audit;
}
