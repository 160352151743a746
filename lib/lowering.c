/* SPDX-License-Identifier: MIT */
/* Appending tensors and operations, and what follows from the finished list: bytes, lifetimes, fusion marks, peaks. */
#include "lib/lowering.h"

#include "lib/checked.h"

#include <stdlib.h>

int cnn_lowering_tensor(struct cnn_lowering *low, enum cnn_tensor_kind kind, int layer, struct cnn_shape shape,
                        int64_t per_image, int64_t fixed)
{
    struct cnn_operations *operations = low->operations;
    operations->tensors[operations->tensor_count] =
        (struct cnn_tensor){ kind, layer, shape, per_image, fixed, CNN_NONE, CNN_NONE };
    return operations->tensor_count++;
}

int cnn_lowering_layer_tensor(struct cnn_lowering *low, enum cnn_tensor_kind kind, int layer)
{
    int *at = &low->at[layer][kind];
    if (*at == CNN_NONE) {
        struct cnn_shape shape = low->network->layers[layer].out;
        *at = cnn_lowering_tensor(low, kind, layer, shape, cnn_shape_size(shape), 0);
    }
    return *at;
}

int cnn_lowering_parameter_tensor(struct cnn_lowering *low, enum cnn_tensor_kind kind, int layer)
{
    int *at = &low->at[layer][kind];
    const struct cnn_layer *of = &low->network->layers[layer];
    if (*at == CNN_NONE)
        *at = cnn_lowering_tensor(low, kind, layer, (struct cnn_shape){ 0, 0, 0 }, 0, of->weights + of->biases);
    return *at;
}

static bool holds(const int *list, int tensor)
{
    for (int i = 0; i < CNN_OPERATION_TENSORS && list[i] != CNN_NONE; i++)
        if (list[i] == tensor)
            return true;
    return false;
}

/* The tensors of an operation, each once; returns their number. */
static int distinct(const struct cnn_operation *operation, int out[2 * CNN_OPERATION_TENSORS])
{
    int count = 0;
    for (int i = 0; i < CNN_OPERATION_TENSORS && operation->reads[i] != CNN_NONE; i++)
        out[count++] = operation->reads[i];
    for (int i = 0; i < CNN_OPERATION_TENSORS && operation->writes[i] != CNN_NONE; i++)
        if (!holds(operation->reads, operation->writes[i]))
            out[count++] = operation->writes[i];
    return count;
}

/* Whether each result of this kind needs results of one image (an update: of one weight) only. */
static bool may_share_kernel(enum cnn_operation_kind kind)
{
    switch (kind) {
    case CNN_OP_SUBSAMPLE_FORWARD:
    case CNN_OP_MAXPOOL_FORWARD:
    case CNN_OP_AVGPOOL_FORWARD:
    case CNN_OP_ACTIVATION_FORWARD:
    case CNN_OP_ACTIVATION_BACKWARD:
    case CNN_OP_LOSS:
    case CNN_OP_ARGMAX:
    case CNN_OP_UPDATE:
        return true;
    default:
        return false;
    }
}

/* Whether, in each of its phases, the operation reads what the operation before it wrote. */
static bool is_fed_by_previous(const struct cnn_operations *operations, int index)
{
    const struct cnn_operation *operation = &operations->list[index];
    for (unsigned phase = CNN_PHASE_TRAIN; phase <= CNN_PHASE_EVALUATE; phase <<= 1) {
        if (!(operation->phases & phase))
            continue;
        int before = index - 1;
        while (before >= 0 && !(operations->list[before].phases & phase))
            before--;
        bool fed = false;
        for (int i = 0; before >= 0 && i < CNN_OPERATION_TENSORS && operation->reads[i] != CNN_NONE; i++)
            fed |= holds(operations->list[before].writes, operation->reads[i]);
        if (!fed)
            return false;
    }
    return true;
}

/* Each tensor once, fp32; and the lifetimes grow to this operation. */
static void touch(struct cnn_lowering *low, struct cnn_operation *operation, int index)
{
    int tensors[2 * CNN_OPERATION_TENSORS], count = distinct(operation, tensors);
    for (int i = 0; i < count; i++) {
        struct cnn_tensor *tensor = &low->operations->tensors[tensors[i]];
        low->overflow |= !cnn_accumulate(tensor->per_image, 4, &operation->bytes_per_image) ||
                         !cnn_accumulate(tensor->fixed, 4, &operation->bytes_fixed);
        tensor->last = index;
        if (tensor->first == CNN_NONE)
            tensor->first = index;
    }
}

struct cnn_operation *cnn_lowering_operation(struct cnn_lowering *low, enum cnn_operation_kind kind, int layer,
                                             unsigned phases, const int *reads, const int *writes)
{
    int index = low->operations->count++;
    struct cnn_operation *operation = &low->operations->list[index];
    *operation = (struct cnn_operation){ .kind = kind, .layer = layer, .phases = phases };
    for (int i = 0; i < CNN_OPERATION_TENSORS; i++) {
        operation->reads[i] = reads[i];
        operation->writes[i] = writes[i];
    }
    operation->fuses_with_previous = may_share_kernel(kind) && is_fed_by_previous(low->operations, index);
    touch(low, operation, index);
    return operation;
}

/* The first and last operation of one phase that touches each tensor. */
static void phase_lifetimes(const struct cnn_operations *operations, unsigned phase, int (*life)[2])
{
    for (int t = 0; t < operations->tensor_count; t++)
        life[t][0] = life[t][1] = CNN_NONE;
    for (int i = 0; i < operations->count; i++) {
        int tensors[2 * CNN_OPERATION_TENSORS];
        int count = operations->list[i].phases & phase ? distinct(&operations->list[i], tensors) : 0;
        for (int k = 0; k < count; k++) {
            life[tensors[k]][1] = i;
            if (life[tensors[k]][0] == CNN_NONE)
                life[tensors[k]][0] = i;
        }
    }
}

/* Walks the phase and keeps the sum of the living; an activation writes over what it reads for the last time. */
static int64_t phase_peak(struct cnn_lowering *low, unsigned phase, int (*life)[2])
{
    const struct cnn_operations *operations = low->operations;
    int64_t alive = 0, peak = 0;
    phase_lifetimes(operations, phase, life);
    for (int i = 0; i < operations->count; i++) {
        const struct cnn_operation *operation = &operations->list[i];
        if (!(operation->phases & phase))
            continue;
        int tensors[2 * CNN_OPERATION_TENSORS], count = distinct(operation, tensors);
        for (int k = 0; k < count; k++)
            if (life[tensors[k]][0] == i)
                low->overflow |= !cnn_accumulate(operations->tensors[tensors[k]].per_image, 4, &alive);
        int64_t now = alive;
        bool in_place = operation->kind == CNN_OP_ACTIVATION_FORWARD || operation->kind == CNN_OP_ACTIVATION_BACKWARD;
        if (in_place && life[operation->reads[0]][1] == i)
            now -= 4 * operations->tensors[operation->reads[0]].per_image;
        peak = now > peak ? now : peak;
        for (int k = 0; k < count; k++)
            if (life[tensors[k]][1] == i)
                alive -= 4 * operations->tensors[tensors[k]].per_image;
    }
    return peak;
}

bool cnn_lowering_peaks(struct cnn_lowering *low)
{
    int(*life)[2] = malloc(sizeof *life * (size_t)low->operations->tensor_count);
    if (!life)
        return false;
    static const unsigned phases[3] = { CNN_PHASE_TRAIN, CNN_PHASE_CLASSIFY, CNN_PHASE_EVALUATE };
    for (int p = 0; p < 3; p++)
        low->operations->peak_bytes_per_image[p] = phase_peak(low, phases[p], life);
    free(life);
    return true;
}
