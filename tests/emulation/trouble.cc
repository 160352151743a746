/* SPDX-License-Identifier: MIT */
/* Sentences for what a GPU leaves undefined. */
#include "tests/emulation/state.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void tell_place(void)
{
    fprintf(stderr, "emulation: kernel %s, block (%u, %u, %u) of (%u, %u, %u)", emulated_block.kernel, blockIdx.x,
            blockIdx.y, blockIdx.z, gridDim.x, gridDim.y, gridDim.z);
    if (emulated_now)
        fprintf(stderr, ", thread (%u, %u, %u) of (%u, %u, %u)", emulated_now->index.x, emulated_now->index.y,
                emulated_now->index.z, blockDim.x, blockDim.y, blockDim.z);
    fputs(": ", stderr);
}

void emulated_stop(const char *format, ...)
{
    va_list list;
    fflush(stdout);
    tell_place();
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    abort();
}

/* A kernel that reads or writes where nothing is: say which. */
static void tell_crash(int number)
{
    signal(number, SIG_DFL);
    if (emulated_block.kernel) {
        tell_place();
        fprintf(stderr, "signal %d: an address that is not there, or not aligned for its type\n", number);
    }
    raise(number);
}

void emulated_watch_crashes(void)
{
    static char stack[64 << 10]; /* of its own: the cause may be a stack that is too small */
    static bool watching;
    if (watching)
        return;
    watching = true;
    stack_t other = {};
    struct sigaction action = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    action.sa_handler = tell_crash;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}
