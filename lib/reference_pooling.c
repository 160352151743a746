/* SPDX-License-Identifier: MIT */
/* The oracle's windows over one map: sub-sampling, average and maximum. Windows may overlap or leave gaps; they never
 * leave the input. */
#include "lib/reference_internal.h"

/* First pixel, in one image's input, of the window at (row, col) of `map`. */
static int64_t window_at(const struct cnn_layer *layer, int map, int row, int col)
{
    return ((int64_t)map * layer->in.rows + row * layer->stride) * layer->in.cols + col * layer->stride;
}

static int64_t pixel_at(const struct cnn_layer *layer, int64_t window, int i)
{
    return window + (int64_t)(i / layer->kernel_cols) * layer->in.cols + i % layer->kernel_cols;
}

static int window_area(const struct cnn_layer *layer)
{
    return layer->kernel_rows * layer->kernel_cols;
}

/* What a window's sum is multiplied with: a trainable gain, or 1 / area. */
static double gain_of(const struct cnn_layer *layer, const double *parameters, int map)
{
    return layer->kind == CNN_SUBSAMPLE ? parameters[layer->weight_at + map] : 1.0 / window_area(layer);
}

/* The errors of a window's pixels have causes in common (a rounded weight of the layer below; the one delta that all of
 * them get), and the larger the window, the less they average out: in a sum that adds squares this much stands for a
 * sum of those that all have one sign. */
static struct cnn_number together(const struct cnn_layer *layer, struct cnn_number x)
{
    x.scale *= fmax(1.0, sqrt(window_area(layer)) / CNN_TOGETHER);
    return x;
}

static struct cnn_tally window_sum(const struct cnn_layer *layer, int64_t window, struct cnn_span in)
{
    struct cnn_tally sum = { 0 };
    for (int i = 0; i < window_area(layer); i++)
        cnn_tally_add(&sum, 1.0, together(layer, cnn_span_get(in, pixel_at(layer, window, i))), 1.0);
    return sum;
}

static struct cnn_number mean_of(const struct cnn_layer *layer, const double *parameters, int map, int64_t window,
                                 struct cnn_span in)
{
    struct cnn_tally sum = window_sum(layer, window, in), result = { 0 };
    cnn_tally_add(&result, gain_of(layer, parameters, map), cnn_tally_number(&sum), 1.0);
    if (layer->kind == CNN_SUBSAMPLE)
        cnn_tally_add(&result, parameters[layer->bias_at + map], cnn_exact(1.0), 1.0);
    return cnn_tally_number(&result);
}

/* The pixel of the first maximum in row-major order; a NaN is larger than anything. */
static int64_t window_winner(const struct cnn_layer *layer, int64_t window, struct cnn_span in)
{
    int64_t best = window;
    for (int i = 1; i < window_area(layer); i++) {
        int64_t at = pixel_at(layer, window, i);
        if (in.value[at] > in.value[best] || (isnan(in.value[at]) && !isnan(in.value[best])))
            best = at;
    }
    return best;
}

/* How far the maximum can be from that of the values, when pixel i can be off by width[i]. */
static double maximum_width(const struct cnn_layer *layer, int64_t window, const double *value, const double *width,
                            double maximum)
{
    double low = -INFINITY, high = -INFINITY;
    for (int i = 0; i < window_area(layer); i++) {
        int64_t at = pixel_at(layer, window, i);
        low = fmax(low, value[at] - width[at]);
        high = fmax(high, value[at] + width[at]);
    }
    return fmax(high - maximum, maximum - low);
}

static struct cnn_number maximum_of(const struct cnn_layer *layer, int64_t window, struct cnn_span in)
{
    double maximum = in.value[window_winner(layer, window, in)];
    return (struct cnn_number){ maximum, maximum_width(layer, window, in.value, in.bound, maximum),
                                maximum_width(layer, window, in.value, in.scale, maximum) };
}

void cnn_reference_pooling_forward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                   struct cnn_span out, int begin, int end)
{
    int64_t at = (int64_t)begin * layer->out.rows * layer->out.cols;
    for (int map = begin; map < end; map++)
        for (int row = 0; row < layer->out.rows; row++)
            for (int col = 0; col < layer->out.cols; col++, at++) {
                int64_t window = window_at(layer, map, row, col);
                cnn_span_set(out, at,
                             layer->kind == CNN_MAXPOOL ? maximum_of(layer, window, in)
                                                        : mean_of(layer, parameters, map, window, in));
            }
}

static void mean_backward(const struct cnn_layer *layer, const double *parameters, int map, int64_t window,
                          struct cnn_number delta, struct cnn_tally *tallies)
{
    for (int i = 0; i < window_area(layer); i++)
        cnn_tally_add(&tallies[pixel_at(layer, window, i)], gain_of(layer, parameters, map), together(layer, delta),
                      1.0);
}

/* The winner takes the delta. Where another pixel could win in fp32, either may have all of it or nothing. */
static void maximum_backward(const struct cnn_layer *layer, int64_t window, struct cnn_span in, struct cnn_number delta,
                             struct cnn_tally *tallies)
{
    const struct cnn_number loser = { 0.0, 1.0, 1.0 };
    struct cnn_number share = cnn_exact(1.0);
    int64_t winner = window_winner(layer, window, in);
    for (int i = 0; i < window_area(layer); i++) {
        int64_t at = pixel_at(layer, window, i);
        double reach = in.bound[at] + in.bound[winner];
        if (at != winner && reach > 0.0 && in.value[at] + reach >= in.value[winner]) {
            cnn_tally_multiply(&tallies[at], loser, delta, 1.0);
            share = (struct cnn_number){ 1.0, 1.0, 1.0 };
        }
    }
    cnn_tally_multiply(&tallies[winner], share, delta, 1.0);
}

void cnn_reference_pooling_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                    struct cnn_span delta, struct cnn_tally *tallies, int begin, int end)
{
    int64_t at = (int64_t)begin * layer->out.rows * layer->out.cols;
    for (int map = begin; map < end; map++)
        for (int row = 0; row < layer->out.rows; row++)
            for (int col = 0; col < layer->out.cols; col++, at++) {
                int64_t window = window_at(layer, map, row, col);
                if (layer->kind == CNN_MAXPOOL)
                    maximum_backward(layer, window, in, cnn_span_get(delta, at), tallies);
                else
                    mean_backward(layer, parameters, map, window, cnn_span_get(delta, at), tallies);
            }
}

/* The gains: sum of delta * window sum. A window's own additions lengthen the chain. */
void cnn_reference_subsample_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                      struct cnn_span in, struct cnn_span delta, struct cnn_span gradient, int begin,
                                      int end)
{
    int64_t area = (int64_t)layer->out.rows * layer->out.cols;
    for (int map = begin; map < end; map++) {
        struct cnn_tally gain = { 0 };
        for (int image = 0; image < count; image++)
            for (int64_t i = 0; i < area; i++) {
                int64_t at = ((int64_t)image * layer->out.maps + map) * area + i;
                int64_t window = window_at(layer, map, (int)(i / layer->out.cols), (int)(i % layer->out.cols));
                struct cnn_tally sum = window_sum(layer, window, cnn_span_at(in, image * cnn_shape_size(layer->in)));
                cnn_tally_multiply(&gain, cnn_span_get(delta, at), cnn_tally_number(&sum), weights[image]);
                gain.magnitude += fabs(delta.value[at]) * (sum.magnitude - fabs(sum.value));
            }
        gain.terms += window_area(layer);
        cnn_span_set(gradient, layer->weight_at + map, cnn_tally_rounded(&gain, 0.0, cnn_together_back(rounding)));
    }
}
