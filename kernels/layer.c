/* SPDX-License-Identifier: MIT */
/* A layer's geometry as kernels see it, and its tables. */
#include "kernels/fault.h"
#include "kernels/program.h"
#include "lib/checked.h"

#include <limits.h>
#include <stdlib.h>

#define SIDE_LIMIT 32767 /* of a convolution's kernel: a tap's row and column have 16 bits */
#define FILL 64          /* taps that meet nothing behind a table, for tiles that read beyond its end */

static bool is_full(const struct cnn_layer *layer)
{
    return layer->kind == CNN_FULL ||
           (layer->kind == CNN_CONV && !layer->first && layer->pad_before == 0 && layer->out.rows == 1 &&
            layer->out.cols == 1 && layer->kernel_rows == layer->in.rows && layer->kernel_cols == layer->in.cols);
}

static bool has_weights(const struct cnn_layer *layer)
{
    return layer->kind == CNN_CONV || layer->kind == CNN_FULL;
}

/* Offsets inside one image and inside one layer's weights are 32 bits wide. */
static int check_sizes(const struct cnn_layer *layer, struct cnn_error *error)
{
    int64_t in = cnn_shape_size(layer->in), out = cnn_shape_size(layer->out), taps, weights;
    if (in < 0 || in > INT_MAX || out < 0 || out > INT_MAX)
        return cnn_error_set(error, CNN_INVALID,
                             "layer %s: one image's maps have 2^31 values or more, the cuda backend takes fewer",
                             layer->name);
    if (!has_weights(layer))
        return CNN_OK;
    taps = (int64_t)layer->kernel_rows * layer->kernel_cols;
    if (!cnn_mul3(layer->in.maps, layer->out.maps, taps, &weights) || weights + layer->out.maps > INT_MAX)
        return cnn_error_set(
            error, CNN_INVALID,
            "layer %s: 2^31 weights or more with those of pairs that are not connected, the cuda backend "
            "takes fewer",
            layer->name);
    if (!is_full(layer) && (layer->kernel_rows > SIDE_LIMIT || layer->kernel_cols > SIDE_LIMIT))
        return cnn_error_set(error, CNN_INVALID, "layer %s: a kernel of %d rows, the cuda backend takes at most %d",
                             layer->name, layer->kernel_rows, SIDE_LIMIT);
    return CNN_OK;
}

int cuda_layer_shape(struct cuda_layer *out, const struct cnn_layer *layer, struct cnn_error *error)
{
    if (check_sizes(layer, error))
        return CNN_INVALID;
    *out = (struct cuda_layer){ .in_maps = layer->in.maps, .in_rows = layer->in.rows, .in_cols = layer->in.cols };
    out->out_maps = layer->out.maps;
    out->out_rows = layer->out.rows;
    out->out_cols = layer->out.cols;
    out->kernel_rows = layer->kernel_rows;
    out->kernel_cols = layer->kernel_cols;
    out->stride = layer->stride;
    out->pad = layer->pad_before;
    out->kind = layer->kind;
    out->activation = layer->activation;
    out->connected = !layer->first;
    if (is_full(layer)) {
        out->full = 1;
        out->in_maps = layer->in.maps * layer->in.rows * layer->in.cols;
        out->in_rows = out->in_cols = out->kernel_rows = out->kernel_cols = out->stride = 1;
    }
    out->taps = out->kernel_rows * out->kernel_cols;
    out->reduction = has_weights(layer) ? out->in_maps * out->taps : 1;
    out->padded = out->pad > 0 || (out->out_rows - 1) * out->stride + out->kernel_rows > out->in_rows ||
                  (out->out_cols - 1) * out->stride + out->kernel_cols > out->in_cols;
    return CNN_OK;
}

void cuda_layer_carve(struct cuda_layer *shape, const struct cnn_layer *layer, struct cuda_memory *memory, int index)
{
    bool conv = has_weights(layer) && !shape->full;
    int64_t out_taps = (int64_t)shape->out_maps * shape->taps, pairs = layer->first ? layer->pairs : 0;
    int64_t partial = (int64_t)shape->out_maps * (shape->reduction + 1);
    shape->forward =
        cuda_carve(memory, CUDA_WORKSPACE, conv ? 2 * ((int64_t)shape->reduction + FILL) : 0, "taps of layer", index);
    shape->backward =
        cuda_carve(memory, CUDA_WORKSPACE, conv ? 2 * (out_taps + FILL) : 0, "backward taps of layer", index);
    shape->transposed = cuda_carve(memory, CUDA_WORKSPACE, conv ? out_taps : 0, "transposition of layer", index);
    shape->first = cuda_carve(memory, CUDA_WORKSPACE, pairs ? shape->out_maps + 1 : 0, "table offsets of layer", index);
    shape->source = cuda_carve(memory, CUDA_WORKSPACE, pairs, "table of layer", index);
    shape->pair_out = cuda_carve(memory, CUDA_WORKSPACE, pairs, "table outputs of layer", index);
    shape->in_first =
        cuda_carve(memory, CUDA_WORKSPACE, pairs ? shape->in_maps + 1 : 0, "table inputs of layer", index);
    shape->in_pair = cuda_carve(memory, CUDA_WORKSPACE, pairs, "transposed table of layer", index);
    shape->dense = cuda_carve(memory, CUDA_PARAMETERS, pairs ? (int64_t)shape->out_maps * shape->reduction : 0,
                              "dense weights of layer", index);
    shape->partial = NULL;
    if (shape->slices > 0 && !cnn_mul(partial, shape->slices, &partial))
        partial = -1;
    if (shape->slices > 0)
        shape->partial = cuda_carve(memory, CUDA_GRADIENTS, partial, "partial gradients of layer", index);
}

static cudaError_t send(void *to, const void *from, size_t bytes)
{
    return cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
}

static cudaError_t fill_taps(const struct cuda_layer *s)
{
    size_t in = (size_t)s->reduction, out = (size_t)s->out_maps * (size_t)s->taps, all = in > out ? in : out;
    struct cuda_tap *taps = malloc((all + FILL) * sizeof *taps);
    int32_t *transposed = malloc(out * sizeof *transposed);
    cudaError_t code = taps && transposed ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int map = 0, at = 0; !code && map < s->in_maps; map++)
        for (int row = 0; row < s->kernel_rows; row++)
            for (int col = 0; col < s->kernel_cols; col++, at++)
                taps[at] = (struct cuda_tap){ map * s->in_rows * s->in_cols + row * s->in_cols + col, (int16_t)row,
                                              (int16_t)col };
    for (size_t i = 0; !code && i < FILL; i++)
        taps[in + i] = (struct cuda_tap){ 0, CUDA_NO_TAP, CUDA_NO_TAP };
    if (!code)
        code = send(s->forward, taps, (in + FILL) * sizeof *taps);
    for (int map = 0, at = 0; !code && map < s->out_maps; map++)
        for (int row = 0; row < s->kernel_rows; row++)
            for (int col = 0; col < s->kernel_cols; col++, at++) {
                int plane = map * s->out_rows * s->out_cols;
                int offset = plane - row / s->stride * s->out_cols - col / s->stride;
                taps[at] = (struct cuda_tap){ offset, (int16_t)row, (int16_t)col };
                transposed[at] = map * s->reduction + at % s->taps;
            }
    for (size_t i = 0; !code && i < FILL; i++)
        taps[out + i] = (struct cuda_tap){ 0, CUDA_NO_TAP, CUDA_NO_TAP };
    if (!code)
        code = send(s->backward, taps, (out + FILL) * sizeof *taps);
    if (!code)
        code = send(s->transposed, transposed, out * sizeof *transposed);
    free(taps);
    free(transposed);
    return code;
}

static cudaError_t fill_table(const struct cuda_layer *s, const struct cnn_layer *layer)
{
    size_t pairs = (size_t)layer->pairs;
    int32_t *pair_out = malloc(pairs * sizeof *pair_out), *in_pair = malloc(pairs * sizeof *in_pair);
    int32_t *in_first = calloc((size_t)s->in_maps + 2, sizeof *in_first);
    cudaError_t code = pair_out && in_pair && in_first ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int map = 0; !code && map < s->out_maps; map++)
        for (int32_t pair = layer->first[map]; pair < layer->first[map + 1]; pair++) {
            pair_out[pair] = map;
            in_first[layer->source[pair] + 2]++;
        }
    for (int map = 2; !code && map < s->in_maps + 2; map++)
        in_first[map] += in_first[map - 1];
    for (size_t pair = 0; !code && pair < pairs; pair++) /* counting sort: ascending pairs are ascending output maps */
        in_pair[in_first[layer->source[pair] + 1]++] = (int32_t)pair;
    if (!code)
        code = send(s->first, layer->first, ((size_t)s->out_maps + 1) * sizeof *s->first);
    if (!code)
        code = send(s->source, layer->source, pairs * sizeof *s->source);
    if (!code)
        code = send(s->pair_out, pair_out, pairs * sizeof *pair_out);
    if (!code)
        code = send(s->in_first, in_first, ((size_t)s->in_maps + 1) * sizeof *in_first);
    if (!code)
        code = send(s->in_pair, in_pair, pairs * sizeof *in_pair);
    free(pair_out);
    free(in_pair);
    free(in_first);
    return code;
}

int cuda_layer_fill(const struct cuda_layer *shape, const struct cnn_layer *layer, struct cnn_error *error)
{
    cudaError_t code = cudaSuccess;
    if (shape->forward)
        code = fill_taps(shape);
    if (!code && shape->first)
        code = fill_table(shape, layer);
    return cuda_check(code, error, "tables of a layer");
}
