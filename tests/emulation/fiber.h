/* SPDX-License-Identifier: MIT */
/* Stacks to switch between. On x86-64 a switch is a dozen instructions; elsewhere it is ucontext's. */
#ifndef EMULATION_FIBER_H
#define EMULATION_FIBER_H

#include <stddef.h>

struct fiber;

/* A stack that will run main() again and again: each time fiber_enter() finds that it has ended. Never fails: it ends
 * the program. */
struct fiber *fiber_create(size_t index, void (*main)(void));

/* From the scheduler into a fiber, until fiber_leave(), which returns at the next fiber_enter(). */
void fiber_enter(struct fiber *fiber);
void fiber_leave(struct fiber *fiber);

#endif
