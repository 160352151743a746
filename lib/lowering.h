/* SPDX-License-Identifier: MIT */
/* The growing list while a network is lowered: tensors made at their first mention, operations appended with bytes,
 * lifetimes and fusion mark. Internal to lib. */
#ifndef CNN_LIB_LOWERING_H
#define CNN_LIB_LOWERING_H

#include "lib/operations.h"

#define CNN_NONE (-1) /* no tensor, no operation */

struct cnn_lowering {
    const struct cnn_network *network;
    struct cnn_operations *operations;
    int images, labels, answer, input_gradient; /* tensors of the network; CNN_NONE: not made */
    int (*at)[CNN_TENSOR_KIND_COUNT];           /* tensors of each layer by kind; CNN_NONE: not made */
    bool overflow;                              /* an amount did not fit in 63 bits */
};

int cnn_lowering_tensor(struct cnn_lowering *low, enum cnn_tensor_kind kind, int layer, struct cnn_shape shape,
                        int64_t per_image, int64_t fixed);

/* A tensor of the shape of a layer's output, and one of the size of its parameters. */
int cnn_lowering_layer_tensor(struct cnn_lowering *low, enum cnn_tensor_kind kind, int layer);
int cnn_lowering_parameter_tensor(struct cnn_lowering *low, enum cnn_tensor_kind kind, int layer);

/* Tensor lists for the next function: 1 to 3 tensors, CNN_NONE behind the last. */
#define CNN_LIST(...) ((const int[CNN_OPERATION_TENSORS + 2]){ __VA_ARGS__, CNN_NONE, CNN_NONE, CNN_NONE })

/* Appends an operation; the caller adds the work. */
struct cnn_operation *cnn_lowering_operation(struct cnn_lowering *low, enum cnn_operation_kind kind, int layer,
                                             unsigned phases, const int *reads, const int *writes);

/* Fills peak_bytes_per_image from the finished list; false where there is no memory for the lifetimes. */
bool cnn_lowering_peaks(struct cnn_lowering *low);

#endif
