/* SPDX-License-Identifier: MIT */
/* Convolutions of 5 x 5 over many images, wgmma_images.cuh. A file for each size, since compiling takes its time. */
#include "kernels/images_plan.cuh"

extern "C" const cuda_kernel CUDA_KERNEL(images_5_conv_forward) = {
    "images_5_conv_forward", "direct",        "kernels/wgmma_images.cuh", CNN_OP_CONV_FORWARD, supports<5, false>,
    prepare<false>,          launch<5, false>
};
extern "C" const cuda_kernel CUDA_KERNEL(images_5_conv_backward_data) = { "images_5_conv_backward_data",
                                                                          "direct",
                                                                          "kernels/wgmma_images.cuh",
                                                                          CNN_OP_CONV_BACKWARD_DATA,
                                                                          supports<5, true>,
                                                                          prepare<true>,
                                                                          launch<5, true> };
