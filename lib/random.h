/* SPDX-License-Identifier: MIT */
/* Philox4x32-10 (Salmon et al., SC 2011): random numbers that are a pure function of (seed, stream, index), so that any
 * thread, backend or resumed run draws the same ones. */
#ifndef CNN_LIB_RANDOM_H
#define CNN_LIB_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams keep the users of one seed apart. */
enum cnn_stream {
    CNN_STREAM_PARAMETERS = 1,
    CNN_STREAM_CONNECTIONS,
    CNN_STREAM_BATCHES, /* order of images in an epoch */
    CNN_STREAM_NOISE,   /* seeded N(0,1) images and labels of timed batches */
    CNN_STREAM_DIGITS,  /* the digits generator */
    CNN_STREAM_ORDER,   /* order of points in a sweep */
    CNN_STREAM_VERIFY,  /* which images the gate repeats */
    CNN_STREAM_TEST,
    CNN_STREAM_DISTORTION /* of training images; sub is the epoch */
};

/* Four 32-bit words: the raw generator, key = (seed), counter = (index low, index high, stream, sub). */
void cnn_philox(uint64_t seed, uint32_t stream, uint32_t sub, uint64_t index, uint32_t out[4]);

/* A sequential reader over one stream. */
struct cnn_random {
    uint64_t seed, index;
    uint32_t stream, sub;
    uint32_t words[4];
    int left;
};

void cnn_random_init(struct cnn_random *random, uint64_t seed, enum cnn_stream stream, uint32_t sub);
uint32_t cnn_random_word(struct cnn_random *random);
double cnn_random_uniform(struct cnn_random *random);             /* [0, 1), 53 bits: two words */
uint32_t cnn_random_below(struct cnn_random *random, uint32_t n); /* 0..n-1, unbiased (Lemire 2019); n >= 1 */
double cnn_random_normal(struct cnn_random *random);              /* N(0,1), Box-Muller, one value for four words */
void cnn_random_shuffle(struct cnn_random *random, int32_t *values, int64_t count); /* Fisher-Yates */

#ifdef __cplusplus
}
#endif
#endif
