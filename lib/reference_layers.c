/* SPDX-License-Identifier: MIT */
/* The oracle's layers with weights, convolution and fully connected: the formula, two neighbouring
 * outputs, pixels or taps side by side where they see the same. A single one goes beside itself. */
#include "lib/reference_internal.h"

#define READERS 64 /* output maps whose deltas go to one pixel at a time; they fit on the stack */

/* Pooling and sub-sampling have no products that tensor cores would do. */
static bool is_product(const struct cnn_layer *layer)
{
    return layer->kind == CNN_CONV || layer->kind == CNN_FULL;
}

static int64_t out_area(const struct cnn_layer *layer)
{
    return (int64_t)layer->out.rows * layer->out.cols;
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

/* From `begin` up to `end`; empty where they cross. */
struct range {
    int begin, end;
};

static struct range range_of(int begin, int end)
{
    return (struct range){ begin, end > begin ? end : begin };
}

/* Of a row or column of `taps`, the first of which stands at `first`: those on the input. */
static struct range taps_inside(int first, int taps, int side)
{
    return range_of(first < 0 ? -first : 0, first + taps > side ? side - first : taps);
}

/* The outputs whose kernel of `taps` covers pixel `at`: 0 <= at + pad - output * stride < taps. */
static struct range outputs_over(const struct cnn_layer *layer, int at, int taps, int side)
{
    int last = (at + layer->pad_before) / layer->stride, before = at + layer->pad_before - taps;
    return range_of(before < 0 ? 0 : before / layer->stride + 1, last < side ? last + 1 : side);
}

static bool same_range(struct range a, struct range b)
{
    return a.begin == b.begin && a.end == b.end;
}

/* ---- forward ---- */

static struct range rows_under(const struct cnn_layer *layer, int row)
{
    return taps_inside(under(layer, row, 0), layer->kernel_rows, layer->in.rows);
}

static struct range cols_under(const struct cnn_layer *layer, int col)
{
    return taps_inside(under(layer, col, 0), layer->kernel_cols, layer->in.cols);
}

/* The terms of one kernel, whose first tap stands at `pixel`, and at `pixel + apart` for the other sum. */
static inline void kernel_add(const struct cnn_layer *layer, const double *kernel, int64_t pixel, int64_t apart,
                              struct range rows, struct range cols, struct cnn_span in, struct cnn_tallies *sums)
{
    for (int row = rows.begin; row < rows.end; row++) {
        const double *taps = kernel + (int64_t)row * layer->kernel_cols;
        int64_t at = pixel + (int64_t)row * layer->in.cols;
        for (int col = cols.begin; col < cols.end; col++)
            cnn_tallies_add(sums, (cnn_two){ taps[col], taps[col] }, cnn_span_two(in, at + col, at + col + apart));
    }
}

/* Outputs of one map in a row: at `col`, and as many columns further on as `further` says, 0 or 1, where the same taps
 * stand on the input. */
static struct cnn_tallies conv_sums(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                    int map, int row, int col, int further)
{
    int64_t corner = row_at(layer, 0, under(layer, row, 0)) + under(layer, col, 0);
    struct range rows = rows_under(layer, row), cols = cols_under(layer, col);
    double bias = parameters[layer->bias_at + map];
    int fan_in = cnn_layer_fan_in(layer, map);
    struct cnn_tallies sums = { .value = { 0.0, 0.0 } };
    cnn_tallies_add(&sums, (cnn_two){ bias, bias }, (struct cnn_numbers){ .value = { 1.0, 1.0 } });
    int64_t apart = (int64_t)further * layer->stride;
    for (int k = 0; k < fan_in; k++) {
        const double *kernel = parameters + cnn_layer_kernel_at(layer, map, k);
        int64_t pixel = corner + row_at(layer, cnn_layer_source(layer, map, k), 0);
        if (apart == 1) /* a constant makes one load of two */
            kernel_add(layer, kernel, pixel, 1, rows, cols, in, &sums);
        else
            kernel_add(layer, kernel, pixel, apart, rows, cols, in, &sums);
    }
    cnn_tallies_count(&sums, 1.0 + (double)fan_in * (rows.end - rows.begin) * (cols.end - cols.begin));
    return sums;
}

static void conv_forward(const struct cnn_layer *layer, const double *parameters, double rounding, struct cnn_span in,
                         struct cnn_span out, int map)
{
    int64_t at = map * out_area(layer);
    for (int row = 0; row < layer->out.rows; row++)
        for (int col = 0, further; col < layer->out.cols; col += 1 + further, at += 1 + further) {
            further = col + 1 < layer->out.cols && same_range(cols_under(layer, col), cols_under(layer, col + 1));
            struct cnn_tallies sums = conv_sums(layer, parameters, in, map, row, col, further);
            cnn_span_set_two(out, at, at + further, &sums, rounding, CNN_TOGETHER);
        }
}

/* ---- backward: the gradient by the input ---- */

/* Where an output map has its kernel for a map of the input; NULL: nowhere. */
static const double *kernel_for(const struct cnn_layer *layer, const double *parameters, int out_map, int in_map)
{
    int low = 0, high = cnn_layer_fan_in(layer, out_map);
    if (!layer->first)
        return parameters + cnn_layer_kernel_at(layer, out_map, in_map);
    while (low < high) { /* sources ascend */
        int middle = low + (high - low) / 2;
        if (cnn_layer_source(layer, out_map, middle) < in_map)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < cnn_layer_fan_in(layer, out_map) && cnn_layer_source(layer, out_map, low) == in_map;
    return found ? parameters + cnn_layer_kernel_at(layer, out_map, low) : NULL;
}

/* An output map that reads the input map in question. */
struct reader {
    const double *kernel;
    int64_t delta; /* where its deltas begin */
};

/* To one pixel what a reader's deltas bring, the reverse of kernel_add(); `tap` saw it from the first row and column of
 * outputs. Another pixel gets the same from deltas that stand `further` columns on. */
static inline void deltas_add(const struct cnn_layer *layer, const struct reader *reader, int64_t tap, int further,
                              struct range rows, struct range cols, struct cnn_span delta, struct cnn_tallies *sums)
{
    for (int row = rows.begin; row < rows.end; row++, tap -= (int64_t)layer->stride * layer->kernel_cols) {
        const double *taps = reader->kernel + tap;
        int64_t at = reader->delta + (int64_t)row * layer->out.cols + cols.begin;
        for (int i = 0; i < cols.end - cols.begin; i++, at++, taps -= layer->stride)
            cnn_tallies_add(sums, (cnn_two){ *taps, *taps }, cnn_span_two(delta, at, at + further));
    }
}

/* Outputs that saw a pixel of the input. */
static struct range rows_over(const struct cnn_layer *layer, int in_row)
{
    return outputs_over(layer, in_row, layer->kernel_rows, layer->out.rows);
}

static struct range cols_over(const struct cnn_layer *layer, int in_col)
{
    return outputs_over(layer, in_col, layer->kernel_cols, layer->out.cols);
}

/* Pixels of one row: at `col`, and `further` columns on. */
static void pixels_backward(const struct cnn_layer *layer, const struct reader *readers, int count,
                            struct cnn_span delta, struct range rows, int row, int col, int further,
                            struct cnn_tally *tally)
{
    struct range cols = cols_over(layer, col);
    int64_t tap = (int64_t)(row - under(layer, rows.begin, 0)) * layer->kernel_cols + col - under(layer, cols.begin, 0);
    struct cnn_tallies sums = cnn_tallies_of(tally, tally + further);
    for (int i = 0; i < count; i++)
        if (further) /* a constant makes one load of two */
            deltas_add(layer, &readers[i], tap, 1, rows, cols, delta, &sums);
        else
            deltas_add(layer, &readers[i], tap, 0, rows, cols, delta, &sums);
    cnn_tallies_count(&sums, (double)count * (rows.end - rows.begin) * (cols.end - cols.begin));
    tally[0] = cnn_tallies_one(&sums, 0);
    tally[further] = cnn_tallies_one(&sums, 1);
}

/* Whether the next pixel of a row was seen through the same taps, from outputs one column on. */
static int goes_further(const struct cnn_layer *layer, int col)
{
    if (layer->stride > 1 || col + 1 >= layer->in.cols)
        return 0;
    struct range here = cols_over(layer, col), next = cols_over(layer, col + 1);
    return same_range(next, (struct range){ here.begin + 1, here.end + 1 });
}

static void readers_backward(const struct cnn_layer *layer, const struct reader *readers, int count,
                             struct cnn_span delta, struct cnn_tally *tally)
{
    for (int row = 0; row < layer->in.rows; row++) {
        struct range rows = rows_over(layer, row);
        for (int col = 0, further; col < layer->in.cols; col += 1 + further, tally += 1 + further) {
            further = goes_further(layer, col);
            pixels_backward(layer, readers, count, delta, rows, row, col, further, tally);
        }
    }
}

static void conv_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span delta,
                          struct cnn_tally *tallies, int in_map)
{
    struct reader readers[READERS];
    int count = 0;
    for (int map = 0; map < layer->out.maps; map++) {
        readers[count] = (struct reader){ kernel_for(layer, parameters, map, in_map), map * out_area(layer) };
        count += readers[count].kernel != NULL;
        if (count < READERS && map + 1 < layer->out.maps)
            continue;
        readers_backward(layer, readers, count, delta, tallies + row_at(layer, in_map, 0));
        count = 0;
    }
}

/* ---- backward: the gradient by the weights ---- */

/* Outputs whose tap stands on the input, of a row or column of `side`: 0 <= output * stride + first < in. */
static struct range outputs_inside(const struct cnn_layer *layer, int first, int side, int in)
{
    int begin = first < 0 ? (-first + layer->stride - 1) / layer->stride : 0;
    int last = first < in ? (in - 1 - first) / layer->stride : -1;
    return range_of(begin, last < side ? last + 1 : side);
}

static struct range rows_through(const struct cnn_layer *layer, int tap_row)
{
    return outputs_inside(layer, under(layer, 0, tap_row), layer->out.rows, layer->in.rows);
}

static struct range cols_through(const struct cnn_layer *layer, int tap_col)
{
    return outputs_inside(layer, under(layer, 0, tap_col), layer->out.cols, layer->in.cols);
}

/* One tap in one image: its pixels, the first output's at `pixel`, against the deltas of its map. The tap `further` to
 * the right has the same deltas. */
static inline void tap_add(const struct cnn_layer *layer, int64_t pixel, int further, struct range rows,
                           struct range cols, struct cnn_span in, struct cnn_span delta, struct cnn_tallies *sums)
{
    for (int row = rows.begin; row < rows.end; row++) {
        int64_t at = (int64_t)row * layer->out.cols;
        int64_t x = pixel + ((int64_t)row * layer->in.cols + cols.begin) * layer->stride;
        for (int col = cols.begin; col < cols.end; col++, x += layer->stride)
            cnn_tallies_multiply(sums, cnn_span_two(delta, at + col, at + col), cnn_span_two(in, x, x + further));
    }
}

static struct cnn_tallies tap_gradient(const struct cnn_layer *layer, int map, int in_map, int tap_row, int tap_col,
                                       int further, const double *weights, int count, struct cnn_span in,
                                       struct cnn_span delta)
{
    int64_t pixel = row_at(layer, in_map, under(layer, 0, tap_row)) + under(layer, 0, tap_col);
    struct range rows = rows_through(layer, tap_row), cols = cols_through(layer, tap_col);
    double places = (double)(rows.end - rows.begin) * (cols.end - cols.begin);
    struct cnn_tallies sums = { .value = { 0.0, 0.0 } };
    for (int image = 0; image < count; image++) {
        struct cnn_span x = cnn_span_at(in, image * cnn_shape_size(layer->in));
        struct cnn_span d = cnn_span_at(delta, image * cnn_shape_size(layer->out) + map * out_area(layer));
        if (further)
            tap_add(layer, pixel, 1, rows, cols, x, d, &sums);
        else
            tap_add(layer, pixel, 0, rows, cols, x, d, &sums);
        cnn_tallies_count(&sums, weights[image] * places);
    }
    return sums;
}

static void kernel_gradient(const struct cnn_layer *layer, int map, int k, const double *weights, double rounding,
                            int count, struct cnn_span in, struct cnn_span delta, struct cnn_span gradient)
{
    int64_t at = cnn_layer_kernel_at(layer, map, k);
    for (int row = 0; row < layer->kernel_rows; row++)
        for (int col = 0, further; col < layer->kernel_cols; col += 1 + further, at += 1 + further) {
            further =
                col + 1 < layer->kernel_cols && same_range(cols_through(layer, col), cols_through(layer, col + 1));
            struct cnn_tallies sums =
                tap_gradient(layer, map, cnn_layer_source(layer, map, k), row, col, further, weights, count, in, delta);
            cnn_span_set_two(gradient, at, at + further, &sums, rounding, cnn_together_back(rounding));
        }
}

static void bias_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                          struct cnn_span delta, struct cnn_span gradient, int map)
{
    int64_t area = out_area(layer);
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

void cnn_reference_layer_forward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                 struct cnn_span in, struct cnn_span out, int begin, int end)
{
    if (!is_product(layer))
        cnn_reference_pooling_forward(layer, parameters, in, out, begin, end);
    else if (cnn_reference_is_full(layer))
        cnn_reference_full_forward(layer, parameters, rounding, in, out, begin, end);
    else
        for (int map = begin; map < end; map++)
            conv_forward(layer, parameters, rounding, in, out, map);
    cnn_reference_activate(layer->activation, cnn_span_at(out, begin * out_area(layer)),
                           (end - begin) * out_area(layer));
}

void cnn_reference_layer_backward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                  struct cnn_span in, struct cnn_span delta, struct cnn_tally *tallies,
                                  struct cnn_span in_gradient, int begin, int end)
{
    int64_t area = (int64_t)layer->in.rows * layer->in.cols;
    for (int64_t i = begin * area; i < end * area; i++)
        tallies[i] = (struct cnn_tally){ 0 };
    if (!is_product(layer))
        cnn_reference_pooling_backward(layer, parameters, in, delta, tallies, begin, end);
    else if (cnn_reference_is_full(layer))
        cnn_reference_full_backward(layer, parameters, delta, tallies, begin, end);
    else
        for (int map = begin; map < end; map++)
            conv_backward(layer, parameters, delta, tallies, map);
    for (int64_t i = begin * area; i < end * area; i++)
        cnn_span_set(in_gradient, i,
                     cnn_tally_rounded(&tallies[i], is_product(layer) ? rounding : 0.0, cnn_together_back(rounding)));
}

/* A bias' gradient may be one more column of the product, times 1. */
void cnn_reference_layer_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                  struct cnn_span in, struct cnn_span delta, struct cnn_span gradient, int begin,
                                  int end)
{
    if (layer->kind == CNN_SUBSAMPLE)
        cnn_reference_subsample_gradient(layer, weights, rounding, count, in, delta, gradient, begin, end);
    else if (is_product(layer) && cnn_reference_is_full(layer))
        cnn_reference_full_gradient(layer, weights, rounding, count, in, delta, gradient, begin, end);
    else if (is_product(layer))
        for (int map = begin; map < end; map++)
            for (int k = 0; k < cnn_layer_fan_in(layer, map); k++)
                kernel_gradient(layer, map, k, weights, rounding, count, in, delta, gradient);
    for (int map = begin; layer->biases > 0 && map < end; map++)
        bias_gradient(layer, weights, rounding, count, delta, gradient, map);
}
