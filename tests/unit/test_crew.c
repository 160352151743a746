/* SPDX-License-Identifier: MIT */
/* A crew does everything once, with any number of threads, leaves none behind and nobody tied; what the oracle says
 * with one to four of them is the same to the last bit. */
#include "tests/unit/core.h"

#include "experiments/driver/crew.h"
#include "experiments/driver/oracle.h"
#include "lib/parameters.h"
#include "lib/random.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 1000
#define DISTINCT 4

static _Atomic int done[MOST], wrong, helped, tied;

static void count_up(void *what, int64_t begin, int64_t end)
{
    if (what != done || begin >= end || end > MOST)
        wrong++; /* an assertion may only fail in the first thread */
    for (int64_t i = begin; i < end && end <= MOST; i++)
        done[i]++;
}

/* The maker is slow, so that others get their share. */
static void look_at_affinity(void *maker, int64_t begin, int64_t end)
{
    cpu_set_t mine;
    (void)begin, (void)end;
    if (pthread_equal(*(pthread_t *)maker, pthread_self())) {
        usleep(5000);
        return;
    }
    helped++;
    if (sched_getaffinity(0, sizeof mine, &mine) || CPU_COUNT(&mine) < 2)
        tied++;
}

static int threads_now(void)
{
    char line[256];
    int threads = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "Threads: %d", &threads);
    if (file)
        fclose(file);
    return threads;
}

static void everything_is_done_once(void **state)
{
    static const int64_t counts[] = { 0, 1, 2, 7, 64, MOST };
    (void)state;
    int before = threads_now();
    for (crew_threads = 0; crew_threads <= 4; crew_threads++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            memset((void *)done, 0, sizeof done);
            crew_run(count_up, (void *)done, counts[c]);
            for (int64_t i = 0; i < MOST; i++)
                assert_int_equal(done[i], i < counts[c]);
        }
    assert_int_equal(wrong, 0);
    assert_int_equal(threads_now(), before);
}

/* As a backend ties the thread that opened it. Then that thread alone is where it was told to be. */
static void helpers_are_not_tied_with_their_maker(void **state)
{
    (void)state;
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) || CPU_COUNT(&all) < 2)
        skip();
    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    crew_begin();
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    crew_threads = 4;
    pthread_t maker = pthread_self();
    crew_run(look_at_affinity, &maker, MOST);
    assert_true(helped > 0);
    assert_int_equal(tied, 0);
    assert_int_equal(sched_getaffinity(0, sizeof one, &one), 0);
    assert_int_equal(CPU_COUNT(&one), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void the_oracle_says_the_same_with_any_number_of_threads(void **state)
{
    (void)state;
    static const int32_t labels[DISTINCT] = { 1, 0, 2, 1 };
    static const double counts[DISTINCT] = { 1, 2, 4, 1 };
    struct cnn_network *network = core_network("lenet5", 32, 2, 2);
    float *parameters = calloc((size_t)network->parameters, sizeof *parameters);
    int64_t pixels = DISTINCT * cnn_shape_size(network->input);
    float *images = calloc((size_t)pixels, sizeof *images);
    struct cnn_random random;
    struct cnn_error error;
    struct oracle_answer answers[4];
    assert_true(parameters && images);
    cnn_parameters_init(network, parameters);
    cnn_random_init(&random, 5, CNN_STREAM_TEST, 0);
    for (int64_t i = 0; i < pixels; i++)
        images[i] = (float)cnn_random_normal(&random);
    const struct oracle_question ask = { .network = network,
                                         .parameters = parameters,
                                         .images = images,
                                         .labels = labels,
                                         .counts = counts,
                                         .distinct = DISTINCT,
                                         .batch = 8,
                                         .gradient = true };
    for (int i = 0; i < 4; i++) {
        crew_threads = i + 1;
        assert_int_equal(oracle_ask(&answers[i], &ask, NULL, &error), CNN_OK);
        size_t outputs = DISTINCT * (size_t)network->classes * sizeof(double);
        size_t gradients = (size_t)network->parameters * sizeof(double);
        assert_true(answers[i].loss == answers[0].loss && answers[i].loss_bound == answers[0].loss_bound);
        assert_memory_equal(answers[i].output, answers[0].output, outputs);
        assert_memory_equal(answers[i].output_bound, answers[0].output_bound, outputs);
        assert_memory_equal(answers[i].gradient, answers[0].gradient, gradients);
        assert_memory_equal(answers[i].gradient_bound, answers[0].gradient_bound, gradients);
    }
    for (int i = 0; i < 4; i++)
        oracle_free(&answers[i]);
    free(images);
    free(parameters);
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_done_once),
        cmocka_unit_test(helpers_are_not_tied_with_their_maker),
        cmocka_unit_test(the_oracle_says_the_same_with_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
