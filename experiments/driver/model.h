/* SPDX-License-Identifier: MIT */
/* A cost model: seconds as a sum of terms with non-negative costs, time = fixed + work / rate being the first of them.
 * Errors count relative to what was measured, so that a microsecond and a second weigh the same. */
#ifndef DRIVER_MODEL_H
#define DRIVER_MODEL_H

#include <stdbool.h>

#define MODEL_TERMS_MAX 4

struct model_point {
    double seconds;               /* measured, > 0 */
    double term[MODEL_TERMS_MAX]; /* what each cost is multiplied with: 1, FLOPs, ... */
};

struct model {
    int points, terms;
    double cost[MODEL_TERMS_MAX];                         /* >= 0, seconds per unit of the term */
    double low[MODEL_TERMS_MAX], high[MODEL_TERMS_MAX];   /* 95 % interval, NAN with as many terms as points */
    double covariance[MODEL_TERMS_MAX * MODEL_TERMS_MAX]; /* of the costs before any was held at 0; NAN likewise */
    double r2;       /* share of the best constant's squared relative error that the terms take away */
    double held_out; /* mean |relative error| of points, each by the model fitted to the others; NAN with too few */
};

/* Least squares of relative errors with costs held at >= 0. Intervals are those of the least squares without that bound
 * (Student's t), cut off at 0. False where there are fewer points than terms, or where terms cannot be told apart. */
bool model_fit(struct model *out, const struct model_point *points, int count, int terms);

double model_seconds(const struct model *model, const double *term);

/* The two-sided 95 % quantile of Student's t. */
double model_student(int freedom);

#endif
