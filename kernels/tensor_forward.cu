/* SPDX-License-Identifier: MIT */
/* Convolution on tensor cores, forward: tensor_conv.cuh. A file for each direction, since compiling takes its time. */
#include "kernels/tensor_conv.cuh"

extern "C" const cuda_kernel CUDA_KERNEL(tensor_conv_forward) = {
    "tensor_conv_forward", "direct",     "kernels/tensor_conv.cuh", CNN_OP_CONV_FORWARD, supports<false>,
    prepare<false>,        launch<false>
};
