/* SPDX-License-Identifier: MIT */
/* Stacks with a page below each that must not be touched, so that one too small is a crash and no riddle. */
#include "tests/emulation/fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#define STACK_BYTES ((size_t)512 << 10) /* its frames are larger */
#else
#define STACK_BYTES ((size_t)128 << 10)
#endif

#ifndef __x86_64__
#include <ucontext.h>
#endif

struct fiber {
    void (*main)(void);
    char *stack;
#ifdef __x86_64__
    void *at; /* its stack pointer while others run */
#else
    ucontext_t at;
#endif
#ifdef WITH_ASAN
    void *fake;
#endif
};

static struct fiber *entering;

#ifdef __x86_64__
static void *scheduler;

/* Saves what a call must keep, changes stacks, takes it up again. */
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n"
    ".globl emulated_switch\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\n"
    "movq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
    "ret\n"
    ".size emulated_switch, .-emulated_switch\n");
#else
static ucontext_t scheduler;
#endif

#ifdef WITH_ASAN
static void *scheduler_fake;
static const void *scheduler_stack;
static size_t scheduler_size;
#endif

static void run(void)
{
    struct fiber *own = entering;
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_size);
#endif
    for (;;) {
        own->main();
        fiber_leave(own);
    }
}

struct fiber *fiber_create(size_t index, void (*main)(void))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct fiber *f = (struct fiber *)calloc(1, sizeof *f);
    char *memory = (char *)mmap(NULL, page + STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!f || memory == MAP_FAILED || mprotect(memory, page, PROT_NONE)) {
        fputs("emulation: no memory for the stack of a thread\n", stderr);
        abort();
    }
    f->main = main;
    f->stack = memory + page;
    /* Tops at different places of a page: in the same they would displace each other from the caches. */
    size_t size = STACK_BYTES - index % 11 * 320;
#ifdef __x86_64__
    uintptr_t top = (uintptr_t)(f->stack + size) / 16 * 16;
    void **at = (void **)top - 2; /* a called function finds the stack 8 bytes off 16 */
    *at = (void *)run;
    f->at = at - 6;
#else
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = f->stack;
    f->at.uc_stack.ss_size = size;
    makecontext(&f->at, run, 0);
#endif
    return f;
}

void fiber_enter(struct fiber *fiber)
{
    entering = fiber;
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&scheduler_fake, fiber->stack, STACK_BYTES);
#endif
#ifdef __x86_64__
    emulated_switch(&scheduler, fiber->at);
#else
    swapcontext(&scheduler, &fiber->at);
#endif
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#endif
}

void fiber_leave(struct fiber *fiber)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&fiber->fake, scheduler_stack, scheduler_size);
#endif
#ifdef __x86_64__
    emulated_switch(&fiber->at, scheduler);
#else
    swapcontext(&fiber->at, &scheduler);
#endif
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake, &scheduler_stack, &scheduler_size);
#endif
}
