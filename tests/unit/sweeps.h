/* SPDX-License-Identifier: MIT */
/* What the tests of sweeps share: a study of a few points, and this program as its own child, which with --child does
 * what the point's label says; "... once" only the first time, which leaves a file where its data folder should be. */
#ifndef TESTS_UNIT_SWEEPS_H
#define TESTS_UNIT_SWEEPS_H

#include "tests/unit/files.h"

#include "experiments/driver/child.h"
#include "experiments/driver/rows.h"
#include "experiments/driver/sweep.h"

#include <signal.h>

#define POINTS 6

static char self[4096];

/* ---- the child ---- */

static inline int be_the_child(void)
{
    static char text[1 << 16];
    struct point point;
    struct result result;
    struct cnn_error error;
    text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
    if (point_from_json(&point, text, &error))
        return 99;
    bool once = strstr(point.label, " once"), again = once && access(point.data_folder, F_OK) == 0;
    if (once && !again)
        files_write(point.data_folder, "", 0);
    if (!again && !strncmp(point.label, "crash", 5))
        raise(SIGSEGV);
    if (!again && !strncmp(point.label, "interrupt", 9)) { /* as Ctrl-C would, while it runs */
        kill(getppid(), SIGINT);
        for (;;)
            pause();
    }
    result_init(&result);
    result.status = CNN_OK;
    result.median = point.batch; /* to tell points apart */
    if (!strcmp(point.label, "wrong"))
        result_set(&result, CNN_MISMATCH, "output 0 is wrong");
    if (!strcmp(point.backend, "cuda")) /* a build that has the backend learns only here that there is no GPU */
        result_set(&result, CNN_UNAVAILABLE, "no GPU for a test");
    char *json = result_to_json(&result);
    bool written = write(3, json, strlen(json)) == (ssize_t)strlen(json);
    free(json);
    return written ? 0 : 98;
}

/* ---- the parent ---- */

static inline struct study a_study(bool shuffled)
{
    static char path[] = "quick.cfg", text[] = "title = \"a study\";\n";
    return (struct study){ .path = path, .name = "quick", .text = text, .seed = 5, .shuffled = shuffled };
}

/* POINTS points that are told apart by their batch, 1.. */
static inline void make_points(struct point *points)
{
    struct cnn_error error;
    for (int i = 0; i < POINTS; i++) {
        points[i] = (struct point){ .phase = POINT_TRAIN,
                                    .batch = i + 1,
                                    .series = "x",
                                    .label = "fine",
                                    .backend = "cpu",
                                    .algorithm = "naive",
                                    .data = "normal",
                                    .min_samples = 6,
                                    .max_samples = 6 };
        assert_int_equal(cnn_builtin_spec(&points[i].spec, "lenet5", 32, &error), CNN_OK);
    }
}

static inline void set_label(struct point *point, const char *label)
{
    snprintf(point->label, sizeof point->label, "%s", label);
}

static inline struct sweep_options a_way(const char *folder, const char *name)
{
    static char root[FILES_PATH], command[] = "convscale";
    static char *argv[] = { command, NULL };
    files_path(root, folder, name);
    return (struct sweep_options){ .results = root, .program = self, .argc = 1, .argv = argv, .quiet = true };
}

static inline void read_rows(const struct sweep_summary *summary, struct rows *rows)
{
    struct cnn_error error = { CNN_OK, "" };
    if (rows_read(rows, summary->rows, &error))
        fail_msg("%s", error.text);
    assert_false(rows->torn);
    assert_int_equal(rows->count, summary->points);
}

static inline char *slurp(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    assert_in_range(fread(text, 1, (1 << 20) - 1, file), 0, (1 << 20) - 2);
    fclose(file);
    return text;
}

/* Finds this program's file; false, with the reason on stderr, where it cannot. */
static inline bool find_self(const char *argv0)
{
    struct cnn_error error;
    if (child_program(argv0, self, sizeof self, &error) == CNN_OK)
        return true;
    fprintf(stderr, "%s\n", error.text);
    return false;
}

#endif
