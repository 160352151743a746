/* SPDX-License-Identifier: MIT */
/* The loss over the first 200 training steps, from one seed, on every target. */
#ifndef TESTS_CHECKER_COURSE_H
#define TESTS_CHECKER_COURSE_H

#include "tests/checker/targets.h"

/* The oracle runs twice over batches of digits, once with every weight moved by one unit in the last place of fp32. At
 * every step a target's loss may differ from the first run's by 8 times the largest difference of the two until then,
 * and by the step's own rounding. Returns the number of failures, each printed. */
int course_check(const struct check_room *room, uint64_t seed);

#endif
