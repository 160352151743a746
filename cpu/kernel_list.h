/* SPDX-License-Identifier: MIT */
/* The list behind registry.c. To add a kernel, add its symbol here and its file to cpu/meson.build. */
#ifndef CPU_KERNEL_LIST_H
#define CPU_KERNEL_LIST_H

#define CPU_KERNELS(K)                  \
    K(shared_loss)                      \
    K(shared_update)                    \
    K(naive_conv_forward)               \
    K(naive_full_forward)               \
    K(naive_conv_backward_data)         \
    K(naive_full_backward_data)         \
    K(naive_conv_backward_weights)      \
    K(naive_full_backward_weights)      \
    K(naive_subsample_forward)          \
    K(naive_maxpool_forward)            \
    K(naive_avgpool_forward)            \
    K(naive_subsample_backward_data)    \
    K(naive_maxpool_backward)           \
    K(naive_avgpool_backward)           \
    K(naive_subsample_backward_weights) \
    K(direct_whole_forward)             \
    K(direct_map_forward)               \
    K(direct_conv_forward)              \
    K(direct_full_forward)              \
    K(direct_whole_backward_data)       \
    K(direct_map_backward_data)         \
    K(direct_conv_backward_data)        \
    K(direct_full_backward_data)        \
    K(direct_whole_backward_weights)    \
    K(direct_map_backward_weights)      \
    K(direct_conv_backward_weights)     \
    K(direct_full_backward_weights)     \
    K(winograd_conv_forward)            \
    K(winograd_conv_backward_data)      \
    K(direct_subsample_forward)         \
    K(direct_maxpool_forward)           \
    K(direct_avgpool_forward)           \
    K(direct_subsample_backward_data)   \
    K(direct_maxpool_backward)          \
    K(direct_avgpool_backward)          \
    K(direct_subsample_backward_weights)

#endif
