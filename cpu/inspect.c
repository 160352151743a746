/* SPDX-License-Identifier: MIT */
/* A look inside a program: any layer's tensor of the last step, in canonical order. */
#include "cpu/program.h"

#include <string.h>

static int copy_tensor(const struct cnn_program *p, const struct cpu_tensor *t, float *out, int64_t capacity,
                       struct cnn_error *error)
{
    int64_t per_image = (int64_t)t->maps * t->rows * t->cols;
    if (!t->data)
        return cnn_error_set(error, CNN_INVALID, "inspect: this program has no such tensor");
    if (capacity < per_image * p->last_count)
        return cnn_error_set(error, CNN_INVALID, "inspect: room for %lld floats, the tensor has %lld",
                             (long long)capacity, (long long)(per_image * p->last_count));
    for (int image = 0; image < p->last_count; image++)
        for (int map = 0; map < t->maps; map++)
            for (int row = 0; row < t->rows; row++)
                for (int col = 0; col < t->cols; col++)
                    *out++ = *cpu_pixel(t, image, map, row, col);
    return CNN_OK;
}

static int copy_gradient(const struct cnn_program *p, const struct cnn_layer *layer, float *out, int64_t capacity,
                         struct cnn_error *error)
{
    int64_t size = layer->weights + layer->biases;
    if (!p->gradient || size == 0 || capacity < size)
        return cnn_error_set(error, CNN_INVALID, "inspect: layer %s has %lld gradients, room for %lld", layer->name,
                             (long long)(p->gradient ? size : 0), (long long)capacity);
    memcpy(out, p->gradient + layer->weight_at, (size_t)size * sizeof *out);
    return CNN_OK;
}

int cpu_inspect(struct cnn_program *p, enum cnn_inspection what, int layer, float *out, int64_t capacity,
                struct cnn_error *error)
{
    if (!p->options.inspectable)
        return cnn_error_set(error, CNN_INVALID, "inspect: the program was not compiled inspectable");
    if (p->last_slot < 0)
        return cnn_error_set(error, CNN_INVALID, "inspect: no step has run");
    if (what == CNN_INSPECT_INPUT_GRADIENT)
        return copy_tensor(p, &p->input_gradient, out, capacity, error);
    if (layer < 0 || layer >= p->network->layer_count)
        return cnn_error_set(error, CNN_INVALID, "inspect: layer %d, the network has %d", layer,
                             p->network->layer_count);
    switch (what) {
    case CNN_INSPECT_OUTPUT:
        return copy_tensor(p, &p->outputs[layer], out, capacity, error);
    case CNN_INSPECT_DELTA:
        return copy_tensor(p, &p->deltas[layer], out, capacity, error);
    default:
        return copy_gradient(p, &p->network->layers[layer], out, capacity, error);
    }
}
