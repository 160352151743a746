/* SPDX-License-Identifier: MIT */
/* What the files of the oracle share, and nobody else: values that know how far fp32 may be from them, and the sum that
 * keeps track of it.
 *
 * The model of an error is Higham and Mary's (2019): roundings are independent and of mean zero, so a chain of h terms
 * errs by u (4 + 6 sqrt(h)) * sum|terms| at most, 6 standard deviations. What the factors of the terms bring along is
 * carried in two ways. The bound adds up in the worst way, sum|w| * bound, as interval arithmetic does; that is close
 * for short sums and hopeless after a few wide layers. The scale, 6 standard deviations too, adds up as independent
 * errors do, by squares. A bound is the smaller of the worst case and twice the scale; the factor 2 is for errors that
 * do go together, such as those of the four pixels of a window.
 *
 * Tensor cores round both factors of a product first. To 11 bits (tf32) each is off by 2^-11 of itself at most: 2 *
 * 2^-11
 * * sum|terms| in the worst way. Such an error is spread evenly between its ends, so its standard deviation is 3^-1/2
 * of them, that of a product of two 2^1/2 times as much. */
#ifndef CNN_LIB_REFERENCE_INTERNAL_H
#define CNN_LIB_REFERENCE_INTERNAL_H

#include "lib/reference.h"

#include <math.h>
#include <stdint.h>

#define CNN_U 5.9604644775390625e-8 /* 2^-24, unit roundoff of fp32 */
#define CNN_FLUSHED 0x1p-120        /* what flush-to-zero or the edge of an exponential may lose of one term */
#define CNN_CHAIN(h) (CNN_U * (4.0 + 6.0 * sqrt(h))) /* relative to sum|terms| */

#define CNN_TOGETHER 2.0

/* On the way back in tf32: one rounded weight is behind errors at all places and in all images. Of 4,000 random
 * networks the worst without corners (rectifiers, maxima) exceeded CNN_TOGETHER by a few per cent. */
#define CNN_TOGETHER_BACK (2.0 * CNN_TOGETHER)

#define CNN_TF32_ROUNDING 0x1p-11 /* of one factor, relative */
#define CNN_PAIR_SCALE 4.9        /* 6 * sqrt(2 / 3): 6 standard deviations of a product, in units of that */

/* One value: |fp32 - value| <= bound; scale is 6 standard deviations. */
struct cnn_number {
    double value, bound, scale;
};

/* Many of them; same shape. */
struct cnn_span {
    double *value, *bound, *scale;
};

static inline struct cnn_span cnn_span_at(struct cnn_span span, int64_t offset)
{
    return (struct cnn_span){ span.value + offset, span.bound + offset, span.scale + offset };
}

static inline struct cnn_number cnn_span_get(struct cnn_span span, int64_t at)
{
    return (struct cnn_number){ span.value[at], span.bound[at], span.scale[at] };
}

static inline void cnn_span_set(struct cnn_span span, int64_t at, struct cnn_number number)
{
    span.value[at] = number.value;
    span.bound[at] = number.bound;
    span.scale[at] = number.scale;
}

static inline struct cnn_number cnn_exact(double value)
{
    return (struct cnn_number){ value, 0.0, 0.0 };
}

/* A sum of products on its way. */
struct cnn_tally {
    double value, magnitude;   /* sum of terms, of their absolute values */
    double energy;             /* sum of squares of terms */
    double inherited, squares; /* what the factors' bounds add at most; sum of squares of what their scales add */
    double terms;              /* roundings in the chain */
};

/* Adds w * x, w exact. `weight` repetitions of a term make a longer chain (their sum is already in the product). */
static inline void cnn_tally_add(struct cnn_tally *tally, double w, struct cnn_number x, double weight)
{
    double term = w * x.value, scale = w * x.scale;
    tally->value += term;
    tally->magnitude += fabs(term);
    tally->energy += term * term;
    tally->inherited += fabs(w) * x.bound;
    tally->squares += scale * scale;
    tally->terms += weight;
}

/* Adds a * b, both inexact. */
static inline void cnn_tally_multiply(struct cnn_tally *tally, struct cnn_number a, struct cnn_number b, double weight)
{
    double term = a.value * b.value;
    double scale = fabs(a.value) * b.scale + fabs(b.value) * a.scale + a.scale * b.scale;
    tally->value += term;
    tally->magnitude += fabs(term);
    tally->energy += term * term;
    tally->inherited += fabs(a.value) * b.bound + fabs(b.value) * a.bound + a.bound * b.bound;
    tally->squares += scale * scale;
    tally->terms += weight;
}

/* `rounding` of each factor before its product, relative: 0 where fp32 multiplies what it has. `together`: by how much
 * errors that have one cause add up to more than their squares do. */
static inline struct cnn_number cnn_tally_rounded(const struct cnn_tally *tally, double rounding, double together)
{
    double own = CNN_CHAIN(tally->terms) * tally->magnitude + tally->terms * CNN_FLUSHED;
    double worst = own + 2.0 * rounding * tally->magnitude + tally->inherited, pair = CNN_PAIR_SCALE * rounding;
    double scale = sqrt(own * own + pair * pair * tally->energy + tally->squares);
    double likely = together * scale; /* infinity times 0 is not a number, and smaller than nothing */
    return (struct cnn_number){ tally->value, likely < worst ? likely : worst, scale };
}

static inline struct cnn_number cnn_tally_number(const struct cnn_tally *tally)
{
    return cnn_tally_rounded(tally, 0.0, CNN_TOGETHER);
}

/* Two sums go side by side, each in its own order: of two maps whose terms stand at the same places. Vectors of two
 * doubles are what the plainest x86-64 and Arm processors have, and nothing here lets a compiler join a product and a
 * sum, so the results are those of one sum after the other to the last bit. */
typedef double cnn_two __attribute__((vector_size(16)));

struct cnn_numbers {
    cnn_two value, bound, scale;
};

struct cnn_tallies {
    cnn_two value, magnitude, energy, inherited, squares, terms;
};

static inline cnn_two cnn_two_abs(cnn_two x)
{
    typedef int64_t bits __attribute__((vector_size(16)));
    return (cnn_two)((bits)x & (bits){ INT64_MAX, INT64_MAX });
}

static inline struct cnn_numbers cnn_span_two(struct cnn_span span, int64_t a, int64_t b)
{
    return (struct cnn_numbers){ { span.value[a], span.value[b] },
                                 { span.bound[a], span.bound[b] },
                                 { span.scale[a], span.scale[b] } };
}

/* cnn_tally_add() of both, but for the terms, which the caller counts. */
static inline void cnn_tallies_add(struct cnn_tallies *tallies, cnn_two w, struct cnn_numbers x)
{
    cnn_two term = w * x.value, scale = w * x.scale;
    tallies->value += term;
    tallies->magnitude += cnn_two_abs(term);
    tallies->energy += term * term;
    tallies->inherited += cnn_two_abs(w) * x.bound;
    tallies->squares += scale * scale;
}

/* cnn_tally_multiply() of both, but for the terms. */
static inline void cnn_tallies_multiply(struct cnn_tallies *tallies, struct cnn_numbers a, struct cnn_numbers b)
{
    cnn_two term = a.value * b.value, a_size = cnn_two_abs(a.value), b_size = cnn_two_abs(b.value);
    cnn_two scale = a_size * b.scale + b_size * a.scale + a.scale * b.scale;
    tallies->value += term;
    tallies->magnitude += cnn_two_abs(term);
    tallies->energy += term * term;
    tallies->inherited += a_size * b.bound + b_size * a.bound + a.bound * b.bound;
    tallies->squares += scale * scale;
}

static inline struct cnn_tallies cnn_tallies_of(const struct cnn_tally *a, const struct cnn_tally *b)
{
    return (struct cnn_tallies){ { a->value, b->value },     { a->magnitude, b->magnitude },
                                 { a->energy, b->energy },   { a->inherited, b->inherited },
                                 { a->squares, b->squares }, { a->terms, b->terms } };
}

static inline struct cnn_tally cnn_tallies_one(const struct cnn_tallies *tallies, int which)
{
    return (struct cnn_tally){ tallies->value[which],     tallies->magnitude[which], tallies->energy[which],
                               tallies->inherited[which], tallies->squares[which],   tallies->terms[which] };
}

static inline void cnn_tallies_count(struct cnn_tallies *tallies, double terms)
{
    tallies->terms += terms;
}

/* cnn_tally_rounded() of both; the second goes to b, which may be a where both are the same. */
static inline void cnn_span_set_two(struct cnn_span span, int64_t a, int64_t b, const struct cnn_tallies *tallies,
                                    double rounding, double together)
{
    struct cnn_tally first = cnn_tallies_one(tallies, 0), second = cnn_tallies_one(tallies, 1);
    cnn_span_set(span, a, cnn_tally_rounded(&first, rounding, together));
    cnn_span_set(span, b, cnn_tally_rounded(&second, rounding, together));
}

static inline double cnn_together_back(double rounding)
{
    return rounding > 0.0 ? CNN_TOGETHER_BACK : CNN_TOGETHER;
}

struct cnn_reference_layer {
    struct cnn_span output, delta; /* [batch][out.maps][out.rows][out.cols] */
};

struct cnn_reference {
    const struct cnn_network *network;
    int batch, count;                      /* capacity, images of the last forward */
    bool labelled;                         /* the last forward had labels */
    bool moving;                           /* velocities may differ from 0 */
    double rounding;                       /* of the factors of convolutions and full layers, relative */
    double total_weight;                   /* of the last batch's images */
    double loss_bound;                     /* of the weighted sum of the losses */
    double *parameters, *velocities;       /* arena order */
    struct cnn_span gradient;              /* arena order */
    struct cnn_span input, input_gradient; /* [batch][channels][side][side] */
    double *weights;                       /* [batch] */
    int32_t *labels;                       /* [batch] */
    struct cnn_tally *tallies;             /* [batch][the largest layer input] */
    cnn_reference_runner *run;
    bool skips_input_gradient;
    struct cnn_reference_layer *layers;
    double *doubles; /* the one allocation that all of the above is carved from, but for labels, tallies and layers */
};

/* reference_layers.c. One image, and of it the maps from `begin` up to `end`: of the output forward, of the input
 * backward. A weight gradient takes the whole batch, and the weights of output maps `begin` up to `end`. Nobody else
 * writes there, so that ranges may run at the same time, and no sum is shared out. `rounding` goes into the bounds of
 * convolutions and full layers. */
void cnn_reference_layer_forward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                 struct cnn_span in, struct cnn_span out, int begin, int end);
/* From a layer's delta to the gradient by its input; `in` tells a max-pooling layer who won. `tallies`: one image of
 * the input, for the same maps. */
void cnn_reference_layer_backward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                  struct cnn_span in, struct cnn_span delta, struct cnn_tally *tallies,
                                  struct cnn_span in_gradient, int begin, int end);
void cnn_reference_layer_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                  struct cnn_span in, struct cnn_span delta, struct cnn_span gradient, int begin,
                                  int end);

/* reference_full.c: the same, where every output sees the whole input. */
bool cnn_reference_is_full(const struct cnn_layer *layer);
void cnn_reference_full_forward(const struct cnn_layer *layer, const double *parameters, double rounding,
                                struct cnn_span in, struct cnn_span out, int begin, int end);
void cnn_reference_full_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span delta,
                                 struct cnn_tally *tallies, int begin, int end);
void cnn_reference_full_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                 struct cnn_span in, struct cnn_span delta, struct cnn_span gradient, int begin,
                                 int end);

/* reference_pooling.c: the windows that have no kernel of weights. */
void cnn_reference_pooling_forward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                   struct cnn_span out, int begin, int end);
void cnn_reference_pooling_backward(const struct cnn_layer *layer, const double *parameters, struct cnn_span in,
                                    struct cnn_span delta, struct cnn_tally *tallies, int begin, int end);
void cnn_reference_subsample_gradient(const struct cnn_layer *layer, const double *weights, double rounding, int count,
                                      struct cnn_span in, struct cnn_span delta, struct cnn_span gradient, int begin,
                                      int end);

/* reference_curves.c. In place: weighted sums become outputs; gradients by outputs become deltas. */
void cnn_reference_activate(enum cnn_activation activation, struct cnn_span span, int64_t count);
void cnn_reference_deactivate(enum cnn_activation activation, struct cnn_span output, struct cnn_span gradient,
                              int64_t count);
/* Loss of one image; `gradient` receives scale * (gradient of that loss by the outputs). */
struct cnn_number cnn_reference_loss(const struct cnn_network *network, struct cnn_span output, int32_t label);
void cnn_reference_loss_gradient(const struct cnn_network *network, struct cnn_span output, int32_t label, double scale,
                                 struct cnn_span gradient);

#endif
