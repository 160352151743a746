/* SPDX-License-Identifier: MIT */
/* What the files of the oracle share, and nobody else: values with bounds, and the sum that keeps both.
 *
 * The model of an error is Higham and Mary's (2019): roundings are independent and of mean zero, so a chain of h terms
 * errs by u (4 + 6 sqrt(h)) * sum|terms| at most, with a chance below 1e-6 of being wrong. The errors that the factors
 * of the terms bring along add up in the same way: 6 times the root of the sum of their squares (Hoeffding's inequality
 * with 2 exp(-18)), or their plain sum where that is smaller, as it is up to 36 equal ones. */
#ifndef CNN_LIB_REFERENCE_INTERNAL_H
#define CNN_LIB_REFERENCE_INTERNAL_H

#include "lib/reference.h"

#include <math.h>
#include <stdint.h>

#define CNN_U 5.9604644775390625e-8 /* 2^-24, unit roundoff of fp32 */
#define CNN_FLUSHED 0x1p-120        /* what flush-to-zero or the edge of an exponential may lose of one term */
#define CNN_CHAIN(h) (CNN_U * (4.0 + 6.0 * sqrt(h))) /* relative to sum|terms| */

/* Values and what an fp32 computation may differ by; same shape. */
struct cnn_span {
    double *value, *bound;
};

static inline struct cnn_span cnn_span_at(struct cnn_span span, int64_t offset)
{
    return (struct cnn_span){ span.value + offset, span.bound + offset };
}

/* A sum of products on its way. */
struct cnn_tally {
    double value, magnitude;             /* sum of terms, of their absolute values */
    double inherited, inherited_squares; /* what the factors' bounds do to each term: sum, sum of squares */
    double terms;                        /* roundings in the chain */
};

/* Adds a * b, whose factors may be off by a_bound and b_bound; `weight` repetitions of a term make a longer chain
 * (their sum is already in a * b). */
static inline void cnn_tally_add(struct cnn_tally *tally, double a, double a_bound, double b, double b_bound,
                                 double weight)
{
    double term = a * b;
    double inherited = fabs(a) * b_bound + fabs(b) * a_bound + a_bound * b_bound;
    tally->value += term;
    tally->magnitude += fabs(term);
    tally->inherited += inherited;
    tally->inherited_squares += inherited * inherited;
    tally->terms += weight;
}

static inline double cnn_tally_inherited(const struct cnn_tally *tally)
{
    return fmin(tally->inherited, 6.0 * sqrt(tally->inherited_squares));
}

static inline double cnn_tally_bound(const struct cnn_tally *tally)
{
    double inherited = cnn_tally_inherited(tally);
    return CNN_CHAIN(tally->terms) * (tally->magnitude + inherited) + inherited + tally->terms * CNN_FLUSHED;
}

struct cnn_reference_layer {
    struct cnn_span output, delta; /* [batch][out.maps][out.rows][out.cols] */
};

struct cnn_reference {
    const struct cnn_network *network;
    int batch, count;                      /* capacity, images of the last forward */
    bool labelled;                         /* the last forward had labels */
    bool moving;                           /* velocities may differ from 0 */
    double total_weight;                   /* of the last batch's images */
    double loss_bound;                     /* of the weighted sum of the losses */
    double *parameters, *velocities;       /* arena order */
    struct cnn_span gradient;              /* arena order */
    struct cnn_span input, input_gradient; /* [batch][channels][side][side] */
    double *weights;                       /* [batch] */
    int32_t *labels;                       /* [batch] */
    struct cnn_tally *tallies;             /* one image of the largest layer input */
    struct cnn_reference_layer *layers;
    double *doubles; /* the one allocation that all of the above is carved from, but for labels, tallies and layers */
};

/* reference_layers.c. One image each; the weight gradients take the whole batch. */
void cnn_reference_layer_forward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                 struct cnn_span out);
/* From a layer's delta to the gradient by its input; `in` tells a max-pooling layer who won. */
void cnn_reference_layer_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                  struct cnn_span delta, struct cnn_tally *tallies, struct cnn_span in_gradient);
void cnn_reference_layer_gradient(const struct cnn_layer *layer, const double *weights, int count, struct cnn_span in,
                                  struct cnn_span delta, struct cnn_span gradient);

/* reference_pooling.c: the windows that have no kernel of weights. */
void cnn_reference_pooling_forward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                   struct cnn_span out);
void cnn_reference_pooling_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                    struct cnn_span delta, struct cnn_tally *tallies);
void cnn_reference_subsample_gradient(const struct cnn_layer *layer, const double *weights, int count,
                                      struct cnn_span in, struct cnn_span delta, struct cnn_span gradient);

/* reference_curves.c. In place: weighted sums become outputs; gradients by outputs become deltas. */
void cnn_reference_activate(enum cnn_activation activation, struct cnn_span span, int64_t count);
void cnn_reference_deactivate(enum cnn_activation activation, struct cnn_span output, struct cnn_span gradient,
                              int64_t count);
/* Loss of one image and its bound; `gradient` receives scale * (gradient of that loss by the outputs). */
double cnn_reference_loss(const struct cnn_network *network, struct cnn_span output, int32_t label, double *bound);
void cnn_reference_loss_gradient(const struct cnn_network *network, struct cnn_span output, int32_t label, double scale,
                                 struct cnn_span gradient);

#endif
