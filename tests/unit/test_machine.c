/* SPDX-License-Identifier: MIT */
/* The record of the machine: a name for a path, JSON that says what it must, and limits from made-up control groups. */
#include "tests/unit/files.h"

#include "experiments/driver/machine.h"
#include "experiments/driver/resources.h"

#include <cjson/cJSON.h>
#include <math.h>

static const char *library; /* a made-up NVML */

static void names_are_fit_for_paths(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        { "AMD EPYC 9B14", "amd-epyc-9b14" },
        { "  Intel(R)  Xeon ", "intel-r-xeon" },
        { "../../etc/passwd", "etc-passwd" },
        { "...", "unknown" },
        { "", "unknown" },
        { "a/b\\c\nd", "a-b-c-d" },
        { "v1.2", "v1.2" },
        { "\xc3\xa4\xc3\xb6", "unknown" },
        { "-x-", "x" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[MACHINE_SLUG];
        machine_sanitize(known[i][0], name, sizeof name);
        assert_string_equal(name, known[i][1]);
    }
    char small[4];
    machine_sanitize("abcdefgh", small, sizeof small);
    assert_string_equal(small, "abc");
}

static void the_machine_is_named_by_the_user_or_its_processor(void **state)
{
    (void)state;
    char name[MACHINE_SLUG], host[256] = "";
    setenv("CONVSCALE_MACHINE", "My Box #1", 1);
    machine_slug(name);
    assert_string_equal(name, "my-box-1");
    unsetenv("CONVSCALE_MACHINE");
    machine_slug(name);
    assert_non_null(strstr(name, "cpu"));
    assert_null(strchr(name, '/'));
    gethostname(host, sizeof host - 1);
    assert_string_not_equal(name, host);
}

static const cJSON *member(const cJSON *object, const char *path)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *rest = copy, *name; object && (name = strtok_r(rest, ".", &rest));)
        object = cJSON_GetObjectItemCaseSensitive(object, name);
    return object;
}

static void the_record_says_what_it_must(void **state)
{
    (void)state;
    char program[] = "convscale", option[] = "--set", value[] = "width=1 \"2\"";
    char *argv[] = { program, option, value, NULL };
    const char *const environment[] = { "OMP_DYNAMIC=false", NULL };
    struct machine_run run = { .study = "quick",
                               .study_path = "experiments/quick.cfg",
                               .study_text = "title = \"x\";\n",
                               .seed = UINT64_MAX,
                               .points = 12,
                               .argc = 3,
                               .argv = argv,
                               .started = "2010-09-15T12:00:00Z",
                               .counts = { [CNN_OK] = 5, [CNN_OOM] = 1 },
                               .timer_resolution = 2e-8,
                               .environment = environment };
    setenv("OMP_SCHEDULE", "static", 1);
    char *text = machine_record(&run);
    assert_non_null(text);
    cJSON *record = cJSON_Parse(text);
    assert_non_null(record);
    assert_string_equal(member(record, "run.seed")->valuestring, "18446744073709551615");
    assert_string_equal(member(record, "run.study_text")->valuestring, run.study_text);
    assert_true(cJSON_IsNull(member(record, "run.ended")));
    assert_int_equal(cJSON_GetArraySize(member(record, "run.command")), 3);
    assert_string_equal(cJSON_GetArrayItem(member(record, "run.command"), 2)->valuestring, value);
    assert_int_equal(member(record, "run.rows.ok")->valueint, 5);
    assert_null(member(record, "run.rows.timeout"));
    assert_string_equal(member(record, "environment.OMP_SCHEDULE")->valuestring, "static");
    assert_string_equal(cJSON_GetArrayItem(member(record, "environment_of_points"), 0)->valuestring,
                        "OMP_DYNAMIC=false");
    assert_true(strlen(member(record, "machine.cpu.model")->valuestring) > 0);
    assert_true(member(record, "machine.cpu.physical_cores")->valueint >= 1);
    assert_true(member(record, "machine.cpu.logical_cpus")->valueint >=
                member(record, "machine.cpu.physical_cores")->valueint);
    assert_true(member(record, "machine.memory.total_bytes")->valuedouble > 1e6);
    assert_true(strlen(member(record, "machine.system.release")->valuestring) > 0);
    assert_true(strlen(member(record, "build.compiler_version")->valuestring) > 0);
    assert_true(strlen(member(record, "build.version")->valuestring) > 0);
    const cJSON *commands = member(record, "build.commands");
    const cJSON *scalar = cJSON_GetObjectItemCaseSensitive(commands, "cpu/libcpu_scalar.a");
    assert_true(cJSON_IsString(scalar)); /* a name with a dot is no path of member() */
    assert_non_null(strstr(scalar->valuestring, "-DCPU_ISA_SCALAR"));
    assert_non_null(strstr(scalar->valuestring, "-ffp-contract="));
    assert_null(strstr(scalar->valuestring, ".c"));
    assert_null(strchr(scalar->valuestring, '/')); /* no path */
    cJSON_Delete(record);
    free(text);
}

#define MIB ((int64_t)1 << 20)

static cJSON *record_below(const char *root, const char *nvml)
{
    char *moment = machine_moment(root, nvml);
    const struct machine_device device = { "cuda", "A GPU", "GPU-0123, driver 999" };
    struct machine_run run = {
        .study = "quick", .root = root, .library = nvml, .before = moment, .devices = &device, .device_count = 1
    };
    char *text = machine_record(&run);
    assert_non_null(text);
    cJSON *record = cJSON_Parse(text);
    assert_non_null(record);
    free(text);
    free(moment);
    return record;
}

static void a_machine_that_tells_nothing_is_all_null(void **state)
{
    static const char *const unknown[] = {
        "machine.cpu.virtual",   "machine.cpu.governor",          "machine.cpu.mhz_most",        "machine.cpu.boost",
        "machine.system.wsl",    "machine.system.distribution",   "machine.system.power_source", "before.cpu_mhz_low",
        "before.cpu_mhz_said",   "before.memory_available_bytes", "machine.memory.total_bytes",  "after",
        "machine.cpu.quota_cpus"
    };
    char root[FILES_PATH];
    files_path(root, *state, "silent");
    cJSON *record = record_below(root, "libno-such-library.so.1");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (!cJSON_IsNull(member(record, unknown[i])))
            fail_msg("%s is known, of a machine that tells nothing", unknown[i]);
    assert_true(cJSON_IsFalse(member(record, "machine.cpu.topology_verified"))); /* who knows who runs this */
    assert_true(cJSON_IsFalse(member(record, "machine.system.container")));
    assert_int_equal(cJSON_GetArraySize(member(record, "machine.gpus")), 0);
    cJSON_Delete(record);
}

/* A laptop under Windows, on battery beside an empty socket, with a mouse that has a battery of its own. */
static void a_laptop_is_told_from_its_files(void **state)
{
    char root[FILES_PATH];
    files_path(root, *state, "laptop");
    files_plant(root, "/proc/cpuinfo",
                "processor : 0\nmodel name : X\ncpu MHz\t\t: 2400.5\nflags : fpu sse hypervisor\n");
    files_plant(root, "/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    files_plant(root, "/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
    files_plant(root, "/etc/os-release", "NAME=x\nPRETTY_NAME=\"A System 12\"\n");
    files_plant(root, "/.dockerenv", "");
    files_plant(root, "/sys/class/power_supply/AC/type", "Mains\n");
    files_plant(root, "/sys/class/power_supply/AC/online", "0\n");
    files_plant(root, "/sys/class/power_supply/BAT0/type", "Battery\n");
    files_plant(root, "/sys/class/power_supply/BAT0/status", "Discharging\n");
    files_plant(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    files_plant(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
    files_plant(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    cJSON *record = record_below(root, library);
    assert_true(cJSON_IsTrue(member(record, "machine.cpu.virtual")));
    assert_true(cJSON_IsFalse(member(record, "machine.cpu.topology_verified")));
    assert_non_null(strstr(member(record, "machine.cpu.topology_note")->valuestring, "hypervisor"));
    assert_string_equal(member(record, "machine.cpu.governor")->valuestring, "powersave");
    assert_string_equal(member(record, "machine.cpu.no_turbo")->valuestring, "1");
    assert_true(member(record, "machine.cpu.mhz_most")->valuedouble == 3700);
    assert_true(cJSON_IsTrue(member(record, "machine.system.wsl")));
    assert_true(cJSON_IsTrue(member(record, "machine.system.container")));
    assert_string_equal(member(record, "machine.system.distribution")->valuestring, "A System 12");
    assert_string_equal(member(record, "machine.system.power_source")->valuestring, "battery");
    assert_true(cJSON_IsNull(member(record, "before.cpu_mhz_low"))); /* governed nowhere */
    assert_true(member(record, "before.cpu_mhz_said")->valuedouble == 2400.5);
    assert_true(member(record, "before.memory_available_bytes")->valuedouble == 4294967296.0);
    const cJSON *gpu = cJSON_GetArrayItem(member(record, "machine.gpus"), 0);
    assert_string_equal(member(gpu, "driver")->valuestring, "999.1");
    assert_true(member(gpu, "power_limit_watts")->valuedouble == 700);
    assert_true(cJSON_IsTrue(member(gpu, "display_attached")) && cJSON_IsNull(member(gpu, "persistence")));
    const cJSON *now = cJSON_GetArrayItem(member(record, "before.gpus"), 0);
    assert_true(member(now, "temperature_celsius")->valuedouble == 60);
    const cJSON *device = cJSON_GetArrayItem(member(record, "machine.devices"), 0);
    assert_string_equal(member(device, "detail")->valuestring, "GPU-0123, driver 999");
    cJSON_Delete(record);
}

/* A server of bare metal on mains, two processors at their clocks. */
static void a_server_is_told_from_its_files(void **state)
{
    char root[FILES_PATH];
    files_path(root, *state, "server");
    files_plant(root, "/proc/cpuinfo", "flags : fpu sse\n");
    files_plant(root, "/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    files_plant(root, "/sys/class/power_supply/ACAD/type", "Mains\n");
    files_plant(root, "/sys/class/power_supply/ACAD/online", "1\n");
    files_plant(root, "/sys/class/power_supply/mouse/type", "Battery\n");
    files_plant(root, "/sys/class/power_supply/mouse/scope", "Device\n");
    files_plant(root, "/sys/class/power_supply/mouse/status", "Discharging\n");
    files_plant(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2100000\n");
    cJSON *record = record_below(root, "libno-such-library.so.1");
    assert_true(cJSON_IsFalse(member(record, "machine.cpu.virtual")));
    assert_true(cJSON_IsTrue(member(record, "machine.cpu.topology_verified")));
    assert_true(cJSON_IsFalse(member(record, "machine.system.wsl")));
    assert_string_equal(member(record, "machine.system.power_source")->valuestring, "mains");
    assert_true(member(record, "before.cpu_mhz_low")->valuedouble == 2100);
    assert_true(member(record, "before.cpu_mhz_high")->valuedouble == 2100);
    assert_true(cJSON_IsNull(member(record, "before.cpu_mhz_said")));
    cJSON_Delete(record);
}

static void nothing_known_is_no_limit(void **state)
{
    struct resources found;
    char root[FILES_PATH];
    files_path(root, *state, "nothing");
    resources_read(&found, root);
    assert_true(found.memory_total == -1 && found.memory_available == -1 && found.oom_kills == -1);
    assert_true(isnan(found.cpu_quota));
}

static void version_2_groups_bind_at_every_level(void **state)
{
    struct resources found;
    char root[FILES_PATH];
    files_path(root, *state, "v2");
    files_plant(root, "/proc/meminfo",
                "MemTotal:       8388608 kB\nMemFree:        1 kB\nMemAvailable:   4194304 kB\n");
    files_plant(root, "/proc/vmstat", "nr_free_pages 1\noom_kill 3\n");
    files_plant(root, "/proc/self/cgroup", "0::/outer/inner\n");
    files_plant(root, "/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    files_plant(root, "/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    files_plant(root, "/sys/fs/cgroup/outer/memory.max", "1073741824\n");
    files_plant(root, "/sys/fs/cgroup/outer/memory.current", "536870912\n");
    files_plant(root, "/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 268435456\n");
    files_plant(root, "/sys/fs/cgroup/outer/memory.events", "low 0\noom 2\noom_kill 2\n");
    files_plant(root, "/sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    resources_read(&found, root);
    assert_true(found.memory_total == 8192 * MIB && found.memory_free == 4096 * MIB);
    assert_true(found.group_limit == 1024 * MIB);
    assert_true(found.group_free == 768 * MIB); /* reclaimable file pages are free */
    assert_true(found.memory_available == 768 * MIB);
    assert_true(found.oom_kills == 5);
    assert_true(found.cpu_quota == 1.5);
}

static void version_1_groups_have_huge_numbers_for_no_limit(void **state)
{
    struct resources found;
    char root[FILES_PATH];
    files_path(root, *state, "v1");
    files_plant(root, "/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    files_plant(root, "/proc/self/cgroup", "5:cpu,cpuacct:/box\n4:memory:/box\n1:name=systemd:/\n");
    files_plant(root, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    files_plant(root, "/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000\n");
    files_plant(root, "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    files_plant(root, "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    resources_read(&found, root);
    assert_true(found.group_limit == -1 && found.memory_available == 4096 * MIB);
    assert_true(isnan(found.cpu_quota));
    files_plant(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
    files_plant(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "209715200\n");
    files_plant(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    files_plant(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    resources_read(&found, root);
    assert_true(found.group_limit == 100 * MIB && found.group_free == 0 && found.memory_available == 0);
    assert_true(found.cpu_quota == 0.5);
}

static void this_machine_has_memory(void **state)
{
    (void)state;
    struct resources found;
    resources_read(&found, "");
    assert_true(found.memory_total > 64 * MIB);
    assert_true(found.memory_available > 0 && found.memory_available <= found.memory_total);
}

int main(int argc, char **argv)
{
    library = argc > 1 ? argv[1] : "";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_fit_for_paths),
        cmocka_unit_test(the_machine_is_named_by_the_user_or_its_processor),
        cmocka_unit_test(the_record_says_what_it_must),
        cmocka_unit_test(a_machine_that_tells_nothing_is_all_null),
        cmocka_unit_test(a_laptop_is_told_from_its_files),
        cmocka_unit_test(a_server_is_told_from_its_files),
        cmocka_unit_test(nothing_known_is_no_limit),
        cmocka_unit_test(version_2_groups_bind_at_every_level),
        cmocka_unit_test(version_1_groups_have_huge_numbers_for_no_limit),
        cmocka_unit_test(this_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
