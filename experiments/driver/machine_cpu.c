/* SPDX-License-Identifier: MIT */
/* The processor's part of the record. Topology comes from hwloc, so that hyperthreads and cores are told apart; a
 * virtual machine may present hyperthreads as cores, so there it stays unverified. */
#include "experiments/driver/machine_parts.h"
#include "experiments/driver/sysfiles.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* hwloc does not say it on every system. */
static void model_of(hwloc_topology_t topology, char *out, size_t size)
{
    hwloc_obj_t package = topology ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : NULL;
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    struct utsname names;
    if (model && *model)
        snprintf(out, size, "%s", model);
    else if (!sysfile_value("", "/proc/cpuinfo", "model name", out, size) &&
             !sysfile_value("", "/proc/cpuinfo", "Hardware", out, size))
        snprintf(out, size, "%s", uname(&names) == 0 ? names.machine : "unknown");
}

void machine_cpu_model(char *out, size_t size)
{
    hwloc_topology_t topology = topology_load();
    model_of(topology, out, size);
    if (topology)
        hwloc_topology_destroy(topology);
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
        record_text(item, "name", name);
        record_count(item, "bytes", (int64_t)cache->attr->cache.size);
        record_count(item, "line_bytes", cache->attr->cache.linesize);
        record_count(item, "count", hwloc_get_nbobjs_by_type(topology, types[i]));
        record_count(item, "logical_cpus_sharing", hwloc_bitmap_weight(cache->cpuset));
        cJSON_AddItemToArray(list, item);
    }
}

static void add_affinity(cJSON *cpu, hwloc_topology_t topology)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = NULL;
    if (set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0) {
        record_count(cpu, "affinity_cpus", hwloc_bitmap_weight(set));
        if (hwloc_bitmap_list_asprintf(&text, set) >= 0)
            record_text(cpu, "affinity", text);
    }
    free(text);
    hwloc_bitmap_free(set);
}

/* 1 where the processor says that a hypervisor runs it, 0 where it does not, -1 where processors have no such flag. */
static int is_virtual(const char *root)
{
    char flags[4096];
    if (!sysfile_value(root, "/proc/cpuinfo", "flags", flags, sizeof flags))
        return -1;
    const char *at = strstr(flags, " hypervisor");
    return at && (at[11] == ' ' || at[11] == '\0');
}

static void add_topology(cJSON *cpu, hwloc_topology_t topology, int virtual)
{
    record_count(cpu, "logical_cpus", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
    record_count(cpu, "physical_cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
    record_count(cpu, "core_kinds", hwloc_cpukinds_get_nr(topology, 0)); /* 2: fast and frugal cores in one processor */
    record_count(cpu, "packages", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
    record_count(cpu, "numa_nodes", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
    bool real = hwloc_topology_is_thissystem(topology);
    record_switch(cpu, "topology_verified", real && virtual == 0);
    record_text(cpu, "topology_note",
                !real          ? "not this machine's: hwloc was told another by its variables"
                : virtual == 1 ? "as the hypervisor presents it: its cores may be hyperthreads of one"
                : virtual < 0  ? "as the system says; whether a hypervisor made it up is not known"
                               : "as the processor itself says");
    add_caches(cpu, topology);
    add_affinity(cpu, topology);
}

void machine_cpu(cJSON *machine, const char *root, const struct resources *resources)
{
    char model[256];
    int virtual = is_virtual(root);
    cJSON *cpu = cJSON_AddObjectToObject(machine, "cpu");
    hwloc_topology_t topology = topology_load();
    model_of(topology, model, sizeof model);
    record_text(cpu, "model", model);
    record_switch(cpu, "virtual", virtual);
    record_count(cpu, "logical_cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
    if (topology) {
        add_topology(cpu, topology, virtual);
        hwloc_topology_destroy(topology);
    }
    record_number(cpu, "quota_cpus", resources->cpu_quota);
    record_line(cpu, "governor", root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    record_line(cpu, "frequency_driver", root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver");
    record_number(cpu, "mhz_least",
                  1e-3 * sysfile_number(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq"));
    record_number(cpu, "mhz_most",
                  1e-3 * sysfile_number(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
    record_line(cpu, "boost", root, "/sys/devices/system/cpu/cpufreq/boost");
    record_line(cpu, "no_turbo", root, "/sys/devices/system/cpu/intel_pstate/no_turbo");
    record_switch(cpu, "energy_readable", isfinite(sysfile_number(root, "/sys/class/powercap/intel-rapl:0/energy_uj")));
    record_line(cpu, "smt", root, "/sys/devices/system/cpu/smt/active");
}

/* The slowest and fastest processor now; where the kernel governs no clocks, what the first one is said to run at. */
void machine_clocks(cJSON *moment, const char *root)
{
    double low = NAN, high = NAN;
    char path[96], text[64];
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (long i = 0; i < processors; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cpufreq/scaling_cur_freq", i);
        double mhz = 1e-3 * sysfile_number(root, path);
        low = fmin(low, mhz);
        high = fmax(high, mhz);
    }
    record_number(moment, "cpu_mhz_low", low);
    record_number(moment, "cpu_mhz_high", high);
    bool said = isnan(low) && sysfile_value(root, "/proc/cpuinfo", "cpu MHz", text, sizeof text);
    record_number(moment, "cpu_mhz_said", said ? strtod(text, NULL) : NAN);
}
