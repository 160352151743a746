/* SPDX-License-Identifier: MIT */
/* What a step costs: fixed seconds and seconds for its work, for each series over all its sizes. The work is what the
 * algorithm executes. A cost of every repetition of the block (depth: steps that depend on each other) and one of every
 * image's activations (width) are tried beside these. */
#include "experiments/driver/analysis_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_MIN 1e-6      /* of held-out points: no measurement is as good */
#define POINTS_OVER_TERMS 2 /* so many points more than terms, or nothing is fitted */

static const char header[] =
    "phase,series,points,fixed_seconds,fixed_low,fixed_high,gflop_per_second,gflop_low,gflop_high,depth_seconds,"
    "depth_low,depth_high,width_seconds_per_image,width_low,width_high,r2,held_out_error,place\n";

static unsigned sizes(void)
{
    return analysis_axis_bit(ROW_WIDTH) | analysis_axis_bit(ROW_DEPTH) | analysis_axis_bit(ROW_IMAGE) |
           analysis_axis_bit(ROW_BATCH);
}

/* FLOPs as executed; useful ones where the backend does not say. NAN: neither. */
static double work_of(const struct row *row)
{
    double executed = row_number(row, ROW_EXECUTED_FLOP_PER_STEP);
    return executed > 0 ? executed : row_number(row, ROW_USEFUL_FLOP_PER_STEP);
}

static void set_terms(const struct analysis_model *of, const struct row *row, double *term)
{
    const double value[] = { [TERM_FIXED] = 1,
                             [TERM_WORK] = work_of(row),
                             [TERM_DEPTH] = row_number(row, ROW_DEPTH),
                             [TERM_WIDTH] = row_number(row, ROW_WIDTH) * row_number(row, ROW_BATCH) };
    for (int i = 0; i < MODEL_TERMS_MAX; i++)
        if (of->place[i] >= 0)
            term[of->place[i]] = value[i];
}

double analysis_model_seconds(const struct analysis_model *model, const struct row *row)
{
    double term[MODEL_TERMS_MAX] = { 0 };
    set_terms(model, row, term);
    return model_seconds(&model->model, term);
}

static bool is_member(const struct chart_run *run, int like, int row)
{
    return analysis_alike(run, like, row, sizes()) && analysis_counts(&run->rows.list[row]) &&
           work_of(&run->rows.list[row]) > 0;
}

static bool fit_form(struct analysis_model *out, const struct chart_run *run, int like, unsigned terms,
                     struct model_point *points)
{
    int count = 0, costs = 0;
    out->terms = terms;
    for (int i = 0; i < MODEL_TERMS_MAX; i++)
        out->place[i] = terms >> i & 1 ? costs++ : -1;
    for (int row = 0; row < run->rows.count; row++) {
        if (!is_member(run, like, row))
            continue;
        points[count] = (struct model_point){ .seconds = row_number(&run->rows.list[row], ROW_SECONDS_PER_STEP) };
        set_terms(out, &run->rows.list[row], points[count++].term);
    }
    return count >= costs + POINTS_OVER_TERMS && model_fit(&out->model, points, count, costs) &&
           isfinite(out->model.held_out);
}

/* A further term must earn its place: a tenth less error, and not merely less rounding. */
static bool is_better(const struct model *tried, const struct model *before)
{
    return before->held_out > ERROR_MIN && tried->held_out < 0.9 * before->held_out;
}

bool analysis_model_fit(struct analysis_model *out, const struct chart_run *run, int row)
{
    static const unsigned plain = 1u << TERM_FIXED | 1u << TERM_WORK;
    static const unsigned forms[] = { plain, plain | 1u << TERM_DEPTH, plain | 1u << TERM_WIDTH,
                                      plain | 1u << TERM_DEPTH | 1u << TERM_WIDTH };
    struct model_point *points = malloc(((size_t)run->rows.count + 1) * sizeof *points);
    bool found = false;
    for (size_t i = 0; points && i < sizeof forms / sizeof *forms; i++) {
        struct analysis_model tried;
        if (!fit_form(&tried, run, row, forms[i], points) || (found && !is_better(&tried.model, &out->model)))
            continue;
        *out = tried;
        found = true;
    }
    free(points);
    return found;
}

/* A cost with its interval, empty where the form has none; `inverse`: as a rate in units of `scale`. */
static void print_cost(FILE *out, const struct analysis_model *of, int term, double scale, bool inverse)
{
    double cell[3] = { NAN, NAN, NAN };
    int place = of->place[term];
    if (place >= 0) {
        const double cost[] = { of->model.cost[place], of->model.low[place], of->model.high[place] };
        for (int i = 0; i < 3; i++)
            cell[i] = inverse ? 1 / (cost[(3 - i) % 3] * scale) : cost[i];
    }
    for (int i = 0; i < 3; i++)
        analysis_print_number(out, cell[i]);
}

static void print_line(struct analysis_out *out, const struct row *row, const char *place,
                       const struct analysis_model *of)
{
    fprintf(out->csv, "%s,%s,%d", row->cell[ROW_PHASE], row->cell[ROW_SERIES], of->model.points);
    print_cost(out->csv, of, TERM_FIXED, 1, false);
    print_cost(out->csv, of, TERM_WORK, 1e9, true);
    print_cost(out->csv, of, TERM_DEPTH, 1, false);
    print_cost(out->csv, of, TERM_WIDTH, 1, false);
    analysis_print_number(out->csv, of->model.r2);
    analysis_print_number(out->csv, of->model.held_out);
    analysis_print_text(out->csv, place);
    fputc('\n', out->csv);
    out->lines++;
}

/* A cost that may be 0 is a rate without an upper end. */
static void print_rate(FILE *out, const struct model *model, int work)
{
    double low = 1e-9 / model->high[work], high = 1e-9 / model->low[work];
    int digits = low >= 100 ? 0 : 1;
    fprintf(out, " + work / %.*f GFLOP/s (%s%.*f", digits, 1e-9 / model->cost[work], isfinite(high) ? "" : "at least ",
            digits, low);
    if (isfinite(high))
        fprintf(out, " to %.*f", digits, high);
    fputc(')', out);
}

static void print_words(const struct analysis_out *out, const struct row *row, const char *place,
                        const struct analysis_model *of)
{
    char a[CHART_WORD], b[CHART_WORD], c[CHART_WORD];
    const struct model *model = &of->model;
    int work = of->place[TERM_WORK];
    if (!out->text)
        return;
    if (out->lines == 1)
        fputs("\nWhat a step costs, fitted over all sizes (95 % intervals; error: mean of held-out points)\n",
              out->text);
    fprintf(out->text, "  %s, %s, %s: %s (%s to %s)", chart_phase_noun(row->cell[ROW_PHASE]), place,
            row->cell[ROW_LABEL], analysis_seconds(model->cost[0], a), analysis_seconds(model->low[0], b),
            analysis_seconds(model->high[0], c));
    if (of->place[TERM_DEPTH] >= 0)
        fprintf(out->text, " + depth * %s", analysis_seconds(model->cost[of->place[TERM_DEPTH]], a));
    if (of->place[TERM_WIDTH] >= 0)
        fprintf(out->text, " + width * images * %s", analysis_seconds(model->cost[of->place[TERM_WIDTH]], a));
    if (model->cost[work] > 0)
        print_rate(out->text, model, work);
    fprintf(out->text, "; R2 %.3f, error %.2g %%\n", model->r2, 100 * model->held_out);
}

/* True for the first row of its group. */
static bool leads(const struct chart_run *run, int row)
{
    for (int before = 0; before < row; before++)
        if (is_member(run, row, before))
            return false;
    return true;
}

bool analysis_fit_rows(struct chart_run *run)
{
    run->fit = malloc(((size_t)run->rows.count + 1) * sizeof *run->fit);
    for (int row = 0; run->fit && row < run->rows.count; row++)
        run->fit[row] = NAN;
    for (int row = 0; run->fit && row < run->rows.count; row++) {
        struct analysis_model model;
        if (!is_member(run, row, row) || !leads(run, row) || !analysis_model_fit(&model, run, row))
            continue;
        for (int other = row; other < run->rows.count; other++)
            if (is_member(run, row, other))
                run->fit[other] = analysis_model_seconds(&model, &run->rows.list[other]);
    }
    return run->fit;
}

int analysis_models(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error)
{
    (void)error;
    fputs(header, out->csv);
    for (const char *const *phase = analysis_phases; *phase; phase++)
        for (int series = 0; series < run->series_count; series++)
            for (int row = 0; row < run->rows.count; row++) {
                struct analysis_model model;
                char place[CHART_TEXT];
                if (run->series_of[row] != series || strcmp(run->rows.list[row].cell[ROW_PHASE], *phase) ||
                    !is_member(run, row, row) || !leads(run, row) || !analysis_model_fit(&model, run, row))
                    continue;
                analysis_place(run, row, sizes(), place, sizeof place);
                print_line(out, &run->rows.list[row], place, &model);
                print_words(out, &run->rows.list[row], place, &model);
            }
    return CNN_OK;
}
