/* SPDX-License-Identifier: MIT */
/* Algorithm `gemm` beside threads: the BLAS adds none of its own, and a build without one says what to install. */
#include "cpu/cpu.h"
#include "lib/parameters.h"
#include "tests/unit/core.h"

#include <dirent.h>
#include <stdlib.h>

/* Threads of this process; 0 where the system does not tell. */
static int threads_here(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

static void train_once(struct cnn_program *program, const struct cnn_network *network, int batch)
{
    struct cnn_error error;
    int64_t pixels = cnn_shape_size(network->input) * batch;
    float *values = calloc((size_t)(network->parameters + pixels), sizeof *values);
    int32_t *labels = calloc((size_t)batch, sizeof *labels);
    assert_non_null(values);
    assert_non_null(labels);
    cnn_parameters_init(network, values);
    assert_int_equal(cnn_cpu_backend.write_parameters(program, values, &error), CNN_OK);
    assert_int_equal(cnn_cpu_backend.load(program, 0, values + network->parameters, labels, batch, &error), CNN_OK);
    assert_int_equal(cnn_cpu_backend.train(program, 2, &error), CNN_OK);
    free(labels);
    free(values);
}

static void a_cpu_process_has_one_thread(void **state)
{
    (void)state;
    struct cnn_network_spec spec;
    struct cnn_network *network;
    struct cnn_device *device;
    struct cnn_program *program = NULL;
    struct cnn_error error;
    struct cnn_device_options device_options = { .threads = 0 };
    struct cnn_program_options options = { .batch = 64, .slots = 1, .phases = CNN_PHASE_ALL, .algorithm = "gemm" };
    assert_int_equal(cnn_builtin_spec(&spec, "lenet5", 32, &error), CNN_OK);
    assert_int_equal(cnn_network_create(&network, &spec, &error), CNN_OK);
    assert_int_equal(cnn_cpu_backend.open(&device, &device_options, &error), CNN_OK);
    int status = cnn_cpu_backend.compile(&program, device, network, &options, &error);
    if (status == CNN_UNAVAILABLE) {
        assert_non_null(strstr(error.text, "libopenblas"));
        for (const char *const *name = cnn_cpu_backend.algorithms(); *name; name++)
            assert_string_not_equal(*name, "gemm");
    } else {
        assert_int_equal(status, CNN_OK);
        train_once(program, network, options.batch);
        int threads = threads_here();
        if (threads > 0)
            assert_int_equal(threads, 1);
    }
    cnn_cpu_backend.release(program);
    cnn_cpu_backend.close(device);
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_cpu_process_has_one_thread) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
