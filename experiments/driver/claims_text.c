/* SPDX-License-Identifier: MIT */
/* Verdicts as words, as a CSV, as a table. */
#include "experiments/driver/claims.h"
#include "experiments/driver/durable.h"
#include "experiments/driver/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *claim_word_text(enum claim_word word)
{
    static const char *const texts[CLAIM_WORD_COUNT] = { "holds here", "in part", "not here", "not measured" };
    return texts[word];
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){ *text, '\0' }, out);
    fputs("\",", out);
}

static void put_numbers(FILE *out, const double *number, int count, bool known)
{
    for (int i = 0; i < count; i++)
        fprintf(out, known ? "%.6g," : ",", number[i]);
}

static void put_ratio(FILE *out, const struct claim_ratio *ratio, bool known)
{
    put_numbers(out, (const double[]){ ratio->value, ratio->low, ratio->high }, 3, known);
    put_text(out, ratio->at);
}

static void put_line(FILE *out, const struct claim_finding *finding)
{
    const char *const words[] = { finding->claim, finding->base, finding->series,
                                  finding->phase, finding->axis, finding->cut };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        put_text(out, words[i]);
    fprintf(out, "%d,", finding->points);
    if (finding->low > 0)
        fprintf(out, "%d", finding->inside);
    fputc(',', out);
    put_ratio(out, &finding->least, finding->points > 0);
    put_ratio(out, &finding->most, finding->points > 0);
    put_numbers(out, (const double[]){ finding->tau, finding->p }, 2, finding->ordered);
    put_numbers(out, finding->base_slope, 3, finding->sloped);
    put_numbers(out, finding->slope, 3, finding->sloped);
    put_text(out, finding->why);
    fprintf(out, "%s\n", claim_word_text(finding->word));
}

int claims_write(const struct claim_findings *findings, const char *run_folder, struct cnn_error *error)
{
    char path[4096], *text = NULL;
    size_t size = 0;
    if (findings->count == 0)
        return CNN_OK;
    FILE *out = open_memstream(&text, &size);
    if (out)
        fputs("claim,base,series,phase,over,at,points,inside,least,least_low,least_high,least_at,most,most_low,"
              "most_high,most_at,tau,p,base_slope,base_slope_low,base_slope_high,slope,slope_low,slope_high,why,"
              "verdict\n",
              out);
    for (int i = 0; out && i < findings->count; i++)
        put_line(out, &findings->list[i]);
    snprintf(path, sizeof path, "%s/claims.csv", run_folder);
    int status = !out || ferror(out) | fclose(out) ? cnn_error_set(error, CNN_OOM, "%s: no memory for it", path)
                                                   : durable_replace(path, text, size, error);
    free(text);
    return status;
}

/* "12 [11.9, 12.9] at image 32" */
static void cell_ratio(struct grid *grid, int column, const struct claim_ratio *ratio)
{
    grid_cell(grid, column, "%.3g [%.3g, %.3g] at %s", ratio->value, ratio->low, ratio->high, ratio->at);
}

static void put_row(struct grid *grid, const struct claim_finding *finding)
{
    grid_row(grid);
    grid_cell(grid, 0, "%s", finding->pair);
    grid_cell(grid, 1, "%s", finding->phase);
    grid_cell(grid, 2, "%s", claim_word_text(finding->word));
    if (finding->points > 0) {
        cell_ratio(grid, 3, &finding->least);
        cell_ratio(grid, 4, &finding->most);
    }
    grid_cell(grid, 5, "%s", finding->why);
}

/* What was not measured is no table but a sentence: "not measured: cpu/gpu (GPU, tuned: unavailable)". */
static void print_absent(FILE *out, const struct claim_finding *findings, int count, int columns)
{
    char text[1024] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof text; i++) {
        bool told = findings[i].word != CLAIM_NOT_MEASURED;
        for (int k = 0; k < i; k++)
            told = told || (findings[k].word == CLAIM_NOT_MEASURED && !strcmp(findings[k].pair, findings[i].pair) &&
                            !strcmp(findings[k].why, findings[i].why));
        if (!told)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s (%s)",
                                     used ? "; " : "not measured: ", findings[i].pair, findings[i].why);
    }
    text_wrap(out, text, columns, 0);
}

/* One table for each claim; findings of a claim stand together. */
bool claims_print(FILE *out, const struct claim_findings *findings, int columns)
{
    static const char *const heads[] = { "pair", "phase", "verdict", "smallest", "largest", "why" };
    bool fine = true;
    for (int from = 0, to; from < findings->count && fine; from = to) {
        const struct claim_finding *first = &findings->list[from];
        struct grid *grid = grid_create(6, 2);
        int shown = 0;
        for (int i = 0; i < 6; i++)
            grid_head(grid, i, heads[i], false);
        for (to = from; to < findings->count && !strcmp(findings->list[to].claim, first->claim); to++)
            if (findings->list[to].word != CLAIM_NOT_MEASURED) {
                put_row(grid, &findings->list[to]);
                shown++;
            }
        fputc('\n', out);
        text_wrap(out, first->claim, columns, 0);
        fine = shown == 0 || grid_print(grid, out, columns);
        print_absent(out, first, to - from, columns);
        grid_free(grid);
    }
    return fine && !ferror(out);
}
