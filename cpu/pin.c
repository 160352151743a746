/* SPDX-License-Identifier: MIT */
/* Threads that keep to a processor of their own: their caches stay theirs, and two never share a core while another is
 * idle. Only the omp backend pins: a single thread is moved seldom, and one that is tied to a processor that something
 * else also uses has nowhere to go. */
#include "cpu/device.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpu_pins {
    int threads;
    int processor[]; /* of each thread */
};

/* Taken once, before the first thread is pinned: afterwards the calling thread's own is a single processor. */
static cpu_set_t affinity;
static bool affinity_known;

bool cpu_affinity(cpu_set_t *out)
{
    if (!affinity_known)
        affinity_known = sched_getaffinity(0, sizeof affinity, &affinity) == 0;
    *out = affinity;
    return affinity_known;
}

void cpu_unpin(void)
{
    if (affinity_known)
        sched_setaffinity(0, sizeof affinity, &affinity);
}

/* A processor and its place among its core's. */
struct place {
    int processor, sibling, core; /* core: logical number, package by package */
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->sibling != y->sibling)
        return x->sibling < y->sibling ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return x->processor < y->processor ? -1 : x->processor > y->processor;
}

/* How many of the core's allowed processors are numbered before this one. */
static int sibling_of(hwloc_obj_t core, int processor, const cpu_set_t *allowed)
{
    int before = 0;
    for (int other = hwloc_bitmap_first(core->cpuset); other >= 0 && other < processor;
         other = hwloc_bitmap_next(core->cpuset, other))
        before += other < CPU_SETSIZE && CPU_ISSET(other, allowed);
    return before;
}

/* Where the topology says nothing, processors count as cores. */
static void find_place(hwloc_topology_t topology, const cpu_set_t *allowed, struct place *place)
{
    place->core = place->processor;
    if (!topology)
        return;
    hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(topology, (unsigned)place->processor);
    hwloc_obj_t core = unit ? hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit) : NULL;
    if (!core)
        return;
    place->core = (int)core->logical_index;
    place->sibling = sibling_of(core, place->processor, allowed);
}

static hwloc_topology_t load_topology(void)
{
    hwloc_topology_t topology = NULL;
    if (hwloc_topology_init(&topology))
        return NULL;
    if (hwloc_topology_load(topology)) {
        hwloc_topology_destroy(topology);
        return NULL;
    }
    return topology;
}

static const char *bound_by_user(void)
{
    static const char *const variables[][2] = { { "OMP_PROC_BIND", "OMP_PROC_BIND binds threads" },
                                                { "OMP_PLACES", "OMP_PLACES binds threads" },
                                                { "GOMP_CPU_AFFINITY", "GOMP_CPU_AFFINITY binds threads" },
                                                { "KMP_AFFINITY", "KMP_AFFINITY binds threads" } };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i][0]))
            return variables[i][1];
    return NULL;
}

static void choose_processors(struct cpu_pins *pins, const cpu_set_t *allowed)
{
    struct place place[CPU_SETSIZE];
    hwloc_topology_t topology = load_topology();
    int count = 0;
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, allowed))
            continue;
        place[count] = (struct place){ .processor = processor };
        find_place(topology, allowed, &place[count++]);
    }
    qsort(place, (size_t)count, sizeof *place, by_place);
    for (int i = 0; i < pins->threads; i++)
        pins->processor[i] = place[i].processor;
    if (topology)
        hwloc_topology_destroy(topology);
}

struct cpu_pins *cpu_pins_create(int threads, const char **why)
{
    cpu_set_t allowed;
    *why = bound_by_user();
    if (*why)
        return NULL;
    if (!cpu_affinity(&allowed)) {
        *why = "the system does not tell which processors may be used";
        return NULL;
    }
    if (threads > CPU_COUNT(&allowed)) {
        *why = "there are more threads than processors";
        return NULL;
    }
    struct cpu_pins *pins = malloc(sizeof *pins + (size_t)threads * sizeof *pins->processor);
    if (!pins) {
        *why = "no memory for the list of processors";
        return NULL;
    }
    pins->threads = threads;
    choose_processors(pins, &allowed);
    return pins;
}

bool cpu_pins_bind(const struct cpu_pins *pins, int thread)
{
    cpu_set_t one;
    if (thread >= pins->threads)
        return false;
    CPU_ZERO(&one);
    CPU_SET(pins->processor[thread], &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

void cpu_pins_text(const struct cpu_pins *pins, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < pins->threads; i++) {
        char number[16];
        snprintf(number, sizeof number, "%s%d", i ? "," : "", pins->processor[i]);
        if (used + strlen(number) + 4 >= size) {
            snprintf(out + used, size - used, "...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s", number);
    }
}

void cpu_pins_free(struct cpu_pins *pins)
{
    free(pins);
}
