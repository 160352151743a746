/* SPDX-License-Identifier: MIT */
/* Random distortions of training images: affine ones, and the elastic ones of Simard, Steinkraus and Platt ("Best
 * practices for convolutional neural networks", ICDAR 2003). What becomes of an image is a pure function of the seed,
 * the epoch and the image's number, so every backend trains on the same ones. */
#ifndef CNN_LIB_DISTORT_H
#define CNN_LIB_DISTORT_H

#include "lib/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest values; what happens is drawn evenly within them, once for an image. All zero: none. */
struct cnn_distortion {
    double rotate;  /* degrees, either way */
    double zoom;    /* either side's factor lies in 1 - zoom .. 1 + zoom, each side's its own */
    double shear;   /* columns moved per row, either way */
    double shift;   /* pixels, either way and direction */
    double elastic; /* the paper's alpha: displacements drawn in +-1, smoothed, times this are pixels */
    double sigma;   /* deviation of the Gaussian that smooths them, pixels */
};

/* "rotate 10 zoom 0.15 elastic 34 sigma 4": any of the names above, each with its value; "none" or nothing: all zero.
 * CNN_INVALID with what was found and expected. */
int cnn_distortion_parse(struct cnn_distortion *out, const char *text, struct cnn_error *error);

bool cnn_distortion_any(const struct cnn_distortion *distortion);

struct cnn_distorter;
int cnn_distorter_create(struct cnn_distorter **out, const struct cnn_distortion *distortion, int channels, int side,
                         uint64_t seed, struct cnn_error *error);
void cnn_distorter_destroy(struct cnn_distorter *distorter); /* NULL is fine */

/* One image of channels x side x side bytes; all channels are distorted alike. Bilinear between pixels, 0 outside. */
void cnn_distorter_apply(struct cnn_distorter *distorter, int epoch, int64_t image, const uint8_t *in, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
