/* SPDX-License-Identifier: MIT */
/* Whatever becomes of a point's process, its result says it. This program is its own child: executed with --child it
 * reads a point and does what the label says - answers, crashes, hangs, stays silent. */
#include "tests/unit/core.h"

#include "experiments/driver/child.h"
#include "experiments/driver/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096];

/* ---- the child ---- */

static void answer(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t wrote = write(3, text, left);
        if (wrote <= 0)
            _exit(9);
        text += wrote;
        left -= (size_t)wrote;
    }
}

static void answer_well(const struct point *point)
{
    struct result result;
    result_init(&result);
    result.status = CNN_OK;
    result.median = 0.5;
    result.samples = point->max_samples; /* to see that the point came through */
    result.sample = calloc((size_t)result.samples, sizeof *result.sample);
    char *json = result_to_json(&result);
    answer(json);
    free(json);
    result_free(&result);
}

static int act(const struct point *point)
{
    const char *deed = point->label;
    if (!strcmp(deed, "answer")) {
        puts("a stray line that must not reach the CSV");
        answer_well(point);
    } else if (!strcmp(deed, "environment")) {
        struct result result;
        result_init(&result);
        result_set(&result, CNN_OK, "%s %s", getenv("OMP_DYNAMIC"), getenv("OPENBLAS_NUM_THREADS"));
        char *json = result_to_json(&result);
        answer(json);
        free(json);
    } else if (!strcmp(deed, "crash")) {
        fprintf(stderr, "first line\nlast words\n");
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
        raise(SIGSEGV);
    } else if (!strcmp(deed, "kill")) {
        raise(SIGKILL);
    } else if (!strcmp(deed, "hang")) {
        for (;;)
            pause();
    } else if (!strcmp(deed, "deaf")) { /* hangs with all its pipes closed */
        for (int file = 0; file < 4; file++)
            close(file);
        for (;;)
            pause();
    } else if (!strcmp(deed, "stubborn")) { /* answers, then does not end */
        answer_well(point);
        for (;;)
            pause();
    } else if (!strcmp(deed, "orphan")) { /* leaves a process behind that holds the pipes */
        if (fork() == 0)
            for (;;)
                pause();
        answer_well(point);
    } else if (!strcmp(deed, "silent")) {
        fprintf(stderr, "nothing to say\n");
        return 7;
    } else if (!strcmp(deed, "half")) {
        answer("{\"status\":\"ok\",\"median\":");
    } else if (!strcmp(deed, "late crash")) {
        answer_well(point);
        raise(SIGABRT);
    } else if (!strcmp(deed, "late failure")) {
        answer_well(point);
        return 23;
    } else if (!strcmp(deed, "chatter")) { /* far more than a pipe holds */
        for (int i = 0; i < 100000; i++)
            fprintf(stderr, "line %d\n", i);
        return 1;
    }
    return 0;
}

static int be_the_child(void)
{
    static char text[1 << 16];
    struct point point;
    struct cnn_error error;
    size_t size = fread(text, 1, sizeof text - 1, stdin);
    text[size] = '\0';
    if (point_from_json(&point, text, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 99;
    }
    return act(&point);
}

/* ---- the parent ---- */

static struct result run(const char *deed, double timeout)
{
    struct point point = { .phase = POINT_TRAIN,
                           .batch = 1,
                           .series = "x",
                           .backend = "cpu",
                           .algorithm = "naive",
                           .min_samples = 6,
                           .max_samples = 3,
                           .timeout = timeout };
    struct result result;
    point.spec = core_spec("lenet5", 32, 1, 1);
    snprintf(point.label, sizeof point.label, "%s", deed);
    snprintf(point.data, sizeof point.data, "normal");
    assert_true(child_run(self, &point, &result));
    return result;
}

static void assert_says(const struct result *result, const char *words)
{
    if (!strstr(result->reason, words))
        fail_msg("\"%s\" does not say \"%s\"", result->reason, words);
}

static void an_answer_arrives(void **state)
{
    (void)state;
    struct result result = run("answer", 0);
    assert_int_equal(result.status, CNN_OK);
    assert_true(result.median == 0.5);
    assert_int_equal(result.samples, 3);
    result_free(&result);
}

static void the_environment_is_set_unless_the_user_did(void **state)
{
    (void)state;
    unsetenv("OPENBLAS_NUM_THREADS");
    setenv("OMP_DYNAMIC", "true", 1);
    struct result result = run("environment", 0);
    assert_string_equal(result.reason, "true 1");
    unsetenv("OMP_DYNAMIC");
    result = run("environment", 0);
    assert_string_equal(result.reason, "false 1");
    assert_null(getenv("OMP_DYNAMIC")); /* the parent's own is untouched */
}

static void a_crash_is_told_with_its_last_words(void **state)
{
    (void)state;
    struct result result = run("crash", 0);
    assert_int_equal(result.status, CNN_ERROR);
    assert_string_equal(result.reason, "killed by signal 11 (SIGSEGV): first line last words");
    result = run("kill", 0); /* nobody's memory was short */
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "killed by signal 9 (SIGKILL)");
}

static void time_is_up(void **state)
{
    (void)state;
    static const char *const deeds[] = { "hang", "deaf", "stubborn" };
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        double start = clock_seconds();
        struct result result = run(deeds[i], 0.2);
        double took = clock_seconds() - start;
        assert_int_equal(result.status, CNN_TIMEOUT);
        assert_says(&result, "0.2 s");
        assert_true(took >= 0.2 && took < 5);
        result_free(&result);
    }
}

/* The process left behind has inherited the writing end of a pipe, which ends when it does. */
static void what_a_point_leaves_behind_ends_with_it(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    double start = clock_seconds();
    struct result result = run("orphan", 20);
    assert_int_equal(result.status, CNN_OK);
    close(ends[1]);
    struct pollfd end = { ends[0], POLLIN, 0 };
    assert_int_equal(poll(&end, 1, 5000), 1);
    assert_true(end.revents & POLLHUP);
    assert_true(clock_seconds() - start < 10);
    close(ends[0]);
    result_free(&result);
}

static void silence_is_an_error(void **state)
{
    (void)state;
    struct result result = run("silent", 0);
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "without an answer (exit code 7): nothing to say");
    result = run("half", 0);
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "cut short");
    result = run("chatter", 20);
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "line 99999");
}

static void an_answer_does_not_excuse_what_follows(void **state)
{
    (void)state;
    struct result result = run("late crash", 0);
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "signal 6 (SIGABRT)");
    result = run("late failure", 0);
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "exit code 23");
}

static void a_program_that_is_not_there_is_said(void **state)
{
    (void)state;
    struct point point = { .batch = 1 };
    struct result result;
    assert_true(child_run("/nowhere/convscale", &point, &result));
    assert_int_equal(result.status, CNN_ERROR);
    assert_says(&result, "/nowhere/convscale");
    assert_says(&result, strerror(ENOENT));
}

static int open_descriptors(void)
{
    int count = 0;
    for (int file = 0; file < 256; file++)
        count += fcntl(file, F_GETFD) >= 0;
    return count;
}

static void nothing_is_left_open(void **state)
{
    (void)state;
    int before = open_descriptors();
    for (int i = 0; i < 5; i++) {
        struct result result = run(i % 2 ? "answer" : "crash", 0);
        result_free(&result);
    }
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and nobody is left to bury */
}

/* A process that runs a hanging point and gets signals: the first drops the point, and the second ends it at once even
 * while it does nothing but wait. */
static void be_interrupted(int signals)
{
    struct point point = { .batch = 1, .label = "hang" };
    struct result result;
    point.spec = core_spec("lenet5", 32, 1, 1);
    child_signals_catch();
    pid_t other = fork();
    if (other == 0) {
        usleep(200000);
        kill(getppid(), SIGINT);
        _exit(0);
    }
    if (child_run(self, &point, &result) || result.status != CNN_SKIPPED || child_interrupted() != SIGINT)
        _exit(1);
    if (signals == 1)
        _exit(0);
    raise(SIGTERM);
    _exit(2);
}

static int exit_code_of(void (*body)(int), int argument)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        body(argument);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_first_signal_drops_the_point_the_second_ends_all(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(be_interrupted, 1), 0);
    assert_int_equal(exit_code_of(be_interrupted, 2), 128 + SIGTERM);
}

static void be_released(int unused)
{
    (void)unused;
    child_signals_catch();
    child_signals_release();
    raise(SIGTERM);
    _exit(0);
}

static void signals_are_given_back(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_released(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_arrives),
        cmocka_unit_test(the_environment_is_set_unless_the_user_did),
        cmocka_unit_test(a_crash_is_told_with_its_last_words),
        cmocka_unit_test(time_is_up),
        cmocka_unit_test(what_a_point_leaves_behind_ends_with_it),
        cmocka_unit_test(silence_is_an_error),
        cmocka_unit_test(an_answer_does_not_excuse_what_follows),
        cmocka_unit_test(a_program_that_is_not_there_is_said),
        cmocka_unit_test(nothing_is_left_open),
        cmocka_unit_test(the_first_signal_drops_the_point_the_second_ends_all),
        cmocka_unit_test(signals_are_given_back),
    };
    struct cnn_error error;
    if (argc == 2 && !strcmp(argv[1], CHILD_ARGUMENT))
        return be_the_child();
    if (child_program(argv[0], self, sizeof self, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
