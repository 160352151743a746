/* SPDX-License-Identifier: MIT */
/* Three pipes lead to the child: its stdin takes the point, its descriptor 3 gives the answer, and what it prints on
 * stdout or stderr is caught, so that a crash can be told with its last words and nothing strays into the CSV. The
 * child leads a process group of its own: Ctrl-C on the terminal does not reach it, and a kill reaches all that it may
 * have started. */
#include "experiments/driver/child_talk.h"
#include "experiments/driver/child.h"
#include "experiments/driver/child_signals.h"
#include "experiments/driver/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define LOWEST_DESCRIPTOR 10 /* pipes stay clear of 0 to 3 */
#define ANSWER_BYTES_MAX ((size_t)64 << 20)

extern char **environ;

/* Both ends close in the child and lie above its descriptors. */
static bool make_pipe(int ends[2])
{
    int low[2];
    if (pipe(low))
        return false;
    for (int i = 0; i < 2; i++)
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    close(low[0]);
    close(low[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

/* The user's environment, then ours where the user's has no such name. The strings are not copied. */
static char **make_environment(const char *const *environment)
{
    size_t count = 0, ours = 0;
    while (environ[count])
        count++;
    while (environment[ours])
        ours++;
    char **list = calloc(count + ours + 1, sizeof *list);
    if (!list)
        return NULL;
    memcpy(list, environ, count * sizeof *list);
    for (const char *const *entry = environment; *entry; entry++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        if (!getenv(name))
            list[count++] = (char *)*entry;
    }
    return list;
}

/* The child's signals are as a shell would have left them, whatever we catch or ignore. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    return posix_spawnattr_setflags(attributes,
                                    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) ||
           posix_spawnattr_setpgroup(attributes, 0) || posix_spawnattr_setsigdefault(attributes, &defaults) ||
           posix_spawnattr_setsigmask(attributes, &none);
}

/* 0, or an errno. */
static int spawn(const char *program, const char *const *environment, int in, int out, int words, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const arguments[] = { (char *)program, (char *)CHILD_ARGUMENT, NULL };
    char **variables = make_environment(environment);
    int code = variables ? 0 : ENOMEM;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (!code &&
        (posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO) ||
         posix_spawn_file_actions_adddup2(&actions, words, STDOUT_FILENO) ||
         posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO) ||
         posix_spawn_file_actions_adddup2(&actions, out, CHILD_ANSWER_DESCRIPTOR) || set_attributes(&attributes)))
        code = ENOMEM;
    if (!code)
        code = posix_spawn(pid, program, &actions, &attributes, arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(variables);
    return code;
}

int child_talk_start(struct child_talk *talk, const char *program, const char *const *environment)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, words[2] = { -1, -1 };
    int code = make_pipe(in) && make_pipe(out) && make_pipe(words) ? 0 : errno;
    if (!code)
        code = spawn(program, environment, in[0], out[1], words[1], &talk->pid);
    close_end(&in[0]);
    close_end(&out[1]);
    close_end(&words[1]);
    talk->in = in[1];
    talk->out = out[0];
    talk->words_in = words[0];
    if (code)
        return code;
    fcntl(talk->in, F_SETFL, O_NONBLOCK); /* a child that does not read must not block us */
    child_signals_watch(talk->pid);
    return 0;
}

static void send_question(struct child_talk *talk)
{
    ssize_t wrote = write(talk->in, talk->question + talk->sent, talk->length - talk->sent);
    if (wrote > 0)
        talk->sent += (size_t)wrote;
    else if (errno == EAGAIN || errno == EINTR)
        return;
    if (wrote <= 0 || talk->sent == talk->length) /* all sent, or nobody reads: its end says why */
        close_end(&talk->in);
}

static void hear_answer(struct child_talk *talk)
{
    struct child_text *answer = &talk->answer;
    if (answer->capacity - answer->size < 4096) {
        size_t larger = answer->capacity ? 2 * answer->capacity : 16384;
        char *at = larger <= ANSWER_BYTES_MAX ? realloc(answer->at, larger) : NULL;
        if (!at) {
            close_end(&talk->out); /* the cut answer is no JSON, which is found later */
            return;
        }
        answer->at = at;
        answer->capacity = larger;
    }
    ssize_t got = read(talk->out, answer->at + answer->size, answer->capacity - answer->size - 1);
    if (got > 0)
        answer->size += (size_t)got;
    else if (got == 0 || errno != EINTR)
        close_end(&talk->out);
}

/* Keeps the last CHILD_WORDS_BYTES. */
static void hear_words(struct child_talk *talk)
{
    char piece[1024];
    ssize_t got = read(talk->words_in, piece, sizeof piece);
    if (got <= 0) {
        if (got == 0 || errno != EINTR)
            close_end(&talk->words_in);
        return;
    }
    size_t size = (size_t)got,
           over = talk->words_size + size > CHILD_WORDS_BYTES ? talk->words_size + size - CHILD_WORDS_BYTES : 0;
    memmove(talk->words, talk->words + over, talk->words_size - over);
    memcpy(talk->words + talk->words_size - over, piece, size);
    talk->words_size += size - over;
}

static bool reap(struct child_talk *talk, int options)
{
    pid_t got;
    do
        got = wait4(talk->pid, &talk->wait_status, options, &talk->usage);
    while (got < 0 && errno == EINTR);
    talk->ended = got == talk->pid;
    return talk->ended;
}

/* Milliseconds for poll(): until the deadline, or `most`; -1 for ever. */
static int patience(const struct child_talk *talk, int most)
{
    double left = ceil(1e3 * (talk->deadline - clock_seconds()));
    if (!(left < 1e9))
        return most;
    int wait = left > 0 ? (int)left : 0;
    return most >= 0 && most < wait ? most : wait;
}

/* Becomes readable when the process ends; -1 where the system has no such thing. */
static int watch_end(pid_t pid)
{
#if defined(__linux__) && defined(SYS_pidfd_open)
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

/* What is still in the pipes of a child that is gone, be they open elsewhere or not. */
static void hear_the_rest(struct child_talk *talk)
{
    struct pollfd end = { talk->out, POLLIN, 0 };
    while (talk->out >= 0 && poll(&end, 1, 0) > 0)
        hear_answer(talk);
    end = (struct pollfd){ talk->words_in, POLLIN, 0 };
    while (talk->words_in >= 0 && poll(&end, 1, 0) > 0)
        hear_words(talk);
}

/* Waits for news. Without a descriptor that tells the end, the end of the answer's pipe does; a child that has closed
 * it, or has answered and may have left it to another process, is then looked for at intervals: never while it
 * measures. */
static void wait_for_news(struct child_talk *talk, int end)
{
    struct pollfd ends[] = { { talk->in, POLLOUT, 0 },
                             { talk->out, POLLIN, 0 },
                             { talk->words_in, POLLIN, 0 },
                             { child_signals_descriptor(), POLLIN, 0 },
                             { end, POLLIN, 0 } };
    bool look = end < 0 && (talk->out < 0 || talk->answer.size > 0);
    int ready = poll(ends, sizeof ends / sizeof *ends, patience(talk, look ? 10 : -1));
    if (ready > 0 && ends[0].revents)
        send_question(talk);
    if (ready > 0 && ends[1].revents)
        hear_answer(talk);
    if (ready > 0 && ends[2].revents)
        hear_words(talk);
    if (look || ends[4].revents)
        reap(talk, WNOHANG);
}

void child_talk_listen(struct child_talk *talk)
{
    int end = watch_end(talk->pid);
    while (!talk->ended) {
        wait_for_news(talk, end);
        talk->interrupted = !talk->ended && child_interrupted() != 0;
        talk->timed_out = !talk->ended && !talk->interrupted && clock_seconds() >= talk->deadline;
        if (!talk->ended && (talk->interrupted || talk->timed_out)) {
            kill(-talk->pid, SIGKILL);
            reap(talk, 0);
        }
    }
    child_signals_watch(0);
    kill(-talk->pid, SIGKILL); /* whatever it left behind in its group */
    hear_the_rest(talk);
    close_end(&end);
}

void child_talk_close(struct child_talk *talk)
{
    close_end(&talk->in);
    close_end(&talk->out);
    close_end(&talk->words_in);
    free(talk->answer.at);
}
