/* SPDX-License-Identifier: MIT */
/* The oracle: the network in double precision with the dullest possible loops, sharing no code with any backend. With
 * every value it can carry the sum of the magnitudes of the terms that made it, from which the tests derive their
 * bounds. */
#ifndef CNN_LIB_REFERENCE_H
#define CNN_LIB_REFERENCE_H

#include "lib/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cnn_reference; /* parameters, velocities and every tensor of the last batch, in double */

/* `batch` images at most. CNN_OOM when memory does not suffice. */
int cnn_reference_create(struct cnn_reference **out, const struct cnn_network *network, int batch,
                         struct cnn_error *error);
void cnn_reference_destroy(struct cnn_reference *reference);

/* Of the computations that the bounds below allow; fp32 unless told. The values are the same. */
void cnn_reference_set_precision(struct cnn_reference *reference, enum cnn_precision precision);

/* What is independent of each other may be shared out: calls work(what, begin, end) for ranges that make up 0..count,
 * on any threads, and returns when all are done. Every sum is made by one of them, in its own order, so that results do
 * not depend on how many there are. Without it (NULL) the caller's thread does everything. Layers that are too small to
 * gain anything are not shared out. */
typedef void cnn_reference_work(void *what, int64_t begin, int64_t end);
typedef void cnn_reference_runner(cnn_reference_work *work, void *what, int64_t count);
void cnn_reference_set_runner(struct cnn_reference *reference, cnn_reference_runner *runner);

/* Backward leaves out the gradient of the network's input, whose values are then undefined. */
void cnn_reference_skip_input_gradient(struct cnn_reference *reference);

void cnn_reference_write_parameters(struct cnn_reference *reference, const float *parameters); /* clears velocities */
double *cnn_reference_parameters(struct cnn_reference *reference); /* the arena, to read or perturb */

/* Forward and, with `labels`, loss of 1..batch images. `weights` (NULL: all 1) counts image i weights[i] times in loss
 * and mean, so that a batch of repeated images costs its distinct ones only. Returns the weighted sum of the losses (0
 * without labels). */
double cnn_reference_forward(struct cnn_reference *reference, const float *images, const int32_t *labels,
                             const double *weights, int count);

/* Backward of the last forward, which must have had labels: gradients of the weighted mean loss. So the delta of image
 * i is that of all its weights[i] repetitions together. */
void cnn_reference_backward(struct cnn_reference *reference);

/* v = momentum v + g + decay w (weights of conv and full layers only); w -= rate v. */
void cnn_reference_update(struct cnn_reference *reference, double rate, double momentum, double decay);

/* Tensors of the last batch, canonical order, [count][maps][rows][cols]. */
const double *cnn_reference_output(const struct cnn_reference *reference, int layer);
const double *cnn_reference_delta(const struct cnn_reference *reference, int layer); /* by the weighted sum */
const double *cnn_reference_input_gradient(const struct cnn_reference *reference);   /* unless skipped */
const double *cnn_reference_gradient(const struct cnn_reference *reference);         /* arena order, without decay */

/* Predicted label of image i of the last forward; lib/loss.h says what it means. */
int32_t cnn_reference_label(const struct cnn_reference *reference, int image);

/* What error an fp32 computation may have against each value above, u = 2^-24: the rounding of every chain of h terms,
 * u (4 + 6 sqrt(h)) * sum|terms| (Higham and Mary 2019), plus what the inputs' own bounds propagate through the weights
 * and the activation's slope. A convolution or full layer in tf32 may err by 2 * 2^-11 * sum|terms| more: both factors
 * are rounded to 11 bits. Same shapes as the values; computed by forward and backward. */
const double *cnn_reference_output_bound(const struct cnn_reference *reference, int layer);
const double *cnn_reference_delta_bound(const struct cnn_reference *reference, int layer);
const double *cnn_reference_input_gradient_bound(const struct cnn_reference *reference);
const double *cnn_reference_gradient_bound(const struct cnn_reference *reference);
double cnn_reference_loss_bound(const struct cnn_reference *reference); /* of the sum that forward returned */

#ifdef __cplusplus
}
#endif
#endif
