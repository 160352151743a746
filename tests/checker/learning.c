/* SPDX-License-Identifier: MIT */
/* Four epochs over a few hundred generated digits, through the trainer. */
#include "tests/checker/learning.h"

#include "lib/parameters.h"
#include "lib/trainer.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 16
#define BATCH 32
#define TRAIN_IMAGES 440 /* 13 batches and one of 24 */
#define TEST_IMAGES 100
#define EPOCHS 4
#define SEEDS 5

/* What the first and the last epoch of a target said. */
struct lesson {
    struct cnn_epoch first, last;
    bool ran;
};

static bool remember(void *context, enum cnn_epoch_stage stage, const struct cnn_epoch *epoch)
{
    struct lesson *lesson = context;
    if (stage == CNN_EPOCH_DONE && epoch->epoch == 1)
        lesson->first = *epoch;
    if (stage == CNN_EPOCH_DONE)
        lesson->last = *epoch;
    return true;
}

static int make_network(struct cnn_network **out, uint64_t seed, struct cnn_error *error)
{
    struct cnn_network_spec spec = { .name = "pupil", .channels = 1, .image = SIDE, .classes = 10, .seed = seed };
    spec.width = spec.depth = 1;
    spec.loss = CNN_SOFTMAX;
    spec.connections.paper = true;
    spec.layer_count = 4;
    spec.layers[0] = (struct cnn_layer_spec){ .kind = CNN_CONV, .maps = 8, .kernel = 5, .stride = 1 };
    spec.layers[0].activation = CNN_RELU;
    spec.layers[1] = (struct cnn_layer_spec){ .kind = CNN_MAXPOOL, .kernel = 2 };
    spec.layers[2] = (struct cnn_layer_spec){ .kind = CNN_FULL, .maps = 40, .activation = CNN_TANH };
    spec.layers[3] = (struct cnn_layer_spec){ .kind = CNN_FULL };
    return cnn_network_create(out, &spec, error);
}

static int learn(const struct check_target *target, const struct cnn_network *network, const struct cnn_dataset *train,
                 const struct cnn_dataset *test, struct lesson *lesson, struct cnn_error *error)
{
    const struct cnn_backend *backend = target->backend;
    struct cnn_program *program = NULL;
    struct cnn_program_options options = { .batch = BATCH, .slots = 1, .algorithm = target->algorithm };
    struct cnn_trainer_options training = { .batch = BATCH, .epochs = EPOCHS, .rates = { 0.05f, 0.9f, 0.0f } };
    float *parameters = calloc((size_t)network->parameters, sizeof *parameters);
    options.isa = target->isa;
    options.phases = CNN_PHASE_TRAIN | CNN_PHASE_EVALUATE;
    options.momentum = true;
    training.rate_decay = 1.0f;
    training.seed = network->spec.seed;
    int status = parameters ? backend->compile(&program, target->device, network, &options, error)
                            : cnn_error_set(error, CNN_OOM, "no memory");
    if (!status) {
        cnn_parameters_init(network, parameters);
        status = backend->write_parameters(program, parameters, error);
    }
    if (!status)
        status = cnn_trainer_run(backend, program, network, train, test, &training, remember, lesson, error);
    backend->release(program);
    free(parameters);
    return status;
}

/* What the seed of weights and order alone makes of the accuracy, on one target: greatest less least. Negative after a
 * failure, printed. */
static double seed_spread(const struct check_target *target, const struct cnn_network *network,
                          const struct cnn_dataset *train, const struct cnn_dataset *test)
{
    double least = 1, most = 0;
    for (uint64_t i = 0; i < SEEDS; i++) {
        struct cnn_network *other = NULL;
        struct lesson lesson = { .ran = false };
        struct cnn_error error;
        int status = make_network(&other, network->spec.seed + i, &error);
        if (!status)
            status = learn(target, other, train, test, &lesson, &error);
        cnn_network_destroy(other);
        if (status) {
            printf("FAILED learning with another seed: %s\n", error.text);
            return -1;
        }
        least = lesson.last.test_accuracy < least ? lesson.last.test_accuracy : least;
        most = lesson.last.test_accuracy > most ? lesson.last.test_accuracy : most;
    }
    return most - least;
}

static int judge(const struct check_room *room, const struct lesson *lessons, int at)
{
    const struct lesson *lesson = &lessons[at];
    const struct check_target *target = &room->targets[at];
    char name[128];
    int failures = 0;
    check_target_name(target, name, sizeof name);
    if (!(lesson->last.train_loss < 0.7 * lesson->first.train_loss) || !(lesson->last.test_accuracy > 0.4)) {
        printf("FAILED learning, %s: loss %.4f, then %.4f; accuracy %.3f; expected 0.7 of the loss at most and more "
               "than 0.4\n",
               name, lesson->first.train_loss, lesson->last.train_loss, lesson->last.test_accuracy);
        failures++;
    }
    for (int i = 0; i < at; i++) {
        const struct check_target *other = &room->targets[i];
        if (!lessons[i].ran || strcmp(other->group, target->group) != 0 ||
            strcmp(other->algorithm, target->algorithm) != 0 || (target->isa && strcmp(other->isa, target->isa) != 0))
            continue;
        if (lessons[i].last.parameters_checksum != lesson->last.parameters_checksum) {
            printf("FAILED learning, %s: other bits than the first of its group\n", name);
            failures++;
        }
        break;
    }
    return failures;
}

static int learn_all(const struct check_room *room, const struct cnn_network *network, const struct cnn_dataset *train,
                     const struct cnn_dataset *test)
{
    static struct lesson lessons[TARGETS_MAX];
    int failures = 0, ran = 0, at = 0;
    double least = 1, most = 0, spread = 0;
    for (int i = 0; i < room->target_count; i++) {
        struct cnn_error error;
        char name[128];
        int status = learn(&room->targets[i], network, train, test, &lessons[i], &error);
        check_target_name(&room->targets[i], name, sizeof name);
        lessons[i].ran = status == CNN_OK;
        if (status != CNN_OK && status != CNN_INVALID) {
            printf("FAILED learning, %s: %s\n", name, error.text);
            failures++;
        } else if (status == CNN_OK) {
            failures += judge(room, lessons, i);
            spread = ran ? spread : seed_spread(&room->targets[i], network, train, test);
            least = lessons[i].last.test_accuracy < least ? lessons[i].last.test_accuracy : least;
            most = lessons[i].last.test_accuracy > most ? lessons[i].last.test_accuracy : most;
            at = i;
            ran++;
        }
    }
    if (ran && !(most - least <= spread)) {
        printf("FAILED learning: accuracies from %.3f to %.3f, further apart than those of %d seeds, %.3f\n", least,
               most, SEEDS, spread);
        failures++;
    }
    printf(
        "learning digits: %d targets, loss %.3f in epoch 1, %.3f in epoch %d, accuracy %.3f to %.3f (of %d seeds: %.3f "
        "apart)\n",
        ran, lessons[at].first.train_loss, lessons[at].last.train_loss, EPOCHS, least, most, SEEDS, spread);
    return failures + (ran == 0);
}

int learning_check(const struct check_room *room, uint64_t seed)
{
    struct cnn_dataset_options options = { .side = SIDE, .seed = seed, .limit = TRAIN_IMAGES };
    struct cnn_dataset *train = NULL, *test = NULL;
    struct cnn_network *network = NULL;
    struct cnn_error error;
    int failures = 1;
    int status = cnn_dataset_open(&train, "digits", CNN_SPLIT_TRAIN, &options, &error);
    options.limit = TEST_IMAGES;
    if (!status)
        status = cnn_dataset_open(&test, "digits", CNN_SPLIT_TEST, &options, &error);
    if (!status)
        status = make_network(&network, seed, &error);
    if (!status)
        failures = learn_all(room, network, train, test);
    else
        printf("FAILED learning: %s\n", error.text);
    cnn_network_destroy(network);
    cnn_dataset_close(test);
    cnn_dataset_close(train);
    return failures;
}
