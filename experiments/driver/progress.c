/* SPDX-License-Identifier: MIT */
/* The progress line. The time left is a forecast by work (FLOPs, the oracle's part of it, the budgets of the study)
 * that is corrected by the time that the points so far have really taken. */
#include "experiments/driver/progress.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* FLOP/s until the first points have shown better: plain loops, tuned kernels of one core, a GPU */
#define GUESSED_FLOPS_PLAIN 2e9
#define GUESSED_FLOPS_TUNED 2e10
#define GUESSED_FLOPS_GPU 5e11
#define PROCESS_SECONDS 0.05     /* to start one */
#define TRUST_SECONDS 2.0        /* the forecast counts as much as this much experience */
#define TRAIN_IMAGES_GUESS 60000 /* of a data set without limit */
#define TEST_IMAGES_GUESS 10000
#define DISTORT_SECONDS 6e-5 /* an image, elastic */

static double guessed_flops(const struct point *point)
{
    if (!strcmp(point->algorithm, "naive") || !strcmp(point->isa, "scalar"))
        return GUESSED_FLOPS_PLAIN;
    return strcmp(point->backend, "cuda") ? GUESSED_FLOPS_TUNED : GUESSED_FLOPS_GPU;
}

static double accuracy_cost(const struct point *point, const struct cnn_network *network)
{
    double train = point->train_limit > 0 ? point->train_limit : TRAIN_IMAGES_GUESS;
    double test = point->test_limit > 0 ? point->test_limit : TEST_IMAGES_GUESS;
    double distort = *point->distort && strcmp(point->distort, "none") ? train * DISTORT_SECONDS : 0;
    return point->epochs * distort +
           point->epochs *
               (train * (double)cnn_network_flops_train(network, 1, false) + test * 2.0 * (double)network->macs) /
               guessed_flops(point);
}

/* Samples end between the smallest number and the budget; the middle is as good a guess as any. */
static double samples_cost(const struct point *point, double step)
{
    double sample = fmax(step, point->min_time), least = point->min_samples * sample;
    return fmax(point->warmup, sample) + fmax(least, (least + point->max_time) / 2);
}

double progress_cost(const struct point *point, const struct cnn_network *network)
{
    if (!network)
        return 0;
    bool train = point->phase == POINT_TRAIN || point->phase == POINT_ACCURACY;
    struct verify_extent extent = verify_extent(network, point->batch, train);
    double step = (train ? 6.0 : 2.0) * (double)network->macs * point->batch / guessed_flops(point);
    double gate = extent.distinct * verify_oracle_seconds(network, extent.gradient) + step;
    if (extent.stand_in) /* two steps of one image */
        gate += 2 * 6.0 * (double)network->macs / GUESSED_FLOPS_PLAIN;
    return PROCESS_SECONDS + gate +
           (point->phase == POINT_ACCURACY ? accuracy_cost(point, network) : samples_cost(point, step));
}

double progress_left(double elapsed, double cost_done, double cost_left)
{
    return cost_left * (elapsed + TRUST_SECONDS) / (cost_done + TRUST_SECONDS);
}

void progress_duration(double seconds, char *out, size_t size)
{
    double minutes = ceil(seconds / 60);
    if (seconds < 99.5)
        snprintf(out, size, "%.0f s", seconds);
    else if (minutes < 100)
        snprintf(out, size, "%.0f min", minutes);
    else
        snprintf(out, size, "%.0f h %.0f min", floor(minutes / 60), fmod(minutes, 60));
}

/* Bytes of the longest beginning with at most `columns` characters. */
static size_t cut(const char *text, int columns)
{
    size_t at = 0;
    for (; text[at]; at++) {
        bool begins = ((unsigned char)text[at] & 0xc0) != 0x80; /* not a continuation byte of UTF-8 */
        if (begins && columns-- <= 0)
            break;
    }
    return at;
}

void progress_line(char *out, size_t size, int number, int count, const char *title, double left, int columns)
{
    char head[48], time[32], tail[64];
    progress_duration(left, time, sizeof time);
    snprintf(head, sizeof head, "[%d/%d] ", number, count);
    snprintf(tail, sizeof tail, ", about %s left", time);
    int room = columns - (int)strlen(head) - (int)strlen(tail);
    if (room < 8)
        snprintf(out, size, "%.*s", columns > 0 ? columns : 0, head);
    else
        snprintf(out, size, "%s%.*s%s", head, (int)cut(title, room), title, tail);
}

void progress_open(struct progress *progress, const struct schedule *schedule, bool quiet)
{
    const char *terminal = getenv("TERM");
    *progress = (struct progress){
        .live = !quiet && isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0),
        .count = schedule->count,
        .done = schedule->count - schedule->places,
        .cost = schedule->cost,
        .start = clock_seconds(),
    };
    for (int i = 0; i < schedule->places; i++)
        progress->cost_left += schedule->cost[schedule->order[i]];
}

double progress_expected(const struct progress *progress, double cost)
{
    return progress_left(clock_seconds() - progress->start, progress->cost_done, cost);
}

static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void progress_show(struct progress *progress, const struct point *point)
{
    if (!progress->live)
        return;
    char title[512], line[1024];
    double left = progress_expected(progress, progress->cost_left);
    point_title(point, title, sizeof title);
    progress_line(line, sizeof line, progress->done + 1, progress->count, title, left, terminal_columns() - 1);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    progress->shown = true;
}

void progress_done(struct progress *progress, int index, bool ran)
{
    progress->done++;
    progress->cost_left -= progress->cost[index];
    progress->cost_done += ran ? progress->cost[index] : 0;
}

void progress_clear(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
