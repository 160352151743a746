/* SPDX-License-Identifier: MIT */
/* `cpu` is one thread, whatever libraries are linked: counted in /proc/self/task after it has trained. */
#include "core.h"

#include "cpu/cpu.h"
#include "lib/parameters.h"

#include <dirent.h>
#include <stdlib.h>

#define BATCH 8

/* -1: the system does not tell. */
static int threads_of_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (!tasks)
        return -1;
    for (struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static void train(const struct cnn_backend *backend, int threads, const char *algorithm)
{
    struct cnn_network *network = core_network("lenet5", 32, 4, 1);
    const struct cnn_device_options how = { .threads = threads };
    struct cnn_program_options options = { .batch = BATCH, .slots = 1, .phases = CNN_PHASE_TRAIN };
    struct cnn_device *device = NULL;
    struct cnn_program *program = NULL;
    struct cnn_error error = { CNN_OK, "" };
    float *parameters = calloc((size_t)network->parameters, sizeof *parameters);
    float *images = calloc((size_t)cnn_shape_size(network->input) * BATCH, sizeof *images);
    int32_t labels[BATCH] = { 0 };
    assert_non_null(parameters);
    assert_non_null(images);
    cnn_parameters_init(network, parameters);
    options.algorithm = algorithm;
    if (backend->open(&device, &how, &error) || backend->compile(&program, device, network, &options, &error) ||
        backend->write_parameters(program, parameters, &error) ||
        backend->load(program, 0, images, labels, BATCH, &error) || backend->train(program, 3, &error) ||
        backend->sync(program, &error))
        fail_msg("%s %s: %s", backend->name, algorithm, error.text);
    backend->release(program);
    backend->close(device);
    free(images);
    free(parameters);
    cnn_network_destroy(network);
}

static void cpu_is_one_thread(void **state)
{
    (void)state;
    if (threads_of_process() < 0)
        skip();
    for (const char *const *name = cnn_cpu_backend.algorithms(); *name; name++) {
        train(&cnn_cpu_backend, 0, *name);
        if (threads_of_process() != 1)
            fail_msg("%d threads after cpu has trained by %s", threads_of_process(), *name);
    }
}

#ifdef _OPENMP
/* The count can tell: omp with two threads leaves two. */
static void omp_is_more(void **state)
{
    (void)state;
    if (threads_of_process() < 0)
        skip();
    train(&cnn_omp_backend, 2, "direct");
    assert_int_equal(threads_of_process(), 2);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_is_one_thread),
#ifdef _OPENMP
        cmocka_unit_test(omp_is_more),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
