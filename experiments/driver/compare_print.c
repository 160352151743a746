/* SPDX-License-Identifier: MIT */
/* A comparison for a person, and as CSV: one run point by point, several runs in a line each. */
#include "experiments/driver/charts_parts.h"
#include "experiments/driver/compare_parts.h"
#include "experiments/driver/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What tells points apart beside their series; a table shows those that do. */
static const enum row_column told[] = { ROW_NETWORK, ROW_WIDTH,         ROW_DEPTH,       ROW_IMAGE,
                                        ROW_BATCH,   ROW_THREADS_ASKED, ROW_CONNECTIONS, ROW_PHASE,
                                        ROW_COPIES,  ROW_LAUNCH,        ROW_PRECISION,   ROW_DATA };
#define TOLD ((int)(sizeof told / sizeof *told))

static const struct row *either(const struct compare_pair *pair)
{
    return pair->base ? pair->base : pair->now;
}

static void put_ratio(struct grid *grid, int column, double ratio)
{
    if (isnan(ratio))
        grid_cell(grid, column, "-");
    else
        grid_cell(grid, column, "%.3f", ratio);
}

/* ---- one run ---- */

static void find_told(const struct comparison *comparison, bool varies[TOLD])
{
    for (int i = 0; i < TOLD; i++) {
        varies[i] = false;
        for (int p = 1; p < comparison->count; p++)
            varies[i] = varies[i] || strcmp(either(&comparison->pair[p])->cell[told[i]],
                                            either(&comparison->pair[0])->cell[told[i]]);
    }
}

/* A time, or why there is none. */
static void put_time(struct grid *grid, int column, const struct row *row, double seconds)
{
    char text[CHART_WORD];
    if (isnan(seconds)) {
        grid_cell(grid, column, "%s", row ? row->cell[ROW_STATUS] : "no row");
        return;
    }
    chart_tick_text("s", seconds, text, sizeof text);
    grid_cell(grid, column, "%s", text);
}

static void put_pair(struct grid *grid, const struct compare_pair *pair, const bool varies[TOLD])
{
    int column = 0;
    grid_row(grid);
    grid_cell(grid, column++, "%s", either(pair)->cell[ROW_SERIES]);
    for (int i = 0; i < TOLD; i++)
        if (varies[i])
            grid_cell(grid, column++, "%s", either(pair)->cell[told[i]]);
    put_time(grid, column++, pair->base, pair->base_time.median);
    put_time(grid, column++, pair->now, pair->now_time.median);
    put_ratio(grid, column++, pair->ratio.median);
    if (!isnan(pair->ratio.low))
        grid_cell(grid, column, "%.3f to %.3f", pair->ratio.low, pair->ratio.high);
    grid_cell(grid, column + 1, "%s%s", compare_word_text(pair->word), pair->beyond ? " !" : "");
}

static bool print_pairs(FILE *out, const struct comparison *comparison, int columns)
{
    bool varies[TOLD];
    int fixed = 1, column = 1;
    find_told(comparison, varies);
    for (int i = 0; i < TOLD; i++)
        fixed += varies[i];
    struct grid *grid = grid_create(fixed + 5, fixed);
    grid_head(grid, 0, "series", false);
    for (int i = 0; i < TOLD; i++)
        if (varies[i])
            grid_head(grid, column++, row_column_name(told[i]), told[i] <= ROW_THREADS && told[i] >= ROW_WIDTH);
    grid_head(grid, column++, "base", true);
    grid_head(grid, column++, "now", true);
    grid_head(grid, column++, "now / base", true);
    grid_head(grid, column++, "95 % interval", true);
    grid_head(grid, column++, "", false);
    for (int i = 0; i < comparison->count; i++)
        put_pair(grid, &comparison->pair[i], varies);
    bool fine = grid_print(grid, out, columns);
    grid_free(grid);
    return fine;
}

/* "12 points: 1 slower, 9 same, 2 unclear". Returns its length. */
static size_t words_text(const struct comparison *comparison, char *out, size_t size)
{
    const char *between = ": ";
    size_t at = (size_t)snprintf(out, size, "%d point%s", comparison->count, comparison->count == 1 ? "" : "s");
    for (int word = 0; word < COMPARE_WORD_COUNT; word++) {
        if (comparison->words[word] == 0)
            continue;
        at +=
            (size_t)snprintf(out + at, size - at, "%s%d %s", between, comparison->words[word], compare_word_text(word));
        between = ", ";
    }
    return at;
}

static void print_sum(FILE *out, const struct comparison *comparison, const struct compare_options *options)
{
    char text[512];
    size_t at = words_text(comparison, text, sizeof text);
    if (comparison->idle > 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "; %d without a number on either side", comparison->idle);
    snprintf(text + at, sizeof text - at, ". Slower by more than %g %% (!): %d.", 100 * options->threshold,
             comparison->beyond);
    text_wrap(out, text, options->columns, 0);
}

static bool print_one(FILE *out, const struct compared *runs, const struct compare_options *options)
{
    const struct row *old = &runs[0].rows.list[0], *new = &runs[1].rows.list[0];
    fprintf(out, "base: %s (%s, %.10s, build %s)\nnow:  %s (%s, %.10s, build %s)\n\n", runs[0].folder,
            old->cell[ROW_MACHINE], old->cell[ROW_STARTED], old->cell[ROW_BUILD], runs[1].folder,
            new->cell[ROW_MACHINE], new->cell[ROW_STARTED], new->cell[ROW_BUILD]);
    bool fine = runs[1].comparison.count == 0 || print_pairs(out, &runs[1].comparison, options->columns);
    fputc('\n', out);
    print_sum(out, &runs[1].comparison, options);
    return fine;
}

/* ---- several runs ---- */

static void put_run(struct grid *grid, const struct compared *run)
{
    char words[256];
    int column = 0;
    words_text(&run->comparison, words, sizeof words);
    grid_row(grid);
    grid_cell(grid, column++, "%s", run->folder);
    put_ratio(grid, column++, run->comparison.ratio);
    put_ratio(grid, column++, run->comparison.worst);
    grid_cell(grid, column++, "%s%s", run->comparison.beyond > 0 ? "! " : "", run->outlier ? "outlier" : "");
    grid_cell(grid, column++, "%s", words);
}

static bool print_many(FILE *out, const struct compared *runs, int count, const struct compare_options *options)
{
    char text[512];
    struct grid *grid = grid_create(5, 1);
    grid_head(grid, 0, "run", false);
    grid_head(grid, 1, "median now / base", true);
    grid_head(grid, 2, "worst", true);
    for (int i = 1; i < count; i++)
        put_run(grid, &runs[i]);
    fprintf(out, "base: %s (%s)\n\n", runs[0].folder, runs[0].rows.list[0].cell[ROW_MACHINE]);
    bool fine = grid_print(grid, out, GRID_UNBROKEN); /* a line for each, however long */
    snprintf(text, sizeof text,
             "Slowest first. !: a point is slower by more than %g %%. Outlier: the median ratio lies further from that "
             "of all runs than 3.5 scaled median absolute deviations, and than the threshold.",
             100 * options->threshold);
    fputc('\n', out);
    text_wrap(out, text, options->columns, 0);
    grid_free(grid);
    return fine;
}

/* ---- CSV ---- */

static void csv_number(FILE *out, double value)
{
    if (!isnan(value))
        fprintf(out, "%.9g", value);
    fputc(',', out);
}

static void csv_cells(FILE *out, const struct row *row, const enum row_column *columns, int count)
{
    for (int i = 0; i < count; i++) {
        row_print_cell(out, row ? row->cell[columns[i]] : "");
        fputc(',', out);
    }
}

static void csv_pairs(FILE *out, const struct compared *run, bool headed)
{
    static const enum row_column first[] = { ROW_STUDY, ROW_SERIES }, side[] = { ROW_STATUS, ROW_MACHINE, ROW_BUILD };
    if (!headed) {
        fputs("study,series,", out);
        for (int i = 0; i < TOLD; i++)
            fprintf(out, "%s,", row_column_name(told[i]));
        fputs("word,ratio,ratio_low,ratio_high,beyond_threshold,base_seconds,now_seconds,base_status,base_machine,"
              "base_build,now_status,now_machine,now_build,key\n",
              out);
    }
    for (int i = 0; i < run->comparison.count; i++) {
        const struct compare_pair *pair = &run->comparison.pair[i];
        csv_cells(out, either(pair), first, 2);
        csv_cells(out, either(pair), told, TOLD);
        fprintf(out, "%s,", compare_word_text(pair->word));
        csv_number(out, pair->ratio.median);
        csv_number(out, pair->ratio.low);
        csv_number(out, pair->ratio.high);
        fprintf(out, "%s,", pair->beyond ? "true" : "false");
        csv_number(out, pair->base_time.median);
        csv_number(out, pair->now_time.median);
        csv_cells(out, pair->base, side, 3);
        csv_cells(out, pair->now, side, 3);
        row_print_cell(out, either(pair)->cell[ROW_KEY]);
        fputc('\n', out);
    }
}

static void csv_runs(FILE *out, const struct compared *runs, int count, bool headed)
{
    static const enum row_column about[] = { ROW_STUDY, ROW_MACHINE, ROW_BUILD };
    if (!headed)
        fputs("run,study,machine,build,points,slower,unclear,same,faster,missing,different_machine,beyond_threshold,"
              "median_ratio,worst_ratio,outlier\n",
              out);
    for (int i = 1; i < count; i++) {
        const struct comparison *comparison = &runs[i].comparison;
        row_print_cell(out, runs[i].folder);
        fputc(',', out);
        csv_cells(out, &runs[i].rows.list[0], about, 3);
        fprintf(out, "%d,", comparison->count);
        for (int word = 0; word < COMPARE_WORD_COUNT; word++)
            fprintf(out, "%d,", comparison->words[word]);
        fprintf(out, "%d,", comparison->beyond);
        csv_number(out, comparison->ratio);
        csv_number(out, comparison->worst);
        fprintf(out, "%s\n", runs[i].outlier ? "true" : "false");
    }
}

bool compare_print(FILE *out, const struct compared *runs, int count, const struct compare_options *options,
                   bool headed)
{
    bool fine = true;
    if (options->format == FORMAT_CSV)
        count == 2 ? csv_pairs(out, &runs[1], headed) : csv_runs(out, runs, count, headed);
    else
        fine = count == 2 ? print_one(out, runs, options) : print_many(out, runs, count, options);
    return fine && !ferror(out);
}
