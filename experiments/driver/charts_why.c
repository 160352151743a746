/* SPDX-License-Identifier: MIT */
/* The plots that say why: scaling over threads, the parts of a speed-up, rows under the roof of their device. */
#include "experiments/driver/analysis_parts.h"
#include "experiments/driver/plain_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct row *row_at(const struct chart_run *run, int row)
{
    return &run->rows.list[row];
}

static void caption_machine(struct chart_plot *plot, const struct row *row, const char *words)
{
    chart_caption(plot, "Machine %s, %.10s. %s", row->cell[ROW_MACHINE], row->cell[ROW_STARTED], words);
}

/* A point of a row without its numbers. */
static struct chart_point *add(struct chart_plot *plot, const struct chart_run *run, int row, double x,
                               const char *text)
{
    struct chart_point *point = &plot->point[plot->point_count++];
    *point = (struct chart_point){ .series = run->series_of[row], .x = x, .y = NAN, .low = NAN, .high = NAN };
    point->samples = (int)row_integer(row_at(run, row), ROW_SAMPLES);
    snprintf(point->text, sizeof point->text, "%s", text);
    snprintf(point->status, sizeof point->status, "%s", row_at(run, row)->cell[ROW_STATUS]);
    return point;
}

static int no_memory(struct cnn_error *error, const struct chart_plot *plot)
{
    return cnn_error_set(error, CNN_OOM, "charts: no memory for the points of %s", plot->name);
}

/* ---- scaling ---- */

static double threads_of(const struct row *row)
{
    return row_number(row, ROW_THREADS_ASKED);
}

/* The row of one thread of this row's series in the figure; -1: none that counts. */
static int one_thread(const struct chart_run *run, const struct chart_figure *figure, int row)
{
    for (int i = 0; i < figure->row_count; i++)
        if (run->series_of[figure->row[i]] == run->series_of[row] && threads_of(row_at(run, figure->row[i])) == 1 &&
            analysis_counts(row_at(run, figure->row[i])))
            return figure->row[i];
    return -1;
}

static void add_scaling(struct chart_plot *plot, const struct chart_run *run, int row, int one)
{
    struct model amdahl;
    double threads = threads_of(row_at(run, row));
    const double term[MODEL_TERMS_MAX] = { 1, 1 / threads };
    struct chart_point *point = add(plot, run, row, threads, row_at(run, row)->cell[ROW_THREADS_ASKED]);
    if (!analysis_counts(row_at(run, row)))
        return;
    struct chart_ratio ratio = chart_ratio_of(row_at(run, one), row_at(run, row));
    point->y = ratio.value;
    point->low = ratio.low;
    point->high = ratio.high;
    if (analysis_amdahl(&amdahl, run, one))
        point->fit = row_number(row_at(run, one), ROW_SECONDS_PER_STEP) / model_seconds(&amdahl, term);
}

int chart_plot_scaling(struct chart_plot *out, const struct chart_run *run, const struct chart_figure *figure,
                       struct cnn_error *error)
{
    *out = (struct chart_plot){ .script = "scaling.gp", .xname = "threads", .yname = "speedup", .unit = "x" };
    chart_titles(out, run, figure, "scaling");
    snprintf(out->xlabel, sizeof out->xlabel, "threads");
    snprintf(out->ylabel, sizeof out->ylabel, "speed-up over one thread of the same series");
    out->point = calloc((size_t)figure->row_count + 1, sizeof *out->point);
    int cores = chart_physical_cores(run);
    if (!out->point || asprintf(&out->extra, "cores = %d\ncores_text = '%d physical cores'\n", cores, cores) < 0)
        return no_memory(error, out);
    for (int i = 0; i < figure->row_count; i++) {
        int row = figure->row[i], one = one_thread(run, figure, row);
        if (one >= 0 && threads_of(row_at(run, row)) > 0)
            add_scaling(out, run, row, one);
    }
    if (out->point_count == 0)
        return cnn_error_set(error, CNN_SKIPPED, "no chart %s: no series was measured on one thread", out->name);
    caption_machine(out, row_at(run, figure->row[0]), "Dashed: ideal. Dotted: Amdahl's law, fitted (scaling.csv).");
    return chart_plot_finish(out, run, error);
}

/* ---- parts ---- */

/* The row of a series that stands for it: the first that was measured, else the first. -1: none in this phase. */
static int row_of_series(const struct chart_run *run, const char *phase, int series)
{
    int found = -1;
    for (int row = 0; row < run->rows.count; row++) {
        if (run->series_of[row] != series || strcmp(row_at(run, row)->cell[ROW_PHASE], phase))
            continue;
        if (chart_has_number(row_at(run, row)))
            return row;
        found = found < 0 ? row : found;
    }
    return found;
}

static void add_part(struct chart_plot *plot, const struct chart_run *run, int row, double *before)
{
    const struct row *of = row_at(run, row);
    double batch = row_number(of, ROW_BATCH), low = row_number(of, ROW_INTERVAL_LOW_SECONDS);
    struct chart_point *point = add(plot, run, row, plot->point_count + 1, of->cell[ROW_LABEL]);
    if (!chart_has_number(of))
        return;
    point->y = row_number(of, ROW_SECONDS_PER_STEP) / batch;
    point->low = isnan(low) ? point->y : low / batch;
    point->high = isnan(low) ? point->y : row_number(of, ROW_INTERVAL_HIGH_SECONDS) / batch;
    point->fit = *before > 0 ? *before : point->y; /* the first leads nowhere */
    *before = point->y;
}

int chart_plot_parts(struct chart_plot *out, const struct chart_run *run, const char *phase, struct cnn_error *error)
{
    double before = 0;
    int first = -1;
    *out = (struct chart_plot){ .script = "parts.gp", .xname = "step", .yname = "seconds_per_image", .unit = "s" };
    out->categories = true;
    out->rounded = true;
    snprintf(out->name, sizeof out->name, "parts-%s", phase);
    out->point = calloc((size_t)run->series_count + 1, sizeof *out->point);
    if (!out->point)
        return no_memory(error, out);
    for (int series = 0; series < run->series_count; series++) {
        int row = row_of_series(run, phase, series);
        first = first < 0 ? row : first;
        if (row >= 0)
            add_part(out, run, row, &before);
    }
    if (before <= 0)
        return cnn_error_set(error, CNN_SKIPPED, "no chart %s: no series has a number", out->name);
    const struct row *row = row_at(run, first);
    snprintf(out->title, sizeof out->title, "%s: %s", run->has_study ? run->study.title : row->cell[ROW_STUDY],
             chart_phase_noun(phase));
    snprintf(out->about, sizeof out->about, "%s, width %s, image %s", row->cell[ROW_NETWORK], row->cell[ROW_WIDTH],
             row->cell[ROW_IMAGE]);
    snprintf(out->ylabel, sizeof out->ylabel, "time of an image, %s", chart_phase_noun(phase));
    caption_machine(out, row, "Each bar leads from the time of the step before it to its own.");
    return CNN_OK;
}

/* ---- roofline ---- */

static bool ran_on(const struct row *row, const struct ceilings *ceilings, int device)
{
    int threads = (int)row_integer(row, ROW_THREADS), index = (int)row_integer(row, ROW_DEVICE_INDEX);
    return chart_has_number(row) && row_number(row, ROW_BYTES_PER_STEP) > 0 &&
           row_number(row, ROW_EXECUTED_FLOP_PER_STEP) > 0 &&
           ceilings_find(ceilings, row->cell[ROW_BACKEND], index > 0 ? index : 0, threads) == &ceilings->list[device];
}

static void add_row(struct chart_plot *plot, const struct chart_run *run, int row)
{
    const struct row *of = row_at(run, row);
    double flops = row_number(of, ROW_EXECUTED_FLOP_PER_STEP), intensity = flops / row_number(of, ROW_BYTES_PER_STEP);
    char text[CHART_WORD];
    snprintf(text, sizeof text, "%.4g", intensity);
    struct chart_point *point = add(plot, run, row, intensity, text);
    point->y = flops / row_number(of, ROW_SECONDS_PER_STEP);
    point->low = flops / row_number(of, ROW_INTERVAL_HIGH_SECONDS);
    point->high = flops / row_number(of, ROW_INTERVAL_LOW_SECONDS);
    if (isnan(point->low) || isnan(point->high))
        point->low = point->high = point->y;
}

static int by_value(const void *a, const void *b)
{
    const struct cnn_ceiling *left = a, *right = b;
    return (left->value < right->value) - (left->value > right->value);
}

/* The roofs, the highest first, as arrays of the .set file; *top becomes the highest rate. */
static char *roofs(const struct ceiling_set *set, double *top)
{
    static const struct {
        const char *count, *value;
        enum cnn_ceiling_kind kind;
        const char *unit;
    } kinds[] = { { "rates", "rate", CNN_CEILING_FMA, "GFLOP/s" }, { "slopes", "slope", CNN_CEILING_MEMORY, "GB/s" } };
    char *text = NULL;
    size_t size;
    struct cnn_ceiling list[CEILINGS_MAX];
    FILE *out = open_memstream(&text, &size);
    memcpy(list, set->list, sizeof list);
    qsort(list, (size_t)set->count, sizeof *list, by_value);
    for (int k = 0; out && k < 2; k++) {
        int count = 0;
        fprintf(out, "array %s[%d]\narray %s_text[%d]\n", kinds[k].value, CEILINGS_MAX, kinds[k].value, CEILINGS_MAX);
        for (int i = 0; i < set->count; i++) {
            if (list[i].kind != kinds[k].kind)
                continue;
            char value[CHART_WORD];
            snprintf(value, sizeof value, "%.4g", list[i].value * 1e-9);
            count++;
            fprintf(out, "%s[%d] = %.6g\n%s_text[%d] = '%s: %s %s'\n", kinds[k].value, count, list[i].value,
                    kinds[k].value, count, list[i].of, value, kinds[k].unit);
            *top = k == 0 ? fmax(*top, list[i].value) : *top;
        }
        fprintf(out, "%s = %d\n", kinds[k].count, count);
    }
    if (out && (ferror(out) | fclose(out))) {
        free(text);
        text = NULL;
    }
    return text;
}

/* An operation of layers.csv that has FLOPs, as a point of its row's series. */
static bool add_operation(struct chart_plot *plot, const struct chart_run *run, int row, const struct plain_csv *csv)
{
    double flops = plain_csv_number(csv, plain_csv_find(csv, "executed_flop"));
    double bytes = plain_csv_number(csv, plain_csv_find(csv, "bytes"));
    double seconds = plain_csv_number(csv, plain_csv_find(csv, "seconds"));
    int operation = plain_csv_find(csv, "operation"), name = plain_csv_find(csv, "name");
    char text[CHART_WORD];
    if (!(flops > 0 && bytes > 0 && seconds > 0) || operation < 0 || name < 0)
        return true;
    struct chart_point *more = realloc(plot->point, ((size_t)plot->point_count + 1) * sizeof *more);
    if (!more)
        return false;
    plot->point = more;
    snprintf(text, sizeof text, "%.24s %.36s", csv->cell[name], csv->cell[operation]);
    struct chart_point *point = add(plot, run, row, flops / bytes, text);
    point->y = point->low = point->high = flops / seconds;
    return true;
}

/* Adds the operations of the rows that ran there; *first becomes the first of these rows. Without layers.csv there are
 * none. */
static bool add_operations(struct chart_plot *plot, const struct chart_run *run, const struct ceilings *ceilings,
                           int device, int *first)
{
    char path[4096];
    struct plain_csv csv;
    bool fine = true;
    snprintf(path, sizeof path, "%.4000s/layers.csv", run->folder);
    bool opened = plain_csv_open(&csv, path);
    int column = opened ? plain_csv_find(&csv, "row") : -1;
    while (fine && column >= 0 && plain_csv_next(&csv)) {
        int row = (int)plain_csv_number(&csv, column) - 1;
        if (row < 0 || row >= run->rows.count || !ran_on(row_at(run, row), ceilings, device))
            continue;
        *first = *first < 0 ? row : *first;
        fine = add_operation(plot, run, row, &csv);
    }
    plain_csv_close(&csv);
    return fine;
}

int chart_plot_roofline(struct chart_plot *out, const struct chart_run *run, const struct ceilings *ceilings,
                        int device, bool by_layer, struct cnn_error *error)
{
    const struct ceiling_set *set = &ceilings->list[device];
    char threads[32] = "", words[CHART_TEXT];
    int first = -1;
    if (set->threads > 0)
        snprintf(threads, sizeof threads, "-%d-thread%s", set->threads, set->threads > 1 ? "s" : "");
    *out = (struct chart_plot){ .script = "roofline.gp", .yname = "flop_per_second" };
    out->xname = by_layer ? "operation" : "flop_per_byte";
    out->unit = "";
    out->rounded = true;
    snprintf(out->name, sizeof out->name, "roofline-%s%s%s%.0d%s", set->backend, threads, set->index ? "-" : "",
             set->index, by_layer ? "-layers" : "");
    out->point = calloc((size_t)run->rows.count + 1, sizeof *out->point);
    out->extra = roofs(set, &out->top);
    if (!out->point || !out->extra)
        return no_memory(error, out);
    if (by_layer && !add_operations(out, run, ceilings, device, &first))
        return no_memory(error, out);
    for (int row = 0; row < run->rows.count && !by_layer; row++) {
        if (!ran_on(row_at(run, row), ceilings, device))
            continue;
        first = first < 0 ? row : first;
        add_row(out, run, row);
    }
    if (first < 0)
        return cnn_error_set(error, CNN_SKIPPED, "no chart %s: no row ran there", out->name);
    snprintf(out->title, sizeof out->title, "%s: what the device can do and what is done",
             run->has_study ? run->study.title : row_at(run, first)->cell[ROW_STUDY]);
    snprintf(out->about, sizeof out->about, "%s", set->device);
    snprintf(out->xlabel, sizeof out->xlabel, "executed FLOPs per byte, every operation's tensors once");
    snprintf(out->ylabel, sizeof out->ylabel, "executed FLOP/s");
    snprintf(words, sizeof words, "%sRoofs measured %.10s (ceilings.json).",
             by_layer ? "Operations one by one (layers.csv). " : "", ceilings->measured);
    caption_machine(out, row_at(run, first), words);
    return chart_plot_finish(out, run, error);
}
