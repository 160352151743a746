/* SPDX-License-Identifier: MIT */
/* The kinds of things a network is made of, their names, and the geometry of one layer. */
#ifndef CNN_LIB_LAYOUT_H
#define CNN_LIB_LAYOUT_H

#include "lib/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cnn_layer_kind {
    CNN_CONV,      /* y = f(sum over connected maps and the kernel + bias of the map) */
    CNN_SUBSAMPLE, /* y = f(gain * sum(window) + bias), gain and bias per map (LeCun et al. 1998, II.B) */
    CNN_MAXPOOL,   /* the first maximum in row-major order wins; NaN propagates */
    CNN_AVGPOOL,
    CNN_FULL, /* fully connected: a convolution whose kernel is its whole input, so its output is 1 x 1 */
    CNN_LAYER_KIND_COUNT
};

enum cnn_activation {
    CNN_LINEAR, /* "none" and "linear" in a study */
    CNN_TANH,
    CNN_LECUN_TANH, /* 1.7159 tanh(2x/3) */
    CNN_LOGISTIC,
    CNN_RELU,
    CNN_ACTIVATION_COUNT
};

enum cnn_loss {
    CNN_MSE,     /* mean over images of half the sum of (y - t)^2; targets +-1, with a logistic output 0 and 1 */
    CNN_SOFTMAX, /* softmax cross-entropy, mean over images */
    CNN_LOSS_COUNT
};

enum cnn_padding { CNN_VALID, CNN_SAME, CNN_PADDING_COUNT };

enum cnn_connection_kind {
    CNN_CONNECT_FULL,
    CNN_CONNECT_LECUN,      /* C3 table of LeNet-5: 6 maps to 16, 60 pairs */
    CNN_CONNECT_ONE_TO_ONE, /* map i reads map i */
    CNN_CONNECT_GARCIA,     /* 4 maps to 14: each map feeds two alone, the six pairs feed one each; 20 pairs */
    CNN_CONNECT_FAN_IN,     /* every output map reads min(n, in) random input maps */
    CNN_CONNECT_DENSITY,    /* exactly round(p * in * out) random pairs; every input and every output used */
    CNN_CONNECTION_KIND_COUNT
};

/* Maps by rows by columns of one image. */
struct cnn_shape {
    int maps, rows, cols;
};

/* Names as in a study file ("conv", "subsample", "maxpool", "avgpool", "full"; "none", "tanh", "lecun-tanh",
 * "logistic", "relu"; "mse", "softmax"; "valid", "same"; "full", "lecun", "one-to-one", "garcia", "fan-in", "density").
 */
const char *cnn_layer_kind_name(enum cnn_layer_kind kind);
const char *cnn_activation_name(enum cnn_activation activation);
const char *cnn_loss_name(enum cnn_loss loss);
const char *cnn_padding_name(enum cnn_padding padding);
const char *cnn_connection_kind_name(enum cnn_connection_kind kind);

/* The reverse: false when `word` is none of them. "linear" is accepted beside "none". */
bool cnn_layer_kind_parse(const char *word, enum cnn_layer_kind *out);
bool cnn_activation_parse(const char *word, enum cnn_activation *out);
bool cnn_loss_parse(const char *word, enum cnn_loss *out);
bool cnn_padding_parse(const char *word, enum cnn_padding *out);
bool cnn_connection_kind_parse(const char *word, enum cnn_connection_kind *out);

/* maps * rows * cols, or -1 when that does not fit in 63 bits. */
int64_t cnn_shape_size(struct cnn_shape shape);

/* The output side of a window that moves over `side` pixels, and the zeros before the first pixel. Floor division:
 * pixels never reached contribute nothing. `same` needs side, kernel, stride >= 1 and pads (kernel - 1) / 2 before and
 * kernel / 2 after. Returns 0 where the kernel is larger than the (padded) input. */
int cnn_output_side(int side, int kernel, int stride, enum cnn_padding padding, int *pad_before);

#ifdef __cplusplus
}
#endif
#endif
