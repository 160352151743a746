/* SPDX-License-Identifier: MIT */
/* Threads take small ranges from a counter, so that one whose processor is busy with something else holds up nobody. */
#include "experiments/driver/crew.h"
#include "experiments/driver/resources.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define THREADS_MAX 64 /* more have nothing to gain: a layer has few maps */
#define PIECES 4       /* ranges for each thread */

int crew_threads;

static cpu_set_t processors;
static int processor_count; /* 0: not known yet */

struct task {
    void (*work)(void *what, int64_t begin, int64_t end);
    void *what;
    int64_t count, step;
    _Atomic int64_t next;
};

void crew_begin(void)
{
    struct resources resources;
    if (sched_getaffinity(0, sizeof processors, &processors)) {
        processor_count = 1;
        return;
    }
    processor_count = CPU_COUNT(&processors);
    resources_read(&resources, "");
    if (resources.cpu_quota > 0 && resources.cpu_quota < processor_count)
        processor_count = (int)ceil(resources.cpu_quota);
}

static void take_ranges(struct task *task)
{
    int64_t begin;
    while ((begin = atomic_fetch_add(&task->next, task->step)) < task->count)
        task->work(task->what, begin, begin + task->step < task->count ? begin + task->step : task->count);
}

/* A new thread may be where its maker is tied. */
static void *help(void *task)
{
    sched_setaffinity(0, sizeof processors, &processors);
    take_ranges(task);
    return NULL;
}

static int threads_for(int64_t count)
{
    if (processor_count == 0)
        crew_begin();
    int threads = crew_threads > 0 ? crew_threads : processor_count;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    return count < threads ? (int)count : threads;
}

void crew_run(void (*work)(void *what, int64_t begin, int64_t end), void *what, int64_t count)
{
    pthread_t helpers[THREADS_MAX];
    int threads = threads_for(count), started = 0;
    struct task task = { .work = work, .what = what, .count = count };
    task.step = threads > 1 ? 1 + (count - 1) / ((int64_t)PIECES * threads) : count;
    while (started + 1 < threads && pthread_create(&helpers[started], NULL, help, &task) == 0)
        started++;
    take_ranges(&task);
    while (started > 0)
        pthread_join(helpers[--started], NULL);
}
