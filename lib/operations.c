/* SPDX-License-Identifier: MIT */
/* Lowering: one forward pass over the layers, one backward pass, with the exact work of every operation.
 *
 * Backward order of layer l: gradient by its input; activation of layer l - 1 (fuses with it); weight gradient of l;
 * its update (fuses with that). The first layer with weights, and pooling before it, need no gradient by their inputs
 * unless the network asks for it.
 *
 * Beside multiply-accumulates, work is counted by these rules: an addition, product, comparison, division or
 * transcendental function is 1; a window of n pixels takes n - 1 additions or comparisons. */
#include "lib/operations.h"

#include "lib/checked.h"
#include "lib/lowering.h"
#include "lib/names.h"

#include <stdlib.h>

/* Most that one layer and the network beside its layers can have. */
#define LAYER_TENSORS 8
#define LAYER_OPERATIONS 7
#define NETWORK_TENSORS 4
#define NETWORK_OPERATIONS 7

static const char *const operation_kinds[CNN_OPERATION_KIND_COUNT] = {
    "copy_in",
    "conv_forward",
    "full_forward",
    "subsample_forward",
    "maxpool_forward",
    "avgpool_forward",
    "activation_forward",
    "loss",
    "argmax",
    "activation_backward",
    "conv_backward_data",
    "full_backward_data",
    "subsample_backward_data",
    "maxpool_backward",
    "avgpool_backward",
    "conv_backward_weights",
    "full_backward_weights",
    "subsample_backward_weights",
    "update",
    "copy_out",
};

static const char *const tensor_kinds[CNN_TENSOR_KIND_COUNT] = {
    "images",         "labels",     "sum",
    "output",         "delta",      "output_gradient",
    "input_gradient", "parameters", "parameter_gradient",
    "velocity",       "maximum",    "answer",
};

const char *cnn_operation_kind_name(enum cnn_operation_kind kind)
{
    return cnn_name_of(operation_kinds, CNN_OPERATION_KIND_COUNT, (int)kind);
}

bool cnn_operation_kind_parse(const char *word, enum cnn_operation_kind *out)
{
    int found = cnn_name_find(operation_kinds, CNN_OPERATION_KIND_COUNT, word);
    if (found == CNN_OPERATION_KIND_COUNT)
        return false;
    *out = (enum cnn_operation_kind)found;
    return true;
}

const char *cnn_tensor_kind_name(enum cnn_tensor_kind kind)
{
    return cnn_name_of(tensor_kinds, CNN_TENSOR_KIND_COUNT, (int)kind);
}

static const struct cnn_layer *layer_of(const struct cnn_lowering *low, int layer)
{
    return &low->network->layers[layer];
}

static bool is_linear(const struct cnn_lowering *low, int layer)
{
    return layer_of(low, layer)->activation == CNN_LINEAR;
}

static int sum_of(struct cnn_lowering *low, int layer)
{
    return cnn_lowering_layer_tensor(low, is_linear(low, layer) ? CNN_TENSOR_OUTPUT : CNN_TENSOR_SUM, layer);
}

static int output_of(struct cnn_lowering *low, int layer)
{
    return layer < 0 ? low->images : cnn_lowering_layer_tensor(low, CNN_TENSOR_OUTPUT, layer);
}

static int output_gradient_of(struct cnn_lowering *low, int layer)
{
    return layer < 0 ? low->input_gradient : cnn_lowering_layer_tensor(low, CNN_TENSOR_OUTPUT_GRADIENT, layer);
}

static int delta_of(struct cnn_lowering *low, int layer)
{
    return cnn_lowering_layer_tensor(low, is_linear(low, layer) ? CNN_TENSOR_OUTPUT_GRADIENT : CNN_TENSOR_DELTA, layer);
}

static int parameters_of(struct cnn_lowering *low, int layer)
{
    return cnn_lowering_parameter_tensor(low, CNN_TENSOR_PARAMETERS, layer);
}

static int64_t out_size(const struct cnn_lowering *low, int layer)
{
    return cnn_shape_size(layer_of(low, layer)->out);
}

/* Every product below stays within the room that building the network kept. */
static int64_t window_of(const struct cnn_lowering *low, int layer)
{
    return (int64_t)layer_of(low, layer)->kernel_rows * layer_of(low, layer)->kernel_cols;
}

/* 1.7159 tanh(2x/3): two products more than tanh; logistic: negation, exp, sum, quotient. */
static int activation_forward_flops(enum cnn_activation activation)
{
    static const int flops[CNN_ACTIVATION_COUNT] = { 0, 1, 3, 4, 1 };
    return flops[activation];
}

/* From the output y: tanh g (1 - y^2); LeCun's g (a - b y^2); logistic g y (1 - y); ReLU y > 0 ? g : 0. */
static int activation_backward_flops(enum cnn_activation activation)
{
    static const int flops[CNN_ACTIVATION_COUNT] = { 0, 3, 4, 3, 1 };
    return flops[activation];
}

static void lower_activation_forward(struct cnn_lowering *low, int layer)
{
    if (is_linear(low, layer))
        return;
    int sum = sum_of(low, layer), output = output_of(low, layer);
    cnn_lowering_operation(low, CNN_OP_ACTIVATION_FORWARD, layer, CNN_PHASE_ALL, CNN_LIST(sum), CNN_LIST(output))
        ->other_flops = out_size(low, layer) * activation_forward_flops(layer_of(low, layer)->activation);
}

/* The places of the maxima are written only where training walks back through the layer. */
static void lower_maxpool_forward(struct cnn_lowering *low, int layer, bool goes_back)
{
    int input = output_of(low, layer - 1), sum = sum_of(low, layer);
    int64_t comparisons = out_size(low, layer) * (window_of(low, layer) - 1);
    unsigned phases = CNN_PHASE_ALL;
    if (goes_back) {
        int maximum = cnn_lowering_layer_tensor(low, CNN_TENSOR_MAXIMUM, layer);
        phases &= ~(unsigned)CNN_PHASE_TRAIN;
        cnn_lowering_operation(low, CNN_OP_MAXPOOL_FORWARD, layer, CNN_PHASE_TRAIN, CNN_LIST(input),
                               CNN_LIST(sum, maximum))
            ->other_flops = comparisons;
    }
    cnn_lowering_operation(low, CNN_OP_MAXPOOL_FORWARD, layer, phases, CNN_LIST(input), CNN_LIST(sum))->other_flops =
        comparisons;
}

static void lower_weighted_forward(struct cnn_lowering *low, int layer)
{
    const struct cnn_layer *of = layer_of(low, layer);
    enum cnn_operation_kind kind = of->kind == CNN_CONV   ? CNN_OP_CONV_FORWARD
                                   : of->kind == CNN_FULL ? CNN_OP_FULL_FORWARD
                                                          : CNN_OP_SUBSAMPLE_FORWARD;
    int input = output_of(low, layer - 1), parameters = parameters_of(low, layer), sum = sum_of(low, layer);
    struct cnn_operation *operation =
        cnn_lowering_operation(low, kind, layer, CNN_PHASE_ALL, CNN_LIST(input, parameters), CNN_LIST(sum));
    operation->flops = 2 * of->macs;
    operation->flops_dense = 2 * of->macs_dense;
    operation->other_flops = out_size(low, layer); /* bias */
    if (of->kind == CNN_SUBSAMPLE)
        operation->other_flops = out_size(low, layer) * (window_of(low, layer) + 1); /* window sum, gain, bias */
}

static void lower_forward(struct cnn_lowering *low, int layer, bool goes_back)
{
    switch (layer_of(low, layer)->kind) {
    case CNN_MAXPOOL:
        lower_maxpool_forward(low, layer, goes_back);
        break;
    case CNN_AVGPOOL: {
        int input = output_of(low, layer - 1), sum = sum_of(low, layer);
        cnn_lowering_operation(low, CNN_OP_AVGPOOL_FORWARD, layer, CNN_PHASE_ALL, CNN_LIST(input), CNN_LIST(sum))
            ->other_flops = out_size(low, layer) * window_of(low, layer);
        break;
    }
    default:
        lower_weighted_forward(low, layer);
    }
    lower_activation_forward(low, layer);
}

/* MSE: difference, square, sum for each output; softmax: largest, difference, exponential, sum. Both find the label
 * (classes - 1 comparisons); training scales each gradient (softmax: after a quotient and a difference). */
static void lower_answers(struct cnn_lowering *low)
{
    int last = low->network->layer_count - 1, output = output_of(low, last);
    int64_t classes = low->network->classes;
    bool softmax = low->network->loss == CNN_SOFTMAX;
    int64_t value = classes * (softmax ? 4 : 3) + classes - 1, gradient = classes * (softmax ? 3 : 1);

    cnn_lowering_operation(low, CNN_OP_LOSS, CNN_NONE, CNN_PHASE_EVALUATE, CNN_LIST(output, low->labels),
                           CNN_LIST(low->answer))
        ->other_flops = value;
    cnn_lowering_operation(low, CNN_OP_ARGMAX, CNN_NONE, CNN_PHASE_CLASSIFY, CNN_LIST(output), CNN_LIST(low->answer))
        ->other_flops = classes - 1;
    int output_gradient = output_gradient_of(low, last);
    cnn_lowering_operation(low, CNN_OP_LOSS, CNN_NONE, CNN_PHASE_TRAIN, CNN_LIST(output, low->labels),
                           CNN_LIST(output_gradient, low->answer))
        ->other_flops = value + gradient;
}

static void lower_activation_backward(struct cnn_lowering *low, int layer)
{
    if (is_linear(low, layer))
        return;
    int gradient = output_gradient_of(low, layer), output = output_of(low, layer), delta = delta_of(low, layer);
    cnn_lowering_operation(low, CNN_OP_ACTIVATION_BACKWARD, layer, CNN_PHASE_TRAIN, CNN_LIST(gradient, output),
                           CNN_LIST(delta))
        ->other_flops = out_size(low, layer) * activation_backward_flops(layer_of(low, layer)->activation);
}

/* Gradient by the layer's input. A window's pixels share one product and take an addition each. */
static void lower_backward_data(struct cnn_lowering *low, int layer)
{
    const struct cnn_layer *of = layer_of(low, layer);
    int delta = delta_of(low, layer), gradient = output_gradient_of(low, layer - 1);
    int64_t out = out_size(low, layer), window = window_of(low, layer);
    struct cnn_operation *operation;
    if (of->kind == CNN_MAXPOOL) {
        int maximum = cnn_lowering_layer_tensor(low, CNN_TENSOR_MAXIMUM, layer);
        operation = cnn_lowering_operation(low, CNN_OP_MAXPOOL_BACKWARD, layer, CNN_PHASE_TRAIN,
                                           CNN_LIST(delta, maximum), CNN_LIST(gradient));
        operation->other_flops = out;
    } else if (of->kind == CNN_AVGPOOL) {
        operation = cnn_lowering_operation(low, CNN_OP_AVGPOOL_BACKWARD, layer, CNN_PHASE_TRAIN, CNN_LIST(delta),
                                           CNN_LIST(gradient));
        operation->other_flops = out * (window + 1);
    } else {
        enum cnn_operation_kind kind = of->kind == CNN_CONV   ? CNN_OP_CONV_BACKWARD_DATA
                                       : of->kind == CNN_FULL ? CNN_OP_FULL_BACKWARD_DATA
                                                              : CNN_OP_SUBSAMPLE_BACKWARD_DATA;
        int parameters = parameters_of(low, layer);
        operation =
            cnn_lowering_operation(low, kind, layer, CNN_PHASE_TRAIN, CNN_LIST(delta, parameters), CNN_LIST(gradient));
        operation->flops = 2 * of->macs;
        operation->flops_dense = 2 * of->macs_dense;
        if (of->kind == CNN_SUBSAMPLE)
            operation->other_flops = out * (window + 1);
    }
}

/* Gradient of weights and biases, then the update: v = mu v + g + decay w and w -= rate v are 6 for a weight, 4 for a
 * gain or bias, which do not decay. */
static void lower_weights(struct cnn_lowering *low, int layer)
{
    const struct cnn_layer *of = layer_of(low, layer);
    enum cnn_operation_kind kind = of->kind == CNN_CONV   ? CNN_OP_CONV_BACKWARD_WEIGHTS
                                   : of->kind == CNN_FULL ? CNN_OP_FULL_BACKWARD_WEIGHTS
                                                          : CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS;
    int input = output_of(low, layer - 1), delta = delta_of(low, layer), parameters = parameters_of(low, layer);
    int gradient = cnn_lowering_parameter_tensor(low, CNN_TENSOR_PARAMETER_GRADIENT, layer);
    int velocity = cnn_lowering_parameter_tensor(low, CNN_TENSOR_VELOCITY, layer);
    struct cnn_operation *operation =
        cnn_lowering_operation(low, kind, layer, CNN_PHASE_TRAIN, CNN_LIST(delta, input), CNN_LIST(gradient));
    operation->flops = 2 * of->macs;
    operation->flops_dense = 2 * of->macs_dense;
    operation->other_flops = out_size(low, layer); /* bias */
    if (of->kind == CNN_SUBSAMPLE)                 /* window sum again, its product with delta, two sums */
        operation->other_flops = out_size(low, layer) * (window_of(low, layer) + 2);

    operation = cnn_lowering_operation(low, CNN_OP_UPDATE, layer, CNN_PHASE_TRAIN,
                                       CNN_LIST(gradient, parameters, velocity), CNN_LIST(parameters, velocity));
    operation->other_flops = of->weights * (of->kind == CNN_SUBSAMPLE ? 4 : 6) + of->biases * 4;
}

static void lower_copy_in(struct cnn_lowering *low)
{
    struct cnn_shape none = { 0, 0, 0 }, input = low->network->input;
    low->images = cnn_lowering_tensor(low, CNN_TENSOR_IMAGES, CNN_NONE, input, cnn_shape_size(input), 0);
    low->labels = cnn_lowering_tensor(low, CNN_TENSOR_LABELS, CNN_NONE, none, 1, 0);
    /* A label for each image; loss sum and number correct. */
    low->answer = cnn_lowering_tensor(low, CNN_TENSOR_ANSWER, CNN_NONE, none, 1, 2);
    if (low->network->spec.input_gradient)
        low->input_gradient =
            cnn_lowering_tensor(low, CNN_TENSOR_INPUT_GRADIENT, CNN_NONE, input, cnn_shape_size(input), 0);
    cnn_lowering_operation(low, CNN_OP_COPY_IN, CNN_NONE, CNN_PHASE_ALL, CNN_LIST(CNN_NONE), CNN_LIST(low->images));
    cnn_lowering_operation(low, CNN_OP_COPY_IN, CNN_NONE, CNN_PHASE_TRAIN | CNN_PHASE_EVALUATE, CNN_LIST(CNN_NONE),
                           CNN_LIST(low->labels));
}

/* The first layer that trains; backward goes no further than that. */
static int first_with_weights(const struct cnn_network *network)
{
    int layer = 0;
    while (network->layers[layer].weights == 0)
        layer++;
    return layer;
}

static void lower(struct cnn_lowering *low)
{
    int count = low->network->layer_count;
    int first = first_with_weights(low->network);
    int first_back = low->network->spec.input_gradient ? 0 : first + 1; /* gradients by inputs go down to this layer */
    lower_copy_in(low);
    for (int layer = 0; layer < count; layer++)
        lower_forward(low, layer, layer >= first_back);
    lower_answers(low);
    lower_activation_backward(low, count - 1);
    for (int layer = count - 1; layer >= first_back || layer >= first; layer--) {
        if (layer >= first_back) {
            lower_backward_data(low, layer);
            if (layer > 0)
                lower_activation_backward(low, layer - 1);
        }
        if (layer_of(low, layer)->weights > 0)
            lower_weights(low, layer);
    }
    cnn_lowering_operation(low, CNN_OP_COPY_OUT, CNN_NONE, CNN_PHASE_ALL, CNN_LIST(low->answer), CNN_LIST(CNN_NONE));
}

int cnn_operations_create(struct cnn_operations **out, const struct cnn_network *network, struct cnn_error *error)
{
    size_t layers = (size_t)network->layer_count; /* at most CNN_LAYERS_MAX */
    struct cnn_lowering low = { .network = network, .input_gradient = CNN_NONE };
    struct cnn_operations *operations = low.operations = calloc(1, sizeof *operations);
    int status = CNN_OK;
    low.at = malloc(sizeof *low.at * layers);
    if (operations) {
        operations->list = calloc(LAYER_OPERATIONS * layers + NETWORK_OPERATIONS, sizeof *operations->list);
        operations->tensors = calloc(LAYER_TENSORS * layers + NETWORK_TENSORS, sizeof *operations->tensors);
    }
    if (!low.at || !operations || !operations->list || !operations->tensors)
        goto no_memory;
    for (size_t layer = 0; layer < layers; layer++)
        for (int kind = 0; kind < CNN_TENSOR_KIND_COUNT; kind++)
            low.at[layer][kind] = CNN_NONE;
    lower(&low);
    if (!cnn_lowering_peaks(&low))
        goto no_memory;
    if (low.overflow) {
        status = cnn_error_set(error, CNN_INVALID,
                               "%s: the bytes of its operations do not fit in 63 bits: make width or "
                               "image smaller",
                               network->spec.name);
        goto done;
    }
    *out = operations;
    operations = NULL;
    goto done;
no_memory:
    status = cnn_error_set(error, CNN_OOM, "%s: no memory for the operations of %d layers", network->spec.name,
                           network->layer_count);
done:
    cnn_operations_destroy(operations);
    free(low.at);
    return status;
}

void cnn_operations_destroy(struct cnn_operations *operations)
{
    if (!operations)
        return;
    free(operations->list);
    free(operations->tensors);
    free(operations);
}
