/* SPDX-License-Identifier: MIT */
/* The record of machine, build and run as JSON. Limits come from the control groups, so that a container's share is not
 * taken for the machine. */
#include "experiments/driver/machine.h"
#include "experiments/driver/build_commit.h"
#include "experiments/driver/build_flags.h"
#include "experiments/driver/build_info.h"
#include "experiments/driver/machine_parts.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/sysfiles.h"

#include <ctype.h>
#include <hwloc.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

extern char **environ;

void machine_time(char *out, size_t size)
{
    struct tm parts;
    time_t now = time(NULL);
    gmtime_r(&now, &parts);
    strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

const char *machine_build(void)
{
    return strcmp(BUILD_COMMIT, "") ? BUILD_COMMIT : BUILD_VERSION;
}

void machine_sanitize(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (; *text && used + 1 < size; text++) {
        unsigned char letter = (unsigned char)*text;
        if (letter < 128 && (isalnum(letter) || (letter == '.' && used > 0)))
            out[used++] = (char)tolower(letter);
        else if (used > 0 && out[used - 1] != '-')
            out[used++] = '-';
    }
    while (used > 0 && (out[used - 1] == '-' || out[used - 1] == '.'))
        used--;
    out[used] = '\0';
    if (used == 0)
        snprintf(out, size, "unknown");
}

/* Takes words that say nothing out of a model's name: "(R)", "(TM)", "CPU", "Processor", "@ 2.20GHz". */
static void model_shorten(char *model)
{
    static const char *const empty[] = { "(R)", "(r)", "(TM)", "(tm)", " CPU", " Processor" };
    model[strcspn(model, "@")] = '\0';
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        for (char *at; (at = strstr(model, empty[i]));)
            memmove(at, at + strlen(empty[i]), strlen(at + strlen(empty[i])) + 1);
}

void machine_slug(char out[MACHINE_SLUG])
{
    const char *named = getenv("CONVSCALE_MACHINE");
    if (named && *named) {
        machine_sanitize(named, out, MACHINE_SLUG);
        return;
    }
    char model[256], text[300];
    machine_cpu_model(model, sizeof model);
    model_shorten(model);
    snprintf(text, sizeof text, "%.40s-%ldcpu", model, sysconf(_SC_NPROCESSORS_ONLN));
    machine_sanitize(text, out, MACHINE_SLUG);
}

static void add_memory(cJSON *machine, const char *root, const struct resources *resources)
{
    cJSON *memory = cJSON_AddObjectToObject(machine, "memory");
    record_count(memory, "total_bytes", resources->memory_total);
    record_count(memory, "available_bytes", resources->memory_available);
    record_count(memory, "group_limit_bytes", resources->group_limit);
    record_line(memory, "transparent_hugepages", root, "/sys/kernel/mm/transparent_hugepage/enabled");
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void add_distribution(cJSON *system, const char *root)
{
    char path[1024], line[256], name[256] = "";
    snprintf(path, sizeof path, "%s/etc/os-release", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "PRETTY_NAME=", 12) == 0) {
            char *text = line + 12 + (line[12] == '"');
            text[strcspn(text, "\"\n")] = '\0';
            snprintf(name, sizeof name, "%s", text);
        }
    }
    if (file)
        fclose(file);
    record_text(system, "distribution", name);
}

static bool is_there(const char *root, const char *path)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return access(whole, F_OK) == 0;
}

static void add_system(cJSON *machine, const char *root)
{
    struct utsname names;
    char release[256];
    cJSON *system = cJSON_AddObjectToObject(machine, "system");
    if (uname(&names) == 0) {
        record_text(system, "name", names.sysname);
        record_text(system, "release", names.release);
        record_text(system, "version", names.version);
        record_text(system, "architecture", names.machine);
    }
    add_distribution(system, root);
    /* Windows' own Linux kernel calls itself 5.15.90.1-microsoft-standard-WSL2 */
    bool known = sysfile_line(root, "/proc/sys/kernel/osrelease", release, sizeof release);
    record_switch(system, "wsl", known ? strstr(release, "icrosoft") != NULL : -1);
    record_switch(system, "container", is_there(root, "/.dockerenv") || is_there(root, "/run/.containerenv"));
    record_text(system, "power_source", machine_power_source(root));
}

static void add_build(cJSON *record)
{
    cJSON *build = cJSON_AddObjectToObject(record, "build");
    record_text(build, "version", BUILD_VERSION);
    record_text(build, "commit", BUILD_COMMIT);
    record_switch(build, "dirty", *BUILD_COMMIT ? strstr(BUILD_COMMIT, "-dirty") != NULL : -1);
    record_text(build, "compiler", BUILD_COMPILER);
    record_text(build, "compiler_version", BUILD_COMPILER_VERSION);
    record_text(build, "type", BUILD_TYPE);
    record_text(build, "optimization", BUILD_OPTIMIZATION);
    record_text(build, "flags", BUILD_C_ARGS);
    record_text(build, "openmp", BUILD_OPENMP);
    record_text(build, "subnormals", "flushed to zero by the kernels of every backend");
    cJSON *flags = cJSON_AddObjectToObject(build, "commands"); /* of a file of each target */
    for (int i = 0; *build_flags[i][0]; i++)
        record_text(flags, build_flags[i][0], build_flags[i][1]);
    record_text(build, "nvcc_version", BUILD_NVCC_VERSION);
    record_text(build, "nvcc_flags", BUILD_NVCC_FLAGS);
    cJSON *libraries = cJSON_AddObjectToObject(build, "libraries");
    char text[32];
    unsigned api = hwloc_get_api_version();
    snprintf(text, sizeof text, "%u.%u.%u", api >> 16, api >> 8 & 255, api & 255);
    record_text(libraries, "hwloc_api", text);
    record_text(libraries, "cjson", cJSON_Version());
    record_text(libraries, "zlib", zlibVersion());
    record_text(libraries, "libconfig", BUILD_LIBCONFIG);
    record_text(libraries, "blas", BUILD_BLAS);
#ifdef __GLIBC__
    record_text(libraries, "glibc", gnu_get_libc_version());
#endif
}

/* Variables that steer a run. Where folders lie is the user's own affair and changes no number. */
static void add_environment(cJSON *record, const struct machine_run *run)
{
    static const char *const prefixes[] = { "OMP_",    "GOMP_",      "KMP_", "OPENBLAS_", "CUDA_",
                                            "NVIDIA_", "CONVSCALE_", "MKL_", "MALLOC_",   "GLIBC_TUNABLES" };
    cJSON *list = cJSON_AddObjectToObject(record, "environment");
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        size_t length = strcspn(*entry, "=");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), *entry);
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 && (*entry)[length] && (*entry)[length + 1] != '/')
                record_text(list, name, *entry + length + 1);
    }
    cJSON *children = cJSON_AddArrayToObject(record, "environment_of_points");
    for (const char *const *entry = run->environment; entry && *entry; entry++)
        cJSON_AddItemToArray(children, cJSON_CreateString(*entry));
}

/* The processors that threads kept to, in the order of threads; null where none did. */
static void add_pinned(cJSON *machine, const struct machine_run *run)
{
    const char *at = run->pinned;
    if (!at || !*at) {
        cJSON_AddNullToObject(machine, "pinned");
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(machine, "pinned");
    for (char *end; *at; at = *end ? end + 1 : end) {
        long number = strtol(at, &end, 10);
        if (end == at)
            break;
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)number));
    }
}

/* What backends said of the devices that points ran on. */
static void add_devices(cJSON *machine, const struct machine_run *run)
{
    cJSON *list = cJSON_AddArrayToObject(machine, "devices");
    for (int i = 0; i < run->device_count; i++) {
        cJSON *item = cJSON_CreateObject();
        record_text(item, "backend", run->devices[i].backend);
        record_text(item, "name", run->devices[i].name);
        record_text(item, "detail", run->devices[i].detail);
        cJSON_AddItemToArray(list, item);
    }
}

/* JSON that is made already. */
static void add_raw(cJSON *object, const char *name, const char *text)
{
    if (text)
        cJSON_AddRawToObject(object, name, text);
    else
        cJSON_AddNullToObject(object, name);
}

static void add_run(cJSON *record, const struct machine_run *run)
{
    char seed[32];
    cJSON *item = cJSON_AddObjectToObject(record, "run");
    record_text(item, "study", run->study);
    record_text(item, "study_file", run->study_path);
    snprintf(seed, sizeof seed, "%" PRIu64, run->seed);
    record_text(item, "seed", seed);
    cJSON *command = cJSON_AddArrayToObject(item, "command");
    for (int i = 0; i < run->argc; i++) {
        const char *name = i == 0 ? strrchr(run->argv[i], '/') : NULL;
        cJSON_AddItemToArray(command, cJSON_CreateString(name ? name + 1 : run->argv[i]));
    }
    record_text(item, "started", run->started);
    record_text(item, "ended", run->ended);
    record_count(item, "points", run->points);
    if (run->signal)
        record_count(item, "ended_by_signal", run->signal);
    cJSON *counts = cJSON_AddObjectToObject(item, "rows");
    for (int status = 0; status < CNN_STATUS_COUNT; status++)
        if (run->counts[status])
            record_count(counts, cnn_status_word((enum cnn_status)status), run->counts[status]);
    record_number(item, "timer_resolution_seconds", run->timer_resolution);
    conduct_record(&run->conduct, item);
    record_text(item, "study_text", run->study_text);
}

char *machine_moment(const char *root, const char *library)
{
    char now[32];
    double load[3];
    struct resources resources;
    cJSON *moment = cJSON_CreateObject();
    if (!moment)
        return NULL;
    machine_time(now, sizeof now);
    record_text(moment, "time", now);
    cJSON_AddItemToObject(moment, "load_averages",
                          cJSON_CreateDoubleArray(load, getloadavg(load, 3) == 3 ? 3 : 0)); /* 1, 5, 15 minutes */
    resources_read(&resources, root);
    record_count(moment, "memory_available_bytes", resources.memory_available);
    machine_clocks(moment, root);
    machine_gpu_moments(moment, library);
    char *text = cJSON_PrintUnformatted(moment);
    cJSON_Delete(moment);
    return text;
}

char *machine_record(const struct machine_run *run)
{
    struct resources resources;
    char slug[MACHINE_SLUG];
    const char *root = run->root ? run->root : "";
    cJSON *record = cJSON_CreateObject();
    if (!record)
        return NULL;
    resources_read(&resources, root);
    machine_slug(slug);
    record_count(record, "schema", 2);
    add_run(record, run);
    cJSON *machine = cJSON_AddObjectToObject(record, "machine");
    record_text(machine, "name", slug);
    machine_cpu(machine, root, &resources);
    add_pinned(machine, run);
    add_memory(machine, root, &resources);
    machine_gpus(machine, run->library ? run->library : NVML_LIBRARY);
    add_devices(machine, run);
    add_system(machine, root);
    add_raw(record, "before", run->before);
    add_raw(record, "after", run->after);
    add_build(record);
    add_environment(record, run);
    char *text = cJSON_Print(record);
    cJSON_Delete(record);
    return text;
}
