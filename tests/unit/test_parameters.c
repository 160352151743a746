/* SPDX-License-Identifier: MIT */
/* Initial values: their spread by fan-in, their dependence on seed and place alone, and the checksum. */
#include "tests/unit/core.h"

#include "lib/parameters.h"
#include "lib/random.h"

#include <math.h>
#include <stdlib.h>

static float *initial(const struct cnn_network *network)
{
    float *values = malloc(sizeof *values * (size_t)network->parameters);
    assert_non_null(values);
    for (int64_t i = 0; i < network->parameters; i++)
        values[i] = NAN; /* whatever is not written stays visible */
    cnn_parameters_init(network, values);
    return values;
}

/* Every weight is the word of its place, scaled to variance 1 / fan-in (2 / fan-in before ReLU) of its own unit. */
static void weights_are_words_scaled_by_fan_in(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("lenet5", 32, 1, 1);
    spec.layers[4].activation = CNN_RELU; /* C5 (the fourth layer is there at greater depth only) */
    spec.layers[5].activation = CNN_RELU;
    struct cnn_network *network = core_create(&spec);
    float *values = initial(network);
    for (int l = 0; l < network->layer_count; l++) {
        const struct cnn_layer *layer = &network->layers[l];
        for (int o = 0; layer->pairs > 0 && o < layer->out.maps; o++) {
            int fan_in = cnn_layer_fan_in(layer, o) * layer->kernel_rows * layer->kernel_cols;
            double variance = (layer->activation == CNN_RELU ? 2.0 : 1.0) / fan_in;
            int64_t begin = cnn_layer_kernel_at(layer, o, 0);
            for (int64_t at = begin; at < begin + fan_in; at++) {
                uint32_t words[4];
                cnn_philox(spec.seed, CNN_STREAM_PARAMETERS, 0, (uint64_t)at / 4, words);
                double uniform = 2 * (((double)words[at % 4] + 0.5) / 4294967296.0) - 1;
                assert_true(fabs(values[at] - uniform * sqrt(3 * variance)) < 1e-6);
            }
        }
    }
    assert_int_equal(network->layers[4].activation, CNN_RELU);
    free(values);
    cnn_network_destroy(network);
}

static void the_spread_is_one_over_fan_in(void **state)
{
    (void)state;
    struct cnn_network *network = core_network("mlp", 28, 1, 1);
    float *values = initial(network);
    double sum = 0, squares = 0, largest = 0;
    int64_t n = network->layers[0].weights;
    for (int64_t i = 0; i < n; i++) {
        sum += values[i];
        squares += (double)values[i] * values[i];
        largest = fmax(largest, fabs(values[i]));
    }
    double variance = 1.0 / 784;
    assert_true(fabs(sum / (double)n) < 5 * sqrt(variance / (double)n));
    assert_true(fabs(squares / (double)n / variance - 1) < 5 * sqrt(0.8 / (double)n));
    assert_true(largest <= sqrt(3 * variance) && largest > 0.999 * sqrt(3 * variance));
    free(values);
    cnn_network_destroy(network);
}

static void gains_and_biases_are_plain(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_empty(9);
    core_add(&spec, CNN_SUBSAMPLE, 0, 3, 0);
    core_add(&spec, CNN_CONV, 2, 2, 1);
    core_add(&spec, CNN_FULL, 0, 0, 0);
    struct cnn_network *network = core_create(&spec);
    float *values = initial(network);
    assert_true(values[0] == 1.0f / 9);
    for (int l = 0; l < network->layer_count; l++)
        for (int64_t b = 0; b < network->layers[l].biases; b++)
            assert_true(values[network->layers[l].bias_at + b] == 0);
    for (int64_t i = 0; i < network->parameters; i++)
        assert_true(isfinite(values[i]));
    free(values);
    cnn_network_destroy(network);
}

static void the_checksum_is_fnv_1a(void **state)
{
    (void)state;
    float values[2];
    memcpy(values, "foobar\0\0", 8);
    assert_true(cnn_checksum_floats(values, 0) == 0xcbf29ce484222325u);
    /* Published: "foobar" is 0x85944171f73967e8; two zero bytes multiply by the prime twice. */
    assert_true(cnn_checksum_floats(values, 2) == 0x85944171f73967e8u * 0x100000001b3u * 0x100000001b3u);
    float zeros[2] = { 0.0f, -0.0f };
    assert_true(cnn_checksum_floats(zeros, 1) != cnn_checksum_floats(zeros + 1, 1)); /* bits, not values */
}

static void the_seed_alone_decides(void **state)
{
    (void)state;
    struct cnn_network_spec spec = core_spec("lenet5", 32, 1, 1);
    uint64_t sums[3];
    for (int run = 0; run < 3; run++) {
        spec.seed = run == 2 ? 2011 : 2010;
        struct cnn_network *network = core_create(&spec);
        float *values = initial(network);
        sums[run] = cnn_checksum_floats(values, network->parameters);
        free(values);
        cnn_network_destroy(network);
    }
    assert_true(sums[0] == sums[1]);
    assert_true(sums[0] != sums[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_words_scaled_by_fan_in),
        cmocka_unit_test(the_spread_is_one_over_fan_in),
        cmocka_unit_test(gains_and_biases_are_plain),
        cmocka_unit_test(the_checksum_is_fnv_1a),
        cmocka_unit_test(the_seed_alone_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
