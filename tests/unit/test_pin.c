/* SPDX-License-Identifier: MIT */
/* Threads that are pinned keep to processors of their own among those allowed, are let go again, and where that cannot
 * be they run all the same and say why. */
#include "core.h"

#include "cpu/cpu.h"
#include "cpu/device.h"

#include <omp.h>
#include <sched.h>
#include <stdlib.h>

static struct cnn_device *open_pinned(int threads, bool pin, struct cnn_device_info *info)
{
    struct cnn_device *device = NULL;
    struct cnn_error error = { CNN_OK, "" };
    const struct cnn_device_options options = { .threads = threads, .pin = pin };
    if (cnn_omp_backend.open(&device, &options, &error) || cnn_omp_backend.describe(device, info, &error))
        fail_msg("%s", error.text);
    return device;
}

static int processors_of(const cpu_set_t *set)
{
    return CPU_COUNT(set);
}

static void threads_keep_to_their_own(void **state)
{
    (void)state;
    cpu_set_t before, after, seen[2];
    struct cnn_device_info info;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (processors_of(&before) < 2)
        skip();
    struct cnn_device *device = open_pinned(2, true, &info);
    if (!*info.pinned) {
        assert_non_null(strstr(info.detail, "not pinned: "));
        print_message("not pinned here: %s\n", info.detail);
        cnn_omp_backend.close(device);
        skip();
    }
#pragma omp parallel num_threads(2)
    sched_getaffinity(0, sizeof seen[0], &seen[omp_get_thread_num()]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(processors_of(&seen[i]), 1);
        CPU_AND(&after, &seen[i], &before);
        assert_int_equal(processors_of(&after), 1);
    }
    assert_false(CPU_EQUAL(&seen[0], &seen[1]));
    assert_int_equal(cpu_allowed_threads() >= 2, 1); /* though the calling thread is on one processor now */
    assert_non_null(strstr(info.detail, "pinned to processors"));
    cnn_omp_backend.close(device);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    device = open_pinned(2, false, &info); /* workers are let go by the next device */
    assert_string_equal(info.pinned, "");
#pragma omp parallel num_threads(2)
    sched_getaffinity(0, sizeof seen[0], &seen[omp_get_thread_num()]);
    assert_true(CPU_EQUAL(&seen[0], &before) && CPU_EQUAL(&seen[1], &before));
    cnn_omp_backend.close(device);
}

static void what_cannot_be_pinned_says_why(void **state)
{
    (void)state;
    struct cnn_device_info info;
    cnn_omp_backend.close(open_pinned(1000, true, &info));
    assert_string_equal(info.pinned, "");
    assert_non_null(strstr(info.detail, "not pinned: there are more threads than processors"));
    setenv("OMP_PROC_BIND", "true", 1);
    cnn_omp_backend.close(open_pinned(1, true, &info));
    unsetenv("OMP_PROC_BIND");
    assert_non_null(strstr(info.detail, "not pinned: OMP_PROC_BIND binds threads"));
    cnn_omp_backend.close(open_pinned(1, false, &info));
    assert_null(strstr(info.detail, "pinned"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_keep_to_their_own),
        cmocka_unit_test(what_cannot_be_pinned_says_why),
    };
    unsetenv("OMP_PROC_BIND");
    unsetenv("OMP_PLACES");
    unsetenv("GOMP_CPU_AFFINITY");
    unsetenv("KMP_AFFINITY");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
