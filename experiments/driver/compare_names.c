/* SPDX-License-Identifier: MIT */
/* What --compare's words mean: folders, and the latest and previous run of a machine and study. */
#include "experiments/driver/compare_parts.h"
#include "experiments/driver/machine.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_named(const char *name)
{
    return !strcmp(name, "latest") || !strcmp(name, "previous");
}

static bool has_rows(const char *folder)
{
    char path[COMPARE_PATH + 16];
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    return access(path, R_OK) == 0;
}

static int is_no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* The run before the one that `latest` names. Names of runs sort by time; a -2 stands behind the same second. */
static bool find_previous(const char *parent, char out[COMPARE_PATH])
{
    char link[COMPARE_PATH], target[COMPARE_PATH];
    struct dirent **entries = NULL;
    bool found = false;
    snprintf(link, sizeof link, "%.4000s/latest", parent);
    ssize_t length = readlink(link, target, sizeof target - 1);
    int count = length > 0 ? scandir(parent, &entries, is_no_dot, versionsort) : 0;
    target[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < count; i++) {
        char folder[COMPARE_PATH];
        snprintf(folder, sizeof folder, "%.3800s/%s", parent, entries[i]->d_name);
        if (strcmp(entries[i]->d_name, "latest") && strverscmp(entries[i]->d_name, target) < 0 && has_rows(folder)) {
            memcpy(out, folder, sizeof folder);
            found = true;
        }
    }
    free_entries(entries, count > 0 ? count : 0);
    return found;
}

/* The folder of a name in ROOT/<machine>/<study>; false: there is none. */
static bool find_run(const char *parent, const char *name, char out[COMPARE_PATH])
{
    if (!strcmp(name, "previous"))
        return find_previous(parent, out);
    snprintf(out, COMPARE_PATH, "%.4000s/latest", parent);
    return has_rows(out);
}

/* ---- groups ---- */

/* Adds ROOT/<machine>/<study>, where every name means something. *lacks: a name that does not. */
static int add_group(struct compare_groups *groups, const char *parent, const char *const *names, const char **lacks,
                     struct cnn_error *error)
{
    size_t used = (size_t)groups->count * (size_t)groups->names, more = (size_t)groups->names;
    void *list = realloc(groups->folder, (used + more) * sizeof *groups->folder);
    *lacks = NULL;
    if (!list)
        return cnn_error_set(error, CNN_OOM, "no memory for the folders of runs");
    groups->folder = list;
    for (int i = 0; i < groups->names && !*lacks; i++) {
        char *folder = groups->folder[used + (size_t)i];
        if (!is_named(names[i]))
            snprintf(folder, COMPARE_PATH, "%s", names[i]);
        else if (!find_run(parent, names[i], folder))
            *lacks = names[i];
    }
    groups->count += !*lacks;
    return CNN_OK;
}

/* Where the runs of the folder's machine and study are: its rows say which. A run from another machine has none here;
 * then it is about this machine's. */
static int parent_of(const char *folder, const char *root, char parent[COMPARE_PATH], struct cnn_error *error)
{
    char path[COMPARE_PATH + 16];
    char here[MACHINE_SLUG];
    struct rows rows;
    snprintf(path, sizeof path, "%.4000s/rows.csv", folder);
    if (rows_read(&rows, path, error))
        return error->status = CNN_INVALID;
    machine_slug(here);
    const char *machines[] = { rows.count > 0 ? rows.list[0].cell[ROW_MACHINE] : here, here };
    *parent = '\0';
    for (size_t i = 0; rows.count > 0 && i < 2 && (!*parent || access(parent, F_OK)); i++)
        snprintf(parent, COMPARE_PATH, "%.3000s/%.400s/%.400s", root, machines[i], rows.list[0].cell[ROW_STUDY]);
    if (rows.count == 0)
        cnn_error_set(error, CNN_INVALID, "%s: has no rows, so that its machine and study are not known", path);
    int status = rows.count > 0 ? CNN_OK : CNN_INVALID;
    rows_free(&rows);
    return status;
}

/* Every machine and study below the root; those without enough runs are told. */
static int add_all(struct compare_groups *groups, const char *const *names, const struct compare_options *options,
                   struct cnn_error *error)
{
    struct dirent **machines = NULL, **studies;
    int machine_count = scandir(options->results, &machines, is_no_dot, alphasort), status = CNN_OK;
    for (int i = 0; i < machine_count && !status; i++) {
        char machine[COMPARE_PATH], parent[COMPARE_PATH], link[COMPARE_PATH];
        struct stat about;
        snprintf(machine, sizeof machine, "%.3400s/%s", options->results, machines[i]->d_name);
        int count = scandir(machine, &studies, is_no_dot, alphasort);
        for (int j = 0; j < count && !status; j++) {
            const char *lacks = NULL;
            snprintf(parent, sizeof parent, "%.3700s/%s", machine, studies[j]->d_name);
            snprintf(link, sizeof link, "%.4000s/latest", parent);
            if (lstat(link, &about) || !S_ISLNK(about.st_mode))
                continue;
            status = add_group(groups, parent, names, &lacks, error);
            if (lacks && options->log)
                fprintf(options->log, "%s: has no %s run: left out\n", parent, lacks);
        }
        if (count >= 0)
            free_entries(studies, count);
    }
    free_entries(machines, machine_count > 0 ? machine_count : 0);
    if (!status && groups->count == 0)
        status = cnn_error_set(error, CNN_INVALID,
                               "%s: no study of any machine has these runs there: run one, or name folders, as in "
                               "--compare results/a-machine/quick/20100915-120000 latest",
                               options->results);
    return status;
}

int compare_names(struct compare_groups *out, const char *const *names, int count,
                  const struct compare_options *options, struct cnn_error *error)
{
    const char *folder = NULL, *lacks = NULL;
    char parent[COMPARE_PATH] = "";
    bool named = false;
    *out = (struct compare_groups){ .names = count };
    for (int i = 0; i < count; i++) {
        named = named || is_named(names[i]);
        if (!folder && !is_named(names[i]))
            folder = names[i];
    }
    if (!folder)
        return add_all(out, names, options, error);
    if (named && parent_of(folder, options->results, parent, error))
        return error->status;
    if (add_group(out, parent, names, &lacks, error))
        return error->status;
    return lacks ? cnn_error_set(error, CNN_INVALID, "%s: has no %s run", parent, lacks) : CNN_OK;
}
