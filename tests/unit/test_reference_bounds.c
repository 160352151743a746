/* SPDX-License-Identifier: MIT */
/* The oracle's bounds are wide enough where fp32 may go another way, and narrow enough that a slip shows: a weight off
 * by a thousandth, a missing term, a wrong tap. */
#include "lib/parameters.h"
#include "lib/reference.h"
#include "tests/unit/small_networks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define U 0x1p-24

struct pair {
    struct cnn_network *network;
    struct cnn_reference *right, *wrong;
    float *parameters, *images;
    int32_t labels[4];
    int batch;
};

static struct pair pair_of(const struct cnn_network_spec *spec, int batch)
{
    struct pair pair = { .network = small_network(spec), .batch = batch };
    assert_non_null(pair.network);
    pair.parameters = calloc((size_t)pair.network->parameters, sizeof(float));
    pair.images = small_values(3, batch * cnn_shape_size(pair.network->input), 1.0);
    assert_non_null(pair.parameters);
    cnn_parameters_init(pair.network, pair.parameters);
    for (int i = 0; i < batch; i++)
        pair.labels[i] = i % pair.network->label_count;
    assert_int_equal(cnn_reference_create(&pair.right, pair.network, batch, NULL), CNN_OK);
    assert_int_equal(cnn_reference_create(&pair.wrong, pair.network, batch, NULL), CNN_OK);
    cnn_reference_write_parameters(pair.right, pair.parameters);
    cnn_reference_write_parameters(pair.wrong, pair.parameters);
    return pair;
}

static void pair_end(struct pair *pair)
{
    cnn_reference_destroy(pair->right);
    cnn_reference_destroy(pair->wrong);
    free(pair->images);
    free(pair->parameters);
    cnn_network_destroy(pair->network);
}

static void run(const struct pair *pair, struct cnn_reference *reference)
{
    cnn_reference_forward(reference, pair->images, pair->labels, NULL, pair->batch);
    cnn_reference_backward(reference);
}

static bool outside(const double *a, const double *b, const double *bound, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= bound[i]))
            return true;
    return false;
}

/* Whether a comparison of everything that a backend shows would tell the two apart. */
static bool told_apart(const struct pair *pair)
{
    for (int i = 0; i < pair->network->layer_count; i++) {
        int64_t size = pair->batch * cnn_shape_size(pair->network->layers[i].out);
        if (outside(cnn_reference_output(pair->wrong, i), cnn_reference_output(pair->right, i),
                    cnn_reference_output_bound(pair->right, i), size) ||
            outside(cnn_reference_delta(pair->wrong, i), cnn_reference_delta(pair->right, i),
                    cnn_reference_delta_bound(pair->right, i), size))
            return true;
    }
    return outside(cnn_reference_gradient(pair->wrong), cnn_reference_gradient(pair->right),
                   cnn_reference_gradient_bound(pair->right), pair->network->parameters);
}

/* Of 10 weights of every layer, how many show when they are multiplied by `factor`. */
static void try_weights(struct pair *pair, double factor, int *tried, int *seen)
{
    for (int i = 0; i < pair->network->layer_count; i++) {
        const struct cnn_layer *layer = &pair->network->layers[i];
        for (int k = 0; k < 10 && layer->weights > 0; k++) {
            double *w = cnn_reference_parameters(pair->wrong) + layer->weight_at + k * layer->weights / 10;
            double kept = *w;
            *w = kept * factor;
            run(pair, pair->wrong);
            *w = kept;
            int caught = told_apart(pair);
            *seen += caught;
            *tried += 1;
        }
    }
}

/* At least these percentages must show: of weights off by a thousandth, and of weights that are missing. */
static void network_shows_slips(const char *name, int image, int off, int missing)
{
    struct cnn_network_spec spec;
    struct cnn_error error;
    int tried[2] = { 0 }, seen[2] = { 0 };
    assert_int_equal(cnn_builtin_spec(&spec, name, image, &error), CNN_OK);
    struct pair pair = pair_of(&spec, 2);
    run(&pair, pair.right);
    run(&pair, pair.wrong);
    assert_false(told_apart(&pair));
    try_weights(&pair, 1.001, &tried[0], &seen[0]);
    try_weights(&pair, 0.0, &tried[1], &seen[1]);
    print_message("%s: %d of %d weights off by a thousandth show, %d of %d missing ones\n", name, seen[0], tried[0],
                  seen[1], tried[1]);
    if (seen[0] * 100 < off * tried[0] || seen[1] * 100 < missing * tried[1])
        fail_msg("%s: expected %d %% and %d %%", name, off, missing);
    pair_end(&pair);
}

/* Chains of hundreds of terms hide more than short ones. */
static void test_slips_show(void **state)
{
    (void)state;
    network_shows_slips("garcia", 20, 100, 100);
    network_shows_slips("lenet5", 32, 50, 95);
    network_shows_slips("simard", 29, 30, 95);
}

static void test_a_wrong_tap_shows(void **state)
{
    (void)state;
    struct cnn_network_spec spec = small_spec(3, 9, 4, CNN_SOFTMAX);
    small_layer(&spec, CNN_CONV, 5, 3, CNN_RELU);
    small_layer(&spec, CNN_MAXPOOL, 0, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct pair pair = pair_of(&spec, 3);
    double *w = cnn_reference_parameters(pair.wrong), kept = w[4];
    run(&pair, pair.right);
    w[4] = w[5]; /* two neighbours of one kernel change places */
    w[5] = kept;
    run(&pair, pair.wrong);
    assert_true(told_apart(&pair));
    pair_end(&pair);
}

/* The formula of the definitions where nothing is inherited: a first layer without activation. */
static void test_first_layer_has_the_stated_bound(void **state)
{
    (void)state;
    const float parameters[] = { 1, 0, -1, 2, 0.5f, 0, 0, 0, 0, 0 };
    const float image[9] = { 1, -2, 3, 4, 5, 6, 7, 8, 9 };
    struct cnn_network_spec spec = small_spec(1, 3, 1, CNN_MSE);
    struct cnn_reference *reference;
    small_layer(&spec, CNN_CONV, 1, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct cnn_network *network = small_network(&spec);
    assert_non_null(network);
    assert_int_equal(cnn_reference_create(&reference, network, 1, NULL), CNN_OK);
    cnn_reference_write_parameters(reference, parameters);
    cnn_reference_forward(reference, image, NULL, NULL, 1);
    /* 1 * 1 + 0 * 2 + 1 * 4 + 2 * 5 + 0.5 in magnitude, five terms */
    double expected = U * (4 + 6 * sqrt(5)) * 15.5, found = cnn_reference_output_bound(reference, 0)[0];
    if (!(fabs(found - expected) <= 1e-6 * expected))
        fail_msg("bound %g, expected %g", found, expected);
    cnn_reference_destroy(reference);
    cnn_network_destroy(network);
}

/* Two pixels that pass a 1 x 1 convolution and differ in their last bit, or a sum next to the rectifier's corner: fp32
 * may send the delta to either, or nowhere. A clear winner keeps a narrow bound. */
static void contested(enum cnn_layer_kind kind, float rival, bool expected)
{
    const float parameters[] = { 0.3f, -0.3f, 1, 0 }; /* weight, bias; weight, bias */
    float image[4] = { 1.0f, rival, -2, -3 };
    const int32_t label = 1;
    struct cnn_network_spec spec = small_spec(1, 2, 1, CNN_MSE);
    struct cnn_reference *reference;
    small_layer(&spec, CNN_CONV, 1, 1, kind == CNN_MAXPOOL ? CNN_LINEAR : CNN_RELU);
    small_layer(&spec, kind, 0, 2, CNN_LINEAR);
    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
    struct cnn_network *network = small_network(&spec);
    assert_non_null(network);
    assert_int_equal(cnn_reference_create(&reference, network, 1, NULL), CNN_OK);
    cnn_reference_write_parameters(reference, parameters);
    cnn_reference_forward(reference, image, &label, NULL, 1);
    cnn_reference_backward(reference);
    double whole = cnn_reference_delta(reference, 1)[0] / (kind == CNN_MAXPOOL ? 1 : 4);
    for (int i = 0; i < 2; i++) {
        double bound = cnn_reference_delta_bound(reference, 0)[i];
        if (expected ? !(bound >= whole) : !(bound < 1e-5 * whole))
            fail_msg("delta %d of %g has bound %g", i, whole, bound);
    }
    cnn_reference_destroy(reference);
    cnn_network_destroy(network);
}

static void test_bounds_cover_what_fp32_may_decide_otherwise(void **state)
{
    (void)state;
    contested(CNN_MAXPOOL, nextafterf(1.0f, 0.0f), true);
    contested(CNN_MAXPOOL, 0.9f, false);
    contested(CNN_AVGPOOL, 1.0f, true); /* both sums are 0.3 - 0.3 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips_show),
        cmocka_unit_test(test_a_wrong_tap_shows),
        cmocka_unit_test(test_first_layer_has_the_stated_bound),
        cmocka_unit_test(test_bounds_cover_what_fp32_may_decide_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
