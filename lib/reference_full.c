/* SPDX-License-Identifier: MIT */
/* The oracle's layers whose every output sees the whole input: a matrix, a row of weights for each output. The sums and
 * their orders are those of reference_layers.c; nothing has to be looked up here. */
#include "lib/reference_internal.h"

bool cnn_reference_is_full(const struct cnn_layer *layer)
{
    return !layer->first && layer->out.rows == 1 && layer->out.cols == 1 && layer->pad_before == 0 &&
           layer->kernel_rows == layer->in.rows && layer->kernel_cols == layer->in.cols;
}

/* Outputs a and b, which may be the same. */
static void outputs_forward(const struct cnn_layer *layer, const double *parameters, double rounding,
                            struct cnn_span in, struct cnn_span out, int a, int b)
{
    int64_t inputs = cnn_shape_size(layer->in);
    const double *row_a = parameters + cnn_layer_kernel_at(layer, a, 0);
    const double *row_b = parameters + cnn_layer_kernel_at(layer, b, 0);
    const double *bias = parameters + layer->bias_at;
    struct cnn_tallies sum = { .value = { 0.0, 0.0 } };
    cnn_tallies_add(&sum, (cnn_two){ bias[a], bias[b] }, (struct cnn_numbers){ .value = { 1.0, 1.0 } });
    for (int64_t i = 0; i < inputs; i++)
        cnn_tallies_add(&sum, (cnn_two){ row_a[i], row_b[i] }, cnn_span_two(in, i, i));
    cnn_tallies_count(&sum, (double)inputs + 1.0);
    cnn_span_set_two(out, a, b, &sum, rounding, CNN_TOGETHER);
}

void cnn_reference_full_forward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                struct cnn_span in, struct cnn_span out, int begin, int end)
{
    for (int map = begin; map < end; map += 2)
        outputs_forward(layer, parameters, rounding, in, out, map, map + 1 < end ? map + 1 : map);
}

/* Row by row of the matrix, since that is how it lies in memory. */
void cnn_reference_full_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span delta,
                                 struct cnn_tally *tallies, int begin, int end)
{
    int64_t area = (int64_t)layer->in.rows * layer->in.cols;
    for (int map = 0; map < layer->out.maps; map++) {
        const double *row = parameters + cnn_layer_kernel_at(layer, map, 0);
        struct cnn_number d = cnn_span_get(delta, map);
        for (int64_t i = begin * area; i < end * area; i++)
            cnn_tally_add(&tallies[i], row[i], d, 1.0);
    }
}

/* The weights of one output from its inputs a and b, which may be the same. */
static void weights_gradient(const struct cnn_layer *layer, int map, int64_t a, int64_t b, int count, double terms,
                             double rounding, struct cnn_span in, struct cnn_span delta, struct cnn_span gradient)
{
    int64_t inputs = cnn_shape_size(layer->in), at = cnn_layer_kernel_at(layer, map, 0);
    struct cnn_tallies sum = { .value = { 0.0, 0.0 } };
    for (int64_t image = 0; image < count; image++) {
        int64_t d = image * layer->out.maps + map, x = image * inputs;
        cnn_tallies_multiply(&sum, cnn_span_two(delta, d, d), cnn_span_two(in, x + a, x + b));
    }
    cnn_tallies_count(&sum, terms);
    cnn_span_set_two(gradient, at + a, at + b, &sum, rounding, cnn_together_back(rounding));
}

void cnn_reference_full_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                 struct cnn_span in, struct cnn_span delta, struct cnn_span gradient, int begin,
                                 int end)
{
    int64_t inputs = cnn_shape_size(layer->in);
    double terms = 0.0;
    for (int image = 0; image < count; image++)
        terms += weights[image];
    for (int map = begin; map < end; map++)
        for (int64_t i = 0; i < inputs; i += 2)
            weights_gradient(layer, map, i, i + 1 < inputs ? i + 1 : i, count, terms, rounding, in, delta, gradient);
}
