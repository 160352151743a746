/* SPDX-License-Identifier: MIT */
/* The oracle's activations and losses, with what fp32 may make of them. */
#include "lib/reference_internal.h"

#define LECUN_HEIGHT 1.7159 /* LeCun, Bottou, Orr and Mueller 1998: 1.7159 tanh(2x/3) */
#define LECUN_SLOPE (2.0 / 3.0)

/* An fp32 activation: 4 units in the last place for the library function, 2 for scaling its argument and its value. A
 * unit in the last place is at most 2 u relative. */
#define CURVE_ROUNDING (12.0 * CNN_U)

static double curve(enum cnn_activation activation, double x)
{
    switch (activation) {
    case CNN_TANH:
        return tanh(x);
    case CNN_LECUN_TANH:
        return LECUN_HEIGHT * tanh(LECUN_SLOPE * x);
    case CNN_LOGISTIC:
        return 1.0 / (1.0 + exp(-x));
    case CNN_RELU:
        return x > 0.0 || isnan(x) ? x : 0.0;
    default:
        return x;
    }
}

/* Slope of the curve where its value is y; *rounding is the error of that formula in fp32. */
static double slope(enum cnn_activation activation, double y, double *rounding)
{
    *rounding = 0.0;
    switch (activation) {
    case CNN_TANH:
        *rounding = 4.0 * CNN_U;
        return 1.0 - y * y;
    case CNN_LECUN_TANH:
        *rounding = 8.0 * CNN_U;
        return LECUN_SLOPE * (LECUN_HEIGHT - y * y / LECUN_HEIGHT);
    case CNN_LOGISTIC:
        *rounding = 4.0 * CNN_U * fabs(y);
        return y * (1.0 - y);
    case CNN_RELU:
        return y > 0.0 || isnan(y) ? 1.0 : 0.0;
    default:
        return 1.0;
    }
}

/* All curves rise, so the ends of x's interval are the ends of y's. */
void cnn_reference_activate(enum cnn_activation activation, struct cnn_span span, int64_t count)
{
    if (activation == CNN_LINEAR)
        return;
    for (int64_t i = 0; i < count; i++) {
        double x = span.value[i], bound = span.bound[i], y = curve(activation, x);
        double up = curve(activation, x + bound) - y, down = y - curve(activation, x - bound);
        span.value[i] = y;
        span.bound[i] = fmax(up, down);
        if (activation != CNN_RELU)
            span.bound[i] += CURVE_ROUNDING * fabs(y) + CNN_FLUSHED;
    }
}

/* The slopes are taken from the outputs. They are parabolas or steps, so the larger change is at an end of y's
 * interval; for a rectifier whose sum may have either sign that change is the whole slope. */
void cnn_reference_deactivate(enum cnn_activation activation, struct cnn_span output, struct cnn_span gradient,
                              int64_t count)
{
    if (activation == CNN_LINEAR)
        return;
    for (int64_t i = 0; i < count; i++) {
        double rounding, unused, y = output.value[i], bound = output.bound[i];
        double s = slope(activation, y, &rounding);
        double change =
            fmax(fabs(slope(activation, y + bound, &unused) - s), fabs(slope(activation, y - bound, &unused) - s));
        struct cnn_tally delta = { 0 };
        cnn_tally_add(&delta, gradient.value[i], gradient.bound[i], s, change + rounding, 1.0);
        gradient.value[i] = delta.value;
        gradient.bound[i] = cnn_tally_bound(&delta);
    }
}

/* +1 for the labelled class and -1 for the others; 1 and 0 where the outputs are logistic. A single output stands for
 * label 0 at its upper target and for label 1 at its lower. */
static double target(const struct cnn_network *network, int output, int32_t label)
{
    bool logistic = network->layers[network->layer_count - 1].activation == CNN_LOGISTIC;
    return output == label ? 1.0 : logistic ? 0.0 : -1.0;
}

static double mse(const struct cnn_network *network, struct cnn_span output, int32_t label, double *bound)
{
    struct cnn_tally sum = { 0 };
    for (int i = 0; i < network->classes; i++) {
        double d = output.value[i] - target(network, i, label), d_bound = output.bound[i] + CNN_U * fabs(d);
        cnn_tally_add(&sum, 0.5 * d, 0.5 * d_bound, d, d_bound, 1.0);
    }
    *bound = cnn_tally_bound(&sum);
    return sum.value;
}

/* What every exponential of an image's softmax has in common. */
struct softmax {
    double maximum, sum; /* of exp(y - maximum) */
    double mean_bound;   /* sum of p * bound of y: how far the logarithm of the sum can move */
    double relative;     /* bound of an fp32 sum of exponentials, relative, without mean_bound */
};

static struct softmax softmax_of(const struct cnn_network *network, struct cnn_span output)
{
    struct softmax s = { .maximum = -INFINITY, .relative = CNN_CHAIN(network->classes) + 8.0 * CNN_U };
    for (int i = 0; i < network->classes; i++)
        s.maximum = output.value[i] > s.maximum || isnan(output.value[i]) ? output.value[i] : s.maximum;
    for (int i = 0; i < network->classes; i++) {
        double y = output.value[i] - s.maximum;
        s.sum += exp(y);
        s.mean_bound += exp(y) * (output.bound[i] + CNN_U * fabs(y));
    }
    s.mean_bound /= s.sum;
    return s;
}

/* log(sum of exponentials) - y: the maximum is subtracted, so nothing overflows. */
static double cross_entropy(const struct cnn_network *network, struct cnn_span output, int32_t label, double *bound)
{
    struct softmax s = softmax_of(network, output);
    double y = output.value[label] - s.maximum, logarithm = log(s.sum);
    *bound = s.mean_bound + output.bound[label] + s.relative + CURVE_ROUNDING * (logarithm + fabs(y));
    return logarithm - y;
}

double cnn_reference_loss(const struct cnn_network *network, struct cnn_span output, int32_t label, double *bound)
{
    return network->loss == CNN_SOFTMAX ? cross_entropy(network, output, label, bound)
                                        : mse(network, output, label, bound);
}

void cnn_reference_loss_gradient(const struct cnn_network *network, struct cnn_span output, int32_t label, double scale,
                                 struct cnn_span gradient)
{
    struct softmax s = { 0 };
    if (network->loss == CNN_SOFTMAX)
        s = softmax_of(network, output);
    for (int i = 0; i < network->classes; i++) {
        double value, bound = 0.0;
        if (network->loss == CNN_SOFTMAX) {
            double y = output.value[i] - s.maximum, p = exp(y) / s.sum;
            double exponent = s.mean_bound + output.bound[i] + s.relative + CURVE_ROUNDING + CNN_U * fabs(y);
            value = p - (i == label ? 1.0 : 0.0);
            bound = p * expm1(exponent);
        } else {
            value = output.value[i] - target(network, i, label);
            bound = output.bound[i];
        }
        gradient.value[i] = scale * value;
        gradient.bound[i] = scale * (bound + 4.0 * CNN_U * fabs(value)) + CNN_FLUSHED;
    }
}
