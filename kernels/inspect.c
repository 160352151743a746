/* SPDX-License-Identifier: MIT */
/* A look inside a program: any layer's tensor of the last step, in canonical order, which is the device's own. */
#include "kernels/fault.h"
#include "kernels/program.h"

static int copy(struct cnn_program *p, const float *from, int64_t size, float *out, int64_t capacity,
                struct cnn_error *error)
{
    if (!from)
        return cnn_error_set(error, CNN_INVALID, "inspect: this program has no such tensor");
    if (capacity < size)
        return cnn_error_set(error, CNN_INVALID, "inspect: room for %lld floats, the tensor has %lld",
                             (long long)capacity, (long long)size);
    cudaError_t code = cudaMemcpyAsync(out, from, (size_t)size * sizeof *out, cudaMemcpyDeviceToHost, p->stream);
    if (!code)
        code = cudaStreamSynchronize(p->stream);
    return cuda_check(code, error, "inspect");
}

int cuda_inspect(struct cnn_program *p, enum cnn_inspection what, int layer, float *out, int64_t capacity,
                 struct cnn_error *error)
{
    const struct cnn_network *net = p->network;
    if (!p->options.inspectable)
        return cnn_error_set(error, CNN_INVALID, "inspect: the program was not compiled inspectable");
    if (p->last_count < 0)
        return cnn_error_set(error, CNN_INVALID, "inspect: no step has run");
    if (cuda_device_use(p->device, error))
        return CNN_ERROR;
    if (what == CNN_INSPECT_INPUT_GRADIENT)
        return copy(p, p->input_gradient, cnn_shape_size(net->input) * p->last_count, out, capacity, error);
    if (layer < 0 || layer >= net->layer_count)
        return cnn_error_set(error, CNN_INVALID, "inspect: layer %d, the network has %d", layer, net->layer_count);
    const struct cnn_layer *l = &net->layers[layer];
    int64_t size = cnn_shape_size(l->out) * p->last_count;
    switch (what) {
    case CNN_INSPECT_OUTPUT:
        return copy(p, p->outputs[layer], size, out, capacity, error);
    case CNN_INSPECT_DELTA:
        return copy(p, p->deltas[layer], size, out, capacity, error);
    default:
        if (!p->gradient || l->weights == 0)
            return cnn_error_set(error, CNN_INVALID, "inspect: layer %s has no gradient in this program", l->name);
        return copy(p, p->gradient + l->weight_at, l->weights + l->biases, out, capacity, error);
    }
}
