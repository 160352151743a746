/* SPDX-License-Identifier: MIT */
/* Convolution on Hopper's tensor cores, backward through the data: wgmma_conv.cuh. A file for each direction, since
 * compiling takes its time. */
#include "kernels/wgmma_conv.cuh"

extern "C" const cuda_kernel CUDA_KERNEL(wgmma_conv_backward_data) = { "wgmma_conv_backward_data",
                                                                       "direct",
                                                                       "kernels/wgmma_conv.cuh",
                                                                       CNN_OP_CONV_BACKWARD_DATA,
                                                                       supports<true>,
                                                                       prepare<true>,
                                                                       launch<true> };
