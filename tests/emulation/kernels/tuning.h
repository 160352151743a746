/* SPDX-License-Identifier: MIT */
/* The kernels' own constants; those that keep a kernel from small cases for speed alone can be lifted,
 * emulated_limit(). */
#ifndef EMULATION_TUNING_H
#define EMULATION_TUNING_H

#include_next "kernels/tuning.h"

enum {
    EMULATED_CONV_MAPS = TENSOR_CONV_MAPS,
    EMULATED_CONV_TERMS = TENSOR_CONV_TERMS,
    EMULATED_TENSOR_WEIGHTS_MAPS = TENSOR_WEIGHTS_MAPS,
    EMULATED_WEIGHTS_MAPS = WGMMA_WEIGHTS_MAPS,
    EMULATED_WEIGHTS_TERMS = WGMMA_WEIGHTS_TERMS,
    EMULATED_IMAGES_BATCH = IMAGES_BATCH,
    EMULATED_IMAGES_MAPS = IMAGES_MAPS,
};
static const double emulated_conv_macs = TENSOR_CONV_MACS, emulated_weights_macs = WGMMA_WEIGHTS_MACS;
static const double emulated_images_least = IMAGES_LEAST;
static const double emulated_tensor_weights_macs = TENSOR_WEIGHTS_MACS;
static const double emulated_tensor_weights_share = TENSOR_WEIGHTS_SHARE;

#undef TENSOR_CONV_MAPS
#undef TENSOR_CONV_TERMS
#undef TENSOR_CONV_MACS
#undef TENSOR_WEIGHTS_MAPS
#undef TENSOR_WEIGHTS_MACS
#undef TENSOR_WEIGHTS_SHARE
#undef WGMMA_WEIGHTS_MAPS
#undef WGMMA_WEIGHTS_TERMS
#undef WGMMA_WEIGHTS_MACS
#undef IMAGES_BATCH
#undef IMAGES_MAPS
#undef IMAGES_LEAST
#define TENSOR_CONV_MAPS emulated_limit(EMULATED_CONV_MAPS)
#define TENSOR_CONV_TERMS emulated_limit(EMULATED_CONV_TERMS)
#define TENSOR_CONV_MACS emulated_limit(emulated_conv_macs)
#define TENSOR_WEIGHTS_MAPS emulated_limit(EMULATED_TENSOR_WEIGHTS_MAPS)
#define TENSOR_WEIGHTS_MACS emulated_limit(emulated_tensor_weights_macs)
#define TENSOR_WEIGHTS_SHARE emulated_limit(emulated_tensor_weights_share)
#define WGMMA_WEIGHTS_MAPS emulated_limit(EMULATED_WEIGHTS_MAPS)
#define WGMMA_WEIGHTS_TERMS emulated_limit(EMULATED_WEIGHTS_TERMS)
#define WGMMA_WEIGHTS_MACS emulated_limit(emulated_weights_macs)
#define IMAGES_BATCH emulated_limit(EMULATED_IMAGES_BATCH)
#define IMAGES_MAPS emulated_limit(EMULATED_IMAGES_MAPS)
#define IMAGES_LEAST emulated_limit(emulated_images_least)

#endif
