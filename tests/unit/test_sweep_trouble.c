/* SPDX-License-Identifier: MIT */
/* A sweep keeps every row, whatever happens to disk, terminal or reader. Each sweep runs in a process of its own. */
#include "tests/unit/sweeps.h"

#include <sys/resource.h>
#include <sys/wait.h>

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

/* Files may not grow beyond a size that some rows fill, and that this machine's record, which comes first, does not:
 * the sweep ends with a sentence, all whole rows are there. */
static void fill_the_disk(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "full");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    char record[sizeof summary.folder + 16];
    struct stat about;
    make_points(points);
    if (sweep_run(&study, points, 1, &options, &summary, &error))
        _exit(1);
    snprintf(record, sizeof record, "%s/machine.json", summary.folder);
    if (stat(record, &about))
        _exit(1);
    rlim_t room = (rlim_t)about.st_size + 4096;
    const struct rlimit limit = { room, room };
    options.fresh = true;
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

static void be_interrupted(const char *folder)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    struct sweep_options options = a_way(folder, "signal");
    struct sweep_summary summary;
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    make_points(points);
    set_label(&points[2], "interrupt");
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_said_once),
        cmocka_unit_test(stdout_is_the_same_csv),
        cmocka_unit_test(a_reader_that_goes_away_ends_the_sweep),
        cmocka_unit_test(a_full_stdout_is_an_error_but_costs_no_row),
        cmocka_unit_test(a_full_disk_ends_the_sweep_with_all_rows_whole),
        cmocka_unit_test(an_interrupted_sweep_keeps_its_rows),
    };
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return be_the_child();
    return find_self(argv[0]) ? cmocka_run_group_tests(tests, files_folder_make, files_folder_remove) : 1;
}
