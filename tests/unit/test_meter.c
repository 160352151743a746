/* SPDX-License-Identifier: MIT */
/* Clocks, power and throttling, from made-up /sys files and a made-up driver library: the right counters, wraps and
 * all, and nothing where nothing can be read. The path of the library is the first argument. */
#include "tests/unit/files.h"

#include "experiments/driver/clock.h"
#include "experiments/driver/meter.h"
#include "experiments/driver/nvml.h"

#include <math.h>
#include <sched.h>

static const char *library;

static void wait_for(double seconds)
{
    for (double end = clock_seconds() + seconds; clock_seconds() < end;)
        usleep(1000);
}

static void nothing_is_known_where_nothing_is(void **state)
{
    char root[FILES_PATH];
    struct meter_reading reading;
    files_path(root, *state, "nothing");
    static const char *const addresses[] = { "", "0000:3b:00.0" };
    for (int i = 0; i < 2; i++) {
        struct meter *meter = meter_open(root, "libno-such-library.so.1", addresses[i]);
        assert_non_null(meter);
        meter_start(meter);
        meter_look(meter);
        meter_stop(meter, &reading);
        assert_true(isnan(reading.clock_mhz_low) && isnan(reading.clock_mhz_high) && isnan(reading.power_watts));
        assert_string_equal(reading.throttled, "");
        meter_close(meter);
    }
    meter_start(NULL);
    meter_look(NULL);
    meter_stop(NULL, &reading);
    assert_true(isnan(reading.power_watts));
    meter_close(NULL);
}

static void plant_rapl(const char *root, const char *first, const char *second)
{
    files_plant(root, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    files_plant(root, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "10000000\n");
    files_plant(root, "/sys/class/powercap/intel-rapl:0/energy_uj", first);
    files_plant(root, "/sys/class/powercap/intel-rapl:1/name", "psys\n"); /* counts the package again */
    files_plant(root, "/sys/class/powercap/intel-rapl:1/max_energy_range_uj", "10000000\n");
    files_plant(root, "/sys/class/powercap/intel-rapl:1/energy_uj", first);
    files_plant(root, "/sys/class/powercap/intel-rapl:2/name", "package-1\n");
    files_plant(root, "/sys/class/powercap/intel-rapl:2/max_energy_range_uj", "10000000\n");
    files_plant(root, "/sys/class/powercap/intel-rapl:2/energy_uj", second);
}

/* 0.2 J of a counter that wraps and 0.3 J of one that does not. */
static void packages_are_summed_and_wraps_undone(void **state)
{
    char root[FILES_PATH];
    struct meter_reading reading;
    files_path(root, *state, "rapl");
    plant_rapl(root, "9900000\n", "1000000\n");
    struct meter *meter = meter_open(root, library, "");
    double start = clock_seconds();
    meter_start(meter);
    wait_for(0.05);
    plant_rapl(root, "100000\n", "1300000\n");
    meter_stop(meter, &reading);
    double seconds = clock_seconds() - start;
    assert_true(reading.power_watts >= 0.5 / seconds * (1 - 1e-9) && reading.power_watts <= 0.5 / 0.05);
    meter_start(meter); /* over a moment the counter's steps would be taken for power */
    meter_stop(meter, &reading);
    assert_true(isnan(reading.power_watts));
    meter_close(meter);
}

static void plant_clocks(const char *root, const char *khz, const char *throttled)
{
    for (int processor = 0; processor < CPU_SETSIZE && processor < sysconf(_SC_NPROCESSORS_CONF); processor++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", processor);
        files_plant(root, path, khz);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/package_throttle_count", processor);
        files_plant(root, path, throttled);
    }
}

static void clocks_are_seen_between_samples(void **state)
{
    char root[FILES_PATH];
    struct meter_reading reading;
    files_path(root, *state, "clocks");
    plant_clocks(root, "3700000\n", "7\n");
    struct meter *meter = meter_open(root, library, "");
    meter_start(meter);
    meter_look(meter);
    plant_clocks(root, "2100000\n", "7\n");
    meter_look(meter); /* too soon after the last */
    meter_stop(meter, &reading);
    assert_true(reading.clock_mhz_low == 3700 && reading.clock_mhz_high == 3700);
    assert_string_equal(reading.throttled, "");
    meter_start(meter);
    meter_look(meter);
    plant_clocks(root, "3000000\n", "8\n");
    wait_for(0.03);
    meter_look(meter);
    meter_stop(meter, &reading);
    assert_true(reading.clock_mhz_low == 2100 && reading.clock_mhz_high == 3000);
    assert_string_equal(reading.throttled, "heat");
    meter_close(meter);
}

static void a_driver_tells_of_its_gpu(void **state)
{
    (void)state;
    char text[64];
    struct nvml_facts facts;
    struct nvml *nvml = nvml_open(library);
    if (!nvml)
        fail_msg("%s cannot be loaded", library);
    nvml_driver(nvml, text, sizeof text);
    assert_string_equal(text, "999.1");
    assert_int_equal(nvml_count(nvml), 1);
    assert_null(nvml_gpu_at(nvml, 1));
    assert_null(nvml_gpu_at_pci(nvml, "0000:ff:00.0"));
    assert_non_null(nvml_gpu_at(nvml, 0));
    nvml_facts(nvml, nvml_gpu_at(nvml, 0), &facts);
    assert_string_equal(facts.name, "A GPU");
    assert_string_equal(facts.uuid, "GPU-0123");
    assert_string_equal(facts.pci, "00000000:3B:00.0");
    assert_true(facts.memory_bytes == (int64_t)1 << 36 && facts.power_limit_watts == 700);
    assert_true(facts.clock_mhz_most == 1980 && facts.memory_mhz_most == 2619);
    assert_int_equal(facts.display_attached, 1);
    assert_int_equal(facts.persistent, -1); /* that driver does not know */
    nvml_close(nvml);
    nvml_close(NULL);
    assert_null(nvml_open("libno-such-library.so.1"));
    assert_null(nvml_open("libm.so.6")); /* a library, but not that one */
    nvml_throttle_words(0x1, text, sizeof text);
    assert_string_equal(text, "");
    nvml_throttle_words(-1, text, sizeof text);
    assert_string_equal(text, "");
    nvml_throttle_words(0x84, text, sizeof text);
    assert_string_equal(text, "power cap, power brake");
}

static void a_gpu_is_metered_at_its_address(void **state)
{
    (void)state;
    struct meter_reading reading;
    struct meter *meter = meter_open("", library, "0000:3b:00.0");
    double start = clock_seconds();
    meter_start(meter);
    for (int i = 0; i < 3; i++) {
        meter_look(meter);
        wait_for(0.2);
    }
    meter_stop(meter, &reading);
    double seconds = clock_seconds() - start;
    /* three looks and the last one, 3 J each */
    assert_true(reading.power_watts >= 12 / seconds * (1 - 1e-9) && reading.power_watts <= 12 / 0.6);
    assert_true(reading.clock_mhz_high - reading.clock_mhz_low == 200);
    assert_string_equal(reading.throttled, "power cap, heat");
    struct result result;
    result_init(&result);
    result_set(&result, CNN_OK, "ran 1 thread");
    meter_report(meter, 1000, &result);
    assert_string_equal(result.throttled, reading.throttled);
    assert_true(result.energy_per_image == result.power_watts / 1000);
    assert_string_equal(result.reason, "ran 1 thread; held back while it was timed: power cap, heat");
    meter_close(meter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_where_nothing_is), cmocka_unit_test(packages_are_summed_and_wraps_undone),
        cmocka_unit_test(clocks_are_seen_between_samples),   cmocka_unit_test(a_driver_tells_of_its_gpu),
        cmocka_unit_test(a_gpu_is_metered_at_its_address),
    };
    if (argc != 2) {
        fprintf(stderr, "expected the path of the made-up library\n");
        return 2;
    }
    library = argv[1];
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
