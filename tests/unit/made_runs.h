/* SPDX-License-Identifier: MIT */
/* What the tests of charts share: a made-up run on disk, its charts drawn, the files that come of it. */
#ifndef TESTS_UNIT_MADE_RUNS_H
#define TESTS_UNIT_MADE_RUNS_H

#include "experiments/driver/charts.h"
#include "experiments/driver/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A run's folder in the making, and what charts_draw() said of it. */
struct run {
    char root[64], folder[1024];
    struct rows_writer *writer;
    char *log;
    size_t log_size;
    struct cnn_error error;
    double flops, bytes, joules; /* of the rows that follow: of a step, joules of an image; 0: not known */
};

static const struct row_context context = { "made-up", "machine-2cpu", "0.1.0", "2010-09-15T12:00:00Z", NULL };

static inline void run_start(struct run *run)
{
    *run = (struct run){ .root = "/tmp/convscale-charts-XXXXXX" };
    assert_non_null(mkdtemp(run->root));
    assert_int_equal(rows_open(&run->writer, run->root, "machine-2cpu", "made-up", &run->error), CNN_OK);
    snprintf(run->folder, sizeof run->folder, "%s", rows_folder(run->writer));
}

static inline struct point make_point(const char *series, int width, int depth, int batch)
{
    struct point point = { .phase = POINT_TRAIN, .batch = batch };
    snprintf(point.series, sizeof point.series, "%s", series);
    snprintf(point.label, sizeof point.label, "CPU, %s", series);
    snprintf(point.spec.name, sizeof point.spec.name, "lenet5");
    point.spec.width = width;
    point.spec.depth = depth;
    point.spec.image = 32;
    point.spec.connections.paper = true;
    return point;
}

/* A measured row: median with an interval of 10 % to each side. */
static inline void add(struct run *run, struct point point, enum cnn_status status, double seconds)
{
    struct result result;
    result_init(&result);
    result.status = status;
    result.median = seconds;
    result.low = 0.9 * seconds;
    result.high = 1.1 * seconds;
    result.samples = 20;
    result.threads = point.threads;
    result.flops_executed = run->flops;
    result.bytes_per_step = run->bytes;
    result.energy_per_image = run->joules > 0 ? run->joules : NAN;
    assert_int_equal(rows_append(run->writer, &context, &point, NULL, &result, &run->error), CNN_OK);
}

static inline void add_file(struct run *run, const char *name, const char *text)
{
    assert_int_equal(rows_write_file(run->writer, name, text, strlen(text), &run->error), CNN_OK);
}

/* Draws, and tells what was said where that is not what was hoped for. */
static inline int run_draw(struct run *run)
{
    free(run->log);
    FILE *log = open_memstream(&run->log, &run->log_size);
    if (run->writer)
        assert_int_equal(rows_close(run->writer, &run->error), CNN_OK);
    run->writer = NULL;
    int status = charts_draw(run->folder, NULL, log, &run->error);
    fclose(log);
    if (status != CNN_OK)
        print_message("%s\n", run->error.text);
    return status;
}

static inline void run_end(struct run *run)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", run->root);
    assert_int_equal(system(command), 0);
    free(run->log);
}

static inline char *read_file(const struct run *run, const char *name)
{
    char path[2048], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/charts/%s", run->folder, name);
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, EOF, file) < 0)
        print_message("%s cannot be read\n", path);
    if (file)
        fclose(file);
    return text;
}

static inline bool exists(const struct run *run, const char *name)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/charts/%s", run->folder, name);
    return access(path, F_OK) == 0;
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("expected \"%s\" in:\n%s", part, text ? text : "(nothing)");
}

/* An SVG is whole, a PNG has its signature and the size that print needs. */
static inline void assert_pictures(const struct run *run, const char *name)
{
    char file[256];
    snprintf(file, sizeof file, "%s.svg", name);
    char *svg = read_file(run, file);
    assert_contains(svg, "</svg>");
    free(svg);
    snprintf(file, sizeof file, "%s.png", name);
    char *png = read_file(run, file);
    assert_non_null(png);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal((unsigned char)png[18] * 256 + (unsigned char)png[19], 1520);
    free(png);
}

/* The program's argument is the folder that holds plots/. False, said aloud, without gnuplot. */
static inline bool charts_can_be_drawn(int argc, char **argv)
{
    if (argc > 1)
        setenv("CONVSCALE_HOME", argv[1], 1);
    if (system("gnuplot --version >/dev/null 2>&1") == 0)
        return true;
    print_message("skipped: gnuplot is not installed\n");
    return false;
}

#endif
