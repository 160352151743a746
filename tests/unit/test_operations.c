/* SPDX-License-Identifier: MIT */
/* Lowering: every list is well-formed (what is read was written, lifetimes, bytes, work that adds up), and two small
 * ones are compared operation by operation with lists written by hand. */
#include "tests/unit/core.h"

#include "lib/operations.h"

static struct cnn_operations *lower(const struct cnn_network *network)
{
    struct cnn_operations *operations = NULL;
    struct cnn_error error = { CNN_OK, "" };
    if (cnn_operations_create(&operations, network, &error) != CNN_OK)
        fail_msg("%s", error.text);
    return operations;
}

/* Calls `check` on the operations of every built-in network, some sizes, with and without input gradient. */
static void for_every_network(void (*check)(const struct cnn_network *, const struct cnn_operations *))
{
    for (const char *const *name = cnn_builtin_names(); *name; name++)
        for (int variant = 0; variant < 4; variant++) {
            bool deep = strcmp(*name, "lenet5") == 0 || strcmp(*name, "mlp") == 0 || strcmp(*name, "stack") == 0;
            struct cnn_network_spec spec = core_spec(*name, 0, variant & 1 ? 2 : 1, variant & 1 && deep ? 3 : 1);
            spec.input_gradient = variant & 2;
            struct cnn_network *network = core_create(&spec);
            struct cnn_operations *operations = lower(network);
            check(network, operations);
            cnn_operations_destroy(operations);
            cnn_network_destroy(network);
        }
}

static void check_flops(const struct cnn_network *network, const struct cnn_operations *operations)
{
    int64_t flops[5] = { 0 }, dense[5] = { 0 };
    for (int i = 0; i < operations->count; i++)
        for (unsigned phase = 1; phase <= 4; phase <<= 1)
            if (operations->list[i].phases & phase) {
                flops[phase] += operations->list[i].flops;
                dense[phase] += operations->list[i].flops_dense;
            }
    assert_int_equal(flops[CNN_PHASE_TRAIN], cnn_network_flops_train(network, 1, false));
    assert_int_equal(dense[CNN_PHASE_TRAIN], cnn_network_flops_train(network, 1, true));
    for (unsigned phase = CNN_PHASE_CLASSIFY; phase <= CNN_PHASE_EVALUATE; phase <<= 1) {
        assert_int_equal(flops[phase], cnn_network_flops_forward(network, 1, false));
        assert_int_equal(dense[phase], cnn_network_flops_forward(network, 1, true));
    }
}

static void work_adds_up(void **state)
{
    (void)state;
    for_every_network(check_flops);
}

/* In each phase every tensor that is read was written before, parameters and velocities apart: they are there. */
static void check_order(const struct cnn_network *network, const struct cnn_operations *operations)
{
    (void)network;
    for (unsigned phase = 1; phase <= 4; phase <<= 1) {
        bool written[1024] = { false };
        assert_in_range(operations->tensor_count, 1, 1024);
        for (int t = 0; t < operations->tensor_count; t++)
            written[t] = operations->tensors[t].kind == CNN_TENSOR_PARAMETERS ||
                         operations->tensors[t].kind == CNN_TENSOR_VELOCITY;
        for (int i = 0; i < operations->count; i++) {
            const struct cnn_operation *operation = &operations->list[i];
            if (!(operation->phases & phase))
                continue;
            for (const int *read = operation->reads; *read >= 0; read++)
                assert_true(written[*read]);
            for (const int *write = operation->writes; *write >= 0; write++)
                written[*write] = true;
        }
    }
}

static void what_is_read_was_written(void **state)
{
    (void)state;
    for_every_network(check_order);
}

static bool lists(const int *list, int tensor)
{
    for (; *list >= 0; list++)
        if (*list == tensor)
            return true;
    return false;
}

static void check_bytes_and_lifetimes(const struct cnn_network *network, const struct cnn_operations *operations)
{
    for (int t = 0; t < operations->tensor_count; t++) {
        const struct cnn_tensor *tensor = &operations->tensors[t];
        int first = -1, last = -1;
        for (int i = 0; i < operations->count; i++)
            if (lists(operations->list[i].reads, t) || lists(operations->list[i].writes, t)) {
                first = first < 0 ? i : first;
                last = i;
            }
        assert_true(first >= 0); /* no tensor that nobody touches */
        assert_int_equal(tensor->first, first);
        assert_int_equal(tensor->last, last);
        if (tensor->layer >= 0 && tensor->fixed == 0)
            assert_int_equal(tensor->per_image, cnn_shape_size(network->layers[tensor->layer].out));
    }
    for (int i = 0; i < operations->count; i++) {
        const struct cnn_operation *operation = &operations->list[i];
        int64_t per_image = 0, fixed = 0;
        for (int t = 0; t < operations->tensor_count; t++)
            if (lists(operation->reads, t) || lists(operation->writes, t)) {
                per_image += 4 * operations->tensors[t].per_image;
                fixed += 4 * operations->tensors[t].fixed;
            }
        assert_int_equal(operation->bytes_per_image, per_image);
        assert_int_equal(operation->bytes_fixed, fixed);
    }
}

static void bytes_count_each_tensor_once(void **state)
{
    (void)state;
    for_every_network(check_bytes_and_lifetimes);
}

/* Gradients are ready from the last layer to the first, each is used by the update behind it, and no update comes
 * before the last operation that reads the old weights. */
static void check_updates(const struct cnn_network *network, const struct cnn_operations *operations)
{
    int layer = network->layer_count, updates = 0;
    for (int i = 0; i < operations->count; i++) {
        if (operations->list[i].kind != CNN_OP_UPDATE)
            continue;
        const struct cnn_operation *update = &operations->list[i], *before = update - 1;
        assert_true(update->layer < layer);
        layer = update->layer;
        updates++;
        assert_int_equal(before->writes[0], update->reads[0]);
        assert_int_equal(operations->tensors[update->reads[0]].kind, CNN_TENSOR_PARAMETER_GRADIENT);
        assert_true(update->fuses_with_previous);
        for (int later = i + 1; later < operations->count; later++)
            assert_false(lists(operations->list[later].reads, update->reads[1]));
    }
    int weighted = 0;
    for (int l = 0; l < network->layer_count; l++)
        weighted += network->layers[l].weights > 0;
    assert_int_equal(updates, weighted);
}

static void updates_follow_readiness(void **state)
{
    (void)state;
    for_every_network(check_updates);
}

struct expected {
    enum cnn_operation_kind kind;
    int layer;
    unsigned phases;
    bool fuses;
    int64_t flops, dense, other, per_image, fixed;
};

static void assert_list(const struct cnn_operations *operations, const struct expected *expected, int count)
{
    assert_int_equal(operations->count, count);
    for (int i = 0; i < count; i++) {
        const struct cnn_operation *found = &operations->list[i];
        const struct expected *e = &expected[i];
        if (found->kind != e->kind || found->layer != e->layer || found->phases != e->phases ||
            found->fuses_with_previous != e->fuses || found->flops != e->flops || found->flops_dense != e->dense ||
            found->other_flops != e->other || found->bytes_per_image != e->per_image || found->bytes_fixed != e->fixed)
            fail_msg(
                "operation %d: found %s of layer %d, phases %u, fuses %d, flops %d dense %d other %d, bytes %d + %d", i,
                cnn_operation_kind_name(found->kind), found->layer, found->phases, found->fuses_with_previous,
                (int)found->flops, (int)found->flops_dense, (int)found->other_flops, (int)found->bytes_per_image,
                (int)found->bytes_fixed);
    }
}

#define T CNN_PHASE_TRAIN
#define C CNN_PHASE_CLASSIFY
#define E CNN_PHASE_EVALUATE
#define ALL CNN_PHASE_ALL

/* 5 x 5, one channel: max-pool 2 (step 1) to 4 x 4; C2 2x2 of 3 maps to 3 x 3, tanh; S3 3x3 to 1 x 1; F4 2, logistic.
 */
static struct cnn_network_spec small_spec(void)
{
    struct cnn_network_spec spec = core_empty(5);
    spec.classes = 2;
    core_add(&spec, CNN_MAXPOOL, 0, 2, 1);
    core_add(&spec, CNN_CONV, 3, 2, 1)->activation = CNN_TANH;
    core_add(&spec, CNN_SUBSAMPLE, 0, 3, 0);
    core_add(&spec, CNN_FULL, 0, 0, 0)->activation = CNN_LOGISTIC;
    return spec;
}

/* Floats: images 25, P1 16, C2 27, S3 3, F4 2; parameters C2 15, S3 6, F4 8; MACs C2 108, F4 6. */
static void a_small_list_by_hand(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        { CNN_OP_COPY_IN, -1, ALL, false, 0, 0, 0, 100, 0 },
        { CNN_OP_COPY_IN, -1, T | E, false, 0, 0, 0, 4, 0 },
        { CNN_OP_MAXPOOL_FORWARD, 0, ALL, false, 0, 0, 48, 164, 0 }, /* no way back: no places of maxima */
        { CNN_OP_CONV_FORWARD, 1, ALL, false, 216, 216, 27, 172, 60 },
        { CNN_OP_ACTIVATION_FORWARD, 1, ALL, true, 0, 0, 27, 216, 0 },
        { CNN_OP_SUBSAMPLE_FORWARD, 2, ALL, true, 0, 0, 30, 120, 24 },
        { CNN_OP_FULL_FORWARD, 3, ALL, false, 12, 12, 2, 20, 32 },
        { CNN_OP_ACTIVATION_FORWARD, 3, ALL, true, 0, 0, 8, 16, 0 },
        { CNN_OP_LOSS, -1, E, true, 0, 0, 7, 16, 8 },
        { CNN_OP_ARGMAX, -1, C, true, 0, 0, 1, 12, 8 },
        { CNN_OP_LOSS, -1, T, true, 0, 0, 9, 24, 8 },
        { CNN_OP_ACTIVATION_BACKWARD, 3, T, true, 0, 0, 6, 24, 0 },
        { CNN_OP_FULL_BACKWARD_DATA, 3, T, false, 12, 12, 0, 20, 32 },
        { CNN_OP_FULL_BACKWARD_WEIGHTS, 3, T, false, 12, 12, 2, 20, 32 },
        { CNN_OP_UPDATE, 3, T, true, 0, 0, 44, 0, 96 },
        { CNN_OP_SUBSAMPLE_BACKWARD_DATA, 2, T, false, 0, 0, 30, 120, 24 },
        { CNN_OP_ACTIVATION_BACKWARD, 1, T, true, 0, 0, 81, 324, 0 },
        { CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS, 2, T, false, 0, 0, 33, 120, 24 },
        { CNN_OP_UPDATE, 2, T, true, 0, 0, 24, 0, 72 },
        { CNN_OP_CONV_BACKWARD_WEIGHTS, 1, T, false, 216, 216, 27, 172, 60 },
        { CNN_OP_UPDATE, 1, T, true, 0, 0, 84, 0, 180 },
        { CNN_OP_COPY_OUT, -1, ALL, false, 0, 0, 0, 4, 8 },
    };
    struct cnn_network_spec spec = small_spec();
    struct cnn_network *network = core_create(&spec);
    struct cnn_operations *operations = lower(network);
    assert_list(operations, expected, (int)(sizeof expected / sizeof *expected));
    /* Classify, in floats: P1 and C2, whose tanh runs in place, 43. Evaluate: the label beside. Train, while S3's
     * gradient by its input is made: P1 16, C2 27, S3's delta 3, C2's gradient 27 and the answer 1; S3's own output is
     * dead. */
    assert_int_equal(operations->peak_bytes_per_image[1], 4 * 43);
    assert_int_equal(operations->peak_bytes_per_image[2], 4 * 44);
    assert_int_equal(operations->peak_bytes_per_image[0], 4 * 74);
    cnn_operations_destroy(operations);
    cnn_network_destroy(network);
}

/* The same with the input's gradient: the pooling goes back too, keeps its maxima, and writes that gradient. */
static void the_input_gradient_goes_all_the_way(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec();
    spec.input_gradient = true;
    struct cnn_network *network = core_create(&spec);
    struct cnn_operations *operations = lower(network);
    assert_int_equal(operations->count, 22 + 3);
    const struct cnn_operation *pool = &operations->list[2];
    assert_int_equal(pool->kind, CNN_OP_MAXPOOL_FORWARD);
    assert_int_equal(pool->phases, T);
    assert_int_equal(pool->bytes_per_image, 4 * (25 + 16 + 16));
    assert_int_equal(operations->tensors[pool->writes[1]].kind, CNN_TENSOR_MAXIMUM);
    assert_int_equal(pool[1].kind, CNN_OP_MAXPOOL_FORWARD);
    assert_int_equal(pool[1].phases, C | E);
    assert_int_equal(pool[1].bytes_per_image, 4 * (25 + 16));
    assert_int_equal(pool[1].writes[1], -1);

    const struct cnn_operation *back = &operations->list[operations->count - 2];
    assert_int_equal(back->kind, CNN_OP_MAXPOOL_BACKWARD);
    assert_int_equal(operations->tensors[back->writes[0]].kind, CNN_TENSOR_INPUT_GRADIENT);
    assert_int_equal(back->reads[1], pool->writes[1]);
    assert_int_equal(back->bytes_per_image, 4 * (16 + 16 + 25));
    assert_int_equal(operations->list[operations->count - 5].kind, CNN_OP_CONV_BACKWARD_DATA);
    cnn_operations_destroy(operations);
    cnn_network_destroy(network);
}

static int count_of(const struct cnn_operations *operations, enum cnn_operation_kind kind)
{
    int count = 0;
    for (int i = 0; i < operations->count; i++)
        count += operations->list[i].kind == kind;
    return count;
}

static void the_first_layer_needs_no_input_gradient(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct cnn_network_spec spec = core_spec("lenet5", 32, 1, 1);
        spec.input_gradient = asked;
        struct cnn_network *network = core_create(&spec);
        struct cnn_operations *operations = lower(network);
        assert_int_equal(count_of(operations, CNN_OP_CONV_BACKWARD_DATA), 2 + asked);
        assert_int_equal(count_of(operations, CNN_OP_CONV_BACKWARD_WEIGHTS), 3);
        assert_int_equal(count_of(operations, CNN_OP_SUBSAMPLE_BACKWARD_DATA), 2);
        assert_int_equal(count_of(operations, CNN_OP_ACTIVATION_FORWARD), 6);
        assert_int_equal(count_of(operations, CNN_OP_ACTIVATION_BACKWARD), 6);
        cnn_operations_destroy(operations);
        cnn_network_destroy(network);
    }
}

/* Average pooling, softmax and a linear convolution: no activation operations, deltas are output gradients. */
static void linear_layers_have_no_sum(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_empty(4);
    spec.loss = CNN_SOFTMAX;
    core_add(&spec, CNN_CONV, 2, 1, 1);
    core_add(&spec, CNN_AVGPOOL, 0, 2, 0);
    core_add(&spec, CNN_FULL, 0, 0, 0);
    struct cnn_network *network = core_create(&spec);
    struct cnn_operations *operations = lower(network);
    static const struct expected expected[] = {
        { CNN_OP_COPY_IN, -1, ALL, false, 0, 0, 0, 64, 0 },
        { CNN_OP_COPY_IN, -1, T | E, false, 0, 0, 0, 4, 0 },
        { CNN_OP_CONV_FORWARD, 0, ALL, false, 64, 64, 32, 192, 16 },
        { CNN_OP_AVGPOOL_FORWARD, 1, ALL, true, 0, 0, 32, 160, 0 },
        { CNN_OP_FULL_FORWARD, 2, ALL, false, 48, 48, 3, 44, 108 },
        { CNN_OP_LOSS, -1, E, true, 0, 0, 14, 20, 8 },
        { CNN_OP_ARGMAX, -1, C, true, 0, 0, 2, 16, 8 },
        { CNN_OP_LOSS, -1, T, true, 0, 0, 23, 32, 8 },
        { CNN_OP_FULL_BACKWARD_DATA, 2, T, false, 48, 48, 0, 44, 108 },
        { CNN_OP_FULL_BACKWARD_WEIGHTS, 2, T, false, 48, 48, 3, 44, 108 },
        { CNN_OP_UPDATE, 2, T, true, 0, 0, 156, 0, 324 },
        { CNN_OP_AVGPOOL_BACKWARD, 1, T, false, 0, 0, 40, 160, 0 },
        { CNN_OP_CONV_BACKWARD_WEIGHTS, 0, T, false, 64, 64, 32, 192, 16 },
        { CNN_OP_UPDATE, 0, T, true, 0, 0, 20, 0, 48 },
        { CNN_OP_COPY_OUT, -1, ALL, false, 0, 0, 0, 4, 8 },
    };
    assert_list(operations, expected, (int)(sizeof expected / sizeof *expected));
    for (int t = 0; t < operations->tensor_count; t++) {
        assert_int_not_equal(operations->tensors[t].kind, CNN_TENSOR_SUM);
        assert_int_not_equal(operations->tensors[t].kind, CNN_TENSOR_DELTA);
    }
    cnn_operations_destroy(operations);
    cnn_network_destroy(network);
}

/* A sparse table: useful work counts connected pairs, dense work all. */
static void masked_work_is_counted_apart(void **state)
{
    (void)state;
    struct cnn_network *network = core_network("lenet5", 32, 1, 1);
    struct cnn_operations *operations = lower(network);
    int seen = 0;
    for (int i = 0; i < operations->count; i++) {
        const struct cnn_operation *operation = &operations->list[i];
        if (operation->layer == 2 && operation->flops > 0) {
            assert_int_equal(operation->flops, 2 * 60 * 25 * 100);
            assert_int_equal(operation->flops_dense, 2 * 96 * 25 * 100);
            seen++;
        }
    }
    assert_int_equal(seen, 3);
    cnn_operations_destroy(operations);
    cnn_network_destroy(network);
    cnn_operations_destroy(NULL);
}

static void a_thousand_layers_lower(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("stack", 2, 1, CNN_DEPTH_MAX);
    for (int l = 0; l < spec.layer_count; l++)
        if (spec.layers[l].kind == CNN_CONV)
            spec.layers[l].maps = 1;
    struct cnn_network *network = core_create(&spec);
    struct cnn_operations *operations = lower(network);
    assert_int_equal(count_of(operations, CNN_OP_CONV_FORWARD), CNN_DEPTH_MAX);
    assert_int_equal(count_of(operations, CNN_OP_UPDATE), CNN_DEPTH_MAX + 1);
    check_flops(network, operations);
    cnn_operations_destroy(operations);
    cnn_network_destroy(network);
}

static void names_of_tensors(void **state)
{
    (void)state;
    assert_string_equal(cnn_tensor_kind_name(CNN_TENSOR_IMAGES), "images");
    assert_string_equal(cnn_tensor_kind_name(CNN_TENSOR_OUTPUT_GRADIENT), "output_gradient");
    assert_string_equal(cnn_tensor_kind_name(CNN_TENSOR_ANSWER), "answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_adds_up),
        cmocka_unit_test(what_is_read_was_written),
        cmocka_unit_test(bytes_count_each_tensor_once),
        cmocka_unit_test(updates_follow_readiness),
        cmocka_unit_test(a_small_list_by_hand),
        cmocka_unit_test(the_input_gradient_goes_all_the_way),
        cmocka_unit_test(the_first_layer_needs_no_input_gradient),
        cmocka_unit_test(linear_layers_have_no_sum),
        cmocka_unit_test(masked_work_is_counted_apart),
        cmocka_unit_test(a_thousand_layers_lower),
        cmocka_unit_test(names_of_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
