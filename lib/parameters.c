/* SPDX-License-Identifier: MIT */
/* Initial values and the checksum that proves them equal. */
#include "lib/parameters.h"

#include "lib/random.h"

#include <math.h>
#include <string.h>

/* Uniform in (-1, 1), symmetric, from word `place` of the stream: a function of seed and place alone. */
struct symmetric {
    uint64_t seed, block;
    uint32_t words[4];
};

static double symmetric_at(struct symmetric *reader, int64_t place)
{
    uint64_t block = (uint64_t)place / 4;
    if (block != reader->block) {
        cnn_philox(reader->seed, CNN_STREAM_PARAMETERS, 0, block, reader->words);
        reader->block = block;
    }
    return ((double)reader->words[place % 4] + 0.5) * 0x1p-31 - 1;
}

static void init_weights(const struct cnn_layer *layer, struct symmetric *reader, float *parameters)
{
    int64_t window = (int64_t)layer->kernel_rows * layer->kernel_cols;
    double variance_times_fan_in = layer->activation == CNN_RELU ? 2 : 1;
    for (int out_map = 0; out_map < layer->out.maps; out_map++) {
        int sources = cnn_layer_fan_in(layer, out_map);
        /* A uniform value in (-a, a) has variance a^2 / 3. */
        double bound = sqrt(3 * variance_times_fan_in / ((double)sources * (double)window));
        int64_t begin = cnn_layer_kernel_at(layer, out_map, 0), end = begin + sources * window;
        for (int64_t at = begin; at < end; at++)
            parameters[at] = (float)(bound * symmetric_at(reader, at));
    }
}

void cnn_parameters_init(const struct cnn_network *network, float *parameters)
{
    struct symmetric reader = { .seed = network->spec.seed, .block = UINT64_MAX };
    for (int i = 0; i < network->layer_count; i++) {
        const struct cnn_layer *layer = &network->layers[i];
        if (layer->kind == CNN_CONV || layer->kind == CNN_FULL)
            init_weights(layer, &reader, parameters);
        if (layer->kind == CNN_SUBSAMPLE)
            for (int64_t k = 0; k < layer->weights; k++)
                parameters[layer->weight_at + k] = 1.0f / ((float)layer->kernel_rows * (float)layer->kernel_cols);
        for (int64_t k = 0; k < layer->biases; k++)
            parameters[layer->bias_at + k] = 0;
    }
}

uint64_t cnn_checksum_floats(const float *values, int64_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int shift = 0; shift < 32; shift += 8) {
            hash ^= bits >> shift & 0xff;
            hash *= 0x100000001b3u;
        }
    }
    return hash;
}
