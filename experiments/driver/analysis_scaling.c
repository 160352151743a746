/* SPDX-License-Identifier: MIT */
/* How time falls with threads. Strong: the same step on more of them; weak: as many images more. Through the strong
 * points goes Amdahl's line, T(n) = T(1) (f + (1 - f) / n), fitted as any other model: a fixed cost and one for 1 / n.
 */
#include "experiments/driver/analysis_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "phase,series,scaling,threads,batch,seconds,low,high,speedup,speedup_low,speedup_high,"
                             "efficiency,machine_efficiency,amdahl_seconds,serial_fraction,serial_low,serial_high,"
                             "lost_seconds,lost_machine,lost_barriers,lost_memory,lost_rest,place\n";

/* Rows that differ in threads (weak: and in images, as many for each thread) alone, by ascending threads; the first has
 * one thread. */
struct group {
    const struct chart_run *run;
    const struct ceilings *ceilings; /* count 0: not known */
    bool weak;
    int *row;
    int count;
    struct model amdahl;
    bool fitted;
    double serial, serial_low, serial_high; /* NAN where there is none */
};

static double threads_of(const struct row *row)
{
    return row_number(row, ROW_THREADS);
}

static double seconds_of(const struct group *group, int i)
{
    return row_number(&group->run->rows.list[group->row[i]], ROW_SECONDS_PER_STEP);
}

/* Stable, and run by as many threads as were asked for: a small step runs on fewer. */
static bool is_member(const struct row *row)
{
    return analysis_counts(row) && threads_of(row) > 0 && threads_of(row) == row_number(row, ROW_THREADS_ASKED);
}

static unsigned differs(bool weak)
{
    return analysis_axis_bit(ROW_THREADS_ASKED) | (weak ? analysis_axis_bit(ROW_BATCH) : 0);
}

static bool belongs(const struct group *group, int first, int row)
{
    const struct row *a = &group->run->rows.list[first], *b = &group->run->rows.list[row];
    return is_member(b) && analysis_alike(group->run, first, row, differs(group->weak)) &&
           (!group->weak || row_number(b, ROW_BATCH) == threads_of(b) * row_number(a, ROW_BATCH));
}

/* The group whose row of one thread is `first`. */
static void fill(struct group *group, int first)
{
    group->count = 0;
    for (int row = 0; row < group->run->rows.count; row++) {
        int at = group->count;
        if (!belongs(group, first, row))
            continue;
        double threads = threads_of(&group->run->rows.list[row]);
        for (; at > 0 && threads_of(&group->run->rows.list[group->row[at - 1]]) > threads; at--)
            group->row[at] = group->row[at - 1];
        group->row[at] = row;
        group->count++;
    }
}

/* f = a / (a + b) of T = a + b / n; its deviation to first order. */
static void set_serial(struct group *group)
{
    const double *v = group->amdahl.covariance;
    double a = group->amdahl.cost[0], b = group->amdahl.cost[1], sum = a + b;
    double variance = (b * b * v[0] + a * a * v[MODEL_TERMS_MAX + 1] - 2 * a * b * v[1]) / (sum * sum * sum * sum);
    double half = model_student(group->count - 2) * sqrt(variance);
    group->serial = a / sum;
    group->serial_low = isnan(half) ? NAN : fmax(group->serial - half, 0);
    group->serial_high = isnan(half) ? NAN : fmin(group->serial + half, 1);
}

static bool fit(struct group *group)
{
    struct model_point *points = malloc((size_t)group->count * sizeof *points);
    group->serial = group->serial_low = group->serial_high = NAN;
    group->fitted = false;
    if (!points)
        return false;
    for (int i = 0; i < group->count; i++)
        points[i] =
            (struct model_point){ seconds_of(group, i), { 1, 1 / threads_of(&group->run->rows.list[group->row[i]]) } };
    group->fitted = !group->weak && group->count > 2 && model_fit(&group->amdahl, points, group->count, 2);
    if (group->fitted)
        set_serial(group);
    free(points);
    return true;
}

/* Multiply-adds of the row's threads over those of one, in its instruction set; NAN where that was not measured. */
static double machine_gain(const struct group *group, const struct row *row)
{
    double rate[2] = { NAN, NAN };
    for (int i = 0; i < 2; i++) {
        int threads = i ? (int)threads_of(row) : 1;
        const struct ceiling_set *set = ceilings_find(group->ceilings, row->cell[ROW_BACKEND], 0, threads);
        for (int c = 0; set && set->threads == threads && c < set->count; c++)
            if (set->list[c].kind == CNN_CEILING_FMA && strcmp(set->list[c].of, row->cell[ROW_ISA]) == 0)
                rate[i] = set->list[c].value;
    }
    return rate[1] / rate[0];
}

/* Seconds beyond the ideal, and what of them measured limits explain: cores that are slower together, empty passes,
 * bandwidth that the ideal would exceed. What is left is uneven work and all else. NAN where a limit is not known. */
struct loss {
    double all, machine, barriers, memory, rest;
};

static struct loss loss_of(const struct group *group, int i, double gain)
{
    const struct row *row = &group->run->rows.list[group->row[i]];
    double ideal = seconds_of(group, 0) / (group->weak ? 1 : threads_of(row));
    struct loss loss = { .all = seconds_of(group, i) - ideal };
    loss.machine = fmax(ideal * (threads_of(row) / gain - 1), 0);
    loss.barriers = row_number(row, ROW_LATENCY_LIMIT_SECONDS);
    loss.memory = fmax(row_number(row, ROW_MEMORY_LIMIT_SECONDS) - ideal, 0);
    if (isnan(gain) || isnan(row_number(row, ROW_MEMORY_LIMIT_SECONDS)))
        loss.machine = loss.memory = NAN; /* fmax() takes a NAN for nothing */
    loss.rest = loss.all - loss.machine - loss.barriers - loss.memory;
    return loss;
}

static void print_line(const struct group *group, struct analysis_out *out, int i, const char *place)
{
    const struct row *row = &group->run->rows.list[group->row[i]], *one = &group->run->rows.list[group->row[0]];
    double threads = threads_of(row), low = row_number(row, ROW_INTERVAL_LOW_SECONDS),
           high = row_number(row, ROW_INTERVAL_HIGH_SECONDS), scale = group->weak ? threads : 1;
    double speedup = scale * seconds_of(group, 0) / seconds_of(group, i);
    const double term[] = { 1, 1 / threads };
    double gain = machine_gain(group, row);
    struct loss loss = loss_of(group, i, gain);
    const double numbers[] = { seconds_of(group, i),
                               low,
                               high,
                               speedup,
                               scale * row_number(one, ROW_INTERVAL_LOW_SECONDS) / high,
                               scale * row_number(one, ROW_INTERVAL_HIGH_SECONDS) / low,
                               speedup / threads,
                               speedup / gain,
                               group->fitted ? model_seconds(&group->amdahl, term) : NAN,
                               group->serial,
                               group->serial_low,
                               group->serial_high,
                               loss.all,
                               loss.machine,
                               loss.barriers,
                               loss.memory,
                               loss.rest };
    fprintf(out->csv, "%s,%s,%s,%g,%s", row->cell[ROW_PHASE], row->cell[ROW_SERIES], group->weak ? "weak" : "strong",
            threads, row->cell[ROW_BATCH]);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        analysis_print_number(out->csv, numbers[n]);
    analysis_print_text(out->csv, place);
    fputc('\n', out->csv);
    out->lines++;
}

static void print_words(const struct group *group, const struct analysis_out *out, const char *place, bool first)
{
    const struct row *last = &group->run->rows.list[group->row[group->count - 1]];
    double threads = threads_of(last), speedup = seconds_of(group, 0) / seconds_of(group, group->count - 1);
    if (!out->text)
        return;
    if (first)
        fputs("\nScaling over threads: speed-up over one thread of the same series (weak: as many images more)\n",
              out->text);
    speedup *= group->weak ? threads : 1;
    fprintf(out->text, "  %s, %s, %s, %s: %g threads are %.2f times one (efficiency %.0f %%)",
            chart_phase_noun(last->cell[ROW_PHASE]), place, last->cell[ROW_LABEL], group->weak ? "weak" : "strong",
            threads, speedup, 100 * speedup / threads);
    if (group->fitted)
        fprintf(out->text, "; serial fraction %.3f (%.3f to %.3f)", group->serial, group->serial_low,
                group->serial_high);
    struct loss loss = loss_of(group, group->count - 1, machine_gain(group, last));
    if (loss.all > 0 && !isnan(loss.rest))
        fprintf(out->text, "; lost: machine %.0f %%, barriers %.0f %%, memory %.0f %%, rest %.0f %%",
                100 * loss.machine / loss.all, 100 * loss.barriers / loss.all, 100 * loss.memory / loss.all,
                100 * loss.rest / loss.all);
    fputc('\n', out->text);
}

bool analysis_amdahl(struct model *out, const struct chart_run *run, int row)
{
    struct group group = { .run = run, .row = malloc(((size_t)run->rows.count + 1) * sizeof *group.row) };
    if (group.row && is_member(&run->rows.list[row])) {
        fill(&group, row);
        fit(&group);
    }
    free(group.row);
    *out = group.amdahl;
    return group.fitted;
}

int analysis_scaling(const struct chart_run *run, struct analysis_out *out, struct cnn_error *error)
{
    struct ceilings ceilings;
    struct cnn_error none;
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/" CEILINGS_FILE, run->folder);
    ceilings_read(&ceilings, path, NULL, &none); /* runs of older programs have none */
    struct group group = { .run = run, .ceilings = &ceilings };
    group.row = malloc(((size_t)run->rows.count + 1) * sizeof *group.row);
    int status = group.row ? CNN_OK : CNN_OOM;
    fputs(header, out->csv);
    for (int kind = 0; kind < 2 * run->rows.count && status == CNN_OK; kind++) {
        int first = kind / 2;
        const struct row *row = &run->rows.list[first];
        char place[CHART_TEXT];
        group.weak = kind % 2;
        if (!is_member(row) || threads_of(row) != 1)
            continue;
        fill(&group, first);
        if (group.count < 2)
            continue;
        status = fit(&group) ? CNN_OK : CNN_OOM;
        analysis_place(run, first, differs(group.weak), place, sizeof place);
        if (group.weak) { /* groups differ in the images of a thread */
            size_t used = strlen(place);
            snprintf(place + used, sizeof place - used, ", %s a thread", row->cell[ROW_BATCH]);
        }
        print_words(&group, out, place, out->lines == 0);
        for (int i = 0; i < group.count; i++)
            print_line(&group, out, i, place);
    }
    ceilings_free(&ceilings);
    free(group.row);
    return status == CNN_OK ? CNN_OK
                            : cnn_error_set(error, CNN_OOM, "analysis: no memory for %d rows", run->rows.count);
}
