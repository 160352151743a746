/* SPDX-License-Identifier: MIT */
/* Philox against its authors' known answers, and what is drawn from it. */
#include "tests/unit/core.h"

#include "lib/random.h"

#include <math.h>

/* Random123's kat_vectors, philox4x32 10. */
static void known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        uint32_t out[4];
        uint64_t seed = (uint64_t)vectors[v].key[1] << 32 | vectors[v].key[0];
        uint64_t index = (uint64_t)vectors[v].counter[1] << 32 | vectors[v].counter[0];
        cnn_philox(seed, vectors[v].counter[2], vectors[v].counter[3], index, out);
        assert_memory_equal(out, vectors[v].out, sizeof out);
    }
}

static void the_reader_walks_the_counter(void **state)
{
    (void)state;
    struct cnn_random random;
    cnn_random_init(&random, 0x123456789abcdef0u, CNN_STREAM_NOISE, 7);
    for (uint64_t index = 0; index < 3; index++) {
        uint32_t block[4];
        cnn_philox(0x123456789abcdef0u, CNN_STREAM_NOISE, 7, index, block);
        for (int i = 0; i < 4; i++)
            assert_int_equal(cnn_random_word(&random), block[i]);
    }
}

static void uniform_takes_53_bits_of_two_words(void **state)
{
    (void)state;
    struct cnn_random random, words;
    cnn_random_init(&random, 3, CNN_STREAM_TEST, 0);
    cnn_random_init(&words, 3, CNN_STREAM_TEST, 0);
    double sum = 0;
    for (int i = 0; i < 4096; i++) {
        uint64_t high = cnn_random_word(&words), low = cnn_random_word(&words);
        double value = cnn_random_uniform(&random);
        assert_true(value == ldexp((double)(high << 21 | low >> 11), -53));
        assert_true(value >= 0 && value < 1);
        sum += value;
    }
    assert_true(fabs(sum / 4096 - 0.5) < 5 * sqrt(1.0 / 12 / 4096)); /* 5 standard errors */
}

/* Against the definition of Lemire's method with a plain 64-bit remainder, n near 2^32 rejecting often. */
static void below_is_unbiased(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 1, 2, 3, 10, 1000, 0x80000001u, 0xc0000000u, 0xffffffffu };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct cnn_random random, words;
        cnn_random_init(&random, s, CNN_STREAM_TEST, 1);
        cnn_random_init(&words, s, CNN_STREAM_TEST, 1);
        uint64_t n = sizes[s], threshold = ((uint64_t)1 << 32) % n;
        for (int i = 0; i < 300; i++) {
            uint64_t product;
            do
                product = cnn_random_word(&words) * n;
            while ((product & 0xffffffff) < threshold);
            assert_int_equal(cnn_random_below(&random, sizes[s]), product >> 32);
        }
    }
    int seen[3] = { 0 };
    struct cnn_random random;
    cnn_random_init(&random, 5, CNN_STREAM_TEST, 2);
    for (int i = 0; i < 3000; i++)
        seen[cnn_random_below(&random, 3)]++;
    for (int k = 0; k < 3; k++)
        assert_in_range(seen[k], 1000 - 130, 1000 + 130); /* 5 standard deviations */
}

static void normal_has_its_moments(void **state)
{
    (void)state;
    struct cnn_random random;
    cnn_random_init(&random, 11, CNN_STREAM_NOISE, 0);
    double sum = 0, squares = 0, fourth = 0;
    const int n = 20000;
    for (int i = 0; i < n; i++) {
        double value = cnn_random_normal(&random);
        assert_true(isfinite(value));
        sum += value;
        squares += value * value;
        fourth += value * value * value * value;
    }
    assert_int_equal(random.index, n); /* one block of four words each */
    assert_true(fabs(sum / n) < 5 * sqrt(1.0 / n));
    assert_true(fabs(squares / n - 1) < 5 * sqrt(2.0 / n));
    assert_true(fabs(fourth / n - 3) < 5 * sqrt(96.0 / n));
}

static void shuffle_permutes_and_depends_on_the_seed(void **state)
{
    (void)state;
    int32_t a[100], b[100], seen[100] = { 0 };
    int moved = 0, same = 0;
    for (int i = 0; i < 100; i++)
        a[i] = b[i] = i;
    struct cnn_random random;
    cnn_random_init(&random, 1, CNN_STREAM_BATCHES, 0);
    cnn_random_shuffle(&random, a, 100);
    cnn_random_init(&random, 2, CNN_STREAM_BATCHES, 0);
    cnn_random_shuffle(&random, b, 100);
    for (int i = 0; i < 100; i++) {
        seen[a[i]]++;
        moved += a[i] != i;
        same += a[i] == b[i];
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 85 && same < 15);
    cnn_random_shuffle(&random, a, 0);
    cnn_random_shuffle(&random, a, 1);
}

/* All six orders of three come about equally often: a shuffle that swaps with any place would not pass. */
static void shuffle_is_fair(void **state)
{
    (void)state;
    int seen[27] = { 0 };
    struct cnn_random random;
    cnn_random_init(&random, 8, CNN_STREAM_TEST, 3);
    for (int i = 0; i < 12000; i++) {
        int32_t v[3] = { 0, 1, 2 };
        cnn_random_shuffle(&random, v, 3);
        seen[v[0] * 9 + v[1] * 3 + v[2]]++;
    }
    static const int orders[6] = { 5, 7, 11, 15, 19, 21 };
    for (int k = 0; k < 6; k++)
        assert_in_range(seen[orders[k]], 2000 - 205, 2000 + 205); /* 5 standard deviations */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(the_reader_walks_the_counter),
        cmocka_unit_test(uniform_takes_53_bits_of_two_words),
        cmocka_unit_test(below_is_unbiased),
        cmocka_unit_test(normal_has_its_moments),
        cmocka_unit_test(shuffle_permutes_and_depends_on_the_seed),
        cmocka_unit_test(shuffle_is_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
