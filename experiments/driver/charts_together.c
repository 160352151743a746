/* SPDX-License-Identifier: MIT */
/* Several runs of one study in one set of figures: every series of every run is a line, and its label names the
 * machine; the run's time too where a machine comes twice. */
#include "experiments/driver/charts_parts.h"

#include <stdlib.h>
#include <string.h>

/* The runs on their way into one. */
struct together {
    struct chart_run *run; /* [count] */
    int count;
    char (*name)[CHART_WORD * 2]; /* of each run: its machine */
    int **place;                  /* [run][series of that run]: series of them all */
    struct chart_run all;
    struct chart_part *part; /* [count] */
    char **word;             /* ids and labels of all.series, in turn */
    int words;
};

static const struct row *first_row(const struct chart_run *run)
{
    return &run->rows.list[0];
}

/* Whether two runs have this cell in common, in their first rows. */
static bool alike(const struct together *it, int a, int b, enum row_column column)
{
    return !strcmp(first_row(&it->run[a])->cell[column], first_row(&it->run[b])->cell[column]);
}

static void name_runs(struct together *it)
{
    for (int i = 0; i < it->count; i++) {
        const struct row *row = first_row(&it->run[i]);
        int machine = 0, before = 0;
        for (int j = 0; j < it->count; j++) {
            machine += alike(it, i, j, ROW_MACHINE);
            before += j < i && alike(it, i, j, ROW_MACHINE) && alike(it, i, j, ROW_STARTED);
        }
        int used = snprintf(it->name[i], sizeof it->name[i], "%.64s", row->cell[ROW_MACHINE]);
        if (machine > 1)
            used += snprintf(it->name[i] + used, sizeof it->name[i] - (size_t)used, " %.20s", row->cell[ROW_STARTED]);
        if (before > 0) /* a copy of a run */
            snprintf(it->name[i] + used, sizeof it->name[i] - (size_t)used, " #%d", before + 1);
    }
}

static const char *keep_word(struct together *it, const char *first, const char *between, const char *second)
{
    char *word = malloc(strlen(first) + strlen(between) + strlen(second) + 1);
    if (!word)
        return NULL;
    strcpy(word, first);
    strcat(word, between);
    strcat(word, second);
    return it->word[it->words++] = word;
}

/* A series of all runs next to each other, in the order of the first. */
static bool add_series(struct together *it)
{
    int most = 0, total = 0;
    for (int i = 0; i < it->count; i++) {
        total += it->run[i].series_count;
        most = it->run[i].series_count > most ? it->run[i].series_count : most;
        if (!(it->place[i] = calloc((size_t)it->run[i].series_count + 1, sizeof *it->place[i])))
            return false;
    }
    it->all.series = calloc((size_t)total + 1, sizeof *it->all.series);
    it->word = calloc(2 * (size_t)total + 1, sizeof *it->word);
    for (int series = 0; it->all.series && it->word && series < most; series++)
        for (int i = 0; i < it->count; i++) {
            if (series >= it->run[i].series_count)
                continue;
            struct chart_series *to = &it->all.series[it->all.series_count];
            to->id = keep_word(it, it->run[i].series[series].id, "@", it->name[i]);
            to->label = keep_word(it, it->run[i].series[series].label, "; ", it->name[i]);
            if (!to->id || !to->label)
                return false;
            it->place[i][series] = it->all.series_count++;
        }
    for (int i = 0; it->all.series && i < it->count; i++)
        for (int series = 0; series < it->run[i].series_count; series++)
            it->all.series[it->place[i][series]].base = it->place[i][it->run[i].base];
    it->all.base = it->place[0][it->run[0].base];
    return it->all.series && it->word;
}

static bool add_rows(struct together *it)
{
    size_t total = 0;
    for (int i = 0; i < it->count; i++)
        total += (size_t)it->run[i].rows.count;
    it->all.rows.list = malloc((total + 1) * sizeof *it->all.rows.list);
    it->all.series_of = malloc((total + 1) * sizeof *it->all.series_of);
    if (!it->all.rows.list || !it->all.series_of)
        return false;
    for (int i = 0; i < it->count; i++) {
        it->part[i] = (struct chart_part){ it->run[i].folder, it->all.rows.count };
        for (int row = 0; row < it->run[i].rows.count; row++) {
            int to = it->all.rows.count++;
            it->all.rows.list[to] = it->run[i].rows.list[row];
            it->all.series_of[to] = it->place[i][it->run[i].series_of[row]];
        }
    }
    it->all.part = it->part;
    it->all.parts = it->count;
    return true;
}

static int open_all(struct together *it, const char *const *folders, FILE *log, struct cnn_error *error)
{
    for (int i = 0; i < it->count; i++) {
        if (chart_run_open(&it->run[i], folders[i], NULL, error))
            return error->status;
        if (it->run[i].rows.count == 0)
            return cnn_error_set(error, CNN_INVALID, "%s/rows.csv has no rows", folders[i]);
    }
    name_runs(it);
    it->all.study = it->run[0].study;
    it->all.has_study = it->run[0].has_study;
    it->all.several = true;
    it->all.log = log;
    return add_series(it) && add_rows(it) ? CNN_OK
                                          : cnn_error_set(error, CNN_OOM, "charts: no memory for %d runs", it->count);
}

static void close_all(struct together *it)
{
    for (int i = 0; it->run && i < it->count; i++)
        chart_run_close(&it->run[i]);
    for (int i = 0; it->place && i < it->count; i++)
        free(it->place[i]);
    for (int i = 0; i < it->words; i++)
        free(it->word[i]);
    free(it->run);
    free(it->name);
    free(it->place);
    free(it->part);
    free(it->word);
    free(it->all.series);
    free(it->all.series_of);
    free(it->all.rows.list);
}

int charts_draw_together(const char *const *run_folders, int count, const char *out_folder,
                         const struct chart_style *style, FILE *log, struct cnn_error *error)
{
    struct together it = { .count = count };
    it.run = calloc((size_t)count, sizeof *it.run);
    it.name = calloc((size_t)count, sizeof *it.name);
    it.place = calloc((size_t)count, sizeof *it.place);
    it.part = calloc((size_t)count, sizeof *it.part);
    int status = it.run && it.name && it.place && it.part
                     ? open_all(&it, run_folders, log, error)
                     : cnn_error_set(error, CNN_OOM, "charts: no memory for %d runs", count);
    if (!status) {
        it.all.folder = out_folder;
        status = charts_draw_run(&it.all, style, error);
    }
    close_all(&it);
    return status;
}
