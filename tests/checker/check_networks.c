/* SPDX-License-Identifier: MIT */
/* Whole built-in networks over several training steps, on every backend, algorithm, instruction set and number of
 * threads: near the oracle as journey.h says, with the same bits for cpu and omp with 1, 2 and 3 threads; the loss
 * of a small network over 200 steps; and one that learns digits. A slightly wrong rate must be noticed. Exit codes as
 * check_backend's. */
#include "lib/parameters.h"
#include "tests/checker/course.h"
#include "tests/checker/journey.h"
#include "tests/checker/learning.h"
#include "tests/checker/targets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct journey_spec specs[] = {
    { "lenet5", 32, 1, 1, false }, { "lenet5", 32, 2, 1, true },  { "lenet5", 32, 1, 2, false },
    { "simard", 29, 1, 1, false }, { "garcia", 20, 2, 1, false }, { "jahrer", 28, 1, 1, false },
    { "mlp", 28, 1, 1, false },    { "stack", 14, 1, 2, false },  { "large", 32, 1, 1, false },
};

/* A target on its way, and the largest difference relative to its room. */
struct traveller {
    const struct check_target *target;
    const struct journey *journey;
    struct cnn_program *program;
    float *parameters, *outputs;
    double worst;
    char text[512]; /* of the first difference that is too large */
};

static void compare(struct traveller *t, const char *what, int step, int64_t at, double got, double expected,
                    double room)
{
    double error = fabs(got - expected);
    if (error <= room) {
        t->worst = room > 0.0 && error / room > t->worst ? error / room : t->worst;
        return;
    }
    t->worst = INFINITY;
    if (!t->text[0])
        snprintf(t->text, sizeof t->text, "step %d, %s, number %lld: got %.9g, expected %.9g within %.3g", step + 1,
                 what, (long long)at, got, expected, room);
}

static void compare_step(struct traveller *t, int step)
{
    const struct cnn_network *network = t->journey->network;
    for (int64_t i = 0; i < (int64_t)journey_count(step) * network->classes; i++)
        compare(t, "output", step, i, (double)t->outputs[i], t->journey->outputs[step][i],
                t->journey->output_room[step][i]);
    for (int l = 0; l < network->layer_count; l++) {
        const struct cnn_layer *layer = &network->layers[l];
        for (int64_t i = layer->weight_at; i < layer->weight_at + layer->weights + layer->biases; i++)
            compare(t, layer->name, step, i - layer->weight_at, (double)t->parameters[i],
                    t->journey->parameters[step][i], t->journey->parameter_room[step][l]);
    }
}

static int do_step(struct traveller *t, int step, struct cnn_error *error)
{
    const struct cnn_backend *backend = t->target->backend;
    struct cnn_answer answer = { .outputs = t->outputs };
    int status = backend->load(t->program, 0, journey_images(t->journey, step), t->journey->labels[step],
                               journey_count(step), error);
    if (!status)
        status = backend->train(t->program, 1, error);
    if (!status)
        status = backend->fetch(t->program, &answer, error);
    if (!status)
        status = backend->read_parameters(t->program, t->parameters, error);
    if (!status)
        status = backend->sync(t->program, error);
    if (!status)
        compare_step(t, step);
    return status;
}

static int travel(struct traveller *t, const struct cnn_rates *rates, struct cnn_error *error)
{
    const struct cnn_backend *backend = t->target->backend;
    struct cnn_program_options options = { .batch = JOURNEY_BATCH, .slots = 1, .phases = CNN_PHASE_TRAIN };
    options.algorithm = t->target->algorithm;
    options.isa = t->target->isa;
    options.momentum = true;
    int status = backend->compile(&t->program, t->target->device, t->journey->network, &options, error);
    if (!status)
        status = backend->write_parameters(t->program, t->journey->start, error);
    if (!status)
        status = backend->set_rates(t->program, rates, error);
    for (int step = 0; step < JOURNEY_STEPS && !status; step++)
        status = do_step(t, step, error);
    backend->release(t->program);
    return status;
}

/* Runs a target; its worst difference is then in *worst (infinite: too large), its parameters' checksum in *checksum.
 */
static int run_target(const struct check_target *target, const struct journey *journey, const struct cnn_rates *rates,
                      double *worst, uint64_t *checksum, struct cnn_error *error)
{
    const struct cnn_network *network = journey->network;
    struct traveller t = { .target = target, .journey = journey };
    t.parameters = calloc((size_t)network->parameters, sizeof(float));
    t.outputs = calloc((size_t)network->classes * JOURNEY_BATCH, sizeof(float));
    int status = t.parameters && t.outputs ? travel(&t, rates, error) : cnn_error_set(error, CNN_OOM, "no memory");
    if (!status) {
        *worst = t.worst;
        *checksum = cnn_checksum_floats(t.parameters, network->parameters);
        cnn_error_set(error, CNN_OK, "%s", t.text);
    }
    free(t.parameters);
    free(t.outputs);
    return status;
}

/* A rate off by 3 % and a momentum of 0.88 for 0.9 must leave the room. */
static int wrong_rates_show(const struct check_target *target, const struct journey *journey, const char *network)
{
    struct cnn_rates wrong[2] = { journey->rates, journey->rates };
    int unseen = 0;
    wrong[0].rate *= 1.03f;
    wrong[1].momentum = 0.88f;
    for (int i = 0; i < 2; i++) {
        struct cnn_error error;
        uint64_t checksum;
        double worst = 0.0;
        if (run_target(target, journey, &wrong[i], &worst, &checksum, &error) || !isinf(worst)) {
            printf("%s: a wrong %s is not noticed: %.3f of its room\n", network, i ? "momentum" : "rate", worst);
            unseen++;
        }
    }
    return unseen;
}

/* The checksum that the first target of the same group, algorithm and instruction set had. */
static uint64_t first_of_group(const struct check_room *room, const uint64_t *checksums, int at)
{
    const struct check_target *target = &room->targets[at];
    for (int i = 0; i < at; i++) {
        const struct check_target *other = &room->targets[i];
        if (checksums[i] && !strcmp(other->group, target->group) && !strcmp(other->algorithm, target->algorithm) &&
            (!target->isa || !strcmp(other->isa, target->isa)))
            return checksums[i];
    }
    return checksums[at];
}

static int run_network(const struct check_room *room, const struct journey_spec *spec, uint64_t seed)
{
    struct journey *journey;
    struct cnn_error error;
    uint64_t checksums[TARGETS_MAX] = { 0 };
    double largest = 0.0;
    int failures = 0, ran = 0;
    if (journey_create(&journey, spec, seed, &error)) {
        printf("%s: %s\n", spec->name, error.text);
        return 1;
    }
    for (int i = 0; i < room->target_count; i++) {
        char name[128];
        double worst = 0.0;
        check_target_name(&room->targets[i], name, sizeof name);
        int status = run_target(&room->targets[i], journey, &journey->rates, &worst, &checksums[i], &error);
        if (status == CNN_UNAVAILABLE)
            printf("%s is left out: %s\n", name, error.text);
        if (status == CNN_INVALID || status == CNN_UNAVAILABLE)
            continue;
        ran++;
        largest = fmax(largest, worst);
        bool same = status || first_of_group(room, checksums, i) == checksums[i];
        if (status || isinf(worst) || !same) {
            printf("FAILED %s, %s: %s\n", journey->network->spec.name, name,
                   same ? error.text : "other bits than the first of its group");
            failures++;
        }
    }
    failures += ran == 0 ? 1 : wrong_rates_show(&room->targets[0], journey, spec->name);
    printf("%s image %d width %d depth %d%s: %d targets, largest difference %.3f of its room\n", spec->name,
           spec->image, spec->width, spec->depth, spec->peer ? " peer" : "", ran, largest);
    journey_destroy(journey);
    return failures;
}

int main(int count, char **words)
{
    static struct check_room room;
    struct check_filter filter = { .backend = count > 1 ? words[1] : NULL };
    uint64_t seed = count > 2 ? strtoull(words[2], NULL, 10) : (uint64_t)time(NULL);
    int failures = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count > 3) {
        fprintf(stderr, "usage: check_networks [BACKENDS [SEED]]\n");
        return 2;
    }
    printf("seed %llu\n", (unsigned long long)seed);
    int status = check_room_open(&room, &filter);
    if (!status) {
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
            failures += run_network(&room, &specs[i], seed);
        failures += course_check(&room, seed);
        failures += learning_check(&room, seed);
    }
    check_room_close(&room);
    return status ? status : failures != 0;
}
