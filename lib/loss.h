/* SPDX-License-Identifier: MIT */
/* Loss and answer on the host, in fp32 inputs and double sums. Used where outputs come back to the host (copies =
 * paper), and by whoever has outputs in hand. */
#ifndef CNN_LIB_LOSS_H
#define CNN_LIB_LOSS_H

#include "lib/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The targets of the loss: value of the labelled class and of the others. +1 and -1; 1 and 0 for logistic outputs. */
void cnn_loss_targets(const struct cnn_network *network, float *on, float *off);

/* Sum (not mean) of the losses of `count` images; outputs [count][classes]. Where `gradient` is not NULL it receives
 * the gradient of the mean loss by the outputs (after the output activation), [count][classes]. */
double cnn_loss_host(const struct cnn_network *network, const float *outputs, const int32_t *labels, int count,
                     float *gradient);

/* Index of the largest output, lowest index on ties, -1 if any is NaN. A single output y means label 0 where it is at
 * or above the middle of its targets (0 for tanh and linear, 0.5 for logistic) and label 1 below. */
int32_t cnn_answer_label(const struct cnn_network *network, const float *outputs);

#ifdef __cplusplus
}
#endif
#endif
