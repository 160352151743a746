/* SPDX-License-Identifier: MIT */
/* Convolutions of 3 x 3 over many images, wgmma_images.cuh. A file for each size, since compiling takes its time. */
#include "kernels/images_plan.cuh"

extern "C" const cuda_kernel CUDA_KERNEL(images_3_conv_forward) = {
    "images_3_conv_forward", "direct",        "kernels/wgmma_images.cuh", CNN_OP_CONV_FORWARD, supports<3, false>,
    prepare<false>,          launch<3, false>
};
extern "C" const cuda_kernel CUDA_KERNEL(images_3_conv_backward_data) = { "images_3_conv_backward_data",
                                                                          "direct",
                                                                          "kernels/wgmma_images.cuh",
                                                                          CNN_OP_CONV_BACKWARD_DATA,
                                                                          supports<3, true>,
                                                                          prepare<true>,
                                                                          launch<3, true> };
