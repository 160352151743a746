/* SPDX-License-Identifier: MIT */
/* What feeds the machine, and its GPUs as NVIDIA's driver tells. */
#include "experiments/driver/machine_parts.h"
#include "experiments/driver/nvml.h"
#include "experiments/driver/sysfiles.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* One entry of /sys/class/power_supply: mains that feed it, or a battery that drains. A mouse's battery is no supply of
 * the machine. */
static const char *supply_of(const char *root, const char *name)
{
    char path[400], line[64];
    snprintf(path, sizeof path, "/sys/class/power_supply/%s/scope", name);
    if (sysfile_line(root, path, line, sizeof line) && !strcmp(line, "Device"))
        return NULL;
    snprintf(path, sizeof path, "/sys/class/power_supply/%s/type", name);
    sysfile_line(root, path, line, sizeof line);
    bool battery = !strcmp(line, "Battery"), mains = !strcmp(line, "Mains") || !strncmp(line, "USB", 3);
    snprintf(path, sizeof path, "/sys/class/power_supply/%s/%s", name, battery ? "status" : "online");
    sysfile_line(root, path, line, sizeof line);
    if (battery && !strcmp(line, "Discharging"))
        return "battery";
    return mains && !strcmp(line, "1") ? "mains" : NULL;
}

const char *machine_power_source(const char *root)
{
    char folder[1024];
    const char *source = NULL;
    snprintf(folder, sizeof folder, "%s/sys/class/power_supply", root);
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        const char *found = *entry->d_name == '.' ? NULL : supply_of(root, entry->d_name);
        if (found && (!source || !strcmp(found, "battery")))
            source = found;
    }
    if (list)
        closedir(list);
    return source;
}

void machine_gpus(cJSON *machine, const char *library)
{
    char driver[96];
    struct nvml *nvml = nvml_open(library);
    cJSON *list = cJSON_AddArrayToObject(machine, "gpus");
    if (nvml)
        nvml_driver(nvml, driver, sizeof driver);
    for (int i = 0; nvml && i < nvml_count(nvml); i++) {
        struct nvml_facts facts;
        struct nvml_gpu *gpu = nvml_gpu_at(nvml, i);
        if (!gpu)
            continue;
        nvml_facts(nvml, gpu, &facts);
        cJSON *item = cJSON_CreateObject();
        record_text(item, "name", facts.name);
        record_text(item, "uuid", facts.uuid);
        record_text(item, "pci", facts.pci);
        record_text(item, "driver", driver);
        record_count(item, "memory_bytes", facts.memory_bytes);
        record_number(item, "power_limit_watts", facts.power_limit_watts);
        record_number(item, "clock_mhz_most", facts.clock_mhz_most);
        record_number(item, "memory_mhz_most", facts.memory_mhz_most);
        record_switch(item, "display_attached", facts.display_attached);
        record_switch(item, "persistence", facts.persistent);
        cJSON_AddItemToArray(list, item);
    }
    nvml_close(nvml);
}

void machine_gpu_moments(cJSON *moment, const char *library)
{
    struct nvml *nvml = nvml_open(library);
    cJSON *list = cJSON_AddArrayToObject(moment, "gpus");
    for (int i = 0; nvml && i < nvml_count(nvml); i++) {
        char words[128];
        struct nvml_moment now;
        struct nvml_gpu *gpu = nvml_gpu_at(nvml, i);
        if (!gpu)
            continue;
        nvml_look(nvml, gpu, &now);
        nvml_throttle_words(now.throttle, words, sizeof words);
        cJSON *item = cJSON_CreateObject();
        record_number(item, "clock_mhz", now.clock_mhz);
        record_number(item, "memory_mhz", now.memory_mhz);
        record_number(item, "temperature_celsius", now.temperature_celsius);
        record_number(item, "power_watts", now.power_watts);
        record_text(item, "throttled", words);
        cJSON_AddItemToArray(list, item);
    }
    nvml_close(nvml);
}
