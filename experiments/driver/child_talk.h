/* SPDX-License-Identifier: MIT */
/* The conversation with a point's process, for child.c: start it, feed it, listen to it, end it. */
#ifndef DRIVER_CHILD_TALK_H
#define DRIVER_CHILD_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#define CHILD_ANSWER_DESCRIPTOR 3
#define CHILD_WORDS_BYTES 4096

/* A text that grows up to a limit. */
struct child_text {
    char *at;
    size_t size, capacity;
};

struct child_talk {
    pid_t pid;
    int in, out, words_in; /* our ends of its stdin, answer and output; -1: closed */
    const char *question;  /* the point */
    size_t sent, length;
    struct child_text answer;
    char words[CHILD_WORDS_BYTES]; /* the last that it printed */
    size_t words_size;
    double deadline; /* of clock_seconds(); INFINITY: none */
    bool timed_out, interrupted, ended;
    int wait_status;
    struct rusage usage;
};

/* Starts `program --child`; deadline and question are set. 0, or the errno that says why not. */
int child_talk_start(struct child_talk *talk, const char *program, const char *const *environment);

/* Returns when the process is gone: by itself, or killed because its time was up or a signal came. */
void child_talk_listen(struct child_talk *talk);
void child_talk_close(struct child_talk *talk); /* what start() opened */

#endif
