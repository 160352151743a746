/* SPDX-License-Identifier: MIT */
/* Lowering: a network as an ordered list of unfused operations over named tensors. This is what backends compile; how
 * they group and lay out is their own art. Work and bytes per operation are exact and come from here alone. */
#ifndef CNN_LIB_OPERATIONS_H
#define CNN_LIB_OPERATIONS_H

#include "lib/network.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cnn_phase { CNN_PHASE_TRAIN = 1, CNN_PHASE_CLASSIFY = 2, CNN_PHASE_EVALUATE = 4, CNN_PHASE_ALL = 7 };

enum cnn_operation_kind {
    CNN_OP_COPY_IN, /* images (and labels where the phase needs them) to the device */
    CNN_OP_CONV_FORWARD,
    CNN_OP_FULL_FORWARD,
    CNN_OP_SUBSAMPLE_FORWARD, /* window sum and gain * sum + bias */
    CNN_OP_MAXPOOL_FORWARD,
    CNN_OP_AVGPOOL_FORWARD,
    CNN_OP_ACTIVATION_FORWARD,
    CNN_OP_LOSS, /* loss sum, number correct; in training also the output gradient */
    CNN_OP_ARGMAX,
    CNN_OP_ACTIVATION_BACKWARD,
    CNN_OP_CONV_BACKWARD_DATA,
    CNN_OP_FULL_BACKWARD_DATA,
    CNN_OP_SUBSAMPLE_BACKWARD_DATA,
    CNN_OP_MAXPOOL_BACKWARD,
    CNN_OP_AVGPOOL_BACKWARD,
    CNN_OP_CONV_BACKWARD_WEIGHTS, /* and biases */
    CNN_OP_FULL_BACKWARD_WEIGHTS,
    CNN_OP_SUBSAMPLE_BACKWARD_WEIGHTS, /* gains and biases */
    CNN_OP_UPDATE,                     /* of one layer */
    CNN_OP_COPY_OUT,                   /* labels, loss or outputs to the host */
    CNN_OPERATION_KIND_COUNT
};

enum cnn_tensor_kind {
    CNN_TENSOR_IMAGES,
    CNN_TENSOR_LABELS,
    CNN_TENSOR_SUM,             /* a layer's weighted sum, before its activation */
    CNN_TENSOR_OUTPUT,          /* after it; equal to the sum for a linear layer, which then has no SUM */
    CNN_TENSOR_DELTA,           /* gradient of the loss by a layer's weighted sum */
    CNN_TENSOR_OUTPUT_GRADIENT, /* gradient by a layer's output; a linear layer has only this one, called its delta too
                                 */
    CNN_TENSOR_INPUT_GRADIENT,  /* by the network's input, where asked for */
    CNN_TENSOR_PARAMETERS,      /* one layer's */
    CNN_TENSOR_PARAMETER_GRADIENT,
    CNN_TENSOR_VELOCITY, /* momentum */
    CNN_TENSOR_MAXIMUM,  /* place of each maximum (int32) */
    CNN_TENSOR_ANSWER,   /* loss, correct, labels, outputs */
    CNN_TENSOR_KIND_COUNT
};

/* One tensor. Per-image tensors have `per_image` elements for every image of the batch; parameter tensors have `fixed`.
 */
struct cnn_tensor {
    enum cnn_tensor_kind kind;
    int layer; /* -1: of the network */
    struct cnn_shape shape;
    int64_t per_image, fixed;
    int first, last; /* lifetime: first and last operation that touches it, over all phases; -1: never */
};

#define CNN_OPERATION_TENSORS 4 /* at most 3 are used: a list always ends in -1 */

struct cnn_operation {
    enum cnn_operation_kind kind;
    int layer;                        /* -1: of the network */
    unsigned phases;                  /* bits of enum cnn_phase */
    int reads[CNN_OPERATION_TENSORS]; /* tensor numbers, -1 behind the last */
    int writes[CNN_OPERATION_TENSORS];
    int64_t flops, flops_dense; /* of one image: 2 * MACs of connected pairs, and of all pairs; 0 for others */
    int64_t other_flops; /* of one image: bias, activation, pooling, loss; of an update: per step. Never in FLOP/s */
    int64_t bytes_per_image, bytes_fixed; /* each tensor once, fp32 */
    bool fuses_with_previous; /* reads what the operation before it in each of its phases wrote, image by image (an
                                 update: weight by weight), so that both may run in one kernel */
};

struct cnn_operations {
    int count, tensor_count;
    struct cnn_operation
        *list; /* in an order in which they may run; update order = order in which gradients are ready */
    struct cnn_tensor *tensors;
    /* Bytes of a batch per image, the lower bound that lifetimes allow when dead tensors give up their place and
     * activations run in place: */
    int64_t peak_bytes_per_image[3]; /* train, classify, evaluate: activations, gradients and the input together */
};

int cnn_operations_create(struct cnn_operations **out, const struct cnn_network *network, struct cnn_error *error);
void cnn_operations_destroy(struct cnn_operations *operations);

const char *cnn_operation_kind_name(enum cnn_operation_kind kind); /* "conv_forward", ... */
bool cnn_operation_kind_parse(const char *word, enum cnn_operation_kind *out);
const char *cnn_tensor_kind_name(enum cnn_tensor_kind kind);

#ifdef __cplusplus
}
#endif
#endif
