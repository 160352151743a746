/* SPDX-License-Identifier: MIT */
/* A sweep keeps every row, whatever happens to points, disk, terminal or reader. This program is its own child: with
 * --child it does what the point's label says. */
#include "tests/unit/files.h"

#include "experiments/driver/child.h"
#include "experiments/driver/rows.h"
#include "experiments/driver/sweep.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define POINTS 6

static char self[4096];

/* ---- the child ---- */

static int be_the_child(void)
{
    static char text[1 << 16];
    struct point point;
    struct result result;
    struct cnn_error error;
    text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
    if (point_from_json(&point, text, &error))
        return 99;
    if (!strcmp(point.label, "crash"))
        raise(SIGSEGV);
    while (!strcmp(point.label, "hang"))
        pause();
    result_init(&result);
    result.status = CNN_OK;
    result.median = point.batch; /* to tell points apart */
    if (!strcmp(point.label, "wrong"))
        result_set(&result, CNN_MISMATCH, "output 0 is wrong");
    char *json = result_to_json(&result);
    bool written = write(3, json, strlen(json)) == (ssize_t)strlen(json);
    free(json);
    return written ? 0 : 98;
}

/* ---- the parent ---- */

static struct study a_study(bool shuffled)
{
    static char path[] = "quick.cfg", text[] = "title = \"a study\";\n";
    return (struct study){ .path = path, .name = "quick", .text = text, .seed = 5, .shuffled = shuffled };
}

/* POINTS points that are told apart by their batch, 1.. */
static void make_points(struct point *points)
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

static void set_label(struct point *point, const char *label)
{
    snprintf(point->label, sizeof point->label, "%s", label);
}

static struct sweep_options a_way(const char *folder, const char *name)
{
    static char root[FILES_PATH], command[] = "convscale";
    static char *argv[] = { command, NULL };
    files_path(root, folder, name);
    return (struct sweep_options){ .results = root, .program = self, .argc = 1, .argv = argv, .quiet = true };
}

static void read_rows(const struct sweep_summary *summary, struct rows *rows)
{
    struct cnn_error error = { CNN_OK, "" };
    if (rows_read(rows, summary->rows, &error))
        fail_msg("%s", error.text);
    assert_false(rows->torn);
    assert_int_equal(rows->count, summary->points);
}

static char *slurp(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    assert_in_range(fread(text, 1, (1 << 20) - 1, file), 0, (1 << 20) - 2);
    fclose(file);
    return text;
}

static void every_point_has_its_row(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "rows");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    make_points(points);
    set_label(&points[1], "crash");
    set_label(&points[2], "wrong");
    points[3].spec.image = 3; /* no room for a kernel of 5 */
    snprintf(points[4].backend, sizeof points[4].backend, "cuda");
    points[4].required = true;
    if (sweep_run(&study, points, POINTS, &options, &summary, &error))
        fail_msg("%s", error.text);
    static const enum cnn_status expected[POINTS] = { CNN_OK,      CNN_ERROR,       CNN_MISMATCH,
                                                      CNN_INVALID, CNN_UNAVAILABLE, CNN_OK };
    read_rows(&summary, &rows);
    assert_int_equal(rows.count, POINTS);
    for (int i = 0; i < POINTS; i++) {
        assert_int_equal(row_status(&rows.list[i]), expected[i]);
        assert_int_equal(row_integer(&rows.list[i], ROW_BATCH), i + 1);
        assert_int_equal(summary.results[i].status, expected[i]);
        assert_string_equal(rows.list[i].cell[ROW_REASON], summary.results[i].reason);
        if (expected[i] != CNN_OK)
            assert_true(*rows.list[i].cell[ROW_REASON] && !*rows.list[i].cell[ROW_SECONDS_PER_STEP]);
    }
    assert_int_equal(summary.counts[CNN_OK], 2);
    assert_true(summary.required_missing);
    assert_true(summary.signal == 0 && summary.left == 0);
    rows_free(&rows);
    sweep_summary_free(&summary);
}

static void the_record_lies_beside_the_rows(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "record");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH * 6], target[FILES_PATH];
    make_points(points);
    assert_int_equal(sweep_run(&study, points, 2, &options, &summary, &error), CNN_OK);
    snprintf(path, sizeof path, "%s/study.cfg", summary.folder);
    char *text = slurp(path);
    assert_string_equal(text, study.text);
    free(text);
    snprintf(path, sizeof path, "%s/machine.json", summary.folder);
    text = slurp(path);
    cJSON *record = cJSON_Parse(text), *run = cJSON_GetObjectItem(record, "run");
    assert_true(cJSON_IsString(cJSON_GetObjectItem(run, "ended")));
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(run, "rows"), "ok")->valueint, 2);
    assert_int_equal(cJSON_GetObjectItem(run, "points")->valueint, 2);
    cJSON_Delete(record);
    free(text);
    snprintf(path, sizeof path, "%s/../latest", summary.folder);
    ssize_t length = readlink(path, target, sizeof target - 1);
    assert_true(length > 0);
    target[length] = '\0';
    assert_string_equal(target, strrchr(summary.folder, '/') + 1);
    sweep_summary_free(&summary);
}

static void the_order_is_drawn_from_the_seed(void **state)
{
    struct study study = a_study(true);
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "order");
    char orders[3][POINTS + 1] = { "", "", "" };
    make_points(points);
    for (int run = 0; run < 3; run++) {
        struct sweep_summary summary;
        struct cnn_error error = { CNN_OK, "" };
        struct rows rows;
        study.seed = run < 2 ? 5 : 6;
        assert_int_equal(sweep_run(&study, points, POINTS, &options, &summary, &error), CNN_OK);
        read_rows(&summary, &rows);
        for (int i = 0; i < POINTS; i++) {
            orders[run][i] = (char)('0' + row_integer(&rows.list[i], ROW_BATCH));
            assert_true(summary.results[i].median == points[i].batch); /* results stay with their points */
        }
        for (int i = 1; i <= POINTS; i++)
            assert_non_null(strchr(orders[run], '0' + i));
        rows_free(&rows);
        sweep_summary_free(&summary);
    }
    assert_string_equal(orders[0], orders[1]);
    assert_string_not_equal(orders[0], orders[2]);
    assert_string_not_equal(orders[0], "123456");
}

/* What a process did that ran `body` with its stdout and stderr in files of the folder. */
struct outcome {
    int status; /* of waitpid() */
    char *out, *err;
};

static struct outcome run_apart(const char *folder, void (*body)(const char *folder))
{
    struct outcome outcome;
    char out[FILES_PATH], err[FILES_PATH];
    files_path(out, folder, "stdout");
    files_path(err, folder, "stderr");
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
            _exit(90);
        body(folder);
        fflush(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &outcome.status, 0), pid);
    outcome.out = slurp(out);
    outcome.err = slurp(err);
    return outcome;
}

static void outcome_free(struct outcome *outcome)
{
    free(outcome->out);
    free(outcome->err);
}

static void assert_exit(const struct outcome *outcome, int code)
{
    if (!WIFEXITED(outcome->status) || WEXITSTATUS(outcome->status) != code)
        fail_msg("status %#x, expected exit code %d: %s", (unsigned)outcome->status, code, outcome->err);
}

static void lack_things(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "aloud");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    make_points(points);
    for (int i = 0; i < POINTS - 1; i++) {
        snprintf(points[i].backend, sizeof points[i].backend, "cuda");
        set_label(&points[i], "GPU");
    }
    set_label(&points[POINTS - 1], "wrong");
    options.quiet = false;
    if (sweep_run(&study, points, POINTS, &options, &summary, &error) || summary.required_missing ||
        summary.counts[CNN_UNAVAILABLE] != POINTS - 1)
        _exit(1);
}

static void what_is_left_out_is_said_once(void **state)
{
    struct outcome outcome = run_apart(*state, lack_things);
    assert_exit(&outcome, 0);
    char *first = strstr(outcome.err, "GPU: left out: ");
    assert_non_null(first);
    assert_null(strstr(strchr(first, '\n'), "left out"));
    assert_non_null(strstr(outcome.err, "mismatch: output 0 is wrong")); /* a failure is said */
    assert_null(strchr(outcome.err, '\r'));                              /* no progress line in a file */
    outcome_free(&outcome);
}

static void print_csv(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "csv");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    make_points(points);
    options.csv_stdout = true;
    if (sweep_run(&study, points, 3, &options, &summary, &error))
        _exit(1);
    char *rows = slurp(summary.rows);
    fprintf(stderr, "%s", rows);
}

static void stdout_is_the_same_csv(void **state)
{
    struct outcome outcome = run_apart(*state, print_csv);
    assert_exit(&outcome, 0);
    assert_true(strlen(outcome.out) > 100);
    assert_string_equal(outcome.out, outcome.err);
    outcome_free(&outcome);
}

static void print_to_nobody(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "nobody");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    int ends[2];
    make_points(points);
    options.csv_stdout = true;
    if (pipe(ends) || dup2(ends[1], STDOUT_FILENO) < 0)
        _exit(2);
    close(ends[0]);
    close(ends[1]);
    if (sweep_run(&study, points, POINTS, &options, &summary, &error) || summary.signal != SIGPIPE)
        _exit(3);
    _exit(summary.left == POINTS - summary.points ? 0 : 4);
}

static void a_reader_that_goes_away_ends_the_sweep(void **state)
{
    struct outcome outcome = run_apart(*state, print_to_nobody);
    assert_exit(&outcome, 0);
    outcome_free(&outcome);
}

static void print_to_a_full_disk(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "full-stdout");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    make_points(points);
    options.csv_stdout = true;
    if (!freopen("/dev/full", "w", stdout))
        _exit(2);
    if (sweep_run(&study, points, 3, &options, &summary, &error) != CNN_ERROR || !strstr(error.text, "stdout") ||
        !strstr(error.text, summary.rows))
        _exit(3);
    _exit(summary.points == 3 ? 0 : 4); /* the rows themselves are safe */
}

static void a_full_stdout_is_an_error_but_costs_no_row(void **state)
{
    struct outcome outcome = run_apart(*state, print_to_a_full_disk);
    assert_exit(&outcome, 0);
    outcome_free(&outcome);
}

/* Files may not grow beyond a size that some rows fill: the sweep ends with a sentence, all whole rows are there. */
static void fill_the_disk(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "full");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    char *header = rows_header_text();
    struct rlimit limit = { strlen(header) + 1000, strlen(header) + 1000 };
    make_points(points);
    limit.rlim_cur = limit.rlim_max = limit.rlim_cur < 6000 ? 6000 : limit.rlim_cur; /* room for the record */
    if (setrlimit(RLIMIT_FSIZE, &limit))
        _exit(2);
    struct point many[64];
    for (int i = 0; i < 64; i++)
        many[i] = points[i % POINTS];
    if (sweep_run(&study, many, 64, &options, &summary, &error) != CNN_ERROR)
        _exit(3);
    if (!strstr(error.text, "rows.csv") || rows_read(&rows, summary.rows, &error))
        _exit(4);
    _exit(rows.count == summary.points && rows.count > 0 && !rows.torn && summary.left == 64 - rows.count ? 0 : 5);
}

static void a_full_disk_ends_the_sweep_with_all_rows_whole(void **state)
{
    struct outcome outcome = run_apart(*state, fill_the_disk);
    assert_exit(&outcome, 0);
    outcome_free(&outcome);
}

/* Sends itself a signal after a while, from a process of its own. */
static void signal_later(int number, useconds_t microseconds)
{
    pid_t parent = getpid();
    if (fork() == 0) {
        usleep(microseconds);
        kill(parent, number);
        _exit(0);
    }
}

static void be_interrupted(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "signal");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    make_points(points);
    set_label(&points[2], "hang");
    signal_later(SIGINT, 400000);
    if (sweep_run(&study, points, POINTS, &options, &summary, &error) || summary.signal != SIGINT)
        _exit(2);
    if (rows_read(&rows, summary.rows, &error) || rows.count != 2 || summary.left != POINTS - 2)
        _exit(3);
    _exit(summary.results[2].status == CNN_SKIPPED && summary.results[5].status == CNN_SKIPPED ? 0 : 4);
}

static void an_interrupted_sweep_keeps_its_rows(void **state)
{
    struct outcome outcome = run_apart(*state, be_interrupted);
    assert_exit(&outcome, 0);
    outcome_free(&outcome);
}

static void a_place_that_cannot_be_written_stops_before_the_first_point(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    make_points(points);
    struct sweep_options options = a_way(*state, "in-the-way");
    files_write(options.results, "x", 1);
    assert_int_equal(sweep_run(&study, points, POINTS, &options, &summary, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, options.results));
    assert_int_equal(summary.points, 0);
    assert_string_equal(summary.folder, "");
    sweep_summary_free(&summary);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_has_its_row),
        cmocka_unit_test(the_record_lies_beside_the_rows),
        cmocka_unit_test(the_order_is_drawn_from_the_seed),
        cmocka_unit_test(what_is_left_out_is_said_once),
        cmocka_unit_test(stdout_is_the_same_csv),
        cmocka_unit_test(a_reader_that_goes_away_ends_the_sweep),
        cmocka_unit_test(a_full_stdout_is_an_error_but_costs_no_row),
        cmocka_unit_test(a_full_disk_ends_the_sweep_with_all_rows_whole),
        cmocka_unit_test(an_interrupted_sweep_keeps_its_rows),
        cmocka_unit_test(a_place_that_cannot_be_written_stops_before_the_first_point),
    };
    struct cnn_error error;
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return be_the_child();
    if (child_program(argv[0], self, sizeof self, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
