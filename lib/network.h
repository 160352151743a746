/* SPDX-License-Identifier: MIT */
/* A network: first as a person describes it (struct cnn_network_spec), then with every size worked out (struct
 * cnn_network). Built once, never changed, shared by all backends and by the oracle. */
#ifndef CNN_LIB_NETWORK_H
#define CNN_LIB_NETWORK_H

#include "lib/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CNN_NAME_MAX 32
#define CNN_SPEC_LAYERS_MAX 64 /* layers written out; depth may repeat them far beyond */
#define CNN_DEPTH_MAX 1024
#define CNN_SIDE_MAX 65536
#define CNN_LAYERS_MAX 4096                      /* built layers, depth included */
#define CNN_TABLE_ENTRIES_MAX ((int64_t)1 << 26) /* int32 entries of all connection tables: 256 MiB */
#define CNN_TABLE_CELLS_MAX ((int64_t)1 << 31)   /* input maps x output maps of a table drawn by density */

struct cnn_connection_spec {
    enum cnn_connection_kind kind;
    int fan_in;     /* CNN_CONNECT_FAN_IN: source maps of each output map, >= 1 */
    double density; /* CNN_CONNECT_DENSITY: 0 < p <= 1 */
};

/* How often a layer appears in the built network. The marked layers form one contiguous block. */
enum cnn_repeat { CNN_ONCE, CNN_DEPTH_TIMES, CNN_DEPTH_LESS_ONE_TIMES };

struct cnn_layer_spec {
    enum cnn_layer_kind kind;
    char name[CNN_NAME_MAX]; /* "C1"; empty: made from the kind and place */
    int maps;           /* conv, full: output maps or units at width 1; others: ignored. 0 in the last layer: classes */
    int kernel, stride; /* conv: kernel side and stride; pooling: window side (stride 0: equal to the kernel) */
    enum cnn_padding padding;
    enum cnn_activation activation;
    struct cnn_connection_spec connections;
    enum cnn_repeat repeat;
    bool fixed; /* width does not multiply this layer: the 100 units of `large`, as its peers keep them */
};

/* `connections` of the whole network, over what its layers say: the paper's tables, all full, or one random kind for
 * every convolution except the first (whose inputs are the image's channels). */
struct cnn_network_connections {
    bool paper; /* true: as each layer says; false: `all` */
    struct cnn_connection_spec all;
};

struct cnn_network_spec {
    char name[CNN_NAME_MAX]; /* "lenet5", ... or the name given in the study */
    int channels, image;     /* input maps and side (square) */
    int classes;             /* outputs; 1 means two classes told apart by one output's sign */
    int width, depth;
    enum cnn_loss loss;
    struct cnn_network_connections connections;
    bool input_gradient; /* training also computes the gradient of the network's input */
    uint64_t seed;       /* of connection tables and initial parameters */
    int layer_count;
    struct cnn_layer_spec layers[CNN_SPEC_LAYERS_MAX];
};

/* One layer with its sizes. A fully connected layer has kernel = input sides and 1 x 1 outputs. */
struct cnn_layer {
    enum cnn_layer_kind kind;
    enum cnn_activation activation;
    char name[CNN_NAME_MAX];
    struct cnn_shape in, out;
    int kernel_rows, kernel_cols, stride;
    int pad_before;        /* zeros before the first row and column; what follows the last is implied by the sides */
    const int32_t *first;  /* out.maps + 1 offsets into `source`; NULL: every output map reads every input map */
    const int32_t *source; /* connected input maps of each output map, ascending */
    int64_t pairs;         /* connected (input map, output map) pairs; 0 for pooling */
    int64_t weights;       /* pairs * kernel, or gains of a sub-sampling layer, or 0 */
    int64_t biases;        /* out.maps, or 0 */
    int64_t weight_at;     /* offsets into the parameter arena, in floats */
    int64_t bias_at;
    int64_t macs;       /* multiply-accumulates of connected pairs, forward, one image; conv and full only */
    int64_t macs_dense; /* the same if every pair were connected */
    int cropped_rows, cropped_cols; /* last input rows and columns that nothing reads */
};

struct cnn_network {
    struct cnn_network_spec spec; /* as described, for records */
    struct cnn_shape input;
    int classes;     /* outputs of the last layer */
    int label_count; /* classes, or 2 for a single output */
    enum cnn_loss loss;
    int layer_count;
    struct cnn_layer *layers;
    int64_t parameters;       /* floats in the arena */
    int64_t macs, macs_dense; /* forward, one image, all layers */
    int64_t macs_first; /* of the first layer with weights, connected: training does not need its input gradient */
    int64_t macs_first_dense;
    void *tables; /* owns the connection tables */
};

/* Fills *spec with a built-in network ("lenet5", "simard", "garcia", "jahrer", "mlp", "stack", "large") at width 1 and
 * depth 1 in the paper's form. image 0: the network's own default. `large` has as many layers as its image needs.
 * CNN_INVALID for an unknown name (the sentence lists the known ones). */
int cnn_builtin_spec(struct cnn_network_spec *spec, const char *name, int image, struct cnn_error *error);

/* Names of the built-in networks, NULL-terminated, and one line about each. */
const char *const *cnn_builtin_names(void);
const char *cnn_builtin_summary(const char *name);

/* connections = full, output = linear, loss = softmax: what the PyTorch and JAX peers compute. */
void cnn_spec_peer_preset(struct cnn_network_spec *spec);

/* Sets the activation of the last layer. */
void cnn_spec_set_output(struct cnn_network_spec *spec, enum cnn_activation activation);

/* Checks the description and works out every size before any large allocation. CNN_INVALID with one sentence that names
 * layer, input side and kernel for an impossible network, a depth the network has no block for, or sizes beyond 63
 * bits. */
int cnn_network_create(struct cnn_network **out, const struct cnn_network_spec *spec, struct cnn_error *error);
void cnn_network_destroy(struct cnn_network *network); /* NULL is fine */

/* Useful FLOPs of a batch: 2 * macs forward; training 2 * (3 * macs - macs_first), plus the first layer's where
 * input_gradient asks for it. `dense` counts masked pairs too. -1 when it does not fit. */
int64_t cnn_network_flops_forward(const struct cnn_network *network, int batch, bool dense);
int64_t cnn_network_flops_train(const struct cnn_network *network, int batch, bool dense);

/* The number of input maps that output map `out_map` reads, and the k-th of them. */
static inline int cnn_layer_fan_in(const struct cnn_layer *layer, int out_map)
{
    return layer->first ? layer->first[out_map + 1] - layer->first[out_map] : layer->in.maps;
}

static inline int cnn_layer_source(const struct cnn_layer *layer, int out_map, int k)
{
    return layer->first ? layer->source[layer->first[out_map] + k] : k;
}

/* Offset in the arena of the kernel (kernel_rows x kernel_cols) of output map `out_map` and its k-th source. */
static inline int64_t cnn_layer_kernel_at(const struct cnn_layer *layer, int out_map, int k)
{
    int64_t pair = layer->first ? layer->first[out_map] + k : (int64_t)out_map * layer->in.maps + k;
    return layer->weight_at + pair * layer->kernel_rows * layer->kernel_cols;
}

#ifdef __cplusplus
}
#endif
#endif
