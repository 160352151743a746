/* SPDX-License-Identifier: MIT */
/* The canonical parameter arena: layer by layer, weights by output map, ascending connected input map, kernel row,
 * kernel column; then the layer's biases. A sub-sampling layer has its gains where others have weights. Unconnected
 * weights do not exist here. Backends exchange parameters in this order, bit for bit. */
#ifndef CNN_LIB_PARAMETERS_H
#define CNN_LIB_PARAMETERS_H

#include "lib/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes network->parameters floats: weights uniform with variance 1 / fan-in (2 / fan-in before ReLU), fan-in =
 * connected inputs of a unit (LeCun, Bottou, Orr and Mueller 1998, "Efficient BackProp"); gains 1 / window area; biases
 * 0. Each value depends on the seed and its place alone. */
void cnn_parameters_init(const struct cnn_network *network, float *parameters);

/* 64-bit FNV-1a over the bits of the values, little-endian: equal on every backend, thread count and machine. */
uint64_t cnn_checksum_floats(const float *values, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
