/* SPDX-License-Identifier: MIT */
/* The oracle does two sums at a time and shares them out. Every sum has the very bits that it has when its terms are
 * added one by one, in the order of the formula, on every geometry and table; and a batch has the same bits whoever
 * does which part of it, in whatever order. */
#include "lib/parameters.h"
#include "lib/reference_internal.h"
#include "tests/unit/core.h"
#include "tests/unit/small_networks.h"

#define IMAGES 3
#define TF32 CNN_TF32_ROUNDING

/* ---- one by one ---- */

static bool tap_at(const struct cnn_layer *layer, int in_map, int row, int col, int tap, int64_t *pixel)
{
    int in_row = row * layer->stride + tap / layer->kernel_cols - layer->pad_before;
    int in_col = col * layer->stride + tap % layer->kernel_cols - layer->pad_before;
    *pixel = ((int64_t)in_map * layer->in.rows + in_row) * layer->in.cols + in_col;
    return in_row >= 0 && in_row < layer->in.rows && in_col >= 0 && in_col < layer->in.cols;
}

/* What the formula says of one layer, tallies of [out], [in] and [weights]; one image but for the weights. */
struct plain {
    struct cnn_tally *out, *in, *weights;
};

/* Adds the terms of all connected taps of an output, in the order of outputs, inputs, taps. */
static void output_one_by_one(const struct cnn_layer *layer, const double *parameters, int map, int row, int col,
                              struct cnn_span in, struct cnn_span delta, double weight, bool first, struct plain *plain)
{
    int64_t at = ((int64_t)map * layer->out.rows + row) * layer->out.cols + col, pixel;
    if (first)
        cnn_tally_add(&plain->out[at], parameters[layer->bias_at + map], cnn_exact(1.0), 1.0);
    for (int k = 0; k < cnn_layer_fan_in(layer, map); k++)
        for (int tap = 0; tap < layer->kernel_rows * layer->kernel_cols; tap++) {
            int64_t w = cnn_layer_kernel_at(layer, map, k) + tap;
            if (!tap_at(layer, cnn_layer_source(layer, map, k), row, col, tap, &pixel))
                continue;
            cnn_tally_multiply(&plain->weights[w - layer->weight_at], cnn_span_get(delta, at), cnn_span_get(in, pixel),
                               weight);
            if (!first)
                continue;
            cnn_tally_add(&plain->out[at], parameters[w], cnn_span_get(in, pixel), 1.0);
            cnn_tally_add(&plain->in[pixel], parameters[w], cnn_span_get(delta, at), 1.0);
        }
}

/* Tallies of the first image, and of the weights in all images. */
static void one_by_one(const struct cnn_layer *layer, const double *parameters, const double *weights,
                       struct cnn_span in, struct cnn_span delta, struct plain *plain)
{
    for (int image = 0; image < IMAGES; image++)
        for (int map = 0; map < layer->out.maps; map++)
            for (int row = 0; row < layer->out.rows; row++)
                for (int col = 0; col < layer->out.cols; col++)
                    output_one_by_one(
                        layer, parameters, map, row, col, cnn_span_at(in, image * cnn_shape_size(layer->in)),
                        cnn_span_at(delta, image * cnn_shape_size(layer->out)), weights[image], image == 0, plain);
}

/* ---- a layer ---- */

static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    assert_non_null(memory);
    return memory;
}

static double *some(uint64_t seed, int64_t count, double scale, double floor)
{
    double *list = zeros(count, sizeof *list);
    float *values = small_values(seed, count, scale);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        list[i] = floor < 0 ? values[i] : floor + fabs(values[i]);
    free(values);
    return list;
}

static struct cnn_span some_span(uint64_t seed, int64_t count)
{
    return (struct cnn_span){ some(seed, count, 1.0, -1.0), some(seed + 1, count, 1e-7, 1e-8),
                              some(seed + 2, count, 1e-7, 1e-9) };
}

static void free_span(struct cnn_span span)
{
    free(span.value);
    free(span.bound);
    free(span.scale);
}

static void same_bits(const char *what, struct cnn_span found, const struct cnn_tally *tally, int64_t count,
                      double together)
{
    for (int64_t i = 0; i < count; i++) {
        struct cnn_number is = cnn_span_get(found, i), expected = cnn_tally_rounded(&tally[i], TF32, together);
        if (memcmp(&is, &expected, sizeof is) != 0)
            fail_msg("%s %lld: %.17g +- %.17g, one by one %.17g +- %.17g", what, (long long)i, is.value, is.bound,
                     expected.value, expected.bound);
    }
}

/* In two ranges, so that one may begin anywhere. */
static void check_layer(const struct cnn_layer *layer, const double *parameters)
{
    static const double weights[IMAGES] = { 1, 4, 2 };
    int64_t in_size = cnn_shape_size(layer->in), out_size = cnn_shape_size(layer->out);
    struct cnn_span in = some_span(21, IMAGES * in_size), delta = some_span(31, IMAGES * out_size);
    struct cnn_span out = some_span(41, out_size), back = some_span(51, in_size);
    struct cnn_span gradient = some_span(61, layer->weight_at + layer->weights + layer->bias_at + layer->biases);
    struct cnn_tally *tallies = zeros(in_size, sizeof *tallies);
    struct plain plain = { zeros(out_size, sizeof *tallies), zeros(in_size, sizeof *tallies),
                           zeros(layer->weights, sizeof *tallies) };
    int out_part = layer->out.maps / 3, in_part = layer->in.maps / 2;
    one_by_one(layer, parameters, weights, in, delta, &plain);
    cnn_reference_layer_forward(layer, parameters, TF32, in, out, 0, out_part);
    cnn_reference_layer_forward(layer, parameters, TF32, in, out, out_part, layer->out.maps);
    cnn_reference_layer_backward(layer, parameters, TF32, in, delta, tallies, back, in_part, layer->in.maps);
    cnn_reference_layer_backward(layer, parameters, TF32, in, delta, tallies, back, 0, in_part);
    cnn_reference_layer_gradient(layer, weights, TF32, IMAGES, in, delta, gradient, 0, out_part);
    cnn_reference_layer_gradient(layer, weights, TF32, IMAGES, in, delta, gradient, out_part, layer->out.maps);
    same_bits("output", out, plain.out, out_size, CNN_TOGETHER);
    same_bits("input gradient", back, plain.in, in_size, cnn_together_back(TF32));
    same_bits("weight", cnn_span_at(gradient, layer->weight_at), plain.weights, layer->weights,
              cnn_together_back(TF32));
    free(plain.out);
    free(plain.in);
    free(plain.weights);
    free(tallies);
    free_span(in);
    free_span(delta);
    free_span(out);
    free_span(back);
    free_span(gradient);
}

/* The layer alone, linear, and the classes behind it. */
static void check_spec(const struct cnn_network_spec *spec)
{
    struct cnn_network *network = small_network(spec);
    assert_non_null(network);
    double *parameters = some(11, network->parameters, 0.4, -1.0);
    for (int i = 0; i < network->layer_count; i++)
        check_layer(&network->layers[i], parameters);
    free(parameters);
    cnn_network_destroy(network);
}

static void every_geometry_one_by_one(void **state)
{
    (void)state;
    for (int padding = 0; padding < 2; padding++)
        for (int kernel = 1; kernel <= 5; kernel++)
            for (int stride = 1; stride <= 3; stride++)
                for (int side = padding ? 1 : kernel; side <= 9; side++) {
                    struct cnn_network_spec spec = small_spec(2, side, 3, CNN_MSE);
                    struct cnn_layer_spec *layer = small_layer(&spec, CNN_CONV, 3, kernel, CNN_LINEAR);
                    layer->padding = (enum cnn_padding)padding;
                    layer->stride = stride;
                    small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
                    check_spec(&spec);
                }
}

/* More output maps than are looked at together; inputs that different ones read. */
static void every_table_one_by_one(void **state)
{
    static const struct {
        enum cnn_connection_kind kind;
        int in, out, fan_in;
        double density;
    } tables[] = { { CNN_CONNECT_FULL, 5, 70, 0, 0.0 },      { CNN_CONNECT_LECUN, 6, 16, 0, 0.0 },
                   { CNN_CONNECT_ONE_TO_ONE, 5, 5, 0, 0.0 }, { CNN_CONNECT_GARCIA, 4, 14, 0, 0.0 },
                   { CNN_CONNECT_FAN_IN, 7, 130, 2, 0.0 },   { CNN_CONNECT_DENSITY, 5, 9, 0, 0.3 } };
    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct cnn_network_spec spec = small_spec(tables[i].in, 6, 3, CNN_MSE);
        struct cnn_layer_spec *layer = small_layer(&spec, CNN_CONV, tables[i].out, 3, CNN_LINEAR);
        layer->connections = (struct cnn_connection_spec){ tables[i].kind, tables[i].fan_in, tables[i].density };
        small_layer(&spec, CNN_FULL, 0, 0, CNN_LINEAR);
        check_spec(&spec);
    }
}

/* ---- a batch ---- */

static int64_t ranges_run;

/* Ranges of three, the last ones first. */
static void run_backwards(cnn_reference_work *work, void *what, int64_t count)
{
    for (int64_t begin = (count - 1) / 3 * 3; begin >= 0; begin -= 3, ranges_run++)
        work(what, begin, begin + 3 < count ? begin + 3 : count);
}

static struct cnn_reference *answer_of(const struct cnn_network *network, const float *images,
                                       cnn_reference_runner *runner)
{
    static const int32_t labels[IMAGES] = { 0, 1, 1 };
    static const double weights[IMAGES] = { 3, 1, 2 };
    struct cnn_reference *reference;
    float *parameters = zeros(network->parameters, sizeof *parameters);
    cnn_parameters_init(network, parameters);
    assert_int_equal(cnn_reference_create(&reference, network, IMAGES, NULL), CNN_OK);
    cnn_reference_set_runner(reference, runner);
    if (runner)
        cnn_reference_skip_input_gradient(reference);
    cnn_reference_write_parameters(reference, parameters);
    cnn_reference_forward(reference, images, labels, weights, IMAGES);
    cnn_reference_backward(reference);
    free(parameters);
    return reference;
}

static void same_list(const double *a, const double *b, int64_t count)
{
    assert_memory_equal(a, b, (size_t)count * sizeof *a);
}

static void ranges_in_any_order_give_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int width;
    } nets[] = { { "lenet5", 2 }, { "jahrer", 1 }, { "stack", 1 }, { "simard", 2 }, { "mlp", 1 } };
    for (size_t n = 0; n < sizeof nets / sizeof *nets; n++) {
        struct cnn_network *network = core_network(nets[n].name, 0, nets[n].width, 1);
        float *images = small_values(12, IMAGES * cnn_shape_size(network->input), 1.0);
        int64_t before = ranges_run;
        struct cnn_reference *alone = answer_of(network, images, NULL);
        struct cnn_reference *shared = answer_of(network, images, run_backwards);
        assert_true(ranges_run > before);
        assert_true(cnn_reference_loss_bound(alone) == cnn_reference_loss_bound(shared));
        for (int l = 0; l < network->layer_count; l++) {
            int64_t count = IMAGES * cnn_shape_size(network->layers[l].out);
            same_list(cnn_reference_output(alone, l), cnn_reference_output(shared, l), count);
            same_list(cnn_reference_output_bound(alone, l), cnn_reference_output_bound(shared, l), count);
            same_list(cnn_reference_delta(alone, l), cnn_reference_delta(shared, l), count);
            same_list(cnn_reference_delta_bound(alone, l), cnn_reference_delta_bound(shared, l), count);
        }
        same_list(cnn_reference_gradient(alone), cnn_reference_gradient(shared), network->parameters);
        same_list(cnn_reference_gradient_bound(alone), cnn_reference_gradient_bound(shared), network->parameters);
        cnn_reference_destroy(alone);
        cnn_reference_destroy(shared);
        free(images);
        cnn_network_destroy(network);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_geometry_one_by_one),
        cmocka_unit_test(every_table_one_by_one),
        cmocka_unit_test(ranges_in_any_order_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
