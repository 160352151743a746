/* SPDX-License-Identifier: MIT */
/* The oracle's layers with weights, convolution and fully connected: the formula, one output at a time. */
#include "lib/reference_internal.h"

/* Pooling and sub-sampling have no products that tensor cores would do. */
static bool is_product(const struct cnn_layer *layer)
{
    return layer->kind == CNN_CONV || layer->kind == CNN_FULL;
}

/* Row or column of the input under a tap when the kernel stands at output `at`; outside 0..side-1 is padding. */
static int under(const struct cnn_layer *layer, int at, int tap)
{
    return at * layer->stride + tap - layer->pad_before;
}

/* Start of an input's row. */
static int64_t row_at(const struct cnn_layer *layer, int in_map, int in_row)
{
    return ((int64_t)in_map * layer->in.rows + in_row) * layer->in.cols;
}

/* One pair of maps at one place: adds the kernel's terms. */
static void window_add(const struct cnn_layer *layer, const double *kernel, int in_map, int row, int col,
                       struct cnn_span in, struct cnn_tally *tally)
{
    struct cnn_tally sum = *tally; /* a copy can stay in registers */
    for (int tap_row = 0; tap_row < layer->kernel_rows; tap_row++) {
        int in_row = under(layer, row, tap_row), first = under(layer, col, 0);
        const double *taps = kernel + tap_row * layer->kernel_cols;
        if (in_row < 0 || in_row >= layer->in.rows)
            continue;
        int64_t at = row_at(layer, in_map, in_row) + first;
        for (int tap = 0; tap < layer->kernel_cols; tap++)
            if (first + tap >= 0 && first + tap < layer->in.cols)
                cnn_tally_add(&sum, taps[tap], cnn_span_get(in, at + tap), 1.0);
    }
    *tally = sum;
}

static void conv_forward(const struct cnn_layer *layer, const double *parameters, double rounding, struct cnn_span in,
                         struct cnn_span out)
{
    int64_t at = 0;
    for (int out_map = 0; out_map < layer->out.maps; out_map++)
        for (int row = 0; row < layer->out.rows; row++)
            for (int col = 0; col < layer->out.cols; col++, at++) {
                struct cnn_tally sum = { 0 };
                cnn_tally_add(&sum, parameters[layer->bias_at + out_map], cnn_exact(1.0), 1.0);
                for (int k = 0; k < cnn_layer_fan_in(layer, out_map); k++)
                    window_add(layer, parameters + cnn_layer_kernel_at(layer, out_map, k),
                               cnn_layer_source(layer, out_map, k), row, col, in, &sum);
                cnn_span_set(out, at, cnn_tally_rounded(&sum, rounding, CNN_TOGETHER));
            }
}

/* The reverse of window_add(): one delta spreads over the pixels that its kernel saw. */
static void window_spread(const struct cnn_layer *layer, const double *kernel, int in_map, int row, int col,
                          struct cnn_number delta, struct cnn_tally *tallies)
{
    for (int tap_row = 0; tap_row < layer->kernel_rows; tap_row++) {
        int in_row = under(layer, row, tap_row), first = under(layer, col, 0);
        const double *taps = kernel + tap_row * layer->kernel_cols;
        if (in_row < 0 || in_row >= layer->in.rows)
            continue;
        int64_t at = row_at(layer, in_map, in_row) + first;
        for (int tap = 0; tap < layer->kernel_cols; tap++)
            if (first + tap >= 0 && first + tap < layer->in.cols)
                cnn_tally_add(&tallies[at + tap], taps[tap], delta, 1.0);
    }
}

static void conv_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span delta,
                          struct cnn_tally *tallies)
{
    int64_t at = 0;
    for (int out_map = 0; out_map < layer->out.maps; out_map++)
        for (int row = 0; row < layer->out.rows; row++)
            for (int col = 0; col < layer->out.cols; col++, at++)
                for (int k = 0; k < cnn_layer_fan_in(layer, out_map); k++)
                    window_spread(layer, parameters + cnn_layer_kernel_at(layer, out_map, k),
                                  cnn_layer_source(layer, out_map, k), row, col, cnn_span_get(delta, at), tallies);
}

/* Gradient of one weight in one image: its tap's pixels against the deltas of its output map. */
static void tap_add(const struct cnn_layer *layer, int out_map, int in_map, int tap_row, int tap_col, double weight,
                    struct cnn_span in, struct cnn_span delta, struct cnn_tally *tally)
{
    struct cnn_tally sum = *tally; /* a copy can stay in registers */
    for (int row = 0; row < layer->out.rows; row++) {
        int64_t at = ((int64_t)out_map * layer->out.rows + row) * layer->out.cols;
        int in_row = under(layer, row, tap_row), first = under(layer, 0, tap_col);
        if (in_row < 0 || in_row >= layer->in.rows)
            continue;
        int64_t pixel = row_at(layer, in_map, in_row) + first;
        for (int col = 0; col < layer->out.cols; col++) {
            int step = col * layer->stride;
            if (first + step >= 0 && first + step < layer->in.cols)
                cnn_tally_multiply(&sum, cnn_span_get(delta, at + col), cnn_span_get(in, pixel + step), weight);
        }
    }
    *tally = sum;
}

static void kernel_gradient(const struct cnn_layer *layer, int out_map, int k, const double *weights, double rounding,
                            int count, struct cnn_span in, struct cnn_span delta, struct cnn_span gradient)
{
    int64_t at = cnn_layer_kernel_at(layer, out_map, k);
    int64_t in_size = cnn_shape_size(layer->in), out_size = cnn_shape_size(layer->out);
    for (int tap_row = 0; tap_row < layer->kernel_rows; tap_row++)
        for (int tap_col = 0; tap_col < layer->kernel_cols; tap_col++, at++) {
            struct cnn_tally sum = { 0 };
            for (int image = 0; image < count; image++)
                tap_add(layer, out_map, cnn_layer_source(layer, out_map, k), tap_row, tap_col, weights[image],
                        cnn_span_at(in, image * in_size), cnn_span_at(delta, image * out_size), &sum);
            cnn_span_set(gradient, at, cnn_tally_rounded(&sum, rounding, cnn_together_back(rounding)));
        }
}

static void bias_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                          struct cnn_span delta, struct cnn_span gradient)
{
    int64_t area = (int64_t)layer->out.rows * layer->out.cols;
    for (int map = 0; map < layer->out.maps; map++) {
        struct cnn_tally sum = { 0 };
        double factor = is_product(layer) ? rounding : 0.0;
        for (int image = 0; image < count; image++)
            for (int64_t i = 0; i < area; i++) {
                int64_t at = ((int64_t)image * layer->out.maps + map) * area + i;
                cnn_tally_add(&sum, 1.0, cnn_span_get(delta, at), weights[image]);
            }
        /* Places and images share what is wrong with them (a rounded weight, a saturated activation's last bit), and
         * nothing here turns its sign: in fp32 the worst case. In tf32 that would let one per cent pass, and twice what
         * products may have is enough: of 110 times 120 random networks, 3 exceeded that by up to 14 %. */
        cnn_span_set(gradient, layer->bias_at + map,
                     cnn_tally_rounded(&sum, factor, rounding > 0.0 ? 2.0 * CNN_TOGETHER_BACK : INFINITY));
    }
}

void cnn_reference_layer_forward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                 struct cnn_span in, struct cnn_span out)
{
    if (is_product(layer))
        conv_forward(layer, parameters, rounding, in, out);
    else
        cnn_reference_pooling_forward(layer, parameters, in, out);
    cnn_reference_activate(layer->activation, out, cnn_shape_size(layer->out));
}

void cnn_reference_layer_backward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                  struct cnn_span in, struct cnn_span delta, struct cnn_tally *tallies,
                                  struct cnn_span in_gradient)
{
    int64_t size = cnn_shape_size(layer->in);
    for (int64_t i = 0; i < size; i++)
        tallies[i] = (struct cnn_tally){ 0 };
    if (is_product(layer))
        conv_backward(layer, parameters, delta, tallies);
    else
        cnn_reference_pooling_backward(layer, parameters, in, delta, tallies);
    for (int64_t i = 0; i < size; i++)
        cnn_span_set(in_gradient, i,
                     cnn_tally_rounded(&tallies[i], is_product(layer) ? rounding : 0.0, cnn_together_back(rounding)));
}

/* A bias' gradient may be one more column of the product, times 1. */
void cnn_reference_layer_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                  struct cnn_span in, struct cnn_span delta, struct cnn_span gradient)
{
    if (layer->kind == CNN_SUBSAMPLE)
        cnn_reference_subsample_gradient(layer, weights, rounding, count, in, delta, gradient);
    else if (is_product(layer))
        for (int out_map = 0; out_map < layer->out.maps; out_map++)
            for (int k = 0; k < cnn_layer_fan_in(layer, out_map); k++)
                kernel_gradient(layer, out_map, k, weights, rounding, count, in, delta, gradient);
    if (layer->biases > 0)
        bias_gradient(layer, weights, rounding, count, delta, gradient);
}
