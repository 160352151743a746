/* SPDX-License-Identifier: MIT */
/* How much the gate asks of the oracle: as much as it can do in a reasonable time, never nothing. */
#include "tests/unit/core.h"

#include "experiments/driver/verify.h"

static void large_networks_get_less_of_the_oracle(void **state)
{
    (void)state;
    struct cnn_network network = { .macs = 1000 };
    struct verify_extent extent = verify_extent(&network, 128, true);
    assert_true(extent.distinct == 8 && extent.gradient);
    assert_int_equal(verify_extent(&network, 3, true).distinct, 3);
    assert_false(verify_extent(&network, 128, false).gradient);
    network.macs = 3000000; /* 8 images with gradients would take half a second, 4 do not take much */
    extent = verify_extent(&network, 128, true);
    assert_true(extent.distinct >= 4 && extent.distinct < 8 && extent.gradient);
    double last = 8;
    for (network.macs = 1000; network.macs < INT64_MAX / 4; network.macs *= 2) {
        extent = verify_extent(&network, 128, true);
        double seconds = extent.distinct * verify_oracle_seconds(&network, extent.gradient);
        assert_true(extent.distinct >= 1 && (extent.distinct == 1 || seconds <= 20));
        assert_true(!extent.gradient || seconds <= 60);
        if (extent.gradient)
            assert_true(extent.distinct <= last); /* fewer images first, then no gradient */
        last = extent.gradient ? extent.distinct : 8;
    }
    assert_true(!extent.gradient && extent.distinct == 1);
}

static void memory_is_counted_before_it_is_taken(void **state)
{
    (void)state;
    struct cnn_network *network = core_network("lenet5", 32, 1, 1);
    int64_t one = verify_bytes(network, 1, true), many = verify_bytes(network, 1000, true);
    /* at least the oracle's outputs, deltas and their bounds of one image; a batch of floats more for more images */
    assert_true(one > 4 * 8 * (6 * 28 * 28 + 6 * 14 * 14 + 16 * 10 * 10));
    assert_true(many - one > 992 * 32 * 32 * (int64_t)sizeof(float));
    assert_true(verify_bytes(network, INT32_MAX, true) > (int64_t)1 << 42);
    network->parameters = INT64_MAX / 4;
    assert_true(verify_bytes(network, 1, true) == -1);
    cnn_network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_networks_get_less_of_the_oracle),
        cmocka_unit_test(memory_is_counted_before_it_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
