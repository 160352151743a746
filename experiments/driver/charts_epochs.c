/* SPDX-License-Identifier: MIT */
/* Training runs as points: test error or training loss against epochs, or against the seconds that training took. Runs
 * that differ by their seed alone are one line and the band around it. */
#include "experiments/driver/charts_parts.h"
#include "experiments/driver/plain_csv.h"
#include "experiments/driver/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATH_TEXT 4096

static bool in_figure(const struct chart_figure *figure, int row)
{
    for (int i = 0; i < figure->row_count; i++)
        if (figure->row[i] == row)
            return true;
    return false;
}

/* One epoch of one run. */
struct reading {
    int series, epoch;
    double x, y;
};

struct readings {
    int count;
    size_t room;
    struct reading *list;
};

static bool add_reading(struct readings *readings, const struct reading *reading)
{
    if ((size_t)readings->count == readings->room) {
        readings->room = readings->room ? 2 * readings->room : 64;
        struct reading *more = realloc(readings->list, readings->room * sizeof *more);
        if (!more)
            return false;
        readings->list = more;
    }
    readings->list[readings->count++] = *reading;
    return true;
}

/* Seconds add up over the epochs of a row, which stand together in the file. */
static int read_epochs(struct readings *readings, const struct chart_run *run, const struct chart_part *part,
                       const struct chart_figure *figure, const char *kind, bool over_seconds, struct plain_csv *csv)
{
    const int row_at = plain_csv_find(csv, "row"), epoch_at = plain_csv_find(csv, "epoch");
    const int seconds_at = plain_csv_find(csv, "train_seconds"), accuracy_at = plain_csv_find(csv, "test_accuracy");
    const int loss_at = plain_csv_find(csv, "train_loss");
    double seconds = 0;
    int last = -1;
    bool accuracy = strcmp(kind, "accuracy") == 0;
    if (row_at < 0 || epoch_at < 0 || seconds_at < 0 || accuracy_at < 0 || loss_at < 0)
        return CNN_INVALID;
    while (plain_csv_next(csv)) {
        int row = part->first_row + (int)plain_csv_number(csv, row_at) - 1;
        seconds = (row == last ? seconds : 0) + plain_csv_number(csv, seconds_at);
        last = row;
        if (row < 0 || row >= run->rows.count || !in_figure(figure, row))
            continue;
        struct reading reading = { .series = run->series_of[row], .epoch = (int)plain_csv_number(csv, epoch_at) };
        reading.x = over_seconds ? seconds : plain_csv_number(csv, epoch_at);
        reading.y = accuracy ? 100 * (1 - plain_csv_number(csv, accuracy_at)) : plain_csv_number(csv, loss_at);
        if (isfinite(reading.x) && !add_reading(readings, &reading))
            return CNN_OOM;
    }
    return CNN_OK;
}

static int compare_readings(const void *a, const void *b)
{
    const struct reading *left = a, *right = b;
    return left->series != right->series ? left->series - right->series : left->epoch - right->epoch;
}

/* The same epoch of runs that differ by their seed: the median of each coordinate, and the whole range. */
static struct chart_point summed_up(const struct reading *list, int count, double *xs, double *ys)
{
    struct chart_point point = { .series = list->series, .y = NAN, .low = NAN, .high = NAN, .samples = count };
    int finite = 0;
    for (int i = 0; i < count; i++) {
        statistics_insert(xs, i, list[i].x);
        if (isfinite(list[i].y))
            statistics_insert(ys, finite++, list[i].y);
    }
    point.x = statistics_quantile(xs, count, 0.5);
    snprintf(point.text, sizeof point.text, "%.6g", point.x);
    snprintf(point.status, sizeof point.status, "%s", finite == count ? "ok" : "error");
    if (finite == count) {
        point.y = statistics_quantile(ys, count, 0.5);
        point.low = ys[0];
        point.high = ys[count - 1];
    }
    return point;
}

static int make_points(struct chart_plot *plot, struct readings *readings)
{
    size_t count = (size_t)readings->count;
    double *sorted = malloc((2 * count + 1) * sizeof *sorted);
    plot->point = malloc((count + 1) * sizeof *plot->point);
    if (count > 0 && sorted && plot->point)
        qsort(readings->list, count, sizeof *readings->list, compare_readings);
    for (int first = 0, next; sorted && plot->point && first < readings->count; first = next) {
        for (next = first + 1; next < readings->count; next++)
            if (compare_readings(&readings->list[first], &readings->list[next]) != 0)
                break;
        plot->point[plot->point_count++] = summed_up(&readings->list[first], next - first, sorted, sorted + count);
    }
    int status = sorted && plot->point ? CNN_OK : CNN_OOM;
    free(sorted);
    return status;
}

/* A training run without any epoch still belongs to its figure, to be named below it. */
static int add_absent(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure)
{
    size_t room = (size_t)plot->point_count + (size_t)figure->row_count;
    struct chart_point *more = realloc(plot->point, (room + 1) * sizeof *more);
    if (!more)
        return CNN_OOM;
    plot->point = more;
    for (int i = 0; i < figure->row_count; i++) {
        const struct row *row = &run->rows.list[figure->row[i]];
        int series = run->series_of[figure->row[i]];
        bool there = false;
        for (int p = 0; p < plot->point_count; p++)
            there = there || plot->point[p].series == series;
        if (there)
            continue;
        struct chart_point *point = &plot->point[plot->point_count++];
        *point = (struct chart_point){ .series = series, .x = 1, .y = NAN, .low = NAN, .high = NAN };
        snprintf(point->status, sizeof point->status, "%s", row->cell[ROW_STATUS]);
    }
    return CNN_OK;
}

static void set_words(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure,
                      const char *kind, bool over_seconds)
{
    bool accuracy = strcmp(kind, "accuracy") == 0;
    *plot = (struct chart_plot){ .script = accuracy ? "accuracy.gp" : "loss.gp",
                                 .xname = over_seconds ? "seconds" : "epoch",
                                 .yname = accuracy ? "test_error_percent" : "train_loss",
                                 .unit = accuracy ? "%" : "",
                                 .log_x = over_seconds };
    chart_titles(plot, run, figure, kind);
    size_t used = strlen(plot->name);
    snprintf(plot->name + used, sizeof plot->name - used, "-%s", over_seconds ? "seconds" : "epochs");
    snprintf(plot->xlabel, sizeof plot->xlabel, "%s", over_seconds ? "seconds of training" : "epochs");
    snprintf(plot->ylabel, sizeof plot->ylabel, "%s", accuracy ? "test error" : "training loss");
}

static int read_part(struct readings *readings, const struct chart_run *run, const struct chart_part *part,
                     const struct chart_figure *figure, const char *kind, bool over_seconds, struct cnn_error *error)
{
    char path[PATH_TEXT];
    struct plain_csv csv;
    snprintf(path, sizeof path, "%s/epochs.csv", part->folder);
    bool opened = plain_csv_open(&csv, path);
    if (!csv.file)
        return cnn_error_set(error, CNN_SKIPPED, "there is no %s", path);
    int status = opened ? read_epochs(readings, run, part, figure, kind, over_seconds, &csv) : CNN_INVALID;
    plain_csv_close(&csv);
    if (status == CNN_INVALID)
        cnn_error_set(error, CNN_INVALID,
                      "%s: expected a header with row, epoch, train_loss, test_accuracy and train_seconds", path);
    return status;
}

static void add_caption(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure)
{
    const struct row *first = &run->rows.list[figure->row[0]];
    char runs[CHART_TEXT];
    int most = 1;
    for (int i = 0; i < plot->point_count; i++)
        most = plot->point[i].samples > most ? plot->point[i].samples : most;
    if (most > 1)
        snprintf(runs, sizeof runs, "lines: medians of up to %d seeds, bands: from the least to the greatest", most);
    else
        snprintf(runs, sizeof runs, "seed %s; one run each", first->cell[ROW_SEED]);
    char where[CHART_TEXT] = "Runs of several machines or times, as named";
    if (!run->several)
        snprintf(where, sizeof where, "Machine %s, %.10s", first->cell[ROW_MACHINE], first->cell[ROW_STARTED]);
    chart_caption(plot, "%s. Data %s: %s training and %s test images; batch %s; %s.", where, first->cell[ROW_DATA],
                  first->cell[ROW_TRAIN_IMAGES], first->cell[ROW_TEST_IMAGES], first->cell[ROW_BATCH], runs);
}

int chart_plot_epochs(struct chart_plot *out, const struct chart_run *run, const struct chart_figure *figure,
                      const char *kind, bool over_seconds, struct cnn_error *error)
{
    struct readings readings = { 0 };
    const struct chart_part own = { run->folder, 0 }, *part = run->parts ? run->part : &own;
    int status = CNN_OK;
    set_words(out, run, figure, kind, over_seconds);
    for (int i = 0; i < (run->parts ? run->parts : 1) && status == CNN_OK; i++)
        status = read_part(&readings, run, &part[i], figure, kind, over_seconds, error);
    if (status == CNN_OK)
        status = make_points(out, &readings);
    free(readings.list);
    if (status == CNN_SKIPPED)
        return cnn_error_prefix(error, "no chart %s", out->name);
    if (status == CNN_INVALID)
        return status;
    if (status != CNN_OK || add_absent(out, run, figure))
        return cnn_error_set(error, CNN_OOM, "charts: no memory for the epochs of %s", out->name);
    add_caption(out, run, figure);
    return chart_plot_finish(out, run, error);
}
