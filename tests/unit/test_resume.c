/* SPDX-License-Identifier: MIT */
/* A run that stopped goes on where it stopped, and only a run of the very same program, study and points does. */
#include "tests/unit/sweeps.h"

#include "experiments/driver/resume.h"

#include <sys/stat.h>
#include <sys/wait.h>

/* One sweep over the points in a process of its own, since signals end it. Returns its exit code: what `check` found.
 */
static int sweep_apart(const struct point *points, const struct sweep_options *options,
                       int (*check)(const struct sweep_summary *))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct study study = a_study(false);
        struct sweep_summary summary;
        struct cnn_error error = { CNN_OK, "" };
        _exit(sweep_run(&study, points, POINTS, options, &summary, &error) ? 99 : check(&summary));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Rows of this process's run so far, whoever wrote them; 100 more where a signal came. */
static int rows_and_signal(const struct sweep_summary *summary)
{
    struct rows rows;
    struct cnn_error error;
    if (rows_read(&rows, summary->rows, &error) || rows.count != summary->points)
        return 98;
    return rows.count + (summary->signal ? 100 : 0);
}

static int runs_in(const char *root)
{
    char command[FILES_PATH + 100];
    int count = -1;
    snprintf(command, sizeof command, "find '%s' -name rows.csv | wc -l", root);
    FILE *found = popen(command, "r");
    assert_non_null(found);
    assert_int_equal(fscanf(found, "%d", &count), 1);
    pclose(found);
    return count;
}

/* The third point interrupts the sweep when it runs for the first time. */
static void interrupting(struct point *points, const char *folder, const char *name)
{
    make_points(points);
    set_label(&points[2], "interrupt once");
    snprintf(points[2].data_folder, sizeof points[2].data_folder, "%s/%s-was-here", folder, name);
}

static void an_interrupted_run_goes_on(void **state)
{
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "goes-on");
    interrupting(points, *state, "goes-on");
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), 102);
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), POINTS);
    assert_int_equal(runs_in(options.results), 1);
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), POINTS);
    assert_int_equal(runs_in(options.results), 2); /* the first one is finished */
}

/* Puts a device and pinning into the record of the run, as if the first process had had them. */
static void devices_of_both_parts_are_in_the_record(void **state)
{
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "devices");
    char command[3 * FILES_PATH];
    interrupting(points, *state, "devices");
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), 102);
    snprintf(command, sizeof command,
             "for f in '%s'/*/quick/2*/machine.json; do sed -i -e 's/\"pinned\":[^,]*,/\"pinned\": [0, 2],/' -e "
             "'s/\"devices\":[^,]*,/\"devices\": [{\"backend\": \"cuda\", \"name\": \"N\", \"detail\": \"D\"}],/' "
             "\"$f\"; done",
             options.results);
    assert_int_equal(system(command), 0);
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), POINTS);
    snprintf(command, sizeof command,
             "cat '%s'/*/quick/latest/machine.json | tr -d '[:space:]' | grep -F '\"pinned\":[0,2],' | grep -qF "
             "'\"devices\":[{\"backend\":\"cuda\",\"name\":\"N\",\"detail\":\"D\"}'",
             options.results);
    assert_int_equal(system(command), 0);
}

static int has_all_results(const struct sweep_summary *summary)
{
    for (int i = 0; i < POINTS; i++)
        if (summary->results[i].status != CNN_OK || summary->results[i].median != i + 1)
            return i + 1;
    return summary->counts[CNN_OK] == POINTS && summary->left == 0 ? 0 : 97;
}

static void results_of_both_parts_are_there(void **state)
{
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "results");
    interrupting(points, *state, "results");
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), 102);
    assert_int_equal(sweep_apart(points, &options, has_all_results), 0);
}

/* Choices that cannot be read are in the way of going on; nothing of that run counts then. */
static void a_run_that_cannot_be_read_leaves_nothing(void **state)
{
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "unread");
    char command[2 * FILES_PATH];
    interrupting(points, *state, "unread");
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), 102);
    snprintf(command, sizeof command, "for d in '%s'/*/quick/2*; do echo nothing >\"$d/choices.json\"; done",
             options.results);
    assert_int_equal(system(command), 0);
    assert_int_equal(sweep_apart(points, &options, has_all_results), 0);
    assert_int_equal(runs_in(options.results), 2);
}

static void another_run_starts_anew(void **state)
{
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "anew");
    interrupting(points, *state, "anew");
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), 102);
    points[5].max_samples++; /* another setting of the last point */
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), POINTS);
    assert_int_equal(runs_in(options.results), 2);
    points[5].max_samples--;
    options.fresh = true;
    assert_int_equal(sweep_apart(points, &options, rows_and_signal), POINTS);
    assert_int_equal(runs_in(options.results), 3);
}

static void who_a_run_is(void **state)
{
    struct study study = a_study(false);
    struct point points[POINTS];
    char one[RESUME_IDENTITY], other[RESUME_IDENTITY], program[FILES_PATH], text[] = "title = \"another\";\n";
    unsetenv("CONVSCALE_DATA");
    make_points(points);
    files_path(program, *state, "program");
    files_write(program, "1", 1);
    resume_identity(one, program, &study, points, POINTS, false);
    resume_identity(other, program, &study, points, POINTS, false);
    assert_true(strlen(one) > 10);
    assert_string_equal(one, other);
    resume_identity(other, program, &study, points, POINTS - 1, false);
    assert_string_not_equal(one, other);
    points[0].interval += 0.001;
    resume_identity(other, program, &study, points, POINTS, false);
    assert_string_not_equal(one, other);
    points[0].interval -= 0.001;
    study.text = text;
    resume_identity(other, program, &study, points, POINTS, false);
    assert_string_not_equal(one, other);
    study = a_study(false);
    files_write(program, "2", 1);
    resume_identity(other, program, &study, points, POINTS, false);
    assert_string_not_equal(one, other);
    resume_identity(one, program, &study, points, POINTS, false);
    resume_identity(other, program, &study, points, POINTS, true);
    assert_string_not_equal(one, other);
    study.slow = true;
    resume_identity(other, program, &study, points, POINTS, false);
    assert_string_not_equal(one, other);
    study.slow = false;
    setenv("CONVSCALE_DATA", *state, 1);
    resume_identity(other, program, &study, points, POINTS, false);
    unsetenv("CONVSCALE_DATA");
    assert_string_not_equal(one, other);
    resume_identity(other, "/nowhere/at/all", &study, points, POINTS, false);
    assert_string_equal(other, "");
}

static void write_beside(const struct sweep_summary *summary, const char *name, const char *text)
{
    char path[FILES_PATH + 1024];
    snprintf(path, sizeof path, "%s/%s", summary->folder, name);
    files_write(path, text, strlen(text));
}

static void assert_beside(const struct sweep_summary *summary, const char *name, const char *text)
{
    char path[FILES_PATH + 1024];
    snprintf(path, sizeof path, "%s/%s", summary->folder, name);
    char *found = slurp(path);
    if (!strstr(found, text))
        fail_msg("%s: no %s in %s", name, text, found);
    free(found);
}

static void failed_points_are_repeated(void **state)
{
    char layers[2048];
    struct point points[POINTS];
    struct sweep_options options = a_way(*state, "retry");
    struct study study = a_study(false);
    struct sweep_summary first, second;
    struct cnn_error error = { CNN_OK, "" };
    make_points(points);
    set_label(&points[1], "crash once");
    snprintf(points[1].data_folder, sizeof points[1].data_folder, "%s/crash-was-here", (char *)*state);
    set_label(&points[4], "wrong");
    assert_int_equal(sweep_run(&study, points, POINTS, &options, &first, &error), CNN_OK);
    assert_int_equal(first.counts[CNN_ERROR], 1);
    snprintf(layers, sizeof layers, "%s2,gone\n3,stays\n", rows_layers_header);
    write_beside(&first, "layers.csv", layers);
    write_beside(&first, "choices.json", "{\"schema\":1,\"choices\":{\"a point\":\"all=direct\"}}");
    options.retry = 1u << CNN_ERROR;
    study.slow = true; /* may be asked for now */
    assert_int_equal(sweep_run(&study, points, POINTS, &options, &second, &error), CNN_OK);
    assert_string_not_equal(first.folder, second.folder);
    snprintf(layers, sizeof layers, "%s2,stays\n", rows_layers_header);
    assert_beside(&second, "layers.csv", layers);
    assert_beside(&second, "choices.json", "all=direct");
    struct rows old, new;
    read_rows(&first, &old);
    read_rows(&second, &new);
    assert_int_equal(second.counts[CNN_ERROR], 0);
    assert_int_equal(second.counts[CNN_MISMATCH], 1); /* not asked for */
    assert_int_equal(new.count, POINTS);
    assert_int_equal(row_status(&old.list[1]), CNN_ERROR);
    assert_int_equal(row_integer(&new.list[POINTS - 1], ROW_BATCH), 2); /* repeated: behind those that were there */
    assert_string_equal(new.list[1].cell[ROW_STARTED], old.list[2].cell[ROW_STARTED]);
    rows_free(&old);
    rows_free(&new);
    sweep_summary_free(&first);
    sweep_summary_free(&second);
}

/* The row of a point that reached its target in epoch 2 of 3, or in none, says the same as its result. */
static void the_time_to_a_target_is_taken_over(void **state)
{
    struct point points[POINTS];
    char folder[FILES_PATH], path[FILES_PATH + 16];
    make_points(points);
    files_path(folder, *state, "target");
    assert_int_equal(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    char *header = rows_header_text();
    fputs(header, file);
    free(header);
    for (int i = 0; i < 2; i++) {
        struct epoch_result epoch[3] = { { 1, 1, 1, 1, 0.5, 0.5, 10, 1 },
                                         { 2, 1, 1, 1, i ? 0.9 : 0.98, 0.5, 20, 1 },
                                         { 3, 1, 1, 1, 0.97, 0.5, 40, 1 } };
        struct result result;
        struct row_context context = { "study", "machine", "build", "2010-09-15T12:00:00Z", NULL };
        points[i].phase = POINT_ACCURACY;
        points[i].target = 0.98;
        result_init(&result);
        result.status = CNN_OK;
        result.data_seconds = 1;
        result.epochs = 3;
        result.epoch = epoch;
        char *row = rows_row_text(&context, &points[i], NULL, &result);
        fputs(row, file);
        free(row);
    }
    assert_int_equal(fclose(file), 0);
    struct result results[2];
    struct cnn_error error = { CNN_OK, "" };
    bool done[2] = { false, false };
    double train, loading;
    result_init(&results[0]);
    result_init(&results[1]);
    assert_int_equal(resume_take(folder, points, 2, results, done, &error), CNN_OK);
    assert_true(done[0] && done[1]);
    assert_int_equal(result_target(&results[0], 0.98, false, &train, &loading), 2);
    assert_true(train == 30 && loading == 2);
    assert_int_equal(result_target(&results[1], 0.98, false, &train, &loading), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(results[i].epoch[results[i].epochs - 1].test_accuracy == 0.97);
        result_free(&results[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupted_run_goes_on),
        cmocka_unit_test(results_of_both_parts_are_there),
        cmocka_unit_test(devices_of_both_parts_are_in_the_record),
        cmocka_unit_test(a_run_that_cannot_be_read_leaves_nothing),
        cmocka_unit_test(another_run_starts_anew),
        cmocka_unit_test(who_a_run_is),
        cmocka_unit_test(failed_points_are_repeated),
        cmocka_unit_test(the_time_to_a_target_is_taken_over),
    };
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return be_the_child();
    return find_self(argv[0]) ? cmocka_run_group_tests(tests, files_folder_make, files_folder_remove) : 1;
}
