/* SPDX-License-Identifier: MIT */
/* A small network learns digits on every target. */
#ifndef TESTS_CHECKER_LEARNING_H
#define TESTS_CHECKER_LEARNING_H

#include "tests/checker/targets.h"

/* Trains on every target of the room: the loss falls, four times as many test digits are right as by chance, targets
 * that promise the same bits have them after the last epoch, and the accuracies of all lie no further apart than those
 * of five seeds on one of them. Returns the number of failures, each printed. */
int learning_check(const struct check_room *room, uint64_t seed);

#endif
