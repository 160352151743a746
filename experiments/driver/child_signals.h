/* SPDX-License-Identifier: MIT */
/* The signals of the parent, for child.c alone; the public part is in child.h. */
#ifndef DRIVER_CHILD_SIGNALS_H
#define DRIVER_CHILD_SIGNALS_H

#include <sys/types.h>

/* The process group that a second signal kills on the way out; 0: none. */
void child_signals_watch(pid_t group);

/* Becomes readable when a signal has come; -1 while signals are not caught. */
int child_signals_descriptor(void);

#endif
