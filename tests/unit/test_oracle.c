/* SPDX-License-Identifier: MIT */
/* Points share what the oracle said: the very same numbers for the very same question, and never anything else. */
#include "tests/unit/core.h"
#include "tests/unit/files.h"

#include "experiments/driver/oracle.h"
#include "lib/parameters.h"

#define DISTINCT 3

/* A network with parameters and a batch of noise. */
struct question {
    struct cnn_network *network;
    float *parameters, *images;
    int32_t labels[DISTINCT];
    double counts[DISTINCT];
    struct oracle_question ask;
};

static struct question a_question(bool gradient)
{
    struct question q = { .network = core_network("lenet5", 32, 1, 1), .labels = { 1, 0, 2 }, .counts = { 1, 2, 4 } };
    int64_t pixels = DISTINCT * cnn_shape_size(q.network->input);
    q.parameters = calloc((size_t)q.network->parameters, sizeof *q.parameters);
    q.images = calloc((size_t)pixels, sizeof *q.images);
    assert_true(q.parameters && q.images);
    cnn_parameters_init(q.network, q.parameters);
    for (int64_t i = 0; i < pixels; i++)
        q.images[i] = (float)(i * 7919 % 1000) / 500 - 1;
    q.ask = (struct oracle_question){ .network = q.network,
                                      .parameters = q.parameters,
                                      .images = q.images,
                                      .distinct = DISTINCT,
                                      .batch = 7,
                                      .gradient = gradient };
    return q;
}

static struct oracle_answer ask(struct question *q, const char *folder)
{
    struct oracle_answer answer;
    struct cnn_error error = { CNN_OK, "" };
    q->ask.labels = q->labels;
    q->ask.counts = q->counts;
    if (oracle_ask(&answer, &q->ask, folder, &error))
        fail_msg("%s", error.text);
    return answer;
}

static bool asked_is_shared(struct question *q, const char *folder)
{
    struct oracle_answer answer = ask(q, folder);
    bool shared = answer.shared;
    oracle_free(&answer);
    return shared;
}

static void question_free(struct question *q)
{
    free(q->parameters);
    free(q->images);
    cnn_network_destroy(q->network);
}

static void answer_path(char path[FILES_PATH], const struct question *q, const char *folder)
{
    char name[16];
    snprintf(name, sizeof name, "%08x.fp32", oracle_group(&q->network->spec, q->ask.batch));
    files_path(path, folder, name);
}

static void the_second_gets_what_the_first_computed(void **state)
{
    struct question q = a_question(true);
    struct oracle_answer first = ask(&q, *state), second = ask(&q, *state);
    assert_true(!first.shared && second.shared);
    assert_true(first.loss == second.loss && first.loss_bound == second.loss_bound && first.loss > 0);
    size_t outputs = DISTINCT * (size_t)q.network->classes * sizeof(double);
    size_t gradients = (size_t)q.network->parameters * sizeof(double);
    assert_memory_equal(first.output, second.output, outputs);
    assert_memory_equal(first.output_bound, second.output_bound, outputs);
    assert_memory_equal(first.gradient, second.gradient, gradients);
    assert_memory_equal(first.gradient_bound, second.gradient_bound, gradients);
    oracle_free(&first);
    oracle_free(&second);
    oracle_forget(*state, oracle_group(&q.network->spec, q.ask.batch));
    assert_false(asked_is_shared(&q, *state));
    assert_false(asked_is_shared(&q, NULL));
    question_free(&q);
}

static void classifying_takes_what_training_left(void **state)
{
    struct question q = a_question(false);
    oracle_forget(*state, oracle_group(&q.network->spec, q.ask.batch));
    assert_false(asked_is_shared(&q, *state));
    q.ask.gradient = true; /* there are none in the file: they are computed and left there */
    assert_false(asked_is_shared(&q, *state));
    q.ask.gradient = false;
    assert_true(asked_is_shared(&q, *state));
    question_free(&q);
}

/* Whatever the answer depends on is part of the question. */
static void another_question_has_another_answer(void **state)
{
    struct question q = a_question(true);
    struct oracle_answer right = ask(&q, *state), answer;
    double output = right.output[0];
    oracle_free(&right);
    assert_true(asked_is_shared(&q, *state));
    q.ask.precision = CNN_TF32; /* the bounds are others */
    assert_false(asked_is_shared(&q, *state));
    assert_true(asked_is_shared(&q, *state));
    q.ask.precision = CNN_FP32;
    assert_true(asked_is_shared(&q, *state));
    q.parameters[5] += 0.5f;
    answer = ask(&q, *state);
    assert_true(!answer.shared && answer.output[0] != output);
    oracle_free(&answer);
    q.images[40] += 1;
    assert_false(asked_is_shared(&q, *state));
    q.labels[0] = 3;
    assert_false(asked_is_shared(&q, *state));
    q.counts[1] = 1;
    assert_false(asked_is_shared(&q, *state));
    q.ask.distinct = 2;
    assert_false(asked_is_shared(&q, *state));
    q.ask.batch = 8;
    assert_false(asked_is_shared(&q, *state));
    assert_true(asked_is_shared(&q, *state));
    q.network->spec.layers[0].activation = CNN_RELU; /* told by the description alone */
    assert_false(asked_is_shared(&q, *state));
    question_free(&q);
}

static void a_file_that_is_not_whole_is_no_answer(void **state)
{
    struct question q = a_question(true);
    struct oracle_answer right = ask(&q, NULL), answer;
    char path[FILES_PATH];
    answer_path(path, &q, *state);
    for (int way = 0; way < 4; way++) {
        oracle_forget(*state, oracle_group(&q.network->spec, q.ask.batch));
        assert_false(asked_is_shared(&q, *state));
        struct stat about;
        assert_int_equal(stat(path, &about), 0);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        if (way < 2) { /* one bit of the head, or of the last number */
            long at = way == 0 ? 20 : (long)about.st_size - 3;
            fseek(file, at, SEEK_SET);
            int byte = fgetc(file);
            fseek(file, at, SEEK_SET);
            fputc(byte ^ 1, file);
        } else if (way == 2) {
            assert_int_equal(ftruncate(fileno(file), about.st_size - 8), 0);
        } else {
            fseek(file, 0, SEEK_END);
            fputc(0, file);
        }
        assert_int_equal(fclose(file), 0);
        answer = ask(&q, *state);
        assert_false(answer.shared);
        assert_true(answer.output[0] == right.output[0] && answer.gradient[9] == right.gradient[9]);
        oracle_free(&answer);
        assert_true(asked_is_shared(&q, *state)); /* and the file is whole again */
    }
    oracle_free(&right);
    question_free(&q);
}

static void a_folder_that_is_not_there_costs_time_only(void **state)
{
    (void)state;
    struct question q = a_question(false);
    assert_false(asked_is_shared(&q, "/nowhere/at/all"));
    assert_false(asked_is_shared(&q, "/nowhere/at/all"));
    question_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_gets_what_the_first_computed),
        cmocka_unit_test(classifying_takes_what_training_left),
        cmocka_unit_test(another_question_has_another_answer),
        cmocka_unit_test(a_file_that_is_not_whole_is_no_answer),
        cmocka_unit_test(a_folder_that_is_not_there_costs_time_only),
    };
    return cmocka_run_group_tests(tests, files_folder_make, files_folder_remove);
}
