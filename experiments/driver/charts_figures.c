/* SPDX-License-Identifier: MIT */
/* Which figures a run's rows make. A row lies in a space of axes; a figure is a cut through it along one axis. */
#include "experiments/driver/charts_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which an axis is preferred below a figure: sizes first. */
const struct chart_axis chart_axes[] = {
    { ROW_WIDTH, "width", "width (multiple of the network's maps and units)", true },
    { ROW_DEPTH, "depth", "depth (times the repeated block)", true },
    { ROW_IMAGE, "image", "image side (pixels)", true },
    { ROW_BATCH, "batch", "batch (images per step)", true },
    { ROW_THREADS_ASKED, "threads", "threads", true },
    { ROW_NETWORK, "network", "network", false },
    { ROW_CONNECTIONS, "connections", "connections", false },
    { ROW_PRECISION, "precision", "precision", false },
    { ROW_ISA, "isa", "instruction set", false },
    { ROW_COPIES, "copies", "copies", false },
    { ROW_LAUNCH, "launch", "launch", false },
    { ROW_SEED, "seed", "seed", false },
};
const int chart_axis_count = sizeof chart_axes / sizeof *chart_axes;

#define AXES_MAX (sizeof chart_axes / sizeof *chart_axes)
#define VALUES_MAX 64 /* of an axis, when axes are compared by length */

/* The rows of one phase on their way into figures. */
struct choice {
    const struct chart_run *run;
    const char *phase;
    bool varies[AXES_MAX];
    bool *drawn; /* of each row */
    struct chart_figures *figures;
};

static const char *cell(const struct choice *choice, int row, int axis)
{
    return choice->run->rows.list[row].cell[chart_axes[axis].column];
}

bool chart_cell_any(const struct chart_axis *axis, const struct row *row)
{
    const char *text = row->cell[axis->column];
    return *text == '\0' || (axis->column == ROW_THREADS_ASKED && strcmp(text, "0") == 0);
}

static bool any(const struct choice *choice, int row, int axis)
{
    return chart_cell_any(&chart_axes[axis], &choice->run->rows.list[row]);
}

static bool in_phase(const struct choice *choice, int row)
{
    return strcmp(choice->run->rows.list[row].cell[ROW_PHASE], choice->phase) == 0;
}

/* An axis varies if some series has two of its values: what a series fixes for itself is no axis. Seeds of training
 * runs are none either, they make bands. */
static int find_varying(struct choice *choice)
{
    const struct chart_run *run = choice->run;
    int *first = malloc(((size_t)run->series_count + 1) * sizeof *first);
    if (!first)
        return CNN_OOM;
    for (int axis = 0; axis < chart_axis_count; axis++) {
        if (chart_axes[axis].column == ROW_SEED && !strcmp(choice->phase, "accuracy"))
            continue;
        for (int i = 0; i < run->series_count; i++)
            first[i] = -1;
        for (int row = 0; row < run->rows.count && !choice->varies[axis]; row++) {
            int *seen = &first[run->series_of[row]];
            if (!in_phase(choice, row) || any(choice, row, axis))
                continue;
            if (*seen < 0)
                *seen = row;
            choice->varies[axis] = strcmp(cell(choice, *seen, axis), cell(choice, row, axis)) != 0;
        }
    }
    free(first);
    return CNN_OK;
}

/* True if the two rows agree in every varying axis but `along` (-1: in all). */
static bool same_cut(const struct choice *choice, int a, int b, int along)
{
    for (int axis = 0; axis < chart_axis_count; axis++)
        if (choice->varies[axis] && axis != along && !any(choice, a, axis) && !any(choice, b, axis) &&
            strcmp(cell(choice, a, axis), cell(choice, b, axis)))
            return false;
    return true;
}

static bool is_whole(const struct choice *choice, int row, int along)
{
    for (int axis = 0; axis < chart_axis_count; axis++)
        if (choice->varies[axis] && axis != along && any(choice, row, axis))
            return false;
    return true;
}

static void append(char *text, size_t size, const char *separator, const char *name, const char *value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s%s", used ? separator : "", name, value);
}

/* Letters, digits and dots of a value; the rest becomes '-'. */
static void append_to_name(char *text, size_t size, const char *name, const char *value)
{
    char word[CHART_WORD];
    snprintf(word, sizeof word, "%s", value);
    for (char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.')
            *c = '-';
    append(text, size, "-", name, "");
    append(text, size, "-", "", word);
}

/* The row whose cell stands for the axis in this figure, -1: none has one. *shared: all rows that have one agree. */
static int find_shared(const struct choice *choice, const struct chart_figure *figure, int axis, bool *shared)
{
    int shown = -1;
    *shared = true;
    for (int i = 0; i < figure->row_count; i++) {
        int row = figure->row[i];
        if (any(choice, row, axis))
            continue;
        if (shown < 0)
            shown = row;
        *shared = *shared && strcmp(cell(choice, shown, axis), cell(choice, row, axis)) == 0;
    }
    return shown;
}

/* The figure's name says what tells it from other cuts; its words say what its rows share, the network first. */
static void describe(const struct choice *choice, struct chart_figure *figure, int along)
{
    if (along >= 0) /* else the kind of the figure says enough */
        snprintf(figure->suffix, sizeof figure->suffix, "%s-%s", choice->phase, chart_axes[along].name);
    if (along < 0 || chart_axes[along].column != ROW_NETWORK)
        append(figure->common, sizeof figure->common, "", "", choice->run->rows.list[figure->row[0]].cell[ROW_NETWORK]);
    for (int axis = 0; axis < chart_axis_count; axis++) {
        bool shared;
        int shown = axis == along ? -1 : find_shared(choice, figure, axis, &shared);
        enum row_column column = chart_axes[axis].column;
        if (shown < 0)
            continue;
        if (choice->varies[axis])
            append_to_name(figure->suffix, sizeof figure->suffix, chart_axes[axis].name, cell(choice, shown, axis));
        char name[CHART_WORD];
        snprintf(name, sizeof name, "%s ", chart_axes[axis].name);
        if (choice->varies[axis] && shared)
            append(figure->cut, sizeof figure->cut, ", ", name, cell(choice, shown, axis));
        bool told = choice->varies[axis] || (column != ROW_THREADS_ASKED && column != ROW_SEED);
        if (!shared || column == ROW_NETWORK || column == ROW_ISA || !told)
            continue;
        append(figure->common, sizeof figure->common, ", ", column == ROW_PRECISION ? "" : name,
               cell(choice, shown, axis));
    }
}

/* Appends the figure of all rows in the same cut as `like`. */
static int add_figure(struct choice *choice, int like, int along)
{
    struct chart_figures *figures = choice->figures;
    if (figures->count == CHART_CUTS_MAX)
        return CNN_OK;
    int count = choice->run->rows.count;
    struct chart_figure *figure = &figures->list[figures->count];
    *figure = (struct chart_figure){ .phase = choice->phase, .axis = &chart_axes[along < 0 ? 0 : along] };
    figure->row = malloc((size_t)count * sizeof *figure->row);
    if (!figure->row)
        return CNN_OOM;
    figures->count++;
    for (int row = 0; row < count; row++)
        if (in_phase(choice, row) && same_cut(choice, like, row, along))
            figure->row[figure->row_count++] = row;
    describe(choice, figure, along);
    return CNN_OK;
}

/* Marks the rows in the cut of `like` as seen; returns whether they are worth a figure: two values along the axis, and
 * some row that no figure shows yet. */
static bool visit_cut(struct choice *choice, bool *seen, int like, int along)
{
    bool line = false, fresh = false;
    int first = -1;
    for (int row = 0; row < choice->run->rows.count; row++) {
        if (!in_phase(choice, row) || !same_cut(choice, like, row, along))
            continue;
        seen[row] = seen[row] || is_whole(choice, row, along);
        fresh = fresh || !choice->drawn[row];
        if (any(choice, row, along))
            continue;
        if (first < 0)
            first = row;
        line = line || strcmp(cell(choice, first, along), cell(choice, row, along)) != 0;
    }
    return line && fresh;
}

static int add_cuts(struct choice *choice, int along)
{
    int count = choice->run->rows.count;
    bool *seen = calloc((size_t)count + 1, sizeof *seen);
    bool *now = malloc(((size_t)count + 1) * sizeof *now); /* drawn along this axis */
    int status = seen && now ? CNN_OK : CNN_OOM;
    if (now)
        memcpy(now, choice->drawn, (size_t)count * sizeof *now);
    for (int row = 0; row < count && status == CNN_OK; row++) {
        if (!in_phase(choice, row) || seen[row] || !is_whole(choice, row, along) ||
            !visit_cut(choice, seen, row, along))
            continue;
        status = add_figure(choice, row, along);
        for (int other = 0; other < count; other++)
            now[other] = now[other] || (in_phase(choice, other) && same_cut(choice, row, other, along));
    }
    if (status == CNN_OK)
        memcpy(choice->drawn, now, (size_t)count * sizeof *now);
    free(seen);
    free(now);
    return status;
}

/* A figure for each cut that none shows yet. `along` -1: rows of a figure agree in every axis. */
static int add_rest(struct choice *choice, int along)
{
    int count = choice->run->rows.count;
    for (int row = 0; row < count; row++) {
        if (!in_phase(choice, row) || choice->drawn[row] || !is_whole(choice, row, -1))
            continue;
        if (add_figure(choice, row, along))
            return CNN_OOM;
        for (int other = 0; other < count; other++)
            if (in_phase(choice, other) && same_cut(choice, row, other, along))
                choice->drawn[other] = true;
    }
    return CNN_OK;
}

/* How many values an axis has, as far as a figure can show them. */
static int count_values(const struct choice *choice, int axis)
{
    int rows[VALUES_MAX], count = 0;
    for (int row = 0; row < choice->run->rows.count && count < VALUES_MAX; row++) {
        int i = 0;
        if (!in_phase(choice, row) || any(choice, row, axis))
            continue;
        while (i < count && strcmp(cell(choice, rows[i], axis), cell(choice, row, axis)))
            i++;
        if (i == count)
            rows[count++] = row;
    }
    return count;
}

/* The varying axes as figures prefer them: sizes before words, then the longest, then as listed. Returns their number.
 */
static int order_axes(const struct choice *choice, int *order)
{
    int count = 0, worth[AXES_MAX];
    for (int axis = 0; axis < chart_axis_count; axis++) {
        if (!choice->varies[axis])
            continue;
        worth[axis] = count_values(choice, axis) + (chart_axes[axis].number ? VALUES_MAX : 0);
        int place = count++;
        for (; place > 0 && worth[order[place - 1]] < worth[axis]; place--)
            order[place] = order[place - 1];
        order[place] = axis;
    }
    return count;
}

/* Lines over each varying axis in turn; points beside which no other lies come last. */
static int add_all(struct choice *choice)
{
    int order[AXES_MAX], count = order_axes(choice, order), status = CNN_OK;
    for (int i = 0; i < count && status == CNN_OK; i++)
        status = add_cuts(choice, order[i]);
    return status == CNN_OK ? add_rest(choice, count > 0 ? order[0] : 0) : status;
}

static int choice_begin(struct choice *choice)
{
    choice->drawn = calloc((size_t)choice->run->rows.count + 1, sizeof *choice->drawn);
    return choice->drawn ? find_varying(choice) : CNN_OOM;
}

static int choice_end(struct choice *choice, int status, struct cnn_error *error)
{
    free(choice->drawn);
    if (status == CNN_OK)
        return CNN_OK;
    chart_figures_free(choice->figures);
    return cnn_error_set(error, CNN_OOM, "charts: no memory for %d rows", choice->run->rows.count);
}

int chart_figures_choose(struct chart_figures *out, const struct chart_run *run, const char *phase,
                         struct cnn_error *error)
{
    *out = (struct chart_figures){ 0 };
    struct choice choice = { .run = run, .phase = phase, .figures = out };
    int status = choice_begin(&choice);
    if (status == CNN_OK) /* epochs lie below the figures of training runs, so every axis tells those apart */
        status = strcmp(phase, "accuracy") == 0 ? add_rest(&choice, -1) : add_all(&choice);
    return choice_end(&choice, status, error);
}

int chart_figures_along(struct chart_figures *out, const struct chart_run *run, const char *phase,
                        const struct chart_axis *axis, struct cnn_error *error)
{
    int along = (int)(axis - chart_axes);
    *out = (struct chart_figures){ 0 };
    struct choice choice = { .run = run, .phase = phase, .figures = out };
    int status = choice_begin(&choice);
    if (status == CNN_OK && choice.varies[along])
        status = add_cuts(&choice, along);
    return choice_end(&choice, status, error);
}

void chart_figures_free(struct chart_figures *figures)
{
    for (int i = 0; i < figures->count; i++)
        free(figures->list[i].row);
    *figures = (struct chart_figures){ 0 };
}
