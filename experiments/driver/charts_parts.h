/* SPDX-License-Identifier: MIT */
/* What the parts of the charts share: a run as it is drawn, the figures chosen from its rows, and one plot with its
 * points. */
#ifndef DRIVER_CHARTS_PARTS_H
#define DRIVER_CHARTS_PARTS_H

#include "experiments/driver/ceilings.h"
#include "experiments/driver/charts.h"
#include "experiments/driver/rows.h"
#include "experiments/driver/study.h"

#include <sys/types.h>

#define CHART_FIGURES_MAX 12 /* drawn of one phase; a larger study is told so */
#define CHART_CUTS_MAX 128   /* looked at of one phase */
#define CHART_WORD 64
#define CHART_TEXT 512

struct chart_series {
    const char *id, *label; /* of the rows or the study */
    int base;               /* place of the series that its speed-ups are over: of its own run */
};

/* The rows of a run and what its study says about them. */
/* Of several runs together: whose epochs belong to the rows from `first_row` on. */
struct chart_part {
    const char *folder;
    int first_row;
};

struct chart_run {
    const char *folder;
    const struct chart_part *part; /* `parts` of them; 0: the folder's own epochs */
    int parts;
    struct rows rows;
    struct study study;
    bool has_study, several;     /* several: rows of more than one run, told apart by their series */
    struct chart_series *series; /* in the study's order, then as rows name them */
    int series_count;
    int base;       /* place in `series` */
    int *series_of; /* of each row: place in `series` */
    double *fit;    /* of each row: seconds of a step by the cost model of its series, NAN: none */
    struct chart_style style;
    FILE *log; /* NULL: silent */
};

/* Reads the folder of a run; close it in either case. The log, which may be NULL, gets a line for what is missing. */
int chart_run_open(struct chart_run *run, const char *folder, FILE *log, struct cnn_error *error);
void chart_run_close(struct chart_run *run);
/* Draws what charts_draw() draws, of a run that is open, into its folder. */
int charts_draw_run(struct chart_run *run, const struct chart_style *style, struct cnn_error *error);

/* Physical cores of the run's machine, 0 where its record does not say or says that it is not sure. */
int chart_physical_cores(const struct chart_run *run);
/* A line on the run's log. */
void chart_say(const struct chart_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Column of an axis that figures may have below, its words and its kind. */
struct chart_axis {
    enum row_column column;
    const char *name;  /* in file names and CSV */
    const char *label; /* below the figure */
    bool number;
};

extern const struct chart_axis chart_axes[];
extern const int chart_axis_count;

/* Some rows of one phase that make one figure: they differ in series and in this axis alone. */
struct chart_figure {
    const char *phase;
    const struct chart_axis *axis;
    int *row; /* indices into rows.list */
    int row_count;
    char suffix[160];        /* of its file names: "train-width-batch16" */
    char cut[CHART_TEXT];    /* what tells it from the others: "batch 16, connections full"; may be empty */
    char common[CHART_TEXT]; /* what all its rows share: "lenet5, image 32, copies none" */
};

struct chart_figures {
    int count;
    struct chart_figure list[CHART_CUTS_MAX];
};

/* Chooses the figures of a phase: over the longest axis of sizes, one for each combination of the others; where that
 * leaves points without a line, over the next axis. CNN_OOM is the only failure. */
int chart_figures_choose(struct chart_figures *out, const struct chart_run *run, const char *phase,
                         struct cnn_error *error);

/* Every cut of a phase along one axis that some series varies, be it drawn or not. CNN_OOM is the only failure. */
int chart_figures_along(struct chart_figures *out, const struct chart_run *run, const char *phase,
                        const struct chart_axis *axis, struct cnn_error *error);
void chart_figures_free(struct chart_figures *figures);

/* True where the cell holds for every value of the axis: threads of a series that takes none, a cell left empty. */
bool chart_cell_any(const struct chart_axis *axis, const struct row *row);

/* A value of a figure's axis. */
struct chart_place {
    double x; /* words have the places 1, 2, ... */
    const char *text;
};

/* The distinct values of the figure's axis in order, into `places` of row_count + 1; returns how many. */
int chart_places(const struct chart_run *run, const struct chart_figure *figure, struct chart_place *places);

/* The row of a series at a place, measured or not; NULL where it has none. */
const struct row *chart_row_at(const struct chart_run *run, const struct chart_figure *figure, int series,
                               const struct chart_place *place);

/* base median / row's median, and its interval [base low / row high, base high / row low]. Both rows are `ok`. */
struct chart_ratio {
    double value, low, high;
};
struct chart_ratio chart_ratio_of(const struct row *base, const struct row *row);

/* Measured and has a time, be it unstable. */
bool chart_has_number(const struct row *row);

/* One point of a plot. */
struct chart_point {
    int series;
    double x;
    char text[CHART_WORD]; /* the axis' value as the row has it */
    double y, low, high;   /* NAN: no number */
    char status[24];       /* a status word, "no base" or "base unstable"; only "ok" and "unstable" have numbers */
    int samples;
    bool flat;  /* holds for every value of the axis */
    double fit; /* y by a model, or what else a script draws beside y; > 0, or there is none */
};

#define CHART_CAPTIONS_MAX 6

/* What one plot shows: points sorted by series, then x, and the words around them. */
struct chart_plot {
    const char *script; /* "time.gp" */
    char name[200];     /* of its files, without ending */
    char title[CHART_TEXT], about[CHART_TEXT];
    char xlabel[CHART_WORD], ylabel[CHART_WORD];
    const char *xname, *yname; /* columns of its CSV */
    const char *fit_name;      /* column of `fit`; NULL: "fit" */
    const char *phase;
    const char *unit; /* behind the numbers of the y axis: "s", "x", "%", "" */
    struct chart_point *point;
    int point_count;
    const struct study_published **typed; /* numbers of a paper that belong here */
    int typed_count;
    bool log_x;                                       /* the x axis is logarithmic in any case */
    bool rounded;                                     /* the x axis is logarithmic with round ticks */
    double top;                                       /* the y axis reaches up to here at least; 0: to the points */
    char *extra;                                      /* lines of its own in the .set file, malloc'd; NULL: none */
    bool categories;                                  /* x are places of words */
    bool ratio;                                       /* speed-up: a logarithmic axis around 1, and the claims */
    char caption[CHART_CAPTIONS_MAX][2 * CHART_TEXT]; /* each starts a line below the plot */
    int captions;
};

/* A plot of a figure's rows; kind is "time", "throughput" or "speedup". CNN_SKIPPED with why when there is nothing to
 * draw. *out is to be freed whatever comes back. */
int chart_plot_rows(struct chart_plot *out, const struct chart_run *run, const struct chart_figure *figure,
                    const char *kind, struct cnn_error *error);

/* A plot of training runs over epochs, or over the seconds spent in training; kind is "accuracy" or "loss". */
int chart_plot_epochs(struct chart_plot *out, const struct chart_run *run, const struct chart_figure *figure,
                      const char *kind, bool over_seconds, struct cnn_error *error);
void chart_plot_free(struct chart_plot *plot);

/* Calls back for every plot that the run's study wants, with its points and words; what has nothing to show is said on
 * the run's log. Ends with the first status that is not CNN_OK. */
typedef int (*chart_visitor)(void *context, const struct chart_plot *plot, struct cnn_error *error);
/* Of one phase: a map of speed-up over two sizes for each series but the base, where the run has an area of them. */
int chart_maps_visit(const struct chart_run *run, const char *phase, chart_visitor visit, void *context,
                     struct cnn_error *error);
int charts_visit(const struct chart_run *run, chart_visitor visit, void *context, struct cnn_error *error);

/* Speed-up over one thread of the same series along the axis of threads, with Amdahl's line and the ideal one. */
int chart_plot_scaling(struct chart_plot *out, const struct chart_run *run, const struct chart_figure *figure,
                       struct cnn_error *error);

/* Seconds of an image of each series of a phase, one step of the study's explanation after the other. */
int chart_plot_parts(struct chart_plot *out, const struct chart_run *run, const char *phase, struct cnn_error *error);

/* What the rows that ran on ceilings->list[device] do beside what it can do at most. By operation, from layers.csv,
 * where `by_layer`. CNN_SKIPPED where none of them ran on it. */
int chart_plot_roofline(struct chart_plot *out, const struct chart_run *run, const struct ceilings *ceilings,
                        int device, bool by_layer, struct cnn_error *error);

/* "training" for "train". */
const char *chart_phase_noun(const char *phase);

/* For the two above: the name of the files and the words above the plot; words below it; then what
 * cannot be drawn is taken out and named. */
void chart_titles(struct chart_plot *plot, const struct chart_run *run, const struct chart_figure *figure,
                  const char *kind);
void chart_caption(struct chart_plot *plot, const char *format, ...) __attribute__((format(printf, 2, 3)));
int chart_plot_finish(struct chart_plot *plot, const struct chart_run *run, struct cnn_error *error);

/* An axis, padded; charts_scale.c. */
struct chart_range {
    double low, high;
    bool log;
};

#define CHART_TICKS_MAX 14

/* `x`: the distinct places in ascending order. */
struct chart_range chart_range_x(const struct chart_plot *plot, const double *x, int count);
struct chart_range chart_range_y(const struct chart_plot *plot, const struct chart_run *run);

/* Round numbers inside the range, about as many as fit; returns how many. */
int chart_ticks(const struct chart_range *range, double ticks[CHART_TICKS_MAX]);

/* "1.5 ms", "20k", "24×", "3 %" */
void chart_tick_text(const char *unit, double value, char *out, size_t size);

/* Whether a claim is about the base of this run's speed-ups. */
bool chart_claim_counts(const struct study_claim *claim, const struct chart_run *run);

/* The words of a plot as gnuplot commands, in LaTeX's spelling where asked. False without memory. */
bool chart_set_print(FILE *out, const struct chart_plot *plot, const struct chart_run *run, bool latex);

/* Whether any of its points has one. */
bool chart_has_fit(const struct chart_plot *plot);

/* Writes FOLDER/NAME.csv and .set; for LaTeX also NAME-latex.set and NAME-latex-caption.tex. */
int chart_write(const struct chart_plot *plot, const struct chart_run *run, const char *folder,
                struct cnn_error *error);

/* The folder of the gnuplot scripts. CNN_UNAVAILABLE with where they were looked for. */
int chart_scripts_find(char *out, size_t size, struct cnn_error *error);

#define CHART_PATH 4096

/* gnuplot at work on one figure, base FOLDER/NAME. */
struct chart_process {
    pid_t id;
    char base[CHART_PATH], log[CHART_PATH + 16], formats[32];
};

/* Starts to draw BASE.* with SCRIPTS/SCRIPT; "tex" by itself, since LaTeX takes its words from another file. May be
 * CNN_UNAVAILABLE without gnuplot. */
int chart_process_start(struct chart_process *process, const char *scripts, const char *script, const char *base,
                        const char *formats, double millimetres, struct cnn_error *error);

/* Waits for it and checks that pictures are there. CNN_UNAVAILABLE without gnuplot, CNN_ERROR with its words when it
 * failed. */
int chart_process_end(const struct chart_process *process, struct cnn_error *error);

/* The next word of a list of formats, and of its picture's file name the part behind NAME; false at the end. */
bool chart_format_next(const char **formats, char word[8], char ending[16]);

#endif
