/* SPDX-License-Identifier: MIT */
/* Convolution on Hopper's tensor cores, forward: wgmma_conv.cuh. A file for each direction, since compiling takes its
 * time. */
#include "kernels/wgmma_conv.cuh"

extern "C" const cuda_kernel CUDA_KERNEL(wgmma_conv_forward) = {
    "wgmma_conv_forward", "direct",     "kernels/wgmma_conv.cuh", CNN_OP_CONV_FORWARD, supports<false>,
    prepare<false>,       launch<false>
};
