/* SPDX-License-Identifier: MIT */
/* The list of backends of a program that is sabotaged: `cpu` with algorithms which do what their names say. Linked
 * before the driver's library, this file stands in for experiments/driver/backends.c; all else is the real program. */
#include "cpu/cpu.h"
#include "experiments/driver/backends.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum deed { FINE, WRONG, CRASH, KILLED, HANG, DEED_COUNT };

static const char *const deeds[] = { "direct", "wrong", "crash", "killed", "hang", NULL };
static enum deed deed; /* of the one program that a point's process has */

static const char *const *algorithms(void)
{
    return deeds;
}

/* What the real backend is asked for. */
static struct cnn_program_options honest(const struct cnn_program_options *options)
{
    struct cnn_program_options other = *options;
    for (int i = 0; i < DEED_COUNT; i++)
        if (!strcmp(options->algorithm, deeds[i]))
            deed = (enum deed)i;
    other.algorithm = deeds[FINE];
    return other;
}

static int plan(struct cnn_device *device, const struct cnn_network *network, const struct cnn_program_options *options,
                struct cnn_plan *out, struct cnn_error *error)
{
    const struct cnn_program_options other = honest(options);
    return cnn_cpu_backend.plan(device, network, &other, out, error);
}

static int compile(struct cnn_program **out, struct cnn_device *device, const struct cnn_network *network,
                   const struct cnn_program_options *options, struct cnn_error *error)
{
    const struct cnn_program_options other = honest(options);
    return cnn_cpu_backend.compile(out, device, network, &other, error);
}

static int classify(struct cnn_program *program, int steps, struct cnn_error *error)
{
    if (deed == CRASH) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
        raise(SIGSEGV);
    }
    if (deed == KILLED)
        raise(SIGKILL);
    while (deed == HANG)
        pause();
    return cnn_cpu_backend.classify(program, steps, error);
}

static int fetch(struct cnn_program *program, struct cnn_answer *answer, struct cnn_error *error)
{
    int status = cnn_cpu_backend.fetch(program, answer, error);
    if (deed == WRONG && answer->outputs)
        answer->outputs[0] *= 1.001f;
    return status;
}

static struct cnn_backend sabotaged;
static const struct backend_entry entries[] = {
    { .name = "cpu", .label = "CPU, 1 thread", .backend = &sabotaged, .sources = "sabotaged", .isa = true },
    { .name = NULL },
};

const struct backend_entry *backend_entries(void)
{
    sabotaged = cnn_cpu_backend;
    sabotaged.algorithms = algorithms;
    sabotaged.plan = plan;
    sabotaged.compile = compile;
    sabotaged.classify = classify;
    sabotaged.fetch = fetch;
    return entries;
}

const struct backend_entry *backend_entry(const char *name)
{
    const struct backend_entry *entry = backend_entries();
    return strcmp(entry->name, name) ? NULL : entry;
}

const struct cnn_backend *const *backends(void)
{
    static const struct cnn_backend *const all[] = { &sabotaged, NULL };
    backend_entries();
    return all;
}

const struct cnn_backend *backend_find(const char *name, struct cnn_error *error)
{
    if (backend_entry(name))
        return &sabotaged;
    cnn_error_set(error, CNN_INVALID, "\"%.40s\" is no backend of this program", name);
    return NULL;
}
