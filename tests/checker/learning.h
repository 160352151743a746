/* SPDX-License-Identifier: MIT */
/* A small network learns digits on every target. */
#ifndef TESTS_CHECKER_LEARNING_H
#define TESTS_CHECKER_LEARNING_H

#include "tests/checker/targets.h"

/* Trains on every target of the room: the loss falls, four times as many test digits are right as by chance, and
 * targets that promise the same bits have them after the last epoch. Returns the number of failures, each printed. */
int learning_check(const struct check_room *room, uint64_t seed);

#endif
