/* SPDX-License-Identifier: MIT */
/* Two hundred steps of a small network over generated digits. */
#include "tests/checker/course.h"

#include "lib/parameters.h"
#include "lib/random.h"
#include "lib/reference.h"
#include "lib/trainer.h"

#include <math.h>
#include <stdlib.h>

#define SIDE 16
#define BATCH 8
#define STEPS 200
#define IMAGES 400 /* 50 batches an epoch */
#define ALLOWED 8.0

/* What all runs share. */
struct course {
    struct cnn_network *network;
    struct cnn_dataset *data;
    struct cnn_rates rates;
    float *start; /* parameters */
    float images[BATCH * SIDE * SIDE];
    int32_t labels[BATCH], order[IMAGES];
    double loss[STEPS], room[STEPS]; /* of the oracle: sums over the images of a batch */
};

static int make_network(struct course *course, uint64_t seed, struct cnn_error *error)
{
    struct cnn_network_spec spec = { .name = "course", .channels = 1, .image = SIDE, .classes = 10, .seed = seed };
    spec.width = spec.depth = 1;
    spec.loss = CNN_SOFTMAX;
    spec.connections.paper = true;
    spec.layer_count = 4;
    spec.layers[0] = (struct cnn_layer_spec){ .kind = CNN_CONV, .maps = 4, .kernel = 5, .stride = 1 };
    spec.layers[0].activation = CNN_TANH;
    spec.layers[1] = (struct cnn_layer_spec){ .kind = CNN_SUBSAMPLE, .kernel = 2, .activation = CNN_TANH };
    spec.layers[2] = (struct cnn_layer_spec){ .kind = CNN_FULL, .maps = 20, .activation = CNN_TANH };
    spec.layers[3] = (struct cnn_layer_spec){ .kind = CNN_FULL };
    return cnn_network_create(&course->network, &spec, error);
}

/* The images of a step, in the order that training takes them. */
static void take_batch(struct course *course, int step)
{
    int batches = IMAGES / BATCH;
    cnn_trainer_order(course->network->spec.seed, 1 + step / batches, course->order, IMAGES);
    cnn_dataset_batch(course->data, course->order + step % batches * BATCH, 0, BATCH, course->images, course->labels);
}

static double oracle_step(struct course *course, struct cnn_reference *oracle)
{
    double loss = cnn_reference_forward(oracle, course->images, course->labels, NULL, BATCH);
    cnn_reference_backward(oracle);
    cnn_reference_update(oracle, (double)course->rates.rate, (double)course->rates.momentum,
                         (double)course->rates.decay);
    return loss;
}

static int run_oracles(struct course *course, struct cnn_error *error)
{
    struct cnn_reference *straight = NULL, *moved = NULL;
    struct cnn_random random;
    double divergence = 0;
    int status = cnn_reference_create(&straight, course->network, BATCH, error);
    if (!status)
        status = cnn_reference_create(&moved, course->network, BATCH, error);
    if (!status) {
        cnn_random_init(&random, course->network->spec.seed, CNN_STREAM_TEST, 2);
        cnn_reference_write_parameters(straight, course->start);
        for (int64_t i = 0; i < course->network->parameters; i++)
            course->start[i] = nextafterf(course->start[i], cnn_random_word(&random) % 2 ? INFINITY : -INFINITY);
        cnn_reference_write_parameters(moved, course->start);
        cnn_parameters_init(course->network, course->start);
    }
    for (int step = 0; step < STEPS && !status; step++) {
        take_batch(course, step);
        course->loss[step] = oracle_step(course, straight);
        divergence = fmax(divergence, fabs(course->loss[step] - oracle_step(course, moved)));
        course->room[step] = ALLOWED * divergence + cnn_reference_loss_bound(straight);
    }
    cnn_reference_destroy(straight);
    cnn_reference_destroy(moved);
    return status;
}

/* *worst: the largest difference over its room; *at: where. */
static int run_steps(struct course *course, const struct cnn_backend *backend, struct cnn_program *program,
                     double *worst, int *at, struct cnn_error *error)
{
    int status = CNN_OK;
    *worst = 0;
    for (int step = 0; step < STEPS && !status; step++) {
        struct cnn_answer answer = { .images = 0 };
        take_batch(course, step);
        status = backend->load(program, 0, course->images, course->labels, BATCH, error);
        if (!status)
            status = backend->train(program, 1, error);
        if (!status)
            status = backend->fetch(program, &answer, error);
        double share = fabs(answer.loss_sum - course->loss[step]) / course->room[step];
        if (!(share <= *worst)) { /* NaN too */
            *worst = isnan(share) ? INFINITY : share;
            *at = step;
        }
    }
    return status;
}

static int run_target(struct course *course, const struct check_target *target, const struct cnn_rates *rates,
                      double *worst, int *at, struct cnn_error *error)
{
    const struct cnn_backend *backend = target->backend;
    struct cnn_program *program = NULL;
    struct cnn_program_options options = { .batch = BATCH, .slots = 1, .phases = CNN_PHASE_TRAIN, .momentum = true };
    options.algorithm = target->algorithm;
    options.isa = target->isa;
    int status = backend->compile(&program, target->device, course->network, &options, error);
    if (!status)
        status = backend->write_parameters(program, course->start, error);
    if (!status)
        status = backend->set_rates(program, rates, error);
    if (!status)
        status = run_steps(course, backend, program, worst, at, error);
    backend->release(program);
    return status;
}

static int run_all(struct course *course, const struct check_room *room)
{
    struct cnn_rates wrong = course->rates;
    struct cnn_error error;
    double worst, largest = 0;
    int failures = 0, ran = 0, at = 0;
    for (int i = 0; i < room->target_count; i++) {
        char name[128];
        int status = run_target(course, &room->targets[i], &course->rates, &worst, &at, &error);
        check_target_name(&room->targets[i], name, sizeof name);
        if (status == CNN_INVALID || status == CNN_UNAVAILABLE)
            continue;
        ran++;
        largest = status ? largest : fmax(largest, worst);
        if (status || worst > 1) {
            printf("FAILED course, %s: %s\n", name, status ? error.text : "the loss leaves its room");
            printf("    step %d: %.3g times the room of %.3g\n", at + 1, worst, course->room[at]);
            failures++;
        }
    }
    wrong.rate *= 1.001f;
    if (run_target(course, &room->targets[0], &wrong, &worst, &at, &error) || worst <= 1) {
        printf("FAILED course: a rate that is wrong by a thousandth is not noticed\n");
        failures++;
    }
    printf("course of %d steps: %d targets, loss %.3f, then %.3f; largest difference %.3f of its room\n", STEPS, ran,
           course->loss[0] / BATCH, course->loss[STEPS - 1] / BATCH, largest);
    return failures + (ran == 0);
}

int course_check(const struct check_room *room, uint64_t seed)
{
    const struct cnn_dataset_options options = { .side = SIDE, .seed = seed, .limit = IMAGES };
    struct course *course = calloc(1, sizeof *course);
    struct cnn_error error;
    int failures = 1;
    int status = course ? make_network(course, seed, &error) : cnn_error_set(&error, CNN_OOM, "no memory");
    if (!status)
        status = cnn_dataset_open(&course->data, "digits", CNN_SPLIT_TRAIN, &options, &error);
    if (!status && !(course->start = calloc((size_t)course->network->parameters, sizeof *course->start)))
        status = cnn_error_set(&error, CNN_OOM, "no memory");
    if (!status) {
        course->rates = (struct cnn_rates){ 0.02f, 0.9f, 0.0f };
        cnn_parameters_init(course->network, course->start);
        status = run_oracles(course, &error);
    }
    if (!status)
        failures = run_all(course, room);
    else
        printf("FAILED course: %s\n", error.text);
    if (course) {
        cnn_network_destroy(course->network);
        cnn_dataset_close(course->data);
        free(course->start);
    }
    free(course);
    return failures;
}
