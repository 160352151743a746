/* SPDX-License-Identifier: MIT */
/* A plot as files: NAME.csv holds its numbers; charts_set.c says its words. */
#include "experiments/driver/charts_parts.h"

#include "experiments/driver/latex.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the CSV ---- */

static void print_number(FILE *out, double value)
{
    fputc(',', out);
    if (!isnan(value))
        fprintf(out, "%.9g", value);
}

bool chart_has_fit(const struct chart_plot *plot)
{
    for (int i = 0; i < plot->point_count; i++)
        if (plot->point[i].fit > 0)
            return true;
    return false;
}

static void print_csv(FILE *out, const struct chart_plot *plot, const struct chart_run *run)
{
    bool fits = chart_has_fit(plot);
    fprintf(out, "series,%s,%s,low,high,status,x", plot->xname, plot->yname);
    if (fits)
        fprintf(out, ",%s,samples", plot->fit_name ? plot->fit_name : "fit");
    fputc('\n', out);
    for (int i = 0; i < plot->point_count; i++) {
        const struct chart_point *point = &plot->point[i];
        bool quoted = strpbrk(point->text, ",\"") != NULL;
        fprintf(out, quoted ? "%s,\"%s\"" : "%s,%s", run->series[point->series].id, point->text);
        print_number(out, point->y);
        print_number(out, point->low);
        print_number(out, point->high);
        fprintf(out, ",%s", point->status);
        print_number(out, point->x);
        if (fits) { /* a last cell that is empty is read by gnuplot as the one above it */
            print_number(out, point->fit > 0 ? point->fit : NAN);
            fprintf(out, ",%d", point->samples > 0 ? point->samples : 0);
        }
        fputc('\n', out);
    }
    for (int i = 0; i < plot->typed_count; i++)
        fprintf(out, "%s,%.9g,%.9g,,,published,%.9g%s\n", plot->typed[i]->label, plot->typed[i]->at,
                plot->typed[i]->value, plot->typed[i]->at, fits ? ",,0" : "");
}

/* ---- the files ---- */

static FILE *open_file(const char *folder, const char *name, const char *ending, char *path, size_t size,
                       struct cnn_error *error)
{
    snprintf(path, size, "%s/%s%s", folder, name, ending);
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

static int write_words(const struct chart_plot *plot, const struct chart_run *run, const char *folder, bool latex,
                       struct cnn_error *error)
{
    char path[4096];
    FILE *file = open_file(folder, plot->name, latex ? "-latex.set" : ".set", path, sizeof path, error);
    if (!file)
        return error->status;
    bool fine = chart_set_print(file, plot, run, latex);
    int status = close_file(file, path, error);
    return fine ? status : cnn_error_set(error, CNN_OOM, "charts: no memory for %s", plot->name);
}

/* Title and caption as text for \caption{\input{NAME-latex-caption}}. */
static int write_latex_caption(const struct chart_plot *plot, const char *folder, struct cnn_error *error)
{
    char path[4096], text[4 * CHART_TEXT];
    FILE *file = open_file(folder, plot->name, "-latex-caption.tex", path, sizeof path, error);
    if (!file)
        return error->status;
    latex_escape(plot->title, text, sizeof text);
    fprintf(file, "%s", text);
    latex_escape(plot->about, text, sizeof text);
    fprintf(file, "%s%s.", *text ? "; " : "", text);
    for (int i = 0; i < plot->captions; i++) {
        latex_escape(plot->caption[i], text, sizeof text);
        fprintf(file, " %s", text);
    }
    fputs("%\n", file);
    return close_file(file, path, error);
}

int chart_write(const struct chart_plot *plot, const struct chart_run *run, const char *folder, struct cnn_error *error)
{
    char path[4096];
    bool latex = strstr(run->style.formats, "tex");
    int status = CNN_ERROR;
    FILE *file = open_file(folder, plot->name, ".csv", path, sizeof path, error);
    if (file) {
        print_csv(file, plot, run);
        status = close_file(file, path, error);
    }
    if (status == CNN_OK)
        status = write_words(plot, run, folder, false, error);
    if (status == CNN_OK && latex)
        status = write_words(plot, run, folder, true, error);
    return status == CNN_OK && latex ? write_latex_caption(plot, folder, error) : status;
}
