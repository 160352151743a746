/* SPDX-License-Identifier: MIT */
/* What a CPU program takes, against what its phase must hold: parameters (in training their gradients too) and the
 * tensors that are alive together at the worst moment, the input among them (lib/operations.h). 1.5 times that is the
 * limit; zeros around small maps that kernels read beyond the edge cost more in a few networks, each with its own limit
 * here. */
#include "core.h"

#include "cpu/cpu.h"
#include "lib/operations.h"

#include <stdlib.h>

#define BATCH 128
#define LIMIT 1.5

struct size {
    const char *network;
    int image, width, depth;
    double train, classify; /* limits, 0: LIMIT */
};

static const struct size sizes[] = {
    { "lenet5", 32, 1, 1, 0, 0 },
    { "lenet5", 32, 2, 1, 0, 0 },
    { "lenet5", 32, 4, 1, 0, 0 },
    { "lenet5", 32, 16, 1, 0, 0 },
    { "lenet5", 32, 1, 4, 1.8, 1.95 }, /* 10 x 10 maps: deltas with 4, outputs with 2 zeros around them */
    { "lenet5", 104, 1, 1, 0, 0 },
    { "stack", 0, 1, 1, 0, 0 },
    { "stack", 0, 1, 4, 0, 1.75 }, /* the last of the padded maps has no halo: a third place */
    { "stack", 0, 1, 16, 0, 1.75 },
    { "large", 64, 1, 1, 0, 0 },
    { "large", 256, 1, 1, 0, 0 },
    { "garcia", 20, 1, 1, 0, 0 },
    { "garcia", 36, 1, 1, 0, 0 },
    { "jahrer", 0, 1, 1, 1.75, 0 }, /* 10 x 10 maps: deltas with 4 zeros around them */
    { "mlp", 0, 1, 1, 0, 0 },
    { "mlp", 0, 10, 1, 0, 0 },
    { "simard", 0, 1, 1, 1.55, 0 }, /* 5 x 5 maps, stride 2: deltas with 2 zeros around them */
};

static struct cnn_plan plan_of(const struct cnn_network *network, struct cnn_program_options options)
{
    struct cnn_device *device = NULL;
    struct cnn_plan plan = { 0 };
    struct cnn_error error = { CNN_OK, "" };
    const struct cnn_device_options one = { 0 };
    options.batch = BATCH;
    options.slots = 1;
    options.algorithm = "direct";
    if (cnn_cpu_backend.open(&device, &one, &error) || cnn_cpu_backend.plan(device, network, &options, &plan, &error))
        fail_msg("%s", error.text);
    cnn_cpu_backend.close(device);
    return plan;
}

/* Bytes over those that must be held. */
static double ratio_of(const struct cnn_network *network, const struct cnn_plan *plan, bool train)
{
    struct cnn_operations *operations = NULL;
    struct cnn_error error;
    assert_int_equal(cnn_operations_create(&operations, network, &error), CNN_OK);
    double must = (double)operations->peak_bytes_per_image[train ? 0 : 1] * BATCH;
    must += 4.0 * (double)network->parameters * (train ? 2 : 1);
    cnn_operations_destroy(operations);
    return (double)plan->total / must;
}

static void check(const struct size *size, bool train, double limit)
{
    struct cnn_network *network = core_network(size->network, size->image, size->width, size->depth);
    const struct cnn_program_options options = { .phases = train ? CNN_PHASE_TRAIN : CNN_PHASE_CLASSIFY };
    const struct cnn_plan plan = plan_of(network, options);
    double ratio = ratio_of(network, &plan, train);
    limit = limit > 0 ? limit : LIMIT;
    printf("%-6s image %3d width %2d depth %2d %s: %.2f times what it must hold\n", size->network, network->spec.image,
           size->width, size->depth, train ? "train   " : "classify", ratio);
    if (!(ratio > 0.5 && ratio <= limit))
        fail_msg("%s image %d width %d depth %d: %.3f times what it must hold, expected at most %g", size->network,
                 size->image, size->width, size->depth, ratio, limit);
    cnn_network_destroy(network);
}

static void training_holds_little_more_than_it_must(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check(&sizes[i], true, sizes[i].train);
}

static void classifying_holds_little_more_than_it_must(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check(&sizes[i], false, sizes[i].classify);
}

/* What is inspected, or stands between canaries, is kept apart: the bound above is of sharing. */
static void sharing_is_what_saves(void **state)
{
    (void)state;
    struct cnn_network *network = core_network("stack", 0, 1, 16);
    struct cnn_program_options options = { .phases = CNN_PHASE_TRAIN };
    int64_t shared = plan_of(network, options).activations;
    options.inspectable = true;
    int64_t apart = plan_of(network, options).activations;
    assert_true(apart > shared + shared / 2);
    options = (struct cnn_program_options){ .phases = CNN_PHASE_CLASSIFY };
    assert_true(plan_of(network, options).activations < shared / 4);
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_holds_little_more_than_it_must),
        cmocka_unit_test(classifying_holds_little_more_than_it_must),
        cmocka_unit_test(sharing_is_what_saves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
