/* SPDX-License-Identifier: MIT */
/* Who comes next, from the environment. */
#include "tests/emulation/state.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool known;
    enum emulated_order order;
    uint64_t random;
} turns;

static void know_turns(void)
{
    const char *text = getenv("EMULATED_ORDER");
    if (turns.known)
        return;
    turns.known = true;
    turns.order = EMULATED_ASCENDING;
    if (!text || !strcmp(text, "ascending"))
        return;
    turns.order = strcmp(text, "descending") ? EMULATED_SHUFFLED : EMULATED_DESCENDING;
    turns.random = 2 * strtoull(text, NULL, 10) + 1;
    if (turns.order == EMULATED_SHUFFLED && turns.random == 1) {
        fprintf(stderr, "EMULATED_ORDER=%s: expected ascending, descending or a number from 1 on\n", text);
        exit(2);
    }
}

enum emulated_order emulated_order(void)
{
    know_turns();
    return turns.order;
}

bool emulated_late(void)
{
    return emulated_order() != EMULATED_ASCENDING;
}

unsigned emulated_random(unsigned below)
{
    turns.random = turns.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((turns.random >> 33) % below);
}

/* The order in which `count` things have their turns. */
const int *emulated_turns(int count, std::vector<int> *list)
{
    enum emulated_order order = emulated_order();
    if ((int)list->size() == count && order != EMULATED_SHUFFLED)
        return list->data();
    list->resize((size_t)count);
    for (int i = 0; i < count; i++)
        (*list)[(size_t)i] = order == EMULATED_DESCENDING ? count - 1 - i : i;
    for (int i = count - 1; order == EMULATED_SHUFFLED && i > 0; i--)
        std::swap((*list)[(size_t)i], (*list)[emulated_random((unsigned)i + 1)]);
    return list->data();
}

double emulated_limit(double limit)
{
    static const char *text = getenv("EMULATED_LIMITS");
    return text && !strcmp(text, "0") ? 0 : limit;
}
