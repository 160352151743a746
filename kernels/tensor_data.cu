/* SPDX-License-Identifier: MIT */
/* Convolution on tensor cores, backward through the data: tensor_conv.cuh. A file for each direction, since compiling
 * takes its time. */
#include "kernels/tensor_conv.cuh"

extern "C" const cuda_kernel CUDA_KERNEL(tensor_conv_backward_data) = { "tensor_conv_backward_data",
                                                                        "direct",
                                                                        "kernels/tensor_conv.cuh",
                                                                        CNN_OP_CONV_BACKWARD_DATA,
                                                                        supports<true>,
                                                                        prepare<true>,
                                                                        launch<true> };
