/* SPDX-License-Identifier: MIT */
/* Losses and answers of outputs that lie on the host. A NaN anywhere in an image's outputs makes its loss NaN and its
 * label -1. */
#include "lib/loss.h"

#include <math.h>
#include <stddef.h>

void cnn_loss_targets(const struct cnn_network *network, float *on, float *off)
{
    *on = 1;
    *off = network->layers[network->layer_count - 1].activation == CNN_LOGISTIC ? 0 : -1;
}

/* Half the sum of (y - t)^2. A single output has the `on` target for label 0 and the `off` target for label 1. */
static double mse(const struct cnn_network *network, const float *outputs, int32_t label, double scale, float *gradient)
{
    float on, off;
    cnn_loss_targets(network, &on, &off);
    double sum = 0;
    for (int k = 0; k < network->classes; k++) {
        double difference = (double)outputs[k] - (k == label ? on : off);
        sum += difference * difference;
        if (gradient)
            gradient[k] = (float)(difference * scale);
    }
    return sum / 2;
}

/* log(sum(exp(y))) - y[label], the largest output subtracted first so that no exponential overflows. */
static double softmax(const struct cnn_network *network, const float *outputs, int32_t label, double scale,
                      float *gradient)
{
    double largest = outputs[0], sum = 0;
    for (int k = 1; k < network->classes; k++)
        if (outputs[k] > largest)
            largest = outputs[k];
    for (int k = 0; k < network->classes; k++)
        sum += exp(outputs[k] - largest);
    for (int k = 0; gradient && k < network->classes; k++)
        gradient[k] = (float)((exp(outputs[k] - largest) / sum - (k == label ? 1 : 0)) * scale);
    return log(sum) - (outputs[label] - largest);
}

double cnn_loss_host(const struct cnn_network *network, const float *outputs, const int32_t *labels, int count,
                     float *gradient)
{
    double sum = 0, scale = 1.0 / count;
    for (int64_t i = 0; i < count; i++) {
        const float *image = outputs + i * network->classes;
        float *image_gradient = gradient ? gradient + i * network->classes : NULL;
        sum += network->loss == CNN_SOFTMAX ? softmax(network, image, labels[i], scale, image_gradient)
                                            : mse(network, image, labels[i], scale, image_gradient);
    }
    return sum;
}

int32_t cnn_answer_label(const struct cnn_network *network, const float *outputs)
{
    int32_t best = 0;
    for (int k = 0; k < network->classes; k++) {
        if (isnan(outputs[k]))
            return -1;
        if (outputs[k] > outputs[best])
            best = k;
    }
    if (network->classes > 1)
        return best;
    float on, off;
    cnn_loss_targets(network, &on, &off);
    return outputs[0] >= (on + off) / 2 ? 0 : 1;
}
