/* SPDX-License-Identifier: MIT */
/* The record of machine, build and run as JSON. Topology comes from hwloc, so that hyperthreads and cores are told
 * apart; limits from the control groups, so that a container's share is not taken for the machine. */
#include "experiments/driver/machine.h"
#include "experiments/driver/build_commit.h"
#include "experiments/driver/build_info.h"
#include "experiments/driver/resources.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <hwloc.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
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

/* The first line of a small file, or nothing. */
static const char *first_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, size, file);
    if (file)
        fclose(file);
    if (!read)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* "model name : AMD EPYC ..." of /proc/cpuinfo, for systems where hwloc does not say. */
static bool cpuinfo_model(char *out, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *text = strchr(line, ':');
        if (text && (strncmp(line, "model name", 10) == 0 || strncmp(line, "Hardware", 8) == 0)) {
            text[strcspn(text, "\n")] = '\0';
            snprintf(out, size, "%s", text + 1 + strspn(text + 1, " \t"));
            found = true;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static void cpu_model(hwloc_topology_t topology, char *out, size_t size)
{
    hwloc_obj_t package = topology ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : NULL;
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    struct utsname names;
    if (model && *model)
        snprintf(out, size, "%s", model);
    else if (!cpuinfo_model(out, size))
        snprintf(out, size, "%s", uname(&names) == 0 ? names.machine : "unknown");
}

/* NULL where the topology cannot be read; the caller destroys it. */
static hwloc_topology_t topology_load(void)
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
    hwloc_topology_t topology = topology_load();
    cpu_model(topology, model, sizeof model);
    if (topology)
        hwloc_topology_destroy(topology);
    model_shorten(model);
    snprintf(text, sizeof text, "%.40s-%ldcpu", model, sysconf(_SC_NPROCESSORS_ONLN));
    machine_sanitize(text, out, MACHINE_SLUG);
}

/* ---- the JSON; without memory an item is simply missing ---- */

static void add_text(cJSON *object, const char *name, const char *text)
{
    cJSON_AddItemToObject(object, name, text && *text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static void add_number(cJSON *object, const char *name, double value)
{
    cJSON_AddItemToObject(object, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* A count of -1 is unknown. */
static void add_count(cJSON *object, const char *name, int64_t count)
{
    add_number(object, name, count < 0 ? NAN : (double)count);
}

static void add_first_line(cJSON *object, const char *name, const char *path)
{
    char line[512];
    add_text(object, name, first_line(path, line, sizeof line));
}

static void add_caches(cJSON *cpu, hwloc_topology_t topology)
{
    static const hwloc_obj_type_t types[] = { HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                              HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE };
    cJSON *list = cJSON_AddArrayToObject(cpu, "caches");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, types[i], 0);
        if (!cache)
            continue;
        char name[32];
        hwloc_obj_type_snprintf(name, sizeof name, cache, 0);
        cJSON *item = cJSON_CreateObject();
        add_text(item, "name", name);
        add_count(item, "bytes", (int64_t)cache->attr->cache.size);
        add_count(item, "line_bytes", cache->attr->cache.linesize);
        add_count(item, "count", hwloc_get_nbobjs_by_type(topology, types[i]));
        add_count(item, "logical_cpus_sharing", hwloc_bitmap_weight(cache->cpuset));
        cJSON_AddItemToArray(list, item);
    }
}

static void add_affinity(cJSON *cpu, hwloc_topology_t topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = NULL;
    if (set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0) {
        add_count(cpu, "affinity_cpus", hwloc_bitmap_weight(set));
        if (hwloc_bitmap_list_asprintf(&text, set) >= 0)
            add_text(cpu, "affinity", text);
    }
    free(text);
    hwloc_bitmap_free(set);
}

static void add_cpu(cJSON *machine, const struct resources *resources)
{
    char model[256];
    cJSON *cpu = cJSON_AddObjectToObject(machine, "cpu");
    hwloc_topology_t topology = topology_load();
    cpu_model(topology, model, sizeof model);
    add_text(cpu, "model", model);
    add_count(cpu, "logical_cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
    if (topology) {
        add_count(cpu, "logical_cpus", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
        add_count(cpu, "physical_cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
        add_count(cpu, "packages", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
        add_count(cpu, "numa_nodes", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
        add_caches(cpu, topology);
        add_affinity(cpu, topology);
        hwloc_topology_destroy(topology);
    }
    add_number(cpu, "quota_cpus", resources->cpu_quota);
    add_first_line(cpu, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    add_first_line(cpu, "boost", "/sys/devices/system/cpu/cpufreq/boost");
    add_first_line(cpu, "smt", "/sys/devices/system/cpu/smt/active");
}

static void add_memory(cJSON *machine, const struct resources *resources)
{
    cJSON *memory = cJSON_AddObjectToObject(machine, "memory");
    add_count(memory, "total_bytes", resources->memory_total);
    add_count(memory, "available_bytes", resources->memory_available);
    add_count(memory, "group_limit_bytes", resources->group_limit);
    add_first_line(memory, "transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled");
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void add_distribution(cJSON *system)
{
    char line[256];
    FILE *file = fopen("/etc/os-release", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "PRETTY_NAME=", 12) == 0) {
            char *text = line + 12 + (line[12] == '"');
            text[strcspn(text, "\"\n")] = '\0';
            add_text(system, "distribution", text);
        }
    }
    if (file)
        fclose(file);
}

static void add_system(cJSON *machine)
{
    struct utsname names;
    cJSON *system = cJSON_AddObjectToObject(machine, "system");
    if (uname(&names) == 0) {
        add_text(system, "name", names.sysname);
        add_text(system, "release", names.release);
        add_text(system, "version", names.version);
        add_text(system, "architecture", names.machine);
    }
    add_distribution(system);
    double load[1];
    add_number(system, "load_average", getloadavg(load, 1) == 1 ? load[0] : NAN);
}

static void add_build(cJSON *record)
{
    cJSON *build = cJSON_AddObjectToObject(record, "build");
    add_text(build, "version", BUILD_VERSION);
    add_text(build, "commit", BUILD_COMMIT);
    add_text(build, "compiler", BUILD_COMPILER);
    add_text(build, "compiler_version", BUILD_COMPILER_VERSION);
    add_text(build, "type", BUILD_TYPE);
    add_text(build, "optimization", BUILD_OPTIMIZATION);
    add_text(build, "flags", BUILD_C_ARGS);
    add_text(build, "openmp", BUILD_OPENMP);
    cJSON *libraries = cJSON_AddObjectToObject(build, "libraries");
    char text[32];
    unsigned api = hwloc_get_api_version();
    snprintf(text, sizeof text, "%u.%u.%u", api >> 16, api >> 8 & 255, api & 255);
    add_text(libraries, "hwloc_api", text);
    add_text(libraries, "cjson", cJSON_Version());
    add_text(libraries, "zlib", zlibVersion());
    add_text(libraries, "libconfig", BUILD_LIBCONFIG);
#ifdef __GLIBC__
    add_text(libraries, "glibc", gnu_get_libc_version());
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
                add_text(list, name, *entry + length + 1);
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

static void add_run(cJSON *record, const struct machine_run *run)
{
    char seed[32];
    cJSON *item = cJSON_AddObjectToObject(record, "run");
    add_text(item, "study", run->study);
    add_text(item, "study_file", run->study_path);
    snprintf(seed, sizeof seed, "%" PRIu64, run->seed);
    add_text(item, "seed", seed);
    cJSON *command = cJSON_AddArrayToObject(item, "command");
    for (int i = 0; i < run->argc; i++) {
        const char *name = i == 0 ? strrchr(run->argv[i], '/') : NULL;
        cJSON_AddItemToArray(command, cJSON_CreateString(name ? name + 1 : run->argv[i]));
    }
    add_text(item, "started", run->started);
    add_text(item, "ended", run->ended);
    add_count(item, "points", run->points);
    if (run->signal)
        add_count(item, "ended_by_signal", run->signal);
    cJSON *counts = cJSON_AddObjectToObject(item, "rows");
    for (int status = 0; status < CNN_STATUS_COUNT; status++)
        if (run->counts[status])
            add_count(counts, cnn_status_word((enum cnn_status)status), run->counts[status]);
    add_number(item, "timer_resolution_seconds", run->timer_resolution);
    add_text(item, "study_text", run->study_text);
}

char *machine_record(const struct machine_run *run)
{
    struct resources resources;
    char slug[MACHINE_SLUG];
    cJSON *record = cJSON_CreateObject();
    if (!record)
        return NULL;
    resources_read(&resources, "");
    machine_slug(slug);
    add_count(record, "schema", 1);
    add_run(record, run);
    cJSON *machine = cJSON_AddObjectToObject(record, "machine");
    add_text(machine, "name", slug);
    add_cpu(machine, &resources);
    add_pinned(machine, run);
    add_memory(machine, &resources);
    add_system(machine);
    add_build(record);
    add_environment(record, run);
    char *text = cJSON_Print(record);
    cJSON_Delete(record);
    return text;
}
