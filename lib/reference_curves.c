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

/* How far y can be off when x can be off by `width`. All curves rise, so the ends of x's interval are the ends of y's.
 */
static double curve_width(enum cnn_activation activation, double x, double width, double y)
{
    double up = curve(activation, x + width) - y, down = y - curve(activation, x - width);
    return fmax(up, down) + (activation == CNN_RELU ? 0.0 : CURVE_ROUNDING * fabs(y) + CNN_FLUSHED);
}

void cnn_reference_activate(enum cnn_activation activation, struct cnn_span span, int64_t count)
{
    for (int64_t i = 0; i < count && activation != CNN_LINEAR; i++) {
        struct cnn_number x = cnn_span_get(span, i);
        double y = curve(activation, x.value);
        cnn_span_set(span, i,
                     (struct cnn_number){ y, curve_width(activation, x.value, x.bound, y),
                                          curve_width(activation, x.value, x.scale, y) });
    }
}

/* How far the slope can be off when y can be off by `width`. Slopes are parabolas or steps of y, so the larger change
 * is at an end of y's interval; for a rectifier whose sum may have either sign that change is the whole slope. */
static double slope_width(enum cnn_activation activation, double y, double width, double s)
{
    double rounding, unused;
    slope(activation, y, &rounding);
    return rounding +
           fmax(fabs(slope(activation, y + width, &unused) - s), fabs(slope(activation, y - width, &unused) - s));
}

/* The slopes are taken from the outputs. A rectifier's corner counts in full in the scale too. */
void cnn_reference_deactivate(enum cnn_activation activation, struct cnn_span output, struct cnn_span gradient,
                              int64_t count)
{
    for (int64_t i = 0; i < count && activation != CNN_LINEAR; i++) {
        double unused, y = output.value[i], s = slope(activation, y, &unused);
        double bound = slope_width(activation, y, output.bound[i], s);
        double scale = activation == CNN_RELU ? bound : slope_width(activation, y, output.scale[i], s);
        struct cnn_tally delta = { 0 };
        cnn_tally_multiply(&delta, (struct cnn_number){ s, bound, scale }, cnn_span_get(gradient, i), 1.0);
        cnn_span_set(gradient, i, cnn_tally_number(&delta));
    }
}

/* +1 for the labelled class and -1 for the others; 1 and 0 where the outputs are logistic. A single output stands for
 * label 0 at its upper target and for label 1 at its lower. */
static double target(const struct cnn_network *network, int output, int32_t label)
{
    bool logistic = network->layers[network->layer_count - 1].activation == CNN_LOGISTIC;
    return output == label ? 1.0 : logistic ? 0.0 : -1.0;
}

static struct cnn_number mse(const struct cnn_network *network, struct cnn_span output, int32_t label)
{
    struct cnn_tally sum = { 0 };
    for (int i = 0; i < network->classes; i++) {
        struct cnn_number d = cnn_span_get(output, i);
        d.value -= target(network, i, label);
        d.bound += CNN_U * fabs(d.value);
        d.scale += CNN_U * fabs(d.value);
        cnn_tally_multiply(&sum, (struct cnn_number){ 0.5 * d.value, 0.5 * d.bound, 0.5 * d.scale }, d, 1.0);
    }
    return cnn_tally_number(&sum);
}

/* What every exponential of an image's softmax has in common. */
struct softmax {
    double maximum, sum; /* of exp(y - maximum) */
    double bound, scale; /* how far the logarithm of the sum can move: means of those of y */
    double relative;     /* rounding of an fp32 sum of exponentials, relative */
};

static struct softmax softmax_of(const struct cnn_network *network, struct cnn_span output)
{
    struct softmax s = { .maximum = -INFINITY, .relative = CNN_CHAIN(network->classes) + 8.0 * CNN_U };
    for (int i = 0; i < network->classes; i++)
        s.maximum = output.value[i] > s.maximum || isnan(output.value[i]) ? output.value[i] : s.maximum;
    for (int i = 0; i < network->classes; i++) {
        double y = output.value[i] - s.maximum, rounding = CNN_U * fabs(y);
        s.sum += exp(y);
        s.bound += exp(y) * (output.bound[i] + rounding);
        s.scale += exp(y) * (output.scale[i] + rounding);
    }
    s.bound = s.bound / s.sum + s.relative;
    s.scale = s.scale / s.sum + s.relative;
    return s;
}

/* log(sum of exponentials) - y: the maximum is subtracted, so nothing overflows. */
static struct cnn_number cross_entropy(const struct cnn_network *network, struct cnn_span output, int32_t label)
{
    struct softmax s = softmax_of(network, output);
    double y = output.value[label] - s.maximum, logarithm = log(s.sum);
    double rounding = CURVE_ROUNDING * (logarithm + fabs(y));
    return (struct cnn_number){ logarithm - y, s.bound + output.bound[label] + rounding,
                                s.scale + output.scale[label] + rounding };
}

struct cnn_number cnn_reference_loss(const struct cnn_network *network, struct cnn_span output, int32_t label)
{
    return network->loss == CNN_SOFTMAX ? cross_entropy(network, output, label) : mse(network, output, label);
}

static struct cnn_number softmax_gradient(const struct softmax *s, struct cnn_number output, bool labelled)
{
    double y = output.value - s->maximum, p = exp(y) / s->sum, rounding = CURVE_ROUNDING + CNN_U * fabs(y);
    return (struct cnn_number){ p - (labelled ? 1.0 : 0.0), p * expm1(s->bound + output.bound + rounding),
                                p * expm1(s->scale + output.scale + rounding) };
}

void cnn_reference_loss_gradient(const struct cnn_network *network, struct cnn_span output, int32_t label, double scale,
                                 struct cnn_span gradient)
{
    struct softmax s = { 0 };
    if (network->loss == CNN_SOFTMAX)
        s = softmax_of(network, output);
    for (int i = 0; i < network->classes; i++) {
        struct cnn_number g = cnn_span_get(output, i);
        if (network->loss == CNN_SOFTMAX)
            g = softmax_gradient(&s, g, i == label);
        else
            g.value -= target(network, i, label);
        double rounding = 4.0 * CNN_U * fabs(g.value);
        cnn_span_set(gradient, i,
                     (struct cnn_number){ scale * g.value, scale * (g.bound + rounding) + CNN_FLUSHED,
                                          scale * (g.scale + rounding) + CNN_FLUSHED });
    }
}
