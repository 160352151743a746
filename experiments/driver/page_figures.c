/* SPDX-License-Identifier: MIT */
/* Figures of a page: the picture that lies in the run's folder, and the numbers it shows as a table and in words. */
#include "experiments/driver/page_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gathering {
    cJSON *list;
    const struct chart_run *run;
    const char *only;
    int *number;
};

/* ---- the picture ---- */

/* A picture inside a page needs no head of a file, and names of its own: every one of gnuplot's begins with "gp",
 * "gnuplot", "textbox" or "greybox". */
static char *inline_picture(const char *svg, int number)
{
    static const char *const names[] = { "id='gp", "href='#gp", "id=\"gnuplot", "id='textbox", "id='greybox" };
    char *out = NULL;
    size_t size = 0;
    const char *from = svg ? strstr(svg, "<svg") : NULL, *head = from ? strchr(from, '>') : NULL;
    const char *body = head ? strstr(head, "<g id=") : NULL;
    FILE *file = body ? open_memstream(&out, &size) : NULL;
    if (!file)
        return NULL;
    fprintf(file, "%.*s focusable=\"false\" aria-hidden=\"true\">\n", (int)(head - from), from);
    while (*body) {
        const char *found = NULL;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!strncmp(body, names[i], strlen(names[i])))
                found = names[i];
        if (found) {
            size_t until = strcspn(found, "'\"") + 1; /* the mark before the name */
            until += found[until] == '#';
            fprintf(file, "%.*sf%d-", (int)until, found, number);
            body += until;
        }
        fputc(*body++, file);
    }
    return fclose(file) ? NULL : out;
}

/* ---- numbers ---- */

static void value_text(const struct chart_plot *plot, double value, char *out, size_t size)
{
    double digits = value != 0 ? pow(10, 2 - floor(log10(fabs(value)))) : 1;
    chart_tick_text(plot->unit, round(value * digits) / digits, out, size);
}

static void cell_text(const struct chart_plot *plot, const struct chart_point *point, char *out, size_t size)
{
    char value[CHART_WORD], low[CHART_WORD], high[CHART_WORD];
    if (isnan(point->y)) {
        snprintf(out, size, "%s", point->status);
        return;
    }
    value_text(plot, point->y, value, sizeof value);
    value_text(plot, point->low, low, sizeof low);
    value_text(plot, point->high, high, sizeof high);
    bool wide = point->high > point->low;
    snprintf(out, size, wide ? "%s%s [%s, %s]" : "%s%s", strcmp(point->status, "unstable") ? "" : "~ ", value, low,
             high);
}

static const struct chart_point *point_at(const struct chart_plot *plot, int series, const struct chart_point *place)
{
    for (int i = 0; i < plot->point_count; i++)
        if (plot->point[i].series == series && plot->point[i].x == place->x)
            return &plot->point[i];
    return NULL;
}

/* Points come by series, then by place: the first of a series, or of a place. */
static bool is_first(const struct chart_plot *plot, int i, bool of_place)
{
    for (int j = 0; j < i; j++)
        if (of_place ? plot->point[j].x == plot->point[i].x : plot->point[j].series == plot->point[i].series)
            return false;
    return true;
}

static int by_x(const void *a, const void *b)
{
    const struct chart_point *const *left = a, *const *right = b;
    return ((*left)->x > (*right)->x) - ((*left)->x < (*right)->x);
}

static void add_row(cJSON *rows, const struct chart_plot *plot, const struct chart_point *place)
{
    char text[4 * CHART_WORD];
    cJSON *row = cJSON_CreateObject(), *cells = cJSON_CreateArray();
    cJSON_AddStringToObject(row, "place", place->text);
    for (int i = 0; i < plot->point_count; i++) {
        if (!is_first(plot, i, false))
            continue;
        const struct chart_point *point = point_at(plot, plot->point[i].series, place);
        if (point)
            cell_text(plot, point, text, sizeof text);
        cJSON_AddItemToArray(cells, cJSON_CreateString(point ? text : ""));
    }
    cJSON_AddItemToObject(row, "cells", cells);
    cJSON_AddItemToArray(rows, row);
}

static bool add_table(cJSON *figure, const struct chart_plot *plot, const struct chart_run *run)
{
    const struct chart_point **place = malloc((size_t)plot->point_count * sizeof *place);
    cJSON *heads = cJSON_AddArrayToObject(figure, "heads"), *rows = cJSON_AddArrayToObject(figure, "rows");
    int places = 0;
    for (int i = 0; place && i < plot->point_count; i++) {
        if (is_first(plot, i, false))
            cJSON_AddItemToArray(heads, cJSON_CreateString(run->series[plot->point[i].series].label));
        if (is_first(plot, i, true))
            place[places++] = &plot->point[i];
    }
    if (place)
        qsort(place, (size_t)places, sizeof *place, by_x);
    for (int i = 0; i < places; i++)
        add_row(rows, plot, place[i]);
    bool fine = place;
    free(place);
    return fine;
}

/* What a figure shows for those who do not see it: each line's ends. */
static void add_words(cJSON *figure, const struct chart_plot *plot, const struct chart_run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    fprintf(out, "Chart of %s over %s.", plot->ylabel, plot->xlabel);
    for (int from = 0, to; from < plot->point_count; from = to) {
        const struct chart_point *first = NULL, *last = NULL;
        char low[CHART_WORD], high[CHART_WORD];
        for (to = from; to < plot->point_count && plot->point[to].series == plot->point[from].series; to++)
            if (!isnan(plot->point[to].y)) {
                first = first ? first : &plot->point[to];
                last = &plot->point[to];
            }
        if (!first)
            continue;
        value_text(plot, first->y, low, sizeof low);
        value_text(plot, last->y, high, sizeof high);
        fprintf(out, " %s: ", run->series[first->series].label);
        fprintf(out, first == last ? "%s at %s." : "%s at %s, %s at %s.", low, first->text, high, last->text);
    }
    if (fclose(out) == 0)
        cJSON_AddStringToObject(figure, "alt", text);
    free(text);
}

static int add_figure(void *context, const struct chart_plot *plot, struct cnn_error *error)
{
    struct gathering *to = context;
    char name[256], id[32];
    if (to->only && strncmp(plot->name, to->only, strlen(to->only)))
        return CNN_OK;
    cJSON *figure = cJSON_CreateObject();
    snprintf(name, sizeof name, "charts/%s.svg", plot->name);
    char *file = page_file_read(to->run->folder, name), *picture = inline_picture(file, ++*to->number);
    snprintf(id, sizeof id, "figure-%d", *to->number);
    cJSON_AddStringToObject(figure, "id", id);
    cJSON_AddStringToObject(figure, "title", plot->title);
    cJSON_AddStringToObject(figure, "what", plot->ylabel);
    cJSON_AddStringToObject(figure, "about", plot->about);
    cJSON_AddStringToObject(figure, "axis", plot->xlabel);
    cJSON_AddStringToObject(figure, "csv", strcat(strcpy(name, "charts/"), plot->name));
    cJSON_AddStringToObject(figure, "svg", picture ? picture : "");
    add_words(figure, plot, to->run);
    bool fine = add_table(figure, plot, to->run);
    free(picture);
    free(file);
    if (!fine || !cJSON_AddItemToArray(to->list, figure))
        return cnn_error_set(error, CNN_OOM, "report: no memory for %s", plot->name);
    return CNN_OK;
}

int page_figures(cJSON *list, const struct chart_run *run, const char *only, int *number, struct cnn_error *error)
{
    struct gathering to = { list, run, only, number };
    return charts_visit(run, add_figure, &to, error);
}
