/* SPDX-License-Identifier: MIT */
/* The order of images is the seed's and the epoch's alone; an epoch shows every image once and the short last batch at
 * its true size; figures, callbacks and refusals are as stated. Runs on the oracle as a backend. */
#include "lib/parameters.h"
#include "lib/trainer.h"
#include "tests/checker/oracle_backend.h"
#include "tests/unit/small_networks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define IMAGES 23
#define SIDE 4
#define BATCH 5 /* four whole batches and one of three */

/* A set whose images can be told apart: the first pixel is the image's number, the label depends on two others. */
struct world {
    struct cnn_dataset set;
    uint8_t pixels[IMAGES * SIDE * SIDE];
    int32_t labels[IMAGES];
    struct cnn_network *network;
    struct cnn_device *device;
    struct cnn_program *program;
    struct cnn_backend backend; /* the oracle, with a load() that records */
};

#define EPOCHS_MAX 12
static int loaded[2 * EPOCHS_MAX * IMAGES], loaded_count, sizes[2 * EPOCHS_MAX * IMAGES], size_count;

static int recording_load(struct cnn_program *program, int slot, const float *images, const int32_t *labels, int count,
                          struct cnn_error *error)
{
    sizes[size_count++] = count;
    for (int i = 0; i < count; i++)
        loaded[loaded_count++] = (int)lrintf(images[i * SIDE * SIDE] * 255.0f);
    return check_oracle_backend.load(program, slot, images, labels, count, error);
}

static struct world *world_with(int slots)
{
    struct world *world = calloc(1, sizeof *world);
    struct cnn_device_options device = { 0 };
    struct cnn_program_options options = {
        .batch = BATCH, .slots = slots, .phases = CNN_PHASE_ALL, .algorithm = "oracle"
    };
    struct cnn_network_spec spec = small_spec(1, SIDE, 2, CNN_SOFTMAX);
    assert_non_null(world);
    world->set = (struct cnn_dataset){ .name = "numbers", .channels = 1, .side = SIDE, .classes = 2, .count = IMAGES };
    world->set.pixels = world->pixels;
    world->set.labels = world->labels;
    world->set.deviation = 1.0f;
    for (int i = 0; i < IMAGES; i++) {
        world->labels[i] = i % 2;
        world->pixels[i * SIDE * SIDE] = (uint8_t)i;
        world->pixels[i * SIDE * SIDE + 5 + i % 2] = 255;
    }
    small_layer(&spec, CNN_FULL, 6, 0, CNN_TANH);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    world->network = small_network(&spec);
    assert_non_null(world->network);
    world->backend = check_oracle_backend;
    world->backend.load = recording_load;
    assert_int_equal(world->backend.open(&world->device, &device, NULL), CNN_OK);
    assert_int_equal(world->backend.compile(&world->program, world->device, world->network, &options, NULL), CNN_OK);
    float *parameters = calloc((size_t)world->network->parameters, sizeof *parameters);
    cnn_parameters_init(world->network, parameters);
    world->backend.write_parameters(world->program, parameters, NULL);
    free(parameters);
    loaded_count = size_count = 0;
    return world;
}

static struct world *world_of(void)
{
    return world_with(1);
}

static void world_end(struct world *world)
{
    world->backend.release(world->program);
    world->backend.close(world->device);
    cnn_network_destroy(world->network);
    free(world);
}

static bool is_permutation(const int *values, int count)
{
    bool seen[1024] = { false };
    for (int i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] >= count || seen[values[i]])
            return false;
        seen[values[i]] = true;
    }
    return true;
}

static void test_order_is_a_permutation_of_seed_and_epoch(void **state)
{
    (void)state;
    enum { N = 1000 };
    static int32_t a[N], b[N];
    cnn_trainer_order(7, 1, a, N);
    assert_true(is_permutation(a, N));
    memset(b, 0x55, sizeof b);
    cnn_trainer_order(8, 3, b, N); /* whatever was drawn before */
    assert_true(is_permutation(b, N));
    assert_memory_not_equal(a, b, sizeof a);
    cnn_trainer_order(7, 2, b, N);
    assert_memory_not_equal(a, b, sizeof a);
    cnn_trainer_order(7, 1, b, N);
    assert_memory_equal(a, b, sizeof a);
    for (int count = 1; count <= 3; count++) {
        cnn_trainer_order(7, 1, a, count);
        assert_true(is_permutation(a, count));
    }
}

struct story {
    int stages[512], count, stop_epoch;
    enum cnn_epoch_stage stop_stage;
    struct cnn_epoch last;
};

static bool listen(void *context, enum cnn_epoch_stage stage, const struct cnn_epoch *epoch)
{
    struct story *story = context;
    story->stages[story->count++] = 10 * epoch->epoch + (int)stage;
    story->last = *epoch;
    return !(stage == story->stop_stage && epoch->epoch == story->stop_epoch);
}

static struct cnn_trainer_options training(int epochs)
{
    return (struct cnn_trainer_options){
        .batch = BATCH, .epochs = epochs, .rates = { 0.5f, 0.0f, 0.0f }, .rate_decay = 1.0f, .seed = 3
    };
}

static void test_every_image_once_and_the_last_batch_short(void **state)
{
    (void)state;
    struct world *world = world_of();
    struct cnn_trainer_options options = training(2);
    struct story story = { .stop_epoch = -1 };
    struct cnn_error error;
    int32_t order[IMAGES];
    assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, &world->set,
                                     &options, listen, &story, &error),
                     CNN_OK);
    assert_int_equal(loaded_count, 4 * IMAGES); /* two epochs, each trained and tested */
    for (int pass = 0; pass < 4; pass++) {
        cnn_trainer_order(options.seed, pass / 2 + 1, order, IMAGES);
        for (int i = 0; i < IMAGES; i++)
            assert_int_equal(loaded[pass * IMAGES + i], pass % 2 ? i : order[i]);
    }
    for (int i = 0; i < size_count; i++)
        assert_int_equal(sizes[i], i % 5 == 4 ? IMAGES % BATCH : BATCH);
    const int tail[2] = { CNN_EPOCH_TESTS, CNN_EPOCH_DONE };
    assert_int_equal(story.count, 2 * (2 * 5 + 2)); /* five times a batch is loaded and a step run, in each epoch */
    for (int i = 0; i < story.count; i++) {
        int at = i % 12, stage = at >= 10 ? tail[at - 10] : at % 2 ? CNN_EPOCH_TRAINS : CNN_EPOCH_LOADS;
        assert_int_equal(story.stages[i], 10 * (i / 12 + 1) + stage);
    }
    assert_int_equal(story.last.epoch, 2);
    world_end(world);
}

static void test_training_learns_and_tells_the_checksum(void **state)
{
    (void)state;
    struct world *world = world_of();
    struct cnn_trainer_options options = training(EPOCHS_MAX);
    struct story story = { .stop_epoch = -1 };
    struct cnn_error error;
    float parameters[256];
    assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, NULL, &options,
                                     listen, &story, &error),
                     CNN_OK);
    assert_true(story.last.train_accuracy == 1.0);
    assert_true(story.last.train_loss < 0.1);
    assert_true(isnan(story.last.test_loss));
    assert_true(world->network->parameters <= 256);
    world->backend.read_parameters(world->program, parameters, &error);
    assert_true(story.last.parameters_checksum == cnn_checksum_floats(parameters, world->network->parameters));
    world_end(world);
}

static uint64_t trained_with(int slots, int epochs, const struct cnn_distortion *distortion, struct story *story)
{
    struct world *world = world_with(slots);
    struct cnn_trainer_options options = training(epochs);
    struct cnn_error error;
    options.slots = slots;
    options.distortion = distortion;
    *story = (struct story){ .stop_epoch = -1 };
    assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, &world->set,
                                     &options, listen, story, &error),
                     CNN_OK);
    world_end(world);
    return story->last.parameters_checksum;
}

/* 23 images are 5 batches: 3 slots are filled twice, the second time with 2 batches; 64 hold all. */
static void test_slots_change_when_images_load_and_nothing_else(void **state)
{
    (void)state;
    struct story one, three, all;
    uint64_t checksum = trained_with(1, 2, NULL, &one);
    assert_true(trained_with(3, 2, NULL, &three) == checksum);
    assert_true(trained_with(64, 2, NULL, &all) == checksum);
    assert_int_equal(three.count, 2 * (2 * 2 + 2));
    assert_int_equal(all.count, 2 * (2 + 2));
    assert_true(three.last.train_loss == one.last.train_loss && three.last.test_loss == one.last.test_loss);
}

/* A shift moves the first pixel, the image's number, away from most training images; each epoch another way; what is
 * tested stays as it is. */
static void test_only_training_images_are_distorted_each_epoch_anew(void **state)
{
    (void)state;
    const struct cnn_distortion distortion = { .shift = 2 }, none = { .shift = 0 };
    struct story story;
    int32_t order[IMAGES];
    uint64_t checksum = trained_with(1, 2, &distortion, &story);
    int first[2 * IMAGES], changed = 0;
    for (int i = 0; i < IMAGES; i++) {
        cnn_trainer_order(3, 1, order, IMAGES);
        changed += loaded[i] != order[i];
        first[order[i]] = loaded[i];
        cnn_trainer_order(3, 2, order, IMAGES);
        first[IMAGES + order[i]] = loaded[2 * IMAGES + i];
        assert_int_equal(loaded[IMAGES + i], i);
    }
    assert_true(changed > IMAGES / 2);
    assert_memory_not_equal(first, first + IMAGES, IMAGES * sizeof *first);
    assert_true(trained_with(3, 2, &distortion, &story) == checksum);
    assert_true(trained_with(1, 2, &none, &story) == trained_with(1, 2, NULL, &story));
    assert_true(trained_with(1, 2, NULL, &story) != checksum);
}

static void test_a_callback_stops_training(void **state)
{
    (void)state;
    for (enum cnn_epoch_stage stage = CNN_EPOCH_LOADS; stage <= CNN_EPOCH_DONE; stage++) {
        struct world *world = world_of();
        struct cnn_trainer_options options = training(3);
        struct story story = { .stop_epoch = 2, .stop_stage = stage };
        struct cnn_error error;
        assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, &world->set,
                                         &options, listen, &story, &error),
                         CNN_OK);
        assert_int_equal(story.stages[story.count - 1], 20 + (int)stage);
        world_end(world);
    }
}

/* The rate is multiplied after each epoch: with 0 nothing moves after the first. */
static void test_the_rate_decays(void **state)
{
    (void)state;
    struct world *world = world_of();
    struct cnn_trainer_options options = training(1);
    struct story first = { .stop_epoch = -1 }, third = { .stop_epoch = -1 };
    struct cnn_error error;
    assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, NULL, &options,
                                     listen, &first, &error),
                     CNN_OK);
    world_end(world);
    world = world_of();
    options.epochs = 3;
    options.rate_decay = 0.0f;
    assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, NULL, &options,
                                     listen, &third, &error),
                     CNN_OK);
    assert_true(first.last.parameters_checksum == third.last.parameters_checksum);
    world_end(world);
}

static void refused(struct world *world, const struct cnn_trainer_options *options, enum cnn_status status,
                    const char *word)
{
    struct cnn_error error = { 0 };
    assert_int_equal(cnn_trainer_run(&world->backend, world->program, world->network, &world->set, NULL, options, NULL,
                                     NULL, &error),
                     status);
    if (!strstr(error.text, word))
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct world *world = world_of();
    struct cnn_trainer_options options = training(2);
    options.batch = 0;
    refused(world, &options, CNN_INVALID, "batch 0");
    options = training(0);
    refused(world, &options, CNN_INVALID, "0 epochs");
    options = training(1);
    world->set.side = SIDE + 1;
    refused(world, &options, CNN_INVALID, "1 x 5 x 5");
    world->set.side = SIDE;
    world->set.classes = 3;
    refused(world, &options, CNN_INVALID, "in 3 classes");
    world->set.classes = 2;
    options.rates.rate = INFINITY;
    options.epochs = 3;
    refused(world, &options, CNN_ERROR, "epoch 1");
    world_end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_a_permutation_of_seed_and_epoch),
        cmocka_unit_test(test_every_image_once_and_the_last_batch_short),
        cmocka_unit_test(test_training_learns_and_tells_the_checksum),
        cmocka_unit_test(test_slots_change_when_images_load_and_nothing_else),
        cmocka_unit_test(test_only_training_images_are_distorted_each_epoch_anew),
        cmocka_unit_test(test_a_callback_stops_training),
        cmocka_unit_test(test_the_rate_decays),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
