/* SPDX-License-Identifier: MIT */
/* What the oracle shows of its last batch. */
#include "lib/reference_internal.h"

double *cnn_reference_parameters(struct cnn_reference *reference)
{
    return reference->parameters;
}

const double *cnn_reference_output(const struct cnn_reference *reference, int layer)
{
    return reference->layers[layer].output.value;
}

const double *cnn_reference_delta(const struct cnn_reference *reference, int layer)
{
    return reference->layers[layer].delta.value;
}

const double *cnn_reference_input_gradient(const struct cnn_reference *reference)
{
    return reference->input_gradient.value;
}

const double *cnn_reference_gradient(const struct cnn_reference *reference)
{
    return reference->gradient.value;
}

const double *cnn_reference_output_bound(const struct cnn_reference *reference, int layer)
{
    return reference->layers[layer].output.bound;
}

const double *cnn_reference_delta_bound(const struct cnn_reference *reference, int layer)
{
    return reference->layers[layer].delta.bound;
}

const double *cnn_reference_input_gradient_bound(const struct cnn_reference *reference)
{
    return reference->input_gradient.bound;
}

const double *cnn_reference_gradient_bound(const struct cnn_reference *reference)
{
    return reference->gradient.bound;
}

double cnn_reference_loss_bound(const struct cnn_reference *reference)
{
    return reference->loss_bound;
}

int32_t cnn_reference_label(const struct cnn_reference *reference, int image)
{
    const struct cnn_network *network = reference->network;
    const struct cnn_layer *last = &network->layers[network->layer_count - 1];
    const double *y = reference->layers[network->layer_count - 1].output.value + (int64_t)image * network->classes;
    int32_t best = 0;
    for (int i = 0; i < network->classes; i++) {
        if (isnan(y[i]))
            return -1;
        best = y[i] > y[best] ? i : best;
    }
    if (network->classes == 1)
        return y[0] >= (last->activation == CNN_LOGISTIC ? 0.5 : 0.0) ? 0 : 1;
    return best;
}
