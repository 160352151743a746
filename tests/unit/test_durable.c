/* SPDX-License-Identifier: MIT */
/* Files are whole or absent: a full disk costs no row that was there, a place that cannot be written is said at once.
 */
#include "tests/unit/row_material.h"

#include "experiments/driver/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void a_full_device_is_said(void **state)
{
    (void)state;
    struct cnn_error error = { CNN_OK, "" };
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    assert_int_equal(durable_append(full, "rows.csv", "text\n", 5, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, strerror(ENOSPC)));
    assert_non_null(strstr(error.text, "rows.csv"));
    close(full);
}

/* A process whose files may not grow beyond a limit, as on a disk that fills up in the middle of a line: the row before
 * stays whole, the one that did not fit leaves nothing. Returns in the child only on success. */
static void fill_up(const char *root)
{
    struct rows_writer *writer = NULL;
    struct point point = a_point();
    struct result result = a_result();
    struct cnn_error error = { CNN_OK, "" };
    struct rows rows;
    char path[FILES_PATH * 2];
    signal(SIGXFSZ, SIG_IGN);
    if (rows_open(&writer, root, "a-machine", "full", &error))
        _exit(2);
    snprintf(path, sizeof path, "%s/rows.csv", rows_folder(writer));
    if (rows_append(writer, &context, &point, NULL, &result, &error))
        _exit(3);
    struct stat whole, after;
    if (stat(path, &whole))
        _exit(4);
    struct rlimit limit = { (rlim_t)whole.st_size + 100, (rlim_t)whole.st_size + 100 };
    if (setrlimit(RLIMIT_FSIZE, &limit))
        _exit(5);
    if (rows_append(writer, &context, &point, NULL, &result, &error) != CNN_ERROR)
        _exit(6);
    if (!strstr(error.text, "rows.csv") || stat(path, &after) || after.st_size != whole.st_size)
        _exit(7);
    if (rows_read(&rows, path, &error) || rows.count != 1 || rows.torn)
        _exit(8);
    _exit(0);
}

static void a_disk_that_fills_up_costs_no_row(void **state)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        fill_up(*state);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* As nobody, whom a folder's permissions bind also where the tests run as root. */
static void try_read_only(const char *path)
{
    struct rows_writer *writer = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (geteuid() == 0 && setuid(65534))
        _exit(2);
    if (rows_open(&writer, path, "a-machine", "quick", &error) != CNN_ERROR || writer)
        _exit(3);
    _exit(strstr(error.text, path) && strstr(error.text, strerror(EACCES)) && strstr(error.text, "--out") ? 0 : 4);
}

static void a_place_that_cannot_be_written_is_said_at_once(void **state)
{
    struct rows_writer *writer = NULL;
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH];
    int status;
    files_path(path, *state, "a-file");
    files_write(path, "x", 1);
    assert_int_equal(rows_open(&writer, path, "a-machine", "quick", &error), CNN_ERROR);
    assert_non_null(strstr(error.text, path));
    assert_null(writer);
    files_path(path, *state, "read-only");
    assert_int_equal(mkdir(path, 0555), 0);
    assert_int_equal(chmod(*state, 0711), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        try_read_only(path);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_replaced_file_is_whole(void **state)
{
    struct cnn_error error = { CNN_OK, "" };
    char path[FILES_PATH], missing[FILES_PATH];
    files_path(path, *state, "machine.json");
    files_path(missing, *state, "no/such/folder/x");
    assert_int_equal(durable_replace(path, "first, longer", 13, &error), CNN_OK);
    assert_int_equal(durable_replace(path, "second", 6, &error), CNN_OK);
    char *text = slurp(path);
    assert_string_equal(text, "second");
    free(text);
    assert_int_equal(durable_replace(missing, "x", 1, &error), CNN_ERROR);
    assert_non_null(strstr(error.text, missing));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_device_is_said),
        cmocka_unit_test(a_disk_that_fills_up_costs_no_row),
        cmocka_unit_test(a_place_that_cannot_be_written_is_said_at_once),
        cmocka_unit_test(a_replaced_file_is_whole),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
