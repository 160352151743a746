/* SPDX-License-Identifier: MIT */
/* Break-even along every axis of sizes: of each two series in each cut, where one overtakes the other. */
#include "experiments/driver/analysis_parts.h"
#include "experiments/driver/crossing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CROSSINGS_MAX 8 /* of one pair in one cut */

static const char header[] = "phase,axis,base,other,verdict,at,low,high,from,points,place\n";

/* Two series in a cut, with room for a point of every row. */
struct pair {
    const struct chart_run *run;
    const struct chart_figure *cut;
    int base, other;
    struct crossing_point *points;
    int count;
    double *beats; /* [winner * series + loser]: from which measured place of this cut on it is faster; 0: it is not */
};

static const struct row *cut_row(const struct pair *pair, int i)
{
    return &pair->run->rows.list[pair->cut->row[i]];
}

/* The row of a series at a value of the axis, if it may enter a ratio. */
static const struct row *row_at(const struct pair *pair, int series, double x)
{
    for (int i = 0; i < pair->cut->row_count; i++) {
        const struct row *row = cut_row(pair, i);
        if (pair->run->series_of[pair->cut->row[i]] == series && analysis_counts(row) &&
            (chart_cell_any(pair->cut->axis, row) || row_number(row, pair->cut->axis->column) == x))
            return row;
    }
    return NULL;
}

static double deviation(const struct row *row)
{
    return crossing_deviation(row_number(row, ROW_INTERVAL_LOW_SECONDS), row_number(row, ROW_INTERVAL_HIGH_SECONDS));
}

static void add_point(struct pair *pair, double x)
{
    const struct row *base = row_at(pair, pair->base, x), *other = row_at(pair, pair->other, x);
    int at = pair->count;
    if (!base || !other)
        return;
    for (int i = 0; i < pair->count; i++)
        if (pair->points[i].x == x)
            return;
    for (; at > 0 && pair->points[at - 1].x > x; at--)
        pair->points[at] = pair->points[at - 1];
    pair->points[at] = (struct crossing_point){
        .x = x,
        .ratio = log(row_number(base, ROW_SECONDS_PER_STEP) / row_number(other, ROW_SECONDS_PER_STEP)),
        .sd = hypot(deviation(base), deviation(other)),
    };
    pair->count++;
}

static void find_points(struct pair *pair)
{
    pair->count = 0;
    for (int i = 0; i < pair->cut->row_count; i++) {
        const struct row *row = cut_row(pair, i);
        double x = row_number(row, pair->cut->axis->column);
        if (!chart_cell_any(pair->cut->axis, row) && x > 0)
            add_point(pair, x);
    }
}

/* Where nothing is overtaken: from which measured place on the other series is faster (sign 1) or slower (-1), no place
 * before it being decided. 0: it is not. */
static double lead_from(const struct pair *pair, int sign)
{
    int first = pair->count;
    while (first > 0 && crossing_sign(&pair->points[first - 1]) == sign)
        first--;
    for (int i = 0; i < first; i++)
        if (crossing_sign(&pair->points[i]) != 0)
            return 0;
    return first < pair->count ? pair->points[first].x : 0;
}

static void print_line(const struct pair *pair, struct analysis_out *out, const char *verdict,
                       const struct crossing *crossing, double from)
{
    const struct chart_series *series = pair->run->series;
    fprintf(out->csv, "%s,%s,%s,%s,%s", pair->cut->phase, pair->cut->axis->name, series[pair->base].id,
            series[pair->other].id, verdict);
    analysis_print_number(out->csv, crossing ? crossing->x : NAN);
    analysis_print_number(out->csv, crossing ? crossing->low : NAN);
    analysis_print_number(out->csv, crossing ? crossing->high : NAN);
    analysis_print_number(out->csv, from > 0 ? from : NAN);
    fprintf(out->csv, ",%d", pair->count);
    analysis_print_text(out->csv, pair->cut->common);
    fputc('\n', out->csv);
    out->lines++;
}

static void print_head(const struct analysis_out *out, bool *told)
{
    if (!*told)
        fputs("\nBreak-even: where one series overtakes another, and the 95 % interval of that place\n", out->text);
    *told = true;
}

static void print_words(const struct pair *pair, const struct analysis_out *out, const struct crossing *crossing,
                        bool *told)
{
    const struct chart_series *series = pair->run->series;
    bool up = crossing->sign > 0;
    if (!out->text)
        return;
    print_head(out, told);
    fprintf(out->text, "  %s, %s: %s passes %s at %s %.3g (%.3g to %.3g), faster from %g on\n",
            chart_phase_noun(pair->cut->phase), pair->cut->common, series[up ? pair->other : pair->base].label,
            series[up ? pair->base : pair->other].label, pair->cut->axis->name, crossing->x, crossing->low,
            crossing->high, crossing->from);
}

static void tell_pair(const struct pair *pair, struct analysis_out *out, bool *told)
{
    struct crossing crossings[CROSSINGS_MAX];
    int found = crossings_find(pair->points, pair->count, crossings, CROSSINGS_MAX);
    if (pair->count < 2)
        return;
    if (found == 0) {
        int series = pair->run->series_count;
        double faster = lead_from(pair, 1), slower = lead_from(pair, -1);
        pair->beats[pair->other * series + pair->base] = faster;
        pair->beats[pair->base * series + pair->other] = slower;
        print_line(pair, out, faster > 0 ? "faster" : slower > 0 ? "slower" : "undecided", NULL, fmax(faster, slower));
    }
    for (int i = 0; i < found && i < CROSSINGS_MAX; i++) {
        print_line(pair, out, crossings[i].sign > 0 ? "overtakes" : "falls behind", &crossings[i], crossings[i].from);
        print_words(pair, out, &crossings[i], told);
    }
}

/* "GPU is faster than CPU, 1 thread from width 1 on; CPU, all threads from 2 on": one line for each winner. */
static void tell_winners(const struct pair *pair, const struct analysis_out *out, bool *told)
{
    int series = pair->run->series_count;
    for (int winner = 0; winner < series && out->text; winner++) {
        int losers = 0;
        for (int loser = 0; loser < series; loser++) {
            double from = pair->beats[winner * series + loser];
            if (from <= 0)
                continue;
            if (losers++ == 0) {
                print_head(out, told);
                fprintf(out->text, "  %s, %s: %s is faster than ", chart_phase_noun(pair->cut->phase),
                        pair->cut->common, pair->run->series[winner].label);
            }
            fprintf(out->text, "%s%s from %s %g on", losers > 1 ? "; " : "", pair->run->series[loser].label,
                    pair->cut->axis->name, from);
        }
        if (losers > 0)
            fputc('\n', out->text);
    }
}

/* All pairs of a cut. */
static void tell_cut(struct pair *pair, struct analysis_out *out, bool *told)
{
    int series = pair->run->series_count;
    for (int i = 0; i < series * series; i++)
        pair->beats[i] = 0;
    for (pair->base = 0; pair->base < series; pair->base++)
        for (pair->other = pair->base + 1; pair->other < series; pair->other++) {
            find_points(pair);
            tell_pair(pair, out, told);
        }
    tell_winners(pair, out, told);
}

static int tell_axis(const struct chart_run *run, const char *phase, const struct chart_axis *axis,
                     struct analysis_out *out, bool *told, struct cnn_error *error)
{
    struct chart_figures cuts;
    size_t series = (size_t)run->series_count;
    struct pair pair = { .run = run };
    int status = chart_figures_along(&cuts, run, phase, axis, error);
    pair.points = malloc(((size_t)run->rows.count + 1) * sizeof *pair.points);
    pair.beats = malloc((series * series + 1) * sizeof *pair.beats);
    if (status == CNN_OK && (!pair.points || !pair.beats))
        status = cnn_error_set(error, CNN_OOM, "analysis: no memory for %d rows", run->rows.count);
    for (int i = 0; status == CNN_OK && i < cuts.count; i++) {
        pair.cut = &cuts.list[i];
        tell_cut(&pair, out, told);
    }
    free(pair.beats);
    free(pair.points);
    chart_figures_free(&cuts);
    return status;
}

int analysis_breakeven(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error)
{
    bool told = false;
    fputs(header, out->csv);
    for (const char *const *phase = analysis_phases; *phase; phase++)
        for (int axis = 0; axis < chart_axis_count; axis++)
            if (chart_axes[axis].number && tell_axis(run, *phase, &chart_axes[axis], out, &told, error))
                return error->status;
    return CNN_OK;
}
