/* SPDX-License-Identifier: MIT */
/* Philox4x32-10: ten rounds of two 32 x 32 -> 64 bit products over a 128-bit counter (Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Constants are the paper's. */
#include "lib/random.h"

#include <math.h>

void cnn_philox(uint64_t seed, uint32_t stream, uint32_t sub, uint64_t index, uint32_t out[4])
{
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t c[4] = { (uint32_t)index, (uint32_t)(index >> 32), stream, sub };
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = { (uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key[1],
                             (uint32_t)a };
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

void cnn_random_init(struct cnn_random *random, uint64_t seed, enum cnn_stream stream, uint32_t sub)
{
    *random = (struct cnn_random){ .seed = seed, .stream = (uint32_t)stream, .sub = sub };
}

uint32_t cnn_random_word(struct cnn_random *random)
{
    if (random->left == 0) {
        cnn_philox(random->seed, random->stream, random->sub, random->index++, random->words);
        random->left = 4;
    }
    return random->words[4 - random->left--];
}

double cnn_random_uniform(struct cnn_random *random)
{
    uint64_t high = cnn_random_word(random);
    uint64_t low = cnn_random_word(random);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

/* Multiply and shift; the few low products that would favour some values are drawn again (Lemire 2019). */
uint32_t cnn_random_below(struct cnn_random *random, uint32_t n)
{
    uint64_t product = (uint64_t)cnn_random_word(random) * n;
    if ((uint32_t)product < n) {
        uint32_t unfair = -n % n; /* 2^32 mod n */
        while ((uint32_t)product < unfair)
            product = (uint64_t)cnn_random_word(random) * n;
    }
    return (uint32_t)(product >> 32);
}

double cnn_random_normal(struct cnn_random *random)
{
    double radius = sqrt(-2 * log(1 - cnn_random_uniform(random))); /* 1 - u lies in (0, 1]: the logarithm exists */
    return radius * cos(2 * 3.14159265358979323846 * cnn_random_uniform(random));
}

void cnn_random_shuffle(struct cnn_random *random, int32_t *values, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = cnn_random_below(random, (uint32_t)(i + 1));
        int32_t kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}
