/* SPDX-License-Identifier: MIT */
/* NAME.set: words and ranges of a plot as gnuplot commands. A person can change them and draw again. For LaTeX the same
 * words are written as LaTeX sets them literally, so that a "%" or "_" of a study breaks no document. */
#include "experiments/driver/charts_parts.h"
#include "experiments/driver/latex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAPTION_WIDTH 118      /* characters of a line below a figure for the screen */
#define SCREEN_MILLIMETRES 201 /* its 760 units of 1/96 inch */
#define NARROW_MILLIMETRES 132 /* below, letters are smaller: plots/common.gp */

/* Where words go, and in which spelling. */
struct words {
    FILE *out;
    bool latex;
};

/* A word as gnuplot takes it literally: nothing is special between single quotes but the quote itself. */
static void print_literal(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'.\"'\".'", out);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static void print_word(const struct words *words, const char *text)
{
    char escaped[4 * CHART_TEXT];
    if (words->latex)
        latex_escape(text, escaped, sizeof escaped);
    print_literal(words->out, words->latex ? escaped : text);
}

/* A tick with its word, which gnuplot reads as a number's format. */
static void print_tick(const struct words *words, bool first, const char *text, double value)
{
    char word[4 * CHART_WORD], escaped[2 * CHART_WORD];
    size_t used = 0;
    if (words->latex) {
        latex_escape(text, escaped, sizeof escaped);
        text = escaped;
    }
    for (; *text && used + 2 < sizeof word; text++) {
        if (*text == '%')
            word[used++] = '%';
        word[used++] = *text;
    }
    word[used] = '\0';
    fputs(first ? "" : ", ", words->out);
    print_literal(words->out, word);
    fprintf(words->out, " %.9g", value);
}

static void print_setting(const struct words *words, const char *name, const char *text)
{
    fprintf(words->out, "%s = ", name);
    print_word(words, text);
    fputc('\n', words->out);
}

/* ---- ticks ---- */

static void print_y_ticks(const struct words *words, const struct chart_plot *plot, const struct chart_range *range)
{
    double ticks[CHART_TICKS_MAX];
    int count = chart_ticks(range, ticks);
    fputs("set ytics (", words->out);
    for (int i = 0; i < count; i++) {
        char text[CHART_WORD];
        chart_tick_text(plot->unit, ticks[i], text, sizeof text);
        print_tick(words, i == 0, text, ticks[i]);
    }
    fputs(")\n", words->out);
}

/* Ticks stand where points are; with many points, at every second or third. Seconds get round numbers. */
static void print_x_ticks(const struct words *words, const struct chart_plot *plot, const double *x, int count,
                          struct chart_range *range)
{
    double ticks[CHART_TICKS_MAX];
    bool first = true;
    fputs("set xtics (", words->out);
    if ((plot->rounded && !plot->categories) || strcmp(plot->xname, "seconds") == 0) {
        int made = chart_ticks(range, ticks);
        for (int i = 0; i < made; i++) {
            char text[CHART_WORD];
            snprintf(text, sizeof text, "%g", ticks[i]);
            print_tick(words, i == 0, text, ticks[i]);
        }
    } else {
        int step = (count + CHART_TICKS_MAX - 1) / CHART_TICKS_MAX;
        for (int i = 0; i < count; i += step) {
            const char *text = "";
            for (int p = 0; p < plot->point_count; p++)
                text = plot->point[p].x == x[i] ? plot->point[p].text : text;
            if (*text || plot->typed_count == 0) /* none where a paper alone has a point */
                print_tick(words, first, text, x[i]);
            first = first && !*text && plot->typed_count > 0;
        }
    }
    fputs(")\n", words->out);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The distinct x in ascending order. */
static int distinct_x(const struct chart_plot *plot, double *x)
{
    int count = 0, all = plot->point_count + plot->typed_count;
    for (int i = 0; i < plot->point_count; i++)
        x[i] = plot->point[i].x;
    for (int i = 0; i < plot->typed_count; i++)
        x[plot->point_count + i] = plot->typed[i]->at;
    qsort(x, (size_t)all, sizeof *x, compare_doubles);
    for (int i = 0; i < all; i++)
        if (i == 0 || x[i] > x[count - 1])
            x[count++] = x[i];
    return count;
}

/* ---- the words ---- */

static void print_series(const struct words *words, const struct chart_plot *plot, const struct chart_run *run)
{
    int count = 0;
    for (int i = 0; i < plot->point_count; i++)
        count += i == 0 || plot->point[i].series != plot->point[i - 1].series;
    fprintf(words->out, "series = %d\narray id[%d]\narray label[%d]\narray place[%d]\narray flat[%d]\n", count, count,
            count, count, count);
    for (int i = 0, n = 0; i < plot->point_count; i++) {
        const struct chart_point *point = &plot->point[i];
        if (i > 0 && point->series == plot->point[i - 1].series)
            continue;
        n++;
        fprintf(words->out, "id[%d] = ", n);
        print_literal(words->out, run->series[point->series].id); /* as the CSV has it */
        fprintf(words->out, "\nlabel[%d] = ", n);
        print_word(words, run->series[point->series].label);
        /* the base is the first colour in every figure, the others keep theirs */
        int place = point->series == run->base ? 1 : point->series < run->base ? point->series + 2 : point->series + 1;
        fprintf(words->out, "\nplace[%d] = %d\nflat[%d] = %d\n", n, place, n, point->flat);
    }
}

static void print_claims(const struct words *words, const struct chart_plot *plot, const struct chart_run *run,
                         const struct chart_range *range)
{
    int count = 0;
    for (int i = 0; plot->ratio && run->has_study && i < run->study.claim_count; i++) {
        const struct study_claim *claim = &run->study.claims[i];
        if (!chart_claim_counts(claim, run) || claim->low >= range->high)
            continue;
        if (count++ == 0)
            fprintf(words->out, "array claim_low[%d]\narray claim_high[%d]\narray claim_text[%d]\n",
                    run->study.claim_count, run->study.claim_count, run->study.claim_count);
        double high = claim->high > 0 ? fmin(claim->high, range->high) : range->high;
        fprintf(words->out, "claim_low[%d] = %.9g\nclaim_high[%d] = %.9g\nclaim_text[%d] = ", count,
                fmax(claim->low, range->low), count, high, count);
        print_word(words, claim->text);
        fputc('\n', words->out);
    }
    fprintf(words->out, "claims = %d\n", count);
}

static bool is_narrow(const struct chart_run *run)
{
    return run->style.millimetres > 0 && run->style.millimetres < NARROW_MILLIMETRES;
}

/* A sentence in lines that fit, behind those that are there; returns how many there are then. */
static int print_lines(const struct words *words, const char *text, size_t width, int lines)
{
    while (*text) {
        char line[2 * CHART_TEXT];
        size_t cut = strlen(text);
        if (cut > width) {
            for (cut = width; cut > 0 && text[cut] != ' '; cut--)
                ;
            cut = cut ? cut : width;
        }
        snprintf(line, sizeof line, "%.*s", (int)cut, text);
        fputs(lines++ ? ".\"\\n\"." : "", words->out);
        print_word(words, line);
        text += cut;
        text += *text == ' ';
    }
    return lines;
}

/* In a narrow figure the line above the plot, too, breaks into lines below it. */
static void print_caption(const struct words *words, const struct chart_plot *plot, const struct chart_run *run)
{
    double share = run->style.millimetres > 0 ? run->style.millimetres / SCREEN_MILLIMETRES : 1;
    size_t width = (size_t)(CAPTION_WIDTH * share * (is_narrow(run) ? 1.5 : 1));
    int lines = 0;
    fputs("caption = ", words->out);
    if (is_narrow(run))
        lines = print_lines(words, plot->about, width, lines);
    for (int i = 0; i < plot->captions; i++)
        lines = print_lines(words, plot->caption[i], width, lines);
    fprintf(words->out, "%s\ncaption_lines = %d\n", lines ? "" : "''", lines);
}

static void print_published(const struct words *words, const struct chart_plot *plot)
{
    int count = 0;
    for (int i = 0; i < plot->typed_count; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen = seen || !strcmp(plot->typed[i]->label, plot->typed[j]->label);
        if (seen)
            continue;
        if (count++ == 0)
            fprintf(words->out, "array published_id[%d]\narray published_label[%d]\n", plot->typed_count,
                    plot->typed_count);
        fprintf(words->out, "published_id[%d] = ", count);
        print_literal(words->out, plot->typed[i]->label);
        fprintf(words->out, "\npublished_label[%d] = ", count);
        print_word(words, plot->typed[i]->label);
        fputc('\n', words->out);
    }
    fprintf(words->out, "published = %d\n", count);
}

static void print_set(const struct words *words, const struct chart_plot *plot, const struct chart_run *run,
                      const double *x, int count)
{
    struct chart_range xs = chart_range_x(plot, x, count), ys = chart_range_y(plot, run);
    fprintf(words->out, "# Words and ranges of this figure: gnuplot -c plots/%s %s draws it from here.\n", plot->script,
            plot->name);
    print_setting(words, "title", plot->title);
    print_setting(words, "about", is_narrow(run) ? "" : plot->about);
    print_setting(words, "xlabel", plot->xlabel);
    print_setting(words, "ylabel", plot->ylabel);
    print_caption(words, plot, run);
    print_series(words, plot, run);
    print_claims(words, plot, run, &ys);
    print_published(words, plot);
    fprintf(words->out, "joined = %d\nxlog = %d\nxmin = %.9g\nxmax = %.9g\nylog = %d\nymin = %.9g\nymax = %.9g\n",
            !plot->categories && !plot->rounded, xs.log, xs.low, xs.high, ys.log, ys.low, ys.high);
    fprintf(words->out, "fits = %d\n%s", chart_has_fit(plot), plot->extra ? plot->extra : "");
    print_x_ticks(words, plot, x, count, &xs);
    print_y_ticks(words, plot, &ys);
}

bool chart_set_print(FILE *out, const struct chart_plot *plot, const struct chart_run *run, bool latex)
{
    const struct words words = { out, latex };
    double *x = malloc(((size_t)plot->point_count + (size_t)plot->typed_count + 1) * sizeof *x);
    if (x)
        print_set(&words, plot, run, x, distinct_x(plot, x));
    free(x);
    return x;
}
