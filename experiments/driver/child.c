/* SPDX-License-Identifier: MIT */
/* What becomes of a point's process, told as a result: its answer, or the sentence for its end. */
#include "experiments/driver/child.h"
#include "experiments/driver/child_talk.h"
#include "experiments/driver/clock.h"
#include "experiments/driver/resources.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_TOLD 300

/* A team smaller than asked for would change what is measured, and BLAS, which runs inside our threads, needs none of
 * its own. Left as the runtime has them are
 *   OMP_WAIT_POLICY  threads spin for some milliseconds, then sleep. On two idle cores LeNet-5 of width 2 and 4 trains
 *                    1.4 to 1.9 times as fast as with `passive`, which is the one to set where other work runs beside
 *                    ours: spinning then takes ten times as long
 *   OMP_PROC_BIND    a bound first thread makes the process's affinity look like a single processor to everyone who
 *                    counts them. */
static const char *const environment[] = { "OMP_DYNAMIC=false", "OPENBLAS_NUM_THREADS=1", NULL };

const char *const *child_environment(void)
{
    return environment;
}

int child_program(const char *argv0, char *out, size_t size, struct cnn_error *error)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length > 0 && (size_t)length < size - 1) {
        out[length] = '\0';
        if (access(out, X_OK) == 0)
            return CNN_OK;
    }
    char *real = argv0 ? realpath(argv0, NULL) : NULL;
    int printed = real ? snprintf(out, size, "%s", real) : -1;
    free(real);
    if (printed < 0 || (size_t)printed >= size)
        return cnn_error_set(error, CNN_ERROR,
                             "this program cannot find its own file (%s), which it must run again for every point",
                             argv0 ? argv0 : "no name");
    return CNN_OK;
}

/* The last lines as one line of printable text, at most WORDS_TOLD bytes; "" when it said nothing. */
static void last_words(struct child_talk *talk, char out[WORDS_TOLD + 1])
{
    size_t end = talk->words_size, used = 0;
    while (end > 0 && isspace((unsigned char)talk->words[end - 1]))
        end--;
    size_t begin = end > WORDS_TOLD ? end - WORDS_TOLD : 0;
    for (size_t i = begin; i < end; i++) {
        unsigned char letter = (unsigned char)talk->words[i];
        if (letter == '\n' || letter == '\t')
            letter = ' ';
        if (letter >= ' ' && letter != 127 && !(letter == ' ' && used > 0 && out[used - 1] == ' '))
            out[used++] = (char)letter;
    }
    out[used] = '\0';
}

static const char *signal_word(int number)
{
    static const struct {
        int number;
        const char *word;
    } words[] = { { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },   { SIGILL, "SIGILL" },  { SIGFPE, "SIGFPE" },
                  { SIGABRT, "SIGABRT" }, { SIGKILL, "SIGKILL" }, { SIGTERM, "SIGTERM" } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].number == number)
            return words[i].word;
    return strsignal(number);
}

/* A SIGKILL that we did not send, while the kernel counted a kill for memory or the child held most of it. */
static bool ended_for_memory(const struct child_talk *talk, const struct resources *before)
{
    struct resources after;
    resources_read(&after, "");
    if (after.oom_kills > before->oom_kills && before->oom_kills >= 0)
        return true;
    return before->memory_available > 0 &&
           (double)talk->usage.ru_maxrss * 1024 > 0.9 * (double)before->memory_available;
}

static void tell_signal(struct child_talk *talk, const struct resources *before, struct result *result)
{
    char words[WORDS_TOLD + 1];
    int number = WTERMSIG(talk->wait_status);
    last_words(talk, words);
    if (number == SIGKILL && ended_for_memory(talk, before))
        result_set(result, CNN_OOM, "the system ended this point's process for memory at %.1f MiB",
                   (double)talk->usage.ru_maxrss / 1024);
    else
        result_set(result, CNN_ERROR, "killed by signal %d (%s)%s%s", number, signal_word(number), *words ? ": " : "",
                   words);
}

static void tell_silence(struct child_talk *talk, const char *what, struct result *result)
{
    char words[WORDS_TOLD + 1];
    last_words(talk, words);
    result_set(result, CNN_ERROR, "%s (exit code %d)%s%s", what, WEXITSTATUS(talk->wait_status), *words ? ": " : "",
               words);
}

static void judge(struct child_talk *talk, const struct point *point, const struct resources *before,
                  struct result *result)
{
    struct cnn_error error;
    if (talk->interrupted) {
        result_set(result, CNN_SKIPPED, "interrupted");
    } else if (talk->timed_out) {
        result_set(result, CNN_TIMEOUT, "not done after %g s; --timeout gives it more", point->timeout);
    } else if (WIFSIGNALED(talk->wait_status)) {
        tell_signal(talk, before, result);
    } else if (talk->answer.size == 0) {
        tell_silence(talk, "the point's process ended without an answer", result);
    } else if (WEXITSTATUS(talk->wait_status) != 0) {
        tell_silence(talk, "the point's process failed after its answer", result);
    } else {
        talk->answer.at[talk->answer.size] = '\0';
        struct result answer;
        if (result_from_json(&answer, talk->answer.at, &error))
            tell_silence(talk, "the point's process gave an answer that is cut short or none", result);
        else
            *result = answer;
    }
}

bool child_run(const char *program, const struct point *point, struct result *result)
{
    struct child_talk talk = { .in = -1, .out = -1, .words_in = -1, .deadline = INFINITY };
    struct resources before;
    char *question = point_to_json(point);
    double start = clock_seconds();
    result_init(result);
    resources_read(&before, "");
    if (!question) {
        result_set(result, CNN_OOM, "no memory to describe this point");
        return true;
    }
    talk.question = question;
    talk.length = strlen(question);
    if (point->timeout > 0)
        talk.deadline = start + point->timeout;
    int code = child_talk_start(&talk, program, environment);
    if (code) {
        result_set(result, CNN_ERROR, "%s: cannot be started for this point: %s", program, strerror(code));
    } else {
        child_talk_listen(&talk);
        judge(&talk, point, &before, result);
    }
    result->process_seconds = clock_seconds() - start;
    result->startup_seconds = result->opened_at - start;
    child_talk_close(&talk);
    free(question);
    return !talk.interrupted;
}
