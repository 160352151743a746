/* SPDX-License-Identifier: MIT */
/* All processors for work that nobody times. A backend may have tied the calling thread to one of them, and its own
 * threads are for what is timed; these begin and end within a call. */
#ifndef DRIVER_CREW_H
#define DRIVER_CREW_H

#include <stdint.h>

/* Remembers the processors that this process may use now; called before anything ties a thread. */
void crew_begin(void);

/* Calls work(what, begin, end) for ranges that make up 0..count, on at most as many threads as there are processors
 * within affinity and quota, and returns when all are done. Fewer threads do the same where no more can be had. */
void crew_run(void (*work)(void *what, int64_t begin, int64_t end), void *what, int64_t count);

/* Threads of crew_run(), the calling one included. A test sets them; 0: as many as processors. */
extern int crew_threads;

#endif
