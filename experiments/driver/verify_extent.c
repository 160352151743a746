/* SPDX-License-Identifier: MIT */
/* How much the gate asks of the oracle, and what that takes.
 *
 * It is bounded, since the oracle takes ORACLE_SECONDS_PER_MAC or less (measured: 1e-9 to 3e-9 on one thread of an
 * EPYC, 6e-9 where there is little to do for each weight; several threads share it, but what is checked must not depend
 * on how many a machine has): 8 distinct images; down to 4 while they would take more than ORACLE_SECONDS_QUICK; down
 * to 1 while they would take more than ORACLE_SECONDS_USUAL. Where the gradient of a single image would take more than
 * verify_seconds_most, the oracle does the forward pass of one image, and plain loops on one thread stand in for it
 * with the gradient (standin.h), unless they do not fit into memory or are what is checked. With less than 4 distinct
 * images in a batch that has room for them, or no gradient, the row says so. */
#include "experiments/driver/verify.h"
#include "lib/checked.h"

#define ORACLE_SECONDS_PER_MAC 7e-9
#define ORACLE_SECONDS_QUICK 0.25
#define ORACLE_SECONDS_USUAL 20.0
#define DISTINCT_MOST 8

double verify_seconds_most = 60;

double verify_oracle_seconds(const struct cnn_network *network, bool gradient)
{
    return ORACLE_SECONDS_PER_MAC * (gradient ? 3.0 : 1.0) * (double)network->macs;
}

struct verify_extent verify_extent(const struct cnn_network *network, int batch, bool train)
{
    struct verify_extent extent = { .distinct = batch < DISTINCT_MOST ? batch : DISTINCT_MOST, .gradient = train };
    if (train && verify_oracle_seconds(network, true) > verify_seconds_most)
        return (struct verify_extent){ .distinct = 1, .stand_in = true };
    double each = verify_oracle_seconds(network, extent.gradient);
    while (extent.distinct > VERIFY_DISTINCT_WANTED && extent.distinct * each > ORACLE_SECONDS_QUICK)
        extent.distinct--;
    while (extent.distinct > 1 && extent.distinct * each > ORACLE_SECONDS_USUAL)
        extent.distinct--;
    return extent;
}

int64_t verify_bytes(const struct cnn_network *network, int batch, bool train)
{
    int64_t values = cnn_shape_size(network->input), floats, bytes;
    for (int l = 0; l < network->layer_count && values >= 0; l++)
        if (!cnn_add(values, cnn_shape_size(network->layers[l].out), &values))
            values = -1;
    /* the oracle keeps value, bound and scale of every output and its delta, sums of six for the largest input, and
     * the parameters with value, bound and scale of their gradients */
    int distinct = verify_extent(network, batch, train).distinct;
    if (values < 0 || !cnn_mul3(values, distinct, 12 * sizeof(double), &bytes) ||
        !cnn_accumulate(network->parameters, 4 * sizeof(double) + 2 * sizeof(float), &bytes))
        return -1;
    floats = cnn_shape_size(network->input) + network->classes + 4;
    return cnn_mul(floats, (int64_t)batch * (int64_t)sizeof(float), &floats) && cnn_add(bytes, floats, &bytes) ? bytes
                                                                                                               : -1;
}
