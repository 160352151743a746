/* SPDX-License-Identifier: MIT */
/* From rows to verdicts; claims_text.c writes them down. */
#include "experiments/driver/claims.h"
#include "experiments/driver/charts_parts.h"
#include "experiments/driver/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 0.25       /* of the high end */
#define ORDER_SHARE 0.3 /* of an open claim, to hold in part: 30 of "100.." */

/* ---- words ---- */

/* "9 of 10 inside: image 40..104" */
static const char *inside_words(const struct claim_finding *finding, char out[160])
{
    bool told = finding->inside > 0 && finding->inside < finding->points && *finding->where;
    snprintf(out, 160, "%d of %d inside%s%.120s", finding->inside, finding->points, told ? ": " : "",
             told ? finding->where : "");
    return out;
}

static void decide_closed(struct claim_finding *finding)
{
    char inside[160];
    bool low = finding->least.low >= finding->low;
    bool above = finding->most.value > (1 + NEAR) * finding->high;
    bool high = !above && finding->most.value >= (1 - NEAR) * finding->high;
    finding->word = low && high ? CLAIM_HOLDS : low || high || finding->inside > 0 ? CLAIM_IN_PART : CLAIM_NOT_HERE;
    snprintf(finding->why, sizeof finding->why, "low end %s, high end %s; %s", low ? "holds" : "missed",
             high    ? "holds"
             : above ? "exceeded"
                     : "not reached",
             inside_words(finding, inside));
}

static void decide_open(struct claim_finding *finding)
{
    char inside[160];
    finding->word = finding->inside == finding->points                ? CLAIM_HOLDS
                    : finding->most.low >= ORDER_SHARE * finding->low ? CLAIM_IN_PART
                                                                      : CLAIM_NOT_HERE;
    snprintf(finding->why, sizeof finding->why, "%s%s", inside_words(finding, inside),
             finding->word == CLAIM_IN_PART && finding->inside == 0 ? ", the largest within a third of it" : "");
}

static void decide_growth(struct claim_finding *finding)
{
    if (finding->lines == 0) {
        finding->word = CLAIM_NOT_MEASURED;
        snprintf(finding->why, sizeof finding->why, "no line of %d points over a size", TREND_POINTS_MIN);
        return;
    }
    finding->word = finding->growing == finding->lines       ? CLAIM_HOLDS
                    : finding->growing + finding->partly > 0 ? CLAIM_IN_PART
                                                             : CLAIM_NOT_HERE;
    if (finding->lines == 1 && finding->ordered)
        snprintf(finding->why, sizeof finding->why,
                 "tau %.2f, p %.2g; slope of time %.2f [%.2f, %.2f], of the base's %.2f [%.2f, %.2f]", finding->tau,
                 finding->p, finding->slope[0], finding->slope[1], finding->slope[2], finding->base_slope[0],
                 finding->base_slope[1], finding->base_slope[2]);
    else
        snprintf(finding->why, sizeof finding->why, "grows along %d of %d lines, in part along %d", finding->growing,
                 finding->lines, finding->partly);
}

/* A claim of both is as good as its weaker half. */
static void decide(struct claim_finding *finding)
{
    if (finding->points == 0) {
        finding->word = CLAIM_NOT_MEASURED;
        if (!finding->why[0])
            snprintf(finding->why, sizeof finding->why, "no point of both");
        return;
    }
    enum claim_word ratio = CLAIM_HOLDS;
    char why[sizeof finding->why / 2] = "";
    if (finding->low > 0) {
        (finding->high > 0 ? decide_closed : decide_open)(finding);
        ratio = finding->word;
        snprintf(why, sizeof why, "%.150s%s", finding->why, finding->growth ? "; " : "");
    }
    if (!finding->growth)
        return;
    decide_growth(finding);
    if (finding->word < ratio)
        finding->word = ratio;
    char growth[sizeof finding->why / 2];
    snprintf(growth, sizeof growth, "%.159s", finding->why);
    snprintf(finding->why, sizeof finding->why, "%s%s", why, growth);
}

/* ---- points ---- */

/* What one line of a pair has: n points in the axis' order. */
struct line {
    int count;
    double *x, *work, *base, *other, *ratio; /* work, times: logarithms */
};

static bool line_open(struct line *line, int room)
{
    *line = (struct line){ .x = malloc(5 * ((size_t)room + 1) * sizeof(double)) };
    line->work = line->x ? line->x + room : NULL;
    line->base = line->x ? line->work + room : NULL;
    line->other = line->x ? line->base + room : NULL;
    line->ratio = line->x ? line->other + room : NULL;
    return line->x;
}

static bool is_inside(const struct claim_finding *finding, const struct chart_ratio *ratio)
{
    return ratio->low >= finding->low && (!(finding->high > 0) || ratio->high <= finding->high);
}

/* Where a claim holds along a line: "image 40..72, 96 at batch 1"; `inside` says it of each measured place. */
static void note_where(struct claim_finding *finding, const struct chart_figure *figure,
                       const struct chart_place *places, const bool *inside, int count)
{
    char *out = finding->where;
    size_t size = sizeof finding->where, used = 0;
    for (int from = 0, to; from < count && used < size; from = to) {
        for (to = from + 1; to < count && inside[to] == inside[from]; to++)
            ;
        if (!inside[from])
            continue;
        used += used ? (size_t)snprintf(out + used, size - used, ", %s", places[from].text)
                     : (size_t)snprintf(out, size, "%s %s", figure->axis->name, places[from].text);
        if (to - from > 1 && used < size)
            used += (size_t)snprintf(out + used, size - used, "..%s", places[to - 1].text);
    }
    if (used > 0 && used < size && *figure->cut)
        snprintf(out + used, size - used, " at %s", figure->cut);
}

static void note_ratio(struct claim_finding *finding, const struct chart_figure *figure,
                       const struct chart_place *place, const struct chart_ratio *ratio)
{
    struct claim_ratio here = { ratio->value, ratio->low, ratio->high, "" };
    snprintf(here.at, sizeof here.at, "%s %s%s%.100s", figure->axis->name, place->text, *figure->cut ? ", " : "",
             figure->cut);
    if (!*place->text)
        snprintf(here.at, sizeof here.at, "%.150s", figure->cut);
    if (finding->points == 0 || ratio->value < finding->least.value)
        finding->least = here;
    if (finding->points == 0 || ratio->value > finding->most.value)
        finding->most = here;
    finding->points++;
}

static void judge_growth(struct claim_finding *finding, const struct line *line)
{
    struct trend_order order = { NAN, NAN };
    struct trend_slope base = { NAN, NAN, NAN }, other = { NAN, NAN, NAN };
    finding->ordered = trend_order_of(line->x, line->ratio, line->count, &order);
    finding->sloped = trend_slope_of(line->work, line->base, line->count, &base) &&
                      trend_slope_of(line->work, line->other, line->count, &other);
    finding->tau = order.tau;
    finding->p = order.p;
    memcpy(finding->base_slope, (double[]){ base.value, base.low, base.high }, sizeof finding->base_slope);
    memcpy(finding->slope, (double[]){ other.value, other.low, other.high }, sizeof finding->slope);
    if (!finding->ordered || !finding->sloped)
        return;
    bool rises = order.tau > 0 && order.p < 0.05, flatter = other.high < base.low;
    finding->lines = 1;
    finding->growing = rises && flatter;
    finding->partly = rises != flatter;
}

/* Why a pair has no point: what came of the side that has none; what is unavailable says most. */
static void note_absent(struct claim_finding *finding, const struct chart_run *run, const struct chart_figure *figure,
                        const struct study_pair *pair)
{
    for (int i = 0; i < figure->row_count; i++) {
        const struct row *row = &run->rows.list[figure->row[i]];
        int series = run->series_of[figure->row[i]];
        if ((series != pair->base && series != pair->other) || row_status(row) == CNN_OK)
            continue;
        if (!finding->why[0] || row_status(row) == CNN_UNAVAILABLE)
            snprintf(finding->why, sizeof finding->why, "%.90s: %s", row->cell[ROW_LABEL], row->cell[ROW_STATUS]);
        if (row_status(row) == CNN_UNAVAILABLE)
            return;
    }
}

/* A network grows by these; a batch is no larger network. */
static bool is_size(enum row_column axis)
{
    return axis == ROW_WIDTH || axis == ROW_DEPTH || axis == ROW_IMAGE;
}

static bool walk_line(struct claim_finding *finding, const struct chart_run *run, const struct chart_figure *figure,
                      const struct study_pair *pair)
{
    struct chart_place *places = malloc(((size_t)figure->row_count + 1) * sizeof *places);
    bool *inside = malloc(((size_t)figure->row_count + 1) * sizeof *inside);
    struct line line = { 0 };
    int count = places ? chart_places(run, figure, places) : 0;
    bool fine = places && inside && line_open(&line, count);
    for (int i = 0; fine && i < count; i++) {
        const struct row *base = chart_row_at(run, figure, pair->base, &places[i]);
        const struct row *other = chart_row_at(run, figure, pair->other, &places[i]);
        if (!base || !other || row_status(base) != CNN_OK || row_status(other) != CNN_OK || !chart_has_number(base) ||
            !chart_has_number(other))
            continue;
        struct chart_ratio ratio = chart_ratio_of(base, other);
        note_ratio(finding, figure, &places[i], &ratio);
        inside[line.count] = is_inside(finding, &ratio);
        finding->inside += inside[line.count];
        places[line.count] = places[i];
        line.x[line.count] = places[line.count].x;
        line.ratio[line.count] = ratio.value;
        line.work[line.count] = log(row_number(base, ROW_MACS_PER_IMAGE) * row_number(base, ROW_BATCH));
        line.base[line.count] = log(row_number(base, ROW_SECONDS_PER_STEP));
        line.other[line.count++] = log(row_number(other, ROW_SECONDS_PER_STEP));
    }
    if (fine && finding->low > 0)
        note_where(finding, figure, places, inside, line.count);
    if (fine && is_size(figure->axis->column))
        judge_growth(finding, &line);
    if (fine && finding->points == 0)
        note_absent(finding, run, figure, pair);
    free(line.x);
    free(inside);
    free(places);
    return fine;
}

/* ---- a run ---- */

static struct claim_finding *add_finding(struct claim_findings *findings)
{
    struct claim_finding *more = realloc(findings->list, ((size_t)findings->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    findings->list = more;
    more += findings->count++;
    *more = (struct claim_finding){ 0 };
    return more;
}

static bool judge_pair(struct claim_findings *out, const struct chart_run *run, const struct chart_figure *figure,
                       const struct study_claim *claim, const struct study_pair *pair)
{
    struct claim_finding *finding = add_finding(out);
    const struct row *row = &run->rows.list[figure->row[0]];
    if (!finding)
        return false;
    finding->low = claim->low;
    finding->high = claim->high;
    finding->growth = claim->growth;
    snprintf(finding->claim, sizeof finding->claim, "%s", claim->text);
    snprintf(finding->pair, sizeof finding->pair, "%s/%s", run->series[pair->base].id, run->series[pair->other].id);
    snprintf(finding->base, sizeof finding->base, "%s", run->series[pair->base].label);
    snprintf(finding->series, sizeof finding->series, "%s", run->series[pair->other].label);
    snprintf(finding->phase, sizeof finding->phase, "%s", figure->phase);
    snprintf(finding->axis, sizeof finding->axis, "%s", figure->axis->name);
    snprintf(finding->cut, sizeof finding->cut, "%.159s", figure->cut);
    snprintf(finding->machine, sizeof finding->machine, "%.63s", row->cell[ROW_MACHINE]);
    snprintf(finding->study, sizeof finding->study, "%.63s", row->cell[ROW_STUDY]);
    bool fine = walk_line(finding, run, figure, pair);
    decide(finding);
    return fine;
}

#define PHASES 3

/* Findings of a claim stand together, its pairs in the study's order. */
static int judge_run(struct claim_findings *out, const struct chart_run *run, struct chart_figures *figures,
                     struct cnn_error *error)
{
    static const char *const phases[PHASES] = { "train", "classify", "evaluate" };
    int status = CNN_OK;
    bool fine = true;
    for (int i = 0; i < PHASES && status == CNN_OK; i++)
        status = chart_figures_choose(&figures[i], run, phases[i], error);
    for (int c = 0; status == CNN_OK && c < run->study.claim_count; c++)
        for (int p = 0; p < run->study.claims[c].pair_count; p++)
            for (int i = 0; i < PHASES; i++)
                for (int line = 0; line < figures[i].count && fine; line++)
                    fine = judge_pair(out, run, &figures[i].list[line], &run->study.claims[c],
                                      &run->study.claims[c].pairs[p]);
    for (int i = 0; i < PHASES; i++)
        chart_figures_free(&figures[i]);
    return fine ? status : cnn_error_set(error, CNN_OOM, "claims: no memory for %s", run->folder);
}

int claims_judge(struct claim_findings *out, const char *run_folder, struct cnn_error *error)
{
    struct chart_run run;
    struct chart_figures *figures = calloc(PHASES, sizeof *figures);
    *out = (struct claim_findings){ 0 };
    if (!figures)
        return cnn_error_set(error, CNN_OOM, "claims: no memory for %s", run_folder);
    int status = chart_run_open(&run, run_folder, NULL, error);
    if (status == CNN_OK && run.has_study)
        status = judge_run(out, &run, figures, error);
    chart_run_close(&run);
    free(figures);
    if (status != CNN_OK)
        claims_free(out);
    return status;
}

/* ---- over several lines ---- */

int claims_append(struct claim_findings *to, const struct claim_findings *more, struct cnn_error *error)
{
    for (int i = 0; i < more->count; i++) {
        struct claim_finding *finding = add_finding(to);
        if (!finding)
            return cnn_error_set(error, CNN_OOM, "claims: no memory for %d findings", to->count);
        *finding = more->list[i];
    }
    return CNN_OK;
}

static bool same_question(const struct claim_finding *a, const struct claim_finding *b)
{
    return !strcmp(a->claim, b->claim) && !strcmp(a->base, b->base) && !strcmp(a->series, b->series) &&
           !strcmp(a->phase, b->phase) && !strcmp(a->machine, b->machine);
}

static void add_up(struct claim_finding *sum, const struct claim_finding *one)
{
    if (one->points > 0 && (sum->points == 0 || one->least.value < sum->least.value))
        sum->least = one->least;
    if (one->points > 0 && (sum->points == 0 || one->most.value > sum->most.value))
        sum->most = one->most;
    sum->points += one->points;
    sum->inside += one->inside;
    sum->lines += one->lines;
    sum->growing += one->growing;
    sum->partly += one->partly;
    size_t used = strlen(sum->where);
    if (*one->where)
        snprintf(sum->where + used, sizeof sum->where - used, "%s%s", used ? "; " : "", one->where);
    sum->ordered = false;
    sum->axis[0] = sum->cut[0] = '\0';
    if (strcmp(sum->study, one->study))
        sum->study[0] = '\0'; /* of several studies */
}

int claims_merge(struct claim_findings *out, const struct claim_findings *all, struct cnn_error *error)
{
    *out = (struct claim_findings){ 0 };
    for (int i = 0; i < all->count; i++) {
        int at = 0;
        while (at < out->count && !same_question(&out->list[at], &all->list[i]))
            at++;
        struct claim_finding *sum = at < out->count ? &out->list[at] : add_finding(out);
        if (!sum) {
            claims_free(out);
            return cnn_error_set(error, CNN_OOM, "claims: no memory for %d findings", all->count);
        }
        if (sum->claim[0])
            add_up(sum, &all->list[i]);
        else
            *sum = all->list[i];
    }
    for (int i = 0; i < out->count; i++)
        decide(&out->list[i]);
    return CNN_OK;
}

void claims_free(struct claim_findings *findings)
{
    free(findings->list);
    *findings = (struct claim_findings){ 0 };
}
