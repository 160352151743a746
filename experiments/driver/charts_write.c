/* SPDX-License-Identifier: MIT */
/* A plot as files: NAME.csv holds its numbers, NAME.set its words and ranges as gnuplot commands. A person can change
 * either and draw again. */
#include "experiments/driver/charts_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A word as gnuplot takes it literally: nothing is special between single quotes but the quote itself. */
static void print_word(FILE *out, const char *text)
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

/* A tick with its word, which gnuplot reads as a number's format. */
static void print_tick(FILE *out, bool first, const char *text, double value)
{
    char word[2 * CHART_WORD];
    size_t used = 0;
    for (; *text && used + 2 < sizeof word; text++) {
        if (*text == '%')
            word[used++] = '%';
        word[used++] = *text;
    }
    word[used] = '\0';
    fputs(first ? "" : ", ", out);
    print_word(out, word);
    fprintf(out, " %.9g", value);
}

static void print_setting(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%s = ", name);
    print_word(out, text);
    fputc('\n', out);
}

/* ---- the CSV ---- */

static void print_number(FILE *out, double value)
{
    fputc(',', out);
    if (!isnan(value))
        fprintf(out, "%.9g", value);
}

static void print_csv(FILE *out, const struct chart_plot *plot, const struct chart_run *run)
{
    fprintf(out, "series,%s,%s,low,high,status,x\n", plot->xname, plot->yname);
    for (int i = 0; i < plot->point_count; i++) {
        const struct chart_point *point = &plot->point[i];
        bool quoted = strpbrk(point->text, ",\"") != NULL;
        fprintf(out, quoted ? "%s,\"%s\"" : "%s,%s", run->series[point->series].id, point->text);
        print_number(out, point->y);
        print_number(out, point->low);
        print_number(out, point->high);
        fprintf(out, ",%s", point->status);
        print_number(out, point->x);
        fputc('\n', out);
    }
}

/* ---- ticks ---- */

static void print_y_ticks(FILE *out, const struct chart_plot *plot, const struct chart_range *range)
{
    double ticks[CHART_TICKS_MAX];
    int count = chart_ticks(range, ticks);
    fputs("set ytics (", out);
    for (int i = 0; i < count; i++) {
        char text[CHART_WORD];
        chart_tick_text(plot->unit, ticks[i], text, sizeof text);
        print_tick(out, i == 0, text, ticks[i]);
    }
    fputs(")\n", out);
}

/* Ticks stand where points are; with many points, at every second or third. Seconds get round numbers. */
static void print_x_ticks(FILE *out, const struct chart_plot *plot, const double *x, int count,
                          struct chart_range *range)
{
    double ticks[CHART_TICKS_MAX];
    fputs("set xtics (", out);
    if (strcmp(plot->xname, "seconds") == 0) {
        int made = chart_ticks(range, ticks);
        for (int i = 0; i < made; i++) {
            char text[CHART_WORD];
            snprintf(text, sizeof text, "%g", ticks[i]);
            print_tick(out, i == 0, text, ticks[i]);
        }
    } else {
        int step = (count + CHART_TICKS_MAX - 1) / CHART_TICKS_MAX;
        for (int i = 0; i < count; i += step) {
            const char *text = "";
            for (int p = 0; p < plot->point_count; p++)
                text = plot->point[p].x == x[i] ? plot->point[p].text : text;
            print_tick(out, i == 0, text, x[i]);
        }
    }
    fputs(")\n", out);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The distinct x in ascending order. */
static int distinct_x(const struct chart_plot *plot, double *x)
{
    int count = 0;
    for (int i = 0; i < plot->point_count; i++)
        x[i] = plot->point[i].x;
    qsort(x, (size_t)plot->point_count, sizeof *x, compare_doubles);
    for (int i = 0; i < plot->point_count; i++)
        if (i == 0 || x[i] > x[count - 1])
            x[count++] = x[i];
    return count;
}

/* ---- the words ---- */

static void print_series(FILE *out, const struct chart_plot *plot, const struct chart_run *run)
{
    int count = 0;
    for (int i = 0; i < plot->point_count; i++)
        count += i == 0 || plot->point[i].series != plot->point[i - 1].series;
    fprintf(out, "series = %d\narray id[%d]\narray label[%d]\narray place[%d]\narray flat[%d]\n", count, count, count,
            count, count);
    for (int i = 0, n = 0; i < plot->point_count; i++) {
        const struct chart_point *point = &plot->point[i];
        if (i > 0 && point->series == plot->point[i - 1].series)
            continue;
        n++;
        fprintf(out, "id[%d] = ", n);
        print_word(out, run->series[point->series].id);
        fprintf(out, "\nlabel[%d] = ", n);
        print_word(out, run->series[point->series].label);
        /* the base is the first colour in every figure, the others keep theirs */
        int place = point->series == run->base ? 1 : point->series < run->base ? point->series + 2 : point->series + 1;
        fprintf(out, "\nplace[%d] = %d\nflat[%d] = %d\n", n, place, n, point->flat);
    }
}

static void print_claims(FILE *out, const struct chart_plot *plot, const struct chart_run *run,
                         const struct chart_range *range)
{
    int count = 0;
    for (int i = 0; plot->ratio && run->has_study && i < run->study.claim_count; i++) {
        const struct study_claim *claim = &run->study.claims[i];
        if (!chart_claim_counts(claim, run) || claim->low >= range->high)
            continue;
        if (count++ == 0)
            fprintf(out, "array claim_low[%d]\narray claim_high[%d]\narray claim_text[%d]\n", run->study.claim_count,
                    run->study.claim_count, run->study.claim_count);
        double high = claim->high > 0 ? fmin(claim->high, range->high) : range->high;
        fprintf(out, "claim_low[%d] = %.9g\nclaim_high[%d] = %.9g\nclaim_text[%d] = ", count,
                fmax(claim->low, range->low), count, high, count);
        print_word(out, claim->text);
        fputc('\n', out);
    }
    fprintf(out, "claims = %d\n", count);
}

static void print_set(FILE *out, const struct chart_plot *plot, const struct chart_run *run, const double *x, int count)
{
    struct chart_range xs = chart_range_x(plot, x, count), ys = chart_range_y(plot, run);
    fprintf(out, "# Words and ranges of this figure: gnuplot -c plots/%s %s draws it from here.\n", plot->script,
            plot->name);
    print_setting(out, "title", plot->title);
    print_setting(out, "about", plot->about);
    print_setting(out, "xlabel", plot->xlabel);
    print_setting(out, "ylabel", plot->ylabel);
    fputs("caption = ''", out);
    for (int i = 0; i < plot->caption_lines; i++) {
        fputs(i ? ".\"\\n\"." : ".", out);
        print_word(out, plot->caption[i]);
    }
    fprintf(out, "\ncaption_lines = %d\n", plot->caption_lines);
    print_series(out, plot, run);
    print_claims(out, plot, run, &ys);
    fprintf(out, "joined = %d\nxlog = %d\nxmin = %.9g\nxmax = %.9g\nylog = %d\nymin = %.9g\nymax = %.9g\n",
            !plot->categories, xs.log, xs.low, xs.high, ys.log, ys.low, ys.high);
    print_x_ticks(out, plot, x, count, &xs);
    print_y_ticks(out, plot, &ys);
}

static FILE *open_file(const char *folder, const char *name, const char *ending, char *path, size_t size,
                       struct cnn_error *error)
{
    snprintf(path, size, "%s/%s.%s", folder, name, ending);
    FILE *file = fopen(path, "w");
    if (!file)
        cnn_error_set(error, CNN_ERROR, "%s: cannot be written: %s", path, strerror(errno));
    return file;
}

static int close_file(FILE *file, const char *path, struct cnn_error *error)
{
    if (ferror(file) | fclose(file))
        return cnn_error_set(error, CNN_ERROR, "%s: cannot be written: is the disk full?", path);
    return CNN_OK;
}

int chart_write(const struct chart_plot *plot, const struct chart_run *run, const char *folder, struct cnn_error *error)
{
    char path[4096];
    double *x = malloc((size_t)plot->point_count * sizeof *x);
    if (!x)
        return cnn_error_set(error, CNN_OOM, "charts: no memory for %s", plot->name);
    int count = distinct_x(plot, x), status = CNN_ERROR;
    FILE *file = open_file(folder, plot->name, "csv", path, sizeof path, error);
    if (file) {
        print_csv(file, plot, run);
        status = close_file(file, path, error);
    }
    if (status == CNN_OK) {
        status = CNN_ERROR;
        file = open_file(folder, plot->name, "set", path, sizeof path, error);
        if (file) {
            print_set(file, plot, run, x, count);
            status = close_file(file, path, error);
        }
    }
    free(x);
    return status;
}
