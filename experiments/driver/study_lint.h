/* SPDX-License-Identifier: MIT */
/* Whether a study's text is well formed, said better than libconfig can. Inside study*.c only. */
#ifndef DRIVER_STUDY_LINT_H
#define DRIVER_STUDY_LINT_H

#include "experiments/driver/study_text.h"

/* CNN_INVALID with file, line, what is wrong and what was expected: bare ranges, numbers that overflow, words without
 * quotes, keys given twice or without a value, brackets and commas. */
int study_lint(const struct study_text *text, struct cnn_error *error);

#endif
