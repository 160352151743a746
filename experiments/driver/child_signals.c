/* SPDX-License-Identifier: MIT */
/* Ctrl-C once: the sweep drops its point and ends in order. Twice: at once. A pipe carries the news to poll(), so that
 * no signal can slip in between a look and a wait. */
#include "experiments/driver/child_signals.h"
#include "experiments/driver/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t caught;  /* the first signal */
static volatile sig_atomic_t watched; /* process group of the running child; pid_t is an int wherever this builds */
static int news[2] = { -1, -1 };
static struct sigaction before_int, before_term, before_pipe, before_size;

static void on_signal(int number)
{
    int code = errno;
    if (caught) {
        if (watched > 0)
            kill((pid_t)-watched, SIGKILL);
        _exit(128 + number);
    }
    caught = number;
    if (write(news[1], "!", 1) < 0) {
        /* the flag is set; the next look finds it */
    }
    errno = code;
}

void child_signals_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN };
    caught = 0;
    if (news[0] < 0 && pipe(news) == 0)
        for (int i = 0; i < 2; i++) {
            fcntl(news[i], F_SETFD, FD_CLOEXEC);
            fcntl(news[i], F_SETFL, O_NONBLOCK);
        }
    sigemptyset(&action.sa_mask);
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
    sigaction(SIGPIPE, &ignore, &before_pipe);
    sigaction(SIGXFSZ, &ignore, &before_size); /* a file at its size limit is an error of write() */
}

void child_signals_release(void)
{
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    sigaction(SIGPIPE, &before_pipe, NULL);
    sigaction(SIGXFSZ, &before_size, NULL);
    for (int i = 0; i < 2; i++) {
        if (news[i] >= 0)
            close(news[i]);
        news[i] = -1;
    }
}

int child_interrupted(void)
{
    return caught;
}

void child_signals_watch(pid_t group)
{
    watched = group;
}

int child_signals_descriptor(void)
{
    return news[0];
}
